"""Files of known host keys, read as OpenSSH writes them (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT).

A line is ``NAMES TYPE KEY``: names are ``host`` or ``[host]:port``, by commas, or hashed
(``|1|SALT|HASH``). ``@revoked`` before it: the key is refused; its names may be patterns.
``@cert-authority``: a key that signs certificates. This and a line whose names are patterns make
no host known here; only the system's own ssh uses them.

A site's file has thousands of lines, and a run opens more than a thousand connections. A file is
therefore parsed once per process, and again when its bytes have changed; a line's key is decoded
when its host is looked up.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

import paramiko

from railgauge.core.errors import HostKeyRejected

_HASHED = "|1|"
_DIGEST_BYTES = 20
_FIELDS = 3
_PATTERN = frozenset(b"*?")
_REVOKED, _AUTHORITY = b"@revoked", b"@cert-authority"


@dataclass(frozen=True, slots=True)
class _Key:
    """The key of line ``number``: its type and its bytes, not decoded further."""

    number: int
    kind: str
    data: bytes

    def decoded(self) -> paramiko.PKey | None:
        """Return the key; ``None`` if it is damaged or of a type that no host can present here."""
        try:
            return paramiko.PKey.from_type_string(self.kind, self.data)
        except (paramiko.SSHException, paramiko.pkey.UnknownKeyType):
            return None

    def is_whole(self) -> bool:
        """Whether the bytes are exactly those of the key; true for unknown types."""
        try:
            found = paramiko.PKey.from_type_string(self.kind, self.data)
        except paramiko.pkey.UnknownKeyType:
            return True
        except paramiko.SSHException:
            return False
        return bool(found.asbytes() == self.data)


@dataclass(frozen=True, slots=True)
class _HashedName:
    salt: bytes
    digest: bytes

    def is_of(self, name: str) -> bool:
        found = hmac.digest(self.salt, name.encode("utf-8", "surrogateescape"), "sha1")
        return hmac.compare_digest(found, self.digest)


@dataclass(frozen=True, slots=True)
class KnownHosts:
    """The content of a file. ``text`` is the file itself; ``revoked`` are names and bytes of keys.

    ``beyond`` are the names of each line by which only OpenSSH knows hosts.
    """

    text: bytes = b""
    named: Mapping[str, tuple[_Key, ...]] = field(default_factory=dict)
    hashed: tuple[tuple[_HashedName, _Key], ...] = ()
    revoked: tuple[tuple[tuple[str, ...], bytes], ...] = ()
    beyond: tuple[tuple[str, ...], ...] = ()

    def keys(self, name: str) -> list[paramiko.PKey]:
        """Return the keys of a host in the order of the file. Raises ``ValueError``."""
        found = [*self.named.get(name, ()), *(key for by, key in self.hashed if by.is_of(name))]
        decoded = (key.decoded() for key in sorted(found, key=lambda key: key.number))
        return [key for key in decoded if key is not None]

    def revokes(self, name: str, key: paramiko.PKey) -> bool:
        """Whether a line revokes ``key`` for the host ``name``."""
        data = key.asbytes()
        return any(line == data and _is_one_of(name, names) for names, line in self.revoked)

    def leaves_to_ssh(self, name: str) -> bool:
        """Whether OpenSSH knows ``name`` by a line of an authority or by a pattern.

        ``[host]:port`` is looked up as ``host`` too, as OpenSSH does for certificates.
        """
        plain = name.removeprefix("[").partition("]:")[0]
        return any(_is_one_of(one, names) for names in self.beyond for one in (name, plain))


def _is_one_of(name: str, names: Iterable[str]) -> bool:
    """Whether one of ``names`` matches the host, and none with a ``!`` before it excludes it."""
    meant = [one for one in names if _means(one.removeprefix("!"), name)]
    return bool(meant) and not any(one.startswith("!") for one in meant)


def _means(text: str, name: str) -> bool:
    """Whether a name of a file, hashed or a pattern of ``*`` and ``?``, is that of a host."""
    if hashed := _hashed_name(text):
        return hashed.is_of(name)
    return fnmatchcase(name.lower(), text.lower().replace("[", "[[]"))


def _hashed_name(text: str) -> _HashedName | None:
    """Return the parts of a hashed name; ``None`` for any other text."""
    if not text.startswith(_HASHED):
        return None
    try:
        salt, digest = (base64.b64decode(part) for part in text[len(_HASHED) :].split("|"))
    except ValueError:
        return None
    return _HashedName(salt, digest) if len(salt) == len(digest) == _DIGEST_BYTES else None


# --- parsing ---


def parsed(text: bytes, before: KnownHosts | None = None) -> KnownHosts:
    """Parse a file; if it has only grown since ``before``, parse only its new lines.

    A line with fewer than three words is ignored. Raises ``ValueError`` for a key that is not
    base64, an unknown marker, and a revoked key that is damaged.
    """
    known = before if before and _has_grown(before.text, text) else KnownHosts()
    named: defaultdict[str, list[_Key]] = defaultdict(list)
    hashed, revoked = list(known.hashed), list(known.revoked)
    beyond = list(known.beyond)
    for number, words in _lines(text, len(known.text)):
        if words[0] == _AUTHORITY:
            beyond.append(tuple(_names(words[1:])) if len(words) > _FIELDS else ())
        elif words[0].startswith(b"@"):
            revoked.append(_revoked(number, words))
        elif len(words) >= _FIELDS:
            key = _key(number, words)
            if _PATTERN.intersection(words[0]):
                beyond.append(tuple(_names(words)))
            for name in dict.fromkeys(_names(words)):
                if found := _hashed_name(name):
                    hashed.append((found, key))
                else:
                    named[name].append(key)
    new = {name: (*known.named.get(name, ()), *keys) for name, keys in named.items()}
    lists = tuple(hashed), tuple(revoked), tuple(beyond)
    return KnownHosts(text, {**known.named, **new}, *lists)


def _has_grown(old: bytes, new: bytes) -> bool:
    return old.endswith(b"\n") and new.startswith(old)


def _lines(text: bytes, begin: int) -> Iterator[tuple[int, list[bytes]]]:
    """Yield the numbers and words of the lines from byte ``begin``, without empty and comments.

    Only a line feed ends a line: a carriage return in a comment does not begin a new one.
    """
    for number, line in enumerate(text[begin:].split(b"\n"), text.count(b"\n", 0, begin) + 1):
        words = line.split(None, _FIELDS + 1)
        if words and not words[0].startswith(b"#"):
            yield number, words


def _names(words: Sequence[bytes]) -> list[str]:
    return words[0].decode("utf-8", "surrogateescape").split(",")


def _key(number: int, words: Sequence[bytes]) -> _Key:
    try:
        data = binascii.a2b_base64(words[2])
    except binascii.Error as error:
        raise ValueError(f"line {number}: {error}") from error
    return _Key(number, words[1].decode("ascii", "replace"), data)


def _revoked(number: int, words: Sequence[bytes]) -> tuple[tuple[str, ...], bytes]:
    """Return the names and the key of a line with a marker.

    A line that is not understood is an error: it may revoke the key of the host.
    """
    if words[0] != _REVOKED or len(words) <= _FIELDS:
        raise ValueError(f"line {number}: {words[0][:40]!r} is not understood")
    key = _key(number, words[1:])
    if not key.is_whole():
        raise ValueError(f"line {number}: the revoked key is damaged")
    return tuple(_names(words[1:])), key.data


# --- reading ---

_read: dict[Path, KnownHosts] = {}
_reading = threading.Lock()


def read(path: Path, where: str) -> KnownHosts:
    """Return the current content of a file; empty if it does not exist.

    Raises ``HostKeyRejected`` with the node ``where`` for a file that cannot be read.
    """
    try:
        # The bytes are compared, not times and sizes, which may stay the same when a key changes.
        text = path.read_bytes()
        with _reading:
            known = _read.get(path)
            if known is None or known.text != text:
                known = _read[path] = parsed(text, known)
    except (FileNotFoundError, NotADirectoryError):
        return KnownHosts()
    except (OSError, ValueError) as error:
        raise HostKeyRejected(
            f"{path} cannot be read: {error}", where=where, remedy=f"mend or replace {path}"
        ) from error
    return known
