"""Masks secrets in every text that is written or shown: one mask for the whole process.

No code passes a mask along: the writer of files (``run.store``) and the streams of the process
(``run.streams``) use ``MASK_OF_PROCESS``, so every new text is masked too. It masks every value
that is known to be secret, however a program quotes or encodes it, and every form of
``core.secret_forms``. A value is known by the name of its variable or field; what a form finds in
the hostfile or on the command line is known from then on::

    environment: {HF_TOKEN: hf_abc…}   setup: ["curl -su bmc:Pa55word …"]
"""

from __future__ import annotations

import base64
import json
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from railgauge.core.secret_forms import FORMS, MASK, PRIVATE_KEY, is_secret_field, is_secret_name

_DIGITS = b"0123456789"
_LEAST_KNOWN = 6  # characters; a shorter value is masked beside its name alone
_LEAST_LINE = 16  # of a value of several lines; a shorter one may be a word that outputs hold too
_LEAST_HINT = 3
_MOST_RECURRING = 200  # characters
_MOST_CLEAN = 100_000  # of them
_MOST_KEYS = 1024  # all files of a run have some hundred
_LINES = 3  # a value may stand below its name
_FEW = 16
_MOST_OF_SCRIPT = 4000  # characters: an argument with a script recurs in each command
_MOST_SCRIPTS = 1000
_BARE = frozenset((int, float, bool, type(None)))
_BETWEEN = "\x1f"  # the words of a command; it is white space to every expression
# A value like these would be masked in every output: places, numbers, words of settings.
_NOT_TELLING = re.compile(
    r"(?:~|/[a-z][a-z0-9_.-]{2,})/.*|[\d.,:+-]{1,11}|0x[0-9A-Fa-f]{1,8}"
    r"|(?i:passwords?|passwd|secrets?|tokens?|default|(?:en|dis)abled|required|optional)",
    re.DOTALL,
)
_WORD = re.compile(r"[A-Za-z]?[a-z]+")
_AROUND = "[](){}<>'\"`\\$=:;, \t"


class Mask:
    """Masks texts and plain data, and counts what it masks by kind."""

    def __init__(self) -> None:
        self._known: dict[str, re.Pattern[str]] = {}
        self._by_hint: dict[bytes, list[re.Pattern[str]]] = {}
        self._anywhere: list[re.Pattern[str]] = []  # known values without a hint
        self.counts: Counter[str] = Counter()
        self._forget()

    def _forget(self) -> None:
        # Keys and short texts recur thousands of times in the files of a run, lines in outputs.
        self._clean: set[str] = set()
        self._clean_lines: set[bytes] = set()
        self._harmless: set[str] = set()  # keys
        # An output is masked when it arrives, and again when it is stored.
        self._long: deque[str] = deque(maxlen=_FEW)
        self._scripts: set[str] = set()

    # --- known secrets ---

    def know(self, variables: Mapping[str, str]) -> None:
        """Mask the values of variables whose names say that they are secrets."""
        for name, value in variables.items():
            if is_secret_name(name):
                self._know(name, value.strip())

    def learn(self, data: object) -> None:
        """Mask from now on all secrets that plain data of the user shows by its fields or forms."""
        for name, text in _texts("", data):
            self.know({name: text})
            for value in _found(text) if self.text(text) != text else ():
                if _is_telling(value) and not _WORD.fullmatch(value):
                    self._know("", value)

    def learn_words(self, words: Iterable[str]) -> None:
        """Mask from now on all secrets that the words of a command line show."""
        self.learn(_BETWEEN.join(map(str, words)))

    def _know(self, name: str, value: str) -> None:
        if not value or MASK in value:
            return
        if not _is_telling(value):
            beside = rf"\b{re.escape(name)}\W{{1,40}}?"
            self._add(name, rf"(?P<head>{beside}){_written(value)}(?!\w)")
            return
        for one in (value, *(line for line in value.split("\n") if len(line) >= _LEAST_LINE)):
            self._add(one, f"(?P<head>){_written(one)}")
        for coded in _encoded(value):
            either = re.escape(coded).replace(r"\+", "[+-]").replace("/", "[/_]")
            self._add(coded, f"(?P<head>){either}")

    def _add(self, value: str, written: str) -> None:
        """Add the expression ``written`` for ``value``, whose longest run of letters is a hint."""
        if written in self._known:
            return
        pattern = self._known[written] = re.compile(written)
        hint = max(re.findall(rb"[a-z]+", _bare(value)), key=len, default=b"")
        is_hint = len(hint) >= _LEAST_HINT
        (self._by_hint.setdefault(hint, []) if is_hint else self._anywhere).append(pattern)
        self._forget()

    # --- texts ---

    def text(self, text: str) -> str:
        if text in self._clean or text in self._long:  # nearly all texts of a run
            return text
        masked = self._masked(text)
        if len(masked) > _MOST_RECURRING:
            self._long.append(masked)
        elif masked == text:
            _add_bounded(self._clean, (text,))
        return masked

    def _masked(self, text: str) -> str:
        for known in self._anywhere:
            text = self._without(text, known, "secret value")
        if b"private key" in (bare := _bare(text)):
            bare = _bare(text := self._without(text, PRIVATE_KEY, "private key"))
        kinds = bare.split(b"\n")
        new = set(kinds) - self._clean_lines
        if not (suspect := self._suspect(new) if new else new):
            return text
        lines, made, done = text.split("\n"), list[str](), 0
        for first, last in _windows(at for at, kind in enumerate(kinds) if kind in suspect):
            made += (*lines[done:first], self._recurring("\n".join(lines[first:last])))
            done = last
        return "\n".join((*made, *lines[done:]))

    def _suspect(self, new: set[bytes]) -> set[bytes]:
        """The lines that may have a secret; the others are not looked at again."""
        joined = b"\n".join(new)
        known = [hint for hint in self._by_hint if hint in joined]
        suspect = {line for line in new if any(hint in line for hint in known)} if known else set()
        named = _without_outcomes(joined)
        if hints := [hint for hint in _FIRST_HINTS if hint in named]:
            suspect |= {
                line for line in new if any(hint in _without_outcomes(line) for hint in hints)
            }
        _add_bounded(
            self._clean_lines, (one for one in new - suspect if len(one) <= _MOST_RECURRING)
        )
        return suspect

    def _recurring(self, lines: str) -> str:
        """The lines with all secrets masked; reports have the same ones for many items."""
        if lines in self._clean or lines in self._scripts:
            return lines
        masked = self._looked_at(lines)
        if masked == lines and len(lines) <= _MOST_RECURRING:
            _add_bounded(self._clean, (lines,))
        elif masked == lines and len(lines) <= _MOST_OF_SCRIPT:
            _add_bounded(self._scripts, (lines,), _MOST_SCRIPTS)
        return masked

    def _looked_at(self, lines: str) -> str:
        """The lines with all secrets masked, known ones first: a form may see a part of one."""
        bare = _bare(lines)
        for hint, patterns in self._by_hint.items():
            for known in patterns if hint in bare else ():
                lines = self._without(lines, known, "secret value")
        bare = _without_outcomes(bare)
        for form, hints, beside in _FORMS:
            if any(one in bare for one in beside) and any(one in bare for one in hints):
                lines = self._without(lines, form.pattern, form.kind)
        return lines

    def _without(self, text: str, pattern: re.Pattern[str], kind: str) -> str:
        def instead(match: re.Match[str]) -> str:
            if _is_masked(match):
                return match[0]
            self.counts[kind] += 1
            return f"{match['head']}{MASK}"

        return pattern.sub(instead, text)

    def environment(self, variables: Mapping[str, str]) -> dict[str, str]:
        """Return variables with the values of secret ones masked, whatever these are."""
        return {n: MASK if is_secret_name(n) else self.data(v) for n, v in variables.items()}

    def words(self, argv: Sequence[str]) -> tuple[str, ...]:
        """Return the arguments of a command, masked as the line that they are.

        Each word stays one: of ``--token abc`` the second is masked, of ``API_KEY=a b`` the value.
        """
        words = [assignment(word) for word in argv]
        masked = self.text(_BETWEEN.join(words)).split(_BETWEEN)
        if len(masked) != len(words):  # a secret of several words
            return tuple(word if word in masked else MASK for word in words)
        # If a form matched the first part of a word with blanks, all of the word is masked.
        return tuple(MASK if one.startswith(f"{MASK} ") else one for one in masked)

    # --- plain data ---

    def data(self, data: Any) -> Any:
        """Return masked plain data; a string is a secret if its key names one."""
        kind = type(data)
        if kind is str:
            return self.text(data)
        if kind in _BARE:
            return data
        if isinstance(data, Mapping):
            return self._fields(data)
        if isinstance(data, (list, tuple)):
            return [self.data(item) for item in data]
        return self.text(data) if isinstance(data, str) else data

    def _fields(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return masked fields; records have the same ones, nearly all with known texts."""
        made: dict[str, Any] = {}
        for key, item in data.items():
            if key in self._harmless:
                kind = type(item)
                known = kind in _BARE or (kind is str and item in self._clean)
                made[key] = item if known else self.data(item)
                continue
            name, is_secret = self.text(key), _is_field(key)
            is_masked = is_secret and isinstance(item, str) and item not in ("", MASK)
            self.counts["secret field"] += is_masked
            made[name] = MASK if is_masked else self.data(item)
            if name == key and not is_secret and len(self._harmless) < _MOST_KEYS:
                self._harmless.add(name)
        return made


def assignment(word: str) -> str:
    """Return ``HF_TOKEN=abc`` with its value masked, and any other word unchanged."""
    name, equals, value = word.partition("=")
    return f"{name}={MASK}" if equals and value and is_secret_name(name) else word


_is_field = lru_cache(_MOST_KEYS)(is_secret_field)


def _add_bounded(held: set[Any], new: Iterable[Any], most: int = _MOST_CLEAN) -> None:
    if len(held) >= most:
        held.clear()
    held.update(new)


def _bare(text: str) -> bytes:
    """The text in lower case and without digits: rows and counters are alike in it."""
    return text.lower().encode("utf-8", "surrogatepass").translate(None, _DIGITS)


def _without_outcomes(bare: bytes) -> bytes:
    """The text without the word ``passed``, which most rows of a report have, and no secret's name.

    As part of a longer word, such as ``passedword``, it stays.
    """
    return _PASSED.sub(b" ", bare) if b"passed" in bare else bare


def _windows(suspect: Iterable[int]) -> Iterator[tuple[int, int]]:
    """The first line of each block to search, and the line after its last one."""
    first = last = 0
    for at in suspect:
        if at > last:
            if last:
                yield first, last
            first = at
        last = at + _LINES
    if last:
        yield first, last


def _is_masked(match: re.Match[str]) -> bool:
    """Whether the match is only a mask; the head may have matched the mask's bracket."""
    value = f"{match['head'][-1:]}{match[0][len(match['head']) :]}"
    return MASK in value and value.strip(_AROUND) == MASK.strip(_AROUND)


def _is_telling(value: str) -> bool:
    """Whether a value is a secret wherever it occurs."""
    return len(value) >= _LEAST_KNOWN and not _NOT_TELLING.fullmatch(value)


def _texts(name: str, data: object) -> Iterator[tuple[str, str]]:
    """All texts of plain data, each with the name of its field."""
    if isinstance(data, str):
        yield name, data
    elif isinstance(data, Mapping):
        for key, value in data.items():
            yield from _texts(str(key), value)
    elif isinstance(data, (list, tuple)):
        yield "", _BETWEEN.join(one for one in data if isinstance(one, str))  # of a command
        for each in data:
            yield from _texts(name, each)


def _found(text: str) -> Iterator[str]:
    """The values that the forms find in a text."""
    for form in FORMS:
        for match in form.pattern.finditer(text):
            if not _is_masked(match):
                yield match[0][len(match["head"]) :].removeprefix("pass:").strip("'\"\\ ")
        text = form.pattern.sub(rf"\g<head>{MASK}", text)


def _encoded(value: str) -> Iterator[str]:
    """The base64 of a value within any text: the characters that depend on the value alone."""
    data = value.encode("utf-8", "surrogatepass")
    for before in range(3):
        coded = base64.b64encode(bytes(before) + data).decode()
        yield coded[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]


def _written(value: str) -> str:
    """An expression for a value as shells, documents, pages and addresses write it."""
    return "".join(map(_character, re.findall(r"\s+|[A-Za-z0-9_]+|.", value)))


def _character(one: str) -> str:
    if one.isspace():
        return r"(?:\s|\\+[nrt]|\+|%(?:25){0,3}(?:20|0[AaDd])|&#1[03];)+"
    if re.fullmatch(r"\w+", one, re.ASCII):
        return one
    in_page = rf"&#0{{0,4}}{ord(one)};|&#[xX]0{{0,4}}{ord(one):x};"
    data = one.encode("utf-8", "surrogatepass")
    in_address = "".join(f"%(?:25){{0,3}}{byte:02x}" for byte in data)
    in_json = re.escape(json.dumps(one)[1:-1].replace("\\u", "u").lstrip("\\")) or r"\\"
    ways = [re.escape(one), *_NAMED.get(one, ()), in_page, f"(?i:{in_address}|{in_json})"]
    return rf"\\{{0,8}}(?:{'|'.join(ways)})"


_NAMED = {
    "&": ["&amp;"], "<": ["&lt;"], ">": ["&gt;"], '"': ["&quot;"],
    "'": [r"'\\''", "''", r"'\"'\"'"],
}  # fmt: skip
_PASSED = re.compile(rb"\bpassed\b")
_FORMS = tuple(
    (f, tuple(map(str.encode, f.hints)), tuple(map(str.encode, f.beside))) for f in FORMS
)
_HINTS = {hint for _, hints, _ in _FORMS for hint in hints}
# A line without the shortest of hints that are alike has none of them.
_FIRST_HINTS = tuple(h for h in _HINTS if not any(o != h and o in h for o in _HINTS))

MASK_OF_PROCESS = Mask()
