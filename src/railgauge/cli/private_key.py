"""The option ``--key`` of the commands that sign, and the passphrase of the key."""

from __future__ import annotations

import argparse
import getpass
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from railgauge.core.errors import BadInput
from railgauge.run.progress import screen

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

PASSPHRASE = "RAILGAUGE_KEY_PASSPHRASE"  # noqa: S105 - its name, not a passphrase


def add(parser: argparse._ActionsContainer, *, required: bool = False) -> None:
    parser.add_argument(
        "--key",
        type=Path,
        required=required,
        metavar="FILE",
        help="Ed25519 private key, OpenSSH or PEM, to sign with; its passphrase is read from "
        f"{PASSPHRASE} or from the terminal",
    )


def load(path: Path) -> Ed25519PrivateKey:
    """Read the key, and ask for its passphrase if it has one. Raises ``BadInput``."""
    from railgauge.bundle import signing  # noqa: PLC0415 - keys are slow to import

    return signing.load_private(path, lambda: _passphrase(path))


def _passphrase(path: Path) -> str:
    if PASSPHRASE in os.environ:
        return os.environ[PASSPHRASE]
    if not sys.stdin.isatty():
        raise BadInput(
            "has a passphrase, and there is no terminal to ask for it",
            where=str(path),
            remedy=f"give it in {PASSPHRASE}",
        )
    with screen.paused():
        return getpass.getpass(f"passphrase of {path}: ")
