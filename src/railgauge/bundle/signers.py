"""The keys that a verifier gives: who may have signed, under which name, and until when.

A file is a public key (OpenSSH or PEM), or has the form ``ALLOWED SIGNERS`` of ssh-keygen(1), which
is read as ``ssh-keygen -Y verify`` reads it::

    night@site namespaces="railgauge",valid-before="20270101Z" ssh-ed25519 AAAA…

Nothing in a bundle proves when it was signed, so a key must be valid now, as it must be for
ssh-keygen. An option that this suite cannot check (``cert-authority``) is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from fnmatch import fnmatchcase
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from railgauge.core.errors import BadInput

NAMESPACE = "railgauge"
"""What ``namespaces`` of a line must allow; a bundle's signature holds no namespace itself."""

_MOST_BYTES = 2**16
_MAKE_ONE = "make one with: ssh-keygen -t ed25519"
_ED25519 = "ssh-ed25519"
# Keys of the other kinds sign no bundle; their lines are read and left out.
_KIND = re.compile(
    r"(sk-)?(ssh-(rsa|dss|ed25519)|ecdsa-sha2-nistp(256|384|521))(-cert-v01)?(@openssh\.com)?"
)
_OPTION = re.compile(r'([a-z-]+)(?:="((?:\\"|[^"\\]|\\(?!"))*)")?(?:,|$)', re.IGNORECASE)
_FORMS = {8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}


@dataclass(frozen=True, slots=True)
class Signer:
    """A key that may sign. ``name`` are the principals of its line, empty for a plain key.

    ``unfit`` is why a signature of it does not count, such as that the key has expired.
    """

    key: Ed25519PublicKey
    name: str = ""
    unfit: str = ""


def load(path: Path, now_s: float) -> list[Signer]:
    """Return the signers of a file at a time, in seconds since the epoch. Raises ``BadInput``."""
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", where=str(path)) from None
    if len(data) > _MOST_BYTES:
        raise BadInput(f"has more than {_MOST_BYTES} bytes", where=str(path))
    found = list(signers(data, now_s, str(path)))
    if not found:
        raise BadInput("holds no Ed25519 public key", where=str(path), remedy=_MAKE_ONE)
    return found


def signers(data: bytes, now_s: float, where: str = "") -> Iterator[Signer]:
    """Yield the signers in the content of a file. Raises ``BadInput``, naming the line."""
    if b"-----BEGIN" in data:
        if key := _pem(data):
            yield Signer(key)
        return
    for number, line in enumerate(data.decode("utf-8", "replace").split("\n"), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            try:
                found = _of_line(line, now_s)
            except ValueError as error:
                raise BadInput(f"line {number}: {error}", where=where) from None
            if found:
                yield found


def _pem(data: bytes) -> Ed25519PublicKey | None:
    try:
        key = serialization.load_pem_public_key(data)
    except (ValueError, UnsupportedAlgorithm):
        return None
    return key if isinstance(key, Ed25519PublicKey) else None


def _of_line(line: str, now_s: float) -> Signer | None:
    """The signer of a line; ``None`` for a key of another kind. Raises ``ValueError``."""
    first, rest = _field(line)
    if _is_kind(first):  # a .pub file, which has no names
        key = _key(first, rest)
        return Signer(key) if key else None
    name = first.strip('"')
    if first.startswith("@"):
        raise ValueError(f"{first} is a marker of known_hosts, which is not supported here")
    if not name or "=" in name or '"' in name or name.lower() == "cert-authority":
        raise ValueError(f"{first[:60]!r} is no name of a signer, which comes first in a line")
    second, after = _field(rest)
    options: Mapping[str, str] = {}
    if not _is_kind(second):
        options = _options(second)
        second, after = _field(after)
    key = _key(second, after)
    return Signer(key, name, _unfit(options, now_s)) if key else None


def _field(text: str) -> tuple[str, str]:
    """The first word of a text, in which quotes hold blanks together, and the rest."""
    text = text.lstrip()
    at, is_quoted = 0, False
    while at < len(text) and (is_quoted or not text[at].isspace()):
        is_escaped = text.startswith('\\"', at)
        is_quoted ^= text[at] == '"'
        at += 2 if is_escaped else 1
    if is_quoted or not at:
        raise ValueError("has an open quote" if is_quoted else "has no key")
    return text[:at], text[at:]


def _is_kind(word: str) -> bool:
    return bool(_KIND.fullmatch(word))


def _key(kind: str, rest: str) -> Ed25519PublicKey | None:
    if not _is_kind(kind):
        raise ValueError(f"{kind[:60]!r} is no kind of key")
    if kind != _ED25519:
        return None
    blob = rest.split(maxsplit=1)[:1]
    try:
        key = serialization.load_ssh_public_key(f"{kind} {''.join(blob)}".encode())
    except (ValueError, UnsupportedAlgorithm):
        raise ValueError("has no valid Ed25519 key") from None
    return key if isinstance(key, Ed25519PublicKey) else None


def _options(text: str) -> dict[str, str]:
    """The options of a line, by name. Raises ``ValueError`` for one that is not supported."""
    found: dict[str, str] = {}
    at = 0
    while at < len(text):
        match = _OPTION.match(text, at)
        if match is None or text.endswith(","):
            raise ValueError(f"{text[at : at + 60]!r} is no option of a signer")
        name, value = match[1].lower(), match[2]
        if name not in ("namespaces", "valid-after", "valid-before") or value is None:
            raise ValueError(f"{match[1]!r} is not supported: a bundle is signed with plain keys")
        if name in found:
            raise ValueError(f"{name} is given twice")
        found[name] = value.replace('\\"', '"')
        at = match.end()
    return found


def _unfit(options: Mapping[str, str], now_s: float) -> str:
    """Why a key with these options may not sign now; empty if it may. Raises ``ValueError``."""
    after, before = (options.get(name) for name in ("valid-after", "valid-before"))
    after_s, before_s = (_seconds(text) if text is not None else None for text in (after, before))
    if after_s is not None and before_s is not None and before_s <= after_s:
        raise ValueError("valid-before is not later than valid-after")
    if (allowed := options.get("namespaces")) is not None and not _matches(NAMESPACE, allowed):
        return f"is for the namespaces {allowed}, and not for {NAMESPACE}"
    if after_s is not None and now_s < after_s:
        return f"is valid only after {after}"
    if before_s is not None and now_s > before_s:
        return f"was valid only before {before}"
    return ""


def _seconds(text: str) -> float:
    """A time of ``valid-after`` and ``valid-before``: with Z in UTC, else in the local zone."""
    digits, is_utc = (text[:-1], True) if text.upper().endswith("Z") else (text, False)
    form = _FORMS.get(len(digits))
    try:
        if form is None or not (digits.isascii() and digits.isdigit()):
            raise ValueError
        moment = datetime.strptime(digits, form)
        seconds = (moment.replace(tzinfo=timezone.utc) if is_utc else moment).timestamp()
    except (ValueError, OverflowError, OSError):
        seconds = 0.0
    if seconds <= 0:
        raise ValueError(f"{text[:30]!r} is no time: write YYYYMMDDZ or YYYYMMDDHHMM[SS]Z")
    return seconds


def _matches(name: str, patterns: str) -> bool:
    """Whether a name is in a list of patterns of ``*`` and ``?``; ``!`` before one excludes."""
    found = False
    for pattern in patterns.split(","):
        if fnmatchcase(name, pattern.removeprefix("!").replace("[", "[[]")):
            if pattern.startswith("!"):
                return False
            found = True
    return found


def named(signers: Sequence[Signer]) -> str:
    """The names under which these lines give a key, each once."""
    return ", ".join(dict.fromkeys(signer.name for signer in signers if signer.name))
