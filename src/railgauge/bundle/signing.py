"""Signs and verifies the DSSE envelope of the statement with Ed25519 keys.

securesystemslib makes the envelope and the signature; cryptography reads the keys.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import CryptoSigner, SSlibKey

from railgauge.bundle.signers import Signer, named
from railgauge.core.errors import BadBundle, BadInput, NotVerified

PAYLOAD_TYPE = "application/vnd.in-toto+json"
UNSIGNED, UNKNOWN, TRUSTED = "unsigned", "unknown signer", "trusted"

_MAKE_ONE = "make one with: ssh-keygen -t ed25519"
_KEY_BYTES = 2**16


@dataclass(frozen=True, slots=True)
class Signature:
    """The state of a signature, one of the three above, and the fingerprint of its key.

    ``name`` is the signer's, from the file that gives the key. ``unfit`` is why a signature with a
    given key does not count.
    """

    state: str
    fingerprint: str = ""
    name: str = ""
    unfit: str = ""

    def __str__(self) -> str:
        by = f"{self.name}, {self.fingerprint}" if self.name else self.fingerprint
        return f"{by} (a given key, but it {self.unfit})" if self.unfit else by


# --- signing ---


def load_private(path: Path, passphrase: Callable[[], str]) -> Ed25519PrivateKey:
    """Read a key from an OpenSSH or PEM file; ``passphrase`` is called only if it is encrypted.

    Raises ``BadInput`` for another kind of key, or a wrong passphrase.
    """
    data = _file(path)
    try:
        return _ed25519(_load(data, None), path)
    except TypeError:  # both formats raise this for an encrypted key
        pass
    except (ValueError, UnsupportedAlgorithm):  # such as a public key
        what = "cannot be read as a private key"
        raise BadInput(what, where=str(path), remedy=_MAKE_ONE) from None
    try:
        return _ed25519(_load(data, passphrase().encode()), path)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise BadInput("cannot be read: wrong passphrase?", where=str(path)) from None


def _load(data: bytes, passphrase: bytes | None) -> object:
    is_ssh = b"BEGIN OPENSSH PRIVATE KEY" in data
    load = serialization.load_ssh_private_key if is_ssh else serialization.load_pem_private_key
    return load(data, passphrase)


def _ed25519(key: object, path: Path) -> Ed25519PrivateKey:
    if not isinstance(key, Ed25519PrivateKey):
        raise BadInput("is not an Ed25519 private key", where=str(path), remedy=_MAKE_ONE)
    return key


def _file(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_KEY_BYTES)
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", where=str(path)) from None


def envelope(payload: bytes, key: Ed25519PrivateKey | None) -> dict[str, Any]:
    """The DSSE envelope of a payload; without a key its list of signatures is empty."""
    sealed = Envelope(payload, PAYLOAD_TYPE, {})
    if key is not None:
        return countersigned(sealed, key)
    data: dict[str, Any] = sealed.to_dict()
    return data


def countersigned(sealed: Envelope, key: Ed25519PrivateKey) -> dict[str, Any]:
    """The envelope with one more signature over the same payload."""
    sealed.sign(CryptoSigner(key, _sslib(key.public_key())))
    data: dict[str, Any] = sealed.to_dict()
    return data


def public_line(key: Ed25519PrivateKey) -> str:
    """The public key as a line in OpenSSH's format."""
    return _openssh(key.public_key()).decode() + "\n"


def _openssh(key: Ed25519PublicKey) -> bytes:
    return key.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)


def fingerprint(key: Ed25519PublicKey) -> str:
    """``SHA256:…``, as ``ssh-keygen -l`` prints it."""
    blob = base64.b64decode(_openssh(key).split()[1])
    return "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")


def _sslib(key: Ed25519PublicKey) -> SSlibKey:
    return SSlibKey.from_crypto(key, keyid=fingerprint(key))


# --- checking ---


def public_keys(data: bytes) -> Iterator[Ed25519PublicKey]:
    """The keys that a bundle encloses, one OpenSSH key a line; anything else is ignored."""
    for line in data.splitlines():
        with suppress(ValueError, UnsupportedAlgorithm):
            key = serialization.load_ssh_public_key(b" ".join(line.split()[:2]))
            if isinstance(key, Ed25519PublicKey):
                yield key


def open_envelope(data: Mapping[str, Any], name: str) -> Envelope:
    """Read an envelope from plain data. Raises ``BadBundle``."""
    try:
        sealed = Envelope.from_dict({**data, "signatures": [dict(s) for s in data["signatures"]]})
    except (KeyError, TypeError, ValueError, AttributeError, binascii.Error):
        raise BadBundle("is not a DSSE envelope", where=name) from None
    if sealed.payload_type != PAYLOAD_TYPE:
        raise BadBundle(f"has no payload of type {PAYLOAD_TYPE!r}", where=name)
    return sealed


def check(
    sealed: Envelope,
    enclosed: Iterable[Ed25519PublicKey],
    trusted: Sequence[Signer] | None,
    name: str,
) -> tuple[Signature, ...]:
    """Verify every signature and return their states, in order. Raises ``NotVerified``.

    A signature must fit a given key (``trusted``) or one in the bundle. The latter gives the
    fingerprint of the key, but does not show whose key it is. If keys are given, at least one
    signature must be of one of them that may sign now.
    """
    held = {fingerprint(key): key for key in enclosed}
    given = _by_fingerprint(trusted or ())
    found = tuple(_state(sealed, keyid, held, given, name) for keyid in sealed.signatures)
    if stripped := sorted(held.keys() - sealed.signatures.keys()):
        what = f"has no signature of {stripped[0]}, whose key is in the bundle: it was stripped"
        raise NotVerified(what, where=name)
    if trusted is not None and not found:
        raise NotVerified("is not signed, but a key was given", where=name)
    if trusted is not None and not any(one.state == TRUSTED for one in found):
        what = f"is signed by {_listed(found)}, and by none of the given keys"
        raise NotVerified(what, where=name)
    return found or (Signature(UNSIGNED),)


def refuse_fewer(
    signatures: Sequence[Signature],
    required: int,
    trusted: Sequence[Signer] | None,
    name: str,
) -> None:
    """Raise ``NotVerified`` for fewer signatures than required, naming the keys that are missing.

    Every signature is of another key. If keys were given, signatures of other keys do not count.
    """
    states = (UNKNOWN,) if trusted is None else (TRUSTED,)
    valid = [one for one in signatures if one.state in states]
    if len(valid) >= required:
        return
    fit = (signer for signer in trusted or () if not signer.unfit)
    absent = _by_fingerprint(fit).keys() - {one.fingerprint for one in valid}
    lacks = f"; it lacks the signature of {', '.join(sorted(absent))}" if absent else ""
    whose = "of the given keys" if trusted is not None else "of different keys"
    by = f" ({_listed(valid)})" if valid else ""
    what = f"has {len(valid)} signatures {whose}{by}, and {required} are required{lacks}"
    raise NotVerified(what, where=name)


def _by_fingerprint(trusted: Iterable[Signer]) -> dict[str, list[Signer]]:
    """The given lines of each key; a key may be in several."""
    found: dict[str, list[Signer]] = defaultdict(list)
    for signer in trusted:
        found[fingerprint(signer.key)].append(signer)
    return found


def _listed(signatures: Iterable[Signature]) -> str:
    return ", ".join(map(str, signatures))


def _state(
    sealed: Envelope,
    keyid: str,
    held: Mapping[str, Ed25519PublicKey],
    given: Mapping[str, Sequence[Signer]],
    name: str,
) -> Signature:
    """The state of one signature. Raises ``NotVerified`` for one that fits no key or content."""
    whose = f"the signature of {str(keyid)[:60]}"
    lines = given.get(keyid, ())
    key = lines[0].key if lines else held.get(keyid)
    if key is None:
        what = f"{whose} is of a key that is neither given nor in the bundle"
        raise NotVerified(what, where=name)
    alone = Envelope(sealed.payload, sealed.payload_type, {keyid: sealed.signatures[keyid]})
    try:
        alone.verify([_sslib(key)], 1)
    except VerificationError:
        raise NotVerified(f"{whose} does not fit the content", where=name) from None
    if fit := [line for line in lines if not line.unfit]:
        return Signature(TRUSTED, keyid, named(fit))
    return Signature(UNKNOWN, keyid, named(lines), lines[0].unfit if lines else "")
