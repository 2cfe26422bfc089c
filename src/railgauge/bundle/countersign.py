"""Adds a signature to a signed bundle, for example the customer's beside the vendor's.

Both signatures cover the same statement, so both vouch for the same bytes. The bundle is verified
before and after.
"""

from __future__ import annotations

import os
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from railgauge.bundle import archive, check, signing
from railgauge.bundle.archive import Archive
from railgauge.bundle.make import Made
from railgauge.bundle.signers import Signer
from railgauge.bundle.statement import NAME, SIGNER
from railgauge.core.digests import sha256_of
from railgauge.core.errors import BadInput, NotVerified
from railgauge.run.kept_text import json_text


def countersign(source: Path, target: Path, key: Ed25519PrivateKey) -> Made:
    """Write the bundle ``source`` with one more signature to ``target``; they may be the same.

    Raises ``BadInput`` if it is no bundle, does not verify, is not signed, or is signed with this
    key already. Then nothing is written.
    """
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with archive.opened(source) as held:
            check.verify(held)
            _refuse_needless(held, source, key)
            _write(held, beside, key)
        with archive.opened(beside) as held:
            report = check.verify(held, [Signer(key.public_key())])
        beside.replace(target)
    except NotVerified as error:
        raise BadInput(
            f"does not verify, so it is not signed: {error}", where=str(source)
        ) from None
    finally:
        beside.unlink(missing_ok=True)
    return Made(target, sha256_of(target), report)


def _refuse_needless(held: Archive, source: Path, key: Ed25519PrivateKey) -> None:
    signed_by = check.envelope_of(held).signatures
    if not signed_by:
        what, remedy = "is not signed", "sign it first: railgauge bundle --key"
        raise BadInput(f"{what}: there is nothing to countersign", where=str(source), remedy=remedy)
    if signing.fingerprint(key.public_key()) in signed_by:
        remedy = "sign with another key"
        raise BadInput("is signed with this key already", where=str(source), remedy=remedy)


def _write(held: Archive, path: Path, key: Ed25519PrivateKey) -> None:
    sealed = signing.countersigned(check.envelope_of(held), key)
    keys = held.read(SIGNER) if SIGNER in held else b""
    changed = {
        NAME: json_text(sealed).encode(),
        SIGNER: keys + signing.public_line(key).encode(),
    }
    with archive.written(path) as writer:
        for name in dict.fromkeys([*held.members, SIGNER]):
            writer.add(name, changed.get(name) or held.read(name))
