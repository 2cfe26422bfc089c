"""Redaction of secrets, always; of host names, addresses and serial numbers on request. Pure.

A secret becomes ``[secret]`` wherever it occurs. A name or an address becomes a pseudonym, the same
one everywhere, that still has the form of a name or an address: redacted output can still be parsed
and judged::

    HF_TOKEN=hf_abc on mx07 (10.2.122.7)  ->  HF_TOKEN=[secret] on host007 (198.18.0.1)
"""

from __future__ import annotations

import base64
import html
import ipaddress
import json
import re
import urllib.parse
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property, lru_cache
from typing import Any

from railgauge.core.errors import BadInput
from railgauge.core.node_names import spellings
from railgauge.core.nodeset import expanded
from railgauge.core.secret_forms import LEAST_SECRET, MASK, SECRET_FIELD, is_secret_name
from railgauge.core.secret_writings import FORMS

# A line of a key is longer; a shorter one may be a word that outputs hold too.
_LEAST_LINE = 16
_SHELL_ESCAPED = re.compile(r'["\\$`]')
_MOST_RECURRING = 200  # characters
_MOST_CLEAN = 100_000  # of them
_MOST_LINES = 20_000
_MOST_KEYS = 1024  # all files of a run have some hundred
_FEW = 16
_HINTS = frozenset(hint for form in FORMS for hint in (*form.hints, *form.beside))
_SHORTEST = [hint for hint in _HINTS if not any(one != hint and one in hint for one in _HINTS)]
# Hints with "key" in them need not be searched for in a text without "key".
_WITH = {short: [hint for hint in _HINTS if short in hint] for short in _SHORTEST}
_DIGITS = "0123456789"
_OF_ROWS = f"{_DIGITS}. \t"  # of which no hint consists
_BEFORE_DIGITS = tuple({hint.rstrip(_DIGITS) for hint in _HINTS if hint[-1] in _DIGITS})
_BARE = frozenset((int, float, bool, type(None)))
# Stands between the words of a command; it is white space to every expression.
_BETWEEN = "\x1f"


def secret_values(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of variables whose names mark them as secrets, longest first.

    Each also as programs write it: quoted, as part of an address, in base64, line by line.
    """
    named = {v for name, v in environment.items() if is_secret_name(name) and _telling(v)}
    values = {form for value in named for form in _written(value)}
    return tuple(sorted(values, key=lambda value: (-len(value), value)))


def _written(value: str) -> set[str]:
    data = value.encode("utf-8", "surrogatepass")
    quoted = [
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        value.replace("'", r"'\''"),  # set -x
        value.replace("'", "''"),  # YAML
        _SHELL_ESCAPED.sub(r"\\\g<0>", value),  # export -p
        html.escape(value),
        urllib.parse.quote(data, safe=""),
        urllib.parse.quote(data),
        base64.b64encode(data).decode().rstrip("="),
    ]
    lines = [line for line in value.split("\n") if len(line) >= _LEAST_LINE]
    return {value, *quoted, *lines}


def _telling(value: str) -> bool:
    return len(value) >= LEAST_SECRET and not value.replace(".", "").isdecimal()


def mask_values(text: str, values: Iterable[str]) -> str:
    for value in values:
        text = text.replace(value, MASK)
    return text


def mask_assignment(word: str) -> str:
    """Return ``HF_TOKEN=abc`` with its value masked, and any other word unchanged."""
    name, equals, value = word.partition("=")
    return f"{name}={MASK}" if equals and value and is_secret_name(name) else word


def mask_environment(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: MASK if is_secret_name(name) else v for name, v in environment.items()}


def mask_named(text: str, environment: Mapping[str, str]) -> str:
    """Return the text of a file that assigns variables (``NAME: value``), with secrets masked."""
    for name, value in environment.items():
        if is_secret_name(name) and value.strip():
            forms = sorted(_written(value), key=len, reverse=True)
            # YAML folds and indents a text of several lines.
            either = "|".join(r"\s+".join(map(re.escape, form.split())) for form in forms)
            given = re.compile(rf"(\b{re.escape(name)}\b\W{{1,40}}?)(?:{either})")
            text = given.sub(rf"\g<1>{MASK}", text)
    return mask_values(text, secret_values(environment))


def in_strings(data: Any, change: Callable[[str], str]) -> Any:
    """Return plain data with ``change`` applied to every string, keys included."""
    if isinstance(data, str):
        return change(data)
    if isinstance(data, Mapping):
        return {change(key): in_strings(item, change) for key, item in data.items()}
    return [in_strings(item, change) for item in data] if isinstance(data, (list, tuple)) else data


class Redactor:
    """Redacts text and plain data, and counts the replacements by kind."""

    def __init__(self, pseudonyms: Pseudonyms | None = None, values: Iterable[str] = ()) -> None:
        self._pseudonyms = pseudonyms
        self._values = tuple(values)
        # Keys and short values recur thousands of times in the files of a run.
        self._clean: set[str] = set()
        self._known: AbstractSet[str] = self._clean if pseudonyms is None else frozenset()
        self._harmless: set[str] = set()  # keys
        self._unhinted: set[str] = set()  # lines
        self._long: deque[str] = deque(maxlen=_FEW)  # outputs are masked where they come and go
        self.counts: Counter[str] = Counter()

    def text(self, text: str) -> str:
        if text in self._clean and self._pseudonyms is None:  # nearly all texts of a run
            return text
        if text not in self._clean and text not in self._long:
            text = self._without_secrets(text)
        return self._pseudonyms.text(text, self.counts) if self._pseudonyms else text

    def words(self, argv: Sequence[str]) -> tuple[str, ...]:
        """Return the arguments of a command, redacted as the line that they are.

        Each word stays one: of ``--token abc`` the second is masked, of ``API_KEY=a b`` the value.
        """
        words = [mask_assignment(word) for word in argv]
        masked = self.text(_BETWEEN.join(words)).split(_BETWEEN)
        if len(masked) != len(words):  # a secret of several words
            return tuple(word if word in masked else MASK for word in words)
        return tuple(masked)

    def _without_secrets(self, text: str) -> str:
        found = self.counts.total()
        for value in self._values:
            if value in text:
                self.counts["secret value"] += text.count(value)
                text = text.replace(value, MASK)
        hints = self._hints_in(text)
        for form in FORMS if hints else ():
            if form.may_be_in(hints):
                text, count = form.pattern.subn(form.instead, text)
                self.counts[form.kind] += count
        if len(text) > _MOST_RECURRING:
            self._long.append(text)
        elif self.counts.total() == found:
            if len(self._clean) >= _MOST_CLEAN:
                self._clean.clear()
            self._clean.add(text)
        return text

    def _hints_in(self, text: str) -> set[str]:
        """The hints in a text. No hint has a line end, and most lines of outputs recur.

        Lines of counters recur but for the number at their end. Rows of numbers alone have none.
        """
        if len(text) <= _MOST_RECURRING:
            return _hints_of(text)
        lines = text.replace(_BETWEEN, "\n").split("\n")
        new = [
            line
            for line in lines
            if line.strip(_OF_ROWS) and line.rstrip(_DIGITS) not in self._unhinted
        ]
        hints = _hints_of("\n".join(new))
        if len(self._unhinted) >= _MOST_LINES:
            self._unhinted.clear()
        self._unhinted.update(
            line.rstrip(_DIGITS)
            for line in new
            if len(line) <= _MOST_RECURRING and not _may_have(line, hints)
        )
        return hints

    def data(self, data: Any) -> Any:
        """Return redacted plain data; a string is a secret if its key names one."""
        kind = type(data)
        if kind is str:
            return self.text(data)
        if kind in _BARE:
            return data
        if kind is dict or isinstance(data, Mapping):
            return self._fields(data)
        if isinstance(data, (list, tuple)):
            return [self.data(item) for item in data]
        return self.text(data) if isinstance(data, str) else data

    def _fields(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return redacted fields; records have the same ones, nearly all with known texts."""
        made: dict[str, Any] = {}
        for key, item in data.items():
            if key in self._harmless:
                kind = type(item)
                known = kind in _BARE or (kind is str and item in self._known)
                made[key] = item if known else self.data(item)
            else:
                made[name := self.text(key)] = self._entry(key, item)
                few = len(self._harmless) < _MOST_KEYS
                if few and name in self._known and not _is_secret_field(name):
                    self._harmless.add(name)
        return made

    def _entry(self, key: str, item: Any) -> Any:
        if isinstance(item, str) and item and item != MASK and _is_secret_field(key):
            self.counts["secret field"] += 1
            return MASK
        return self.data(item)


def _may_have(line: str, hints: Iterable[str]) -> bool:
    """Whether a line has one of the hints, or would have one with another number at its end."""
    folded = line.casefold()
    return any(hint in folded for hint in hints) or folded.rstrip(_DIGITS).endswith(_BEFORE_DIGITS)


def _hints_of(text: str) -> set[str]:
    folded = text.casefold()
    maybe = [longer for short, longer in _WITH.items() if short in folded]
    return {hint for longer in maybe for hint in longer if hint in folded}


@lru_cache(_MOST_KEYS)
def _is_secret_field(key: str) -> bool:
    return bool(SECRET_FIELD.fullmatch(key))


class Pseudonyms:
    """One pseudonym for each host name, numbered in sorted order, and for each address found.

    ``hosts`` are names as they occur in files. The pseudonym of a long name (``mx01.example.org``)
    begins with that of its short name (``mx01``), if both are given. ``serials`` are serial numbers
    and UUIDs, and each is replaced by one of its own form. ``versions`` are versions of software
    that look like IPv4 addresses (``2.32.0.6``) and stay.
    """

    def __init__(
        self,
        hosts: Iterable[str] | None = None,
        *,
        addresses: bool = False,
        serials: Iterable[str] = (),
        versions: Iterable[str] = (),
    ) -> None:
        self._versions = frozenset(versions)
        self._serials = _serial_numbers(serials)
        self._names = self._serials | _host_names(hosts or ())
        self._addresses = addresses
        self._known: dict[str, str] = {}
        self._numbers: Counter[str] = Counter()

    def text(self, text: str, counts: Counter[str]) -> str:
        if self._names:
            text = _SET.sub(lambda match: self._set(match[0], counts), text)
            text = self._name_pattern.sub(lambda match: self._named(match[0], counts), text)
        if self._addresses:
            text, count = _ADDRESS.subn(self._address, text)
            counts["address"] += count
        return text

    def _named(self, word: str, counts: Counter[str]) -> str:
        counts["serial number" if word in self._serials else "host name"] += 1
        return self._names[word]

    def know(self, words: Mapping[str, str]) -> None:
        """Add words with their replacements, which must already be made of pseudonyms."""
        self._names |= words
        self.__dict__.pop("_name_pattern", None)

    @cached_property
    def _name_pattern(self) -> re.Pattern[str]:
        """All names, longest first, where no letter or digit is next to them."""
        names = sorted(self._names, key=lambda name: (-len(name), name))
        one_of = "|".join(map(re.escape, names))
        return re.compile(rf"(?<![^\W_])(?:{one_of})(?![^\W_])")

    def _set(self, text: str, counts: Counter[str]) -> str:
        """Replace a folded node set such as ``mx[01-16]`` if all of its hosts are known."""
        names = _expanded(text)
        if not names or not all(name in self._names for name in names):
            return text
        counts["host name"] += len(names)
        return _folded(self._names[name] for name in names)

    def _address(self, match: re.Match[str]) -> str:
        found = match[0]
        kind = match.lastgroup or ""
        if not _is_address(kind, found) or (kind == "ipv4" and found in self._versions):
            return found
        if found not in self._known:
            self._numbers[kind] += 1
            self._known[found] = _ADDRESSES[kind](self._numbers[kind])
        return self._known[found]


def _host_names(hosts: Iterable[str]) -> dict[str, str]:
    named = sorted({host for host in hosts if host and not _is_ip(host) and host != "localhost"})
    short = [host for host in named if host.partition(".")[0] == host]
    width = max(3, len(str(len(named))))
    result = {host: f"host{number:0{width}}" for number, host in enumerate(short, 1)}
    for number, host in enumerate((host for host in named if host not in result), len(short) + 1):
        first = host.partition(".")[0]
        result[host] = f"{result.get(first, f'host{number:0{width}}')}.example"
    return {spelled: given for host, given in result.items() for spelled in spellings(host)}


_UUID = re.compile(r"(.*?)[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_CHIP = re.compile(r"0x[0-9A-Fa-f]{16}")


def _serial_numbers(serials: Iterable[str]) -> dict[str, str]:
    return {serial: _alike(serial, number) for number, serial in enumerate(sorted(set(serials)), 1)}


def _alike(serial: str, number: int) -> str:
    """A made-up serial number, or a UUID if it is one."""
    if match := _UUID.fullmatch(serial):
        return f"{match[1]}00000000-0000-4000-8000-{number:012x}"
    return f"0x{number:016x}" if _CHIP.fullmatch(serial) else f"SERIAL{number:06}"


# Node sets in ClusterShell's notation. Brackets alone are not a name, and are common in logs.
_RANGE = r"\[\d[\d,-]{0,30000}\]"
_SET = re.compile(
    rf"(?<![\w.\]-])(?:[^\W_][\w.-]{{0,200}}{_RANGE}[\w.-]{{0,200}}|{_RANGE}[\w.-]{{1,200}})"
)
_MOST_HOSTS = 4096


def _expanded(text: str) -> list[str]:
    try:
        return list(expanded(text, _MOST_HOSTS))
    except BadInput:
        return []


def _folded(names: Iterable[str]) -> str:
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet  # noqa: PLC0415

    return str(NodeSet.fromlist(list(names), resolver=RESOLVER_NOGROUP))


def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


# GIDs in decimals as perftest prints them, MAC addresses, IPv6 and GIDs in hexadecimals, GUIDs.
_ADDRESS = re.compile(
    r"(?<![\w:.])(?:"
    r"(?P<decimal_gid>\d{1,3}(?::\d{1,3}){15})"
    r"|(?P<mac>[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5})"
    r"|(?P<ipv6>(?:[0-9a-fA-F]{0,4}:){2,7}[0-9a-fA-F]{0,4})"
    r"|(?P<guid>0x[0-9a-f]{16})"
    r")(?![\w:]|\.\d)"
    r"|(?<![\w.])(?P<ipv4>\d{1,3}(?:\.\d{1,3}){3})(?!\w|\.\d)"  # a port may follow
)
# Reserved ranges: RFC 2544 (IPv4), RFC 3849 (IPv6), and locally administered MAC addresses (02:).
_ADDRESSES: Mapping[str, Callable[[int], str]] = {
    "ipv4": lambda n: f"198.{18 + n // 65536}.{n // 256 % 256}.{n % 256}",
    "ipv6": lambda n: f"2001:0db8:0000:0000:0000:0000:{n // 65536:04x}:{n % 65536:04x}",
    "mac": lambda n: f"02:00:00:{n // 65536 % 256:02x}:{n // 256 % 256:02x}:{n % 256:02x}",
    "decimal_gid": lambda n: "32:01:13:184:" + "00:" * 10 + f"{n // 256 % 256:02}:{n % 256:02}",
    "guid": lambda n: f"0x{n:016x}",
}


def _is_address(kind: str, text: str) -> bool:
    """Return whether it is an address that identifies a site: not loopback, not multicast."""
    if kind not in ("ipv4", "ipv6"):
        return True
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return text not in _NOBODYS and not (address.is_unspecified or address.is_multicast)


_NOBODYS = ("127.0.0.1", "::1", "0000:0000:0000:0000:0000:0000:0000:0001")
