"""The script of a lease, on folders that belong to a test."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from railgauge.leases.holder import Holder, answer, hold_command
from testing.waiting import wait_until

ALICE = Holder("alice", "ctl1", "run-a", "2026-11-21T14:03:22+00:00", "a1")
BOB = Holder("bob", "ctl2", "run-b", "2026-11-21T14:05:00+00:00", "b2")


@dataclass(frozen=True)
class Place:
    """A node's root, and a shell to run the script."""

    root: Path
    shell: str

    @property
    def file(self) -> Path:
        return self.folder / "node.lease"

    @property
    def folder(self) -> Path:
        """The folder of the suite's own, which a holder makes."""
        return self.root / "run" / "lock" / "railgauge"

    def start(self, holder: Holder, run: str, **options: object) -> subprocess.Popen[str]:
        command = hold_command("n01", str(self.root), holder, run, 0.2)
        return subprocess.Popen(
            [self.shell, *command.argv[1:]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | dict(command.environment),
            start_new_session=True,
            **options,  # type: ignore[call-overload]
        )

    @contextmanager
    def asked(
        self, holder: Holder, run: str = "r", **options: object
    ) -> Iterator[tuple[subprocess.Popen[str], object]]:
        """A started script and its answer; ended when the test ends."""
        with self.start(holder, run, **options) as process:
            assert process.stdout
            try:
                yield process, answer(process.stdout.readline())
            finally:
                process.terminate()
                assert ended(process)

    def answer(self, holder: Holder, **options: object) -> object:
        with self.asked(holder, **options) as (_, printed):
            return printed


any_shell = pytest.mark.parametrize("place", ["dash", "bash"], indirect=True)


def ended(process: subprocess.Popen[str]) -> bool:
    return wait_until(lambda: process.poll() is not None, 20, f"the end of {process.args!r}")
