"""Redaction of secrets, always; of host names, addresses and serial numbers on request. Pure.

A secret becomes ``[secret]`` wherever it occurs. A name or an address becomes a pseudonym, the same
one everywhere, that still has the form of a name or an address: redacted output can still be parsed
and judged::

    HF_TOKEN=hf_abc on mx07 (10.2.122.7)  ->  HF_TOKEN=[secret] on host007 (198.18.0.1)
"""

from __future__ import annotations

import ipaddress
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from railgauge.core.errors import BadInput
from railgauge.core.nodeset import expanded

MASK = "[secret]"

# Short values and numbers occur in outputs with other meanings: they are masked only beside their
# variable's name.
_LEAST_SECRET = 6
_MOST_RECURRING = 200  # characters
_MOST_CLEAN = 100_000  # of them
_FEW = 16
# Stands between the words of a command; it is white space to every expression.
_BETWEEN = "\x1f"

_WORDS = r"(?:password|passwd|passphrase|passcode|secret|token|credentials?)"
_KEYS = r"(?:api|access|private|secret|auth|account|encryption|signing)[_-]?key(?:[_-]?id)?"
_NAME_WORDS = rf"(?:{_WORDS}|{_KEYS})"
# Words that name a secret at the end of a longer name only: a table has a "key", a test a "pass".
_LAST_WORDS = r"(?:pass|pwd|auth|cookies?|key)"
# The working directory, InfiniBand's keys of partitions and memory, and words that end like one.
_HARMLESS = r"(?:OLDPWD|PWD|(?:\w*_)?[PRLQ]_?KEY|\w*(?:BYPASS|COMPASS))"
_SECRET_NAME = re.compile(
    rf"(?i)(?!{_HARMLESS}$)(?:(?:.*[_.-])?{_NAME_WORDS}|.*[a-z0-9][_.-]{_LAST_WORDS}"
    r"|(?-i:[A-Z][A-Z0-9_]*(?:PASS|PASSWD|PASSWORD|PWD|AUTH|COOKIE|KEY|TOKEN|SECRET)))"
)
# A field of the suite's own files that ends like the name of a secret is none.
_SECRET_FIELD = re.compile(rf"(?i)(?:.*[_.-])?{_NAME_WORDS}")

_QUOTED = r"""'[^'\n]{0,2000}'|"[^"\n]{0,2000}\""""
_VALUE = rf"""(?:{_QUOTED}|[^\s'",;&<>\\]+)"""
_NEW = r"(?!['\"]?\[secret\])"


@dataclass(frozen=True, slots=True)
class _Form:
    """What a kind of secret looks like: all of the match, or what follows its ``head``.

    One of ``hints`` is in every text that has one, in lower case: most texts have none, and looking
    for them costs a fraction of the expression.
    """

    kind: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    instead: str = rf"\g<head>{MASK}"


_FORMS: tuple[_Form, ...] = (
    _Form(
        "private key",
        ("private key", "age-secret-key-"),
        re.compile(
            r"-----BEGIN (?P<kind>[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?)-----.{0,20000}?"
            r"(?:-----END (?P=kind)-----|\Z)|AGE-SECRET-KEY-1[0-9A-Z]{20,100}",
            re.DOTALL,
        ),
        MASK,
    ),
    _Form(
        "cookie",
        ("cookie:",),
        re.compile(rf"(?i)(?P<head>\b(?:set-)?cookie:\s{{0,4}}){_NEW}[^\s'\"][^\n'\"\x1f]*"),
    ),
    _Form(
        "authorization",
        ("authorization",),
        re.compile(
            r"(?i)(?P<head>\b(?:proxy-)?authorization['\"]?\s?[:=]\s{0,4}['\"]?"
            rf"(?!\w{{1,10}}\s{{1,4}}\[secret\])"
            rf"(?:(?:bearer|basic|digest|token|apikey)\s{{1,4}})?){_NEW}[^\s'\"]{{6,}}"
        ),
    ),
    _Form(
        "secret variable",
        ("pass", "secret", "token", "cred", "key"),
        re.compile(rf"(?i)(?P<head>\b(?:\w{{1,80}}_)?{_NAME_WORDS}\s?=\s?){_NEW}{_VALUE}"),
    ),
    _Form(
        "secret variable",
        ("pass", "pwd", "auth", "cookie", "key", "token", "secret"),
        re.compile(
            rf"(?P<head>\b(?!(?i:{_HARMLESS})=)(?:[A-Z][A-Z0-9_]{{0,80}}"
            r"(?:PASS|PASSWD|PASSWORD|PWD|AUTH|COOKIE|KEY|TOKEN|SECRET)"
            r"|[A-Za-z]\w{0,80}_(?:pass|pwd|auth|cookie|key)"
            rf"|[A-Z][A-Za-z]{{0,40}}(?:Key|Pwd|Pass|Secret|Token|Cookie))=){_NEW}"
            rf"(?!0x|[\d.]+(?:[\s,;]|$)){_VALUE}"
        ),
    ),
    _Form(
        "secret field",
        ("pass", "secret", "token", "cred", "key"),
        re.compile(
            rf"""(?i)(?P<head>\b(?:[\w-]{{1,80}}[_-])?{_NAME_WORDS}\\?['"]?\s?:\s{{0,4}}\\?['"]?)"""
            rf"""{_NEW}(?=[^\s'",]*[A-Za-z][^\s'",]*)[^\s'",;&<>\\()]{{{_LEAST_SECRET},}}"""
        ),
    ),
    _Form(
        "secret element",
        ("password>", "secret>", "token>", "key>"),
        re.compile(rf"(?i)(?P<head><(?:\w{{1,40}}_)?{_NAME_WORDS}>){_NEW}[^<\n]{{1,400}}(?=</)"),
    ),
    _Form(
        "secret option",
        ("pass", "secret", "token", "cred", "key"),
        re.compile(
            r"(?i)(?P<head>(?<![\w-])--?(?:[a-z]{1,20}-){0,3}"
            rf"(?:{_NAME_WORDS}|pass(?:in|out)?)(?:[ \t\x1f]{{1,4}}|=)){_NEW}"
            rf"(?!-|[\d.]+(?:\s|$))(?:pass:)?{_VALUE}"
        ),
    ),
    _Form(
        "password option",
        ("sshpass", "mysql", "maria", "login", "ipmitool", "redis-cli", "ldap", "smbclient"),
        re.compile(
            r"(?P<head>\b(?:sshpass|mysql\w{0,10}|mariadb|ipmitool|redis-cli|ldap\w{1,10}|smbclient"
            r"|(?:docker|podman|nerdctl|oc|helm|crane|skopeo|az|oras)\s(?:\w{1,20}\s)?login)\b"
            rf"[^\n;|&]{{0,300}}?\s-[pPaw]\s?){_NEW}(?!-){_VALUE}"
        ),
    ),
    _Form(
        "password option",
        ("-p",),
        re.compile(
            rf"(?P<head>\s-p\s){_NEW}(?=\S{{0,80}}[a-z])(?=\S{{0,80}}[A-Z])(?=\S{{0,80}}\d)"
            r"[\w!@#$%^*+=]{8,}(?=[\s'\"]|$)"
        ),
    ),
    _Form(
        "user and password",
        ("-u", "user"),
        re.compile(
            r"(?P<head>(?<![\w-])(?:-u|-U|--user|--proxy-user)[ =\x1f]?['\"]?"
            r"[A-Za-z][\w.@\\-]{0,63}:)"
            rf"{_NEW}(?!\d{{1,5}}(?:\s|$)|//)[^\s'\"]+"
        ),
    ),
    _Form(
        "user and password",
        ("login",),
        re.compile(rf"(?P<head>\blogin\s{{1,8}}\S{{1,80}}\s{{1,8}}password\s{{1,8}}){_NEW}\S+"),
    ),
    _Form(
        "bearer token",
        ("bearer", "basic"),
        re.compile(r"(?i)\b(?P<head>(?:bearer|basic)\s+)(?=\S*[0-9])[A-Za-z0-9._~+/=-]{12,}"),
    ),
    _Form("access key", ("akia", "asia"), re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"), MASK),
    _Form(
        "access token",
        (
            *(
                "gh",
                "github_pat_",
                "glpat-",
                "hf_",
                "xox",
                "sk-",
                "sk_",
                "rk_",
                "eyj",
                "nvapi-",
                "pypi-",
                "npm_",
            ),
            *("aiza", "ya29.", "sg.", "dop_v1_", "dckr_", "hvs.", "dapi", "atlasv1", "hooks.slack"),
        ),
        re.compile(
            r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{30,}|gl(?:pat|ptt|dt)-[\w-]{18,}"
            r"|hf_[A-Za-z0-9]{30,}|xox[abeprs]-[\w-]{10,}|sk-[A-Za-z0-9_-]{20,}"
            r"|[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|nvapi-[\w-]{20,}|pypi-[\w-]{30,}"
            r"|npm_[A-Za-z0-9]{30,}|AIza[\w-]{30,}|ya29\.[\w-]{20,}|SG\.[\w-]{16,}\.[\w-]{16,}"
            r"|dop_v1_[0-9a-f]{40,}|dckr_pat_[\w-]{20,}|hvs\.[\w-]{20,}|dapi[0-9a-f]{32}"
            r"|\w{14}\.atlasv1\.[\w-]{40,}|(?<=hooks\.slack\.com/services/)[\w/]{20,}"
            r"|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{5,})"
        ),
        MASK,
    ),
    _Form(
        "password hash",
        ("$1$", "$2", "$5$", "$6$", "$y$", "$apr1$", "$argon2"),
        re.compile(r"\$(?:1|2[aby]|5|6|y|apr1|argon2\w{0,2})\$[./A-Za-z0-9$=,+]{20,}"),
        MASK,
    ),
    _Form(
        "signed address",
        ("sig=", "signature="),
        re.compile(rf"(?i)(?P<head>[?&](?:sig|(?:x-amz-)?signature)=){_NEW}[^\s&'\"<>]{{6,}}"),
    ),
    _Form(
        "URL userinfo",
        ("://",),
        re.compile(
            r"(?P<head>\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@'\"<>]{0,100}:)"
            rf"{_NEW}[^\s/@'\"<>]+(?=@)"
        ),
    ),
)


def is_secret_name(name: str) -> bool:
    """Return whether a variable of this name is a secret: ``HF_TOKEN``, ``DB_PASS``."""
    return bool(_SECRET_NAME.fullmatch(name))


def secret_values(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of variables whose names mark them as secrets, longest first."""
    values = {v for name, v in environment.items() if is_secret_name(name) and _telling(v)}
    return tuple(sorted(values, key=lambda value: (-len(value), value)))


def _telling(value: str) -> bool:
    return len(value) >= _LEAST_SECRET and not value.replace(".", "").isdecimal()


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
        if is_secret_name(name) and value:
            given = re.compile(rf"(\b{re.escape(name)}\b\W{{1,6}}?){re.escape(value)}")
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
        self._long: deque[str] = deque(maxlen=_FEW)  # outputs are masked where they come and go
        self.counts: Counter[str] = Counter()

    def text(self, text: str) -> str:
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
        lower = text.lower()
        for form in _FORMS:
            if any(hint in lower for hint in form.hints):
                text, count = form.pattern.subn(form.instead, text)
                self.counts[form.kind] += count
        if len(text) > _MOST_RECURRING:
            self._long.append(text)
        elif self.counts.total() == found:
            if len(self._clean) >= _MOST_CLEAN:
                self._clean.clear()
            self._clean.add(text)
        return text

    def data(self, data: Any) -> Any:
        """Return redacted plain data; a string is a secret if its key names one."""
        if isinstance(data, Mapping):
            return {self.text(key): self._entry(key, item) for key, item in data.items()}
        if isinstance(data, (list, tuple)):
            return [self.data(item) for item in data]
        return self.text(data) if isinstance(data, str) else data

    def _entry(self, key: str, item: Any) -> Any:
        if isinstance(item, str) and item and item != MASK and _SECRET_FIELD.fullmatch(key):
            self.counts["secret field"] += 1
            return MASK
        return self.data(item)


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
        return re.compile(rf"(?<![A-Za-z0-9])(?:{one_of})(?![A-Za-z0-9])")

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
    return result


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
    rf"(?<![\w.\]-])(?:[A-Za-z0-9][\w.-]{{0,200}}{_RANGE}[\w.-]{{0,200}}|{_RANGE}[\w.-]{{1,200}})"
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
