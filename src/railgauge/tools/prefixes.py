"""Removal of what launchers, logs and mails put before every line of a tool's output.

::

    >>> without_prefixes("0: #bytes\n0: 65536\n")
    '#bytes\n65536\n'
    >>> without_prefixes("0: #bytes\n65536\n")
    '0: #bytes\n65536\n'

A prefix is removed if most lines have it and every line that could be a row has it: a row without
it has another origin, and must not be read under the heading of this table. Lines of different
ranks, nodes or containers, which a launcher mixes, are sorted by origin, so that the rows of two
tables are never read as those of one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

_MOST_LAYERS = 4
# A prefix is shorter; only this much of a line is looked at.
_LONGEST_PREFIX = 400


@dataclass(frozen=True, slots=True)
class Prefix:
    """One form of prefix; the group ``who`` is the rank, node or container, if it names one.

    ``is_weak``: it is little more than a word and a colon, which may also be a label of a value; it
    counts only above lines that must be a table. ``is_time``: it is the time of the line, which a
    kernel's log has by itself.
    """

    name: str
    pattern: re.Pattern[str]
    is_weak: bool = False
    is_time: bool = False


def _form(name: str, pattern: str, *, is_weak: bool = False, is_time: bool = False) -> Prefix:
    return Prefix(name, re.compile(pattern, re.ASCII), is_weak, is_time)


_CLOCK = r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,9})?"
_ISO = rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}[T ]{_CLOCK}(?:Z| ?[+-][0-9:]{{2,6}})?"
_DAY = r"[A-Z][a-z]{2} [ 0-9]?[0-9]"
_LEVEL = r"(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL)"
# The blank behind a prefix may be gone where nothing follows it.
_GAP = r"(?:[ \t]|$)"
_STREAM = r"<std(?:out|err|diag)>"
# The order matters: of two forms that fit a line, the first one counts.
FORMS = (
    _form(
        "Open MPI",
        rf"\[(?P<who>(?:[\w.\-]{{1,120}}@)?[0-9]{{1,6}},[0-9]{{1,6}})\](?:{_STREAM})?:{_GAP}?",
    ),
    _form("stream", rf"{_STREAM}:{_GAP}?"),
    _form("file", r"(?P<who>[\w./\-]{1,200}\.(?:out|log|txt|err)):(?:[0-9]{1,9}:)?"),
    _form(
        "worker",
        rf"\((?P<who>[\w.\-]{{1,80}} pid=[0-9]{{1,10}}(?:, ip=[0-9a-fA-F.:]{{2,45}})?)\){_GAP}"
        rf"(?!{_LEVEL} )",
    ),
    _form("pod", rf"\[(?P<who>pod/[\w.\-/]{{1,300}})\]{_GAP}"),
    _form("container stream", rf"std(?:out|err) [FP]{_GAP}"),
    _form(
        "syslog with version",
        rf"<[0-9]{{1,3}}>1 {_ISO} (?P<who>\S{{1,100}} \S{{1,60}} \S{{1,60}}) \S{{1,40}} "
        rf"(?:-|\[[^\]\n]{{0,200}}\]){_GAP}",
        is_time=True,
    ),
    _form(
        "syslog",
        rf"(?:<[0-9]{{1,3}}>)?{_DAY} {_CLOCK} "
        rf"(?P<who>[\w.\-]{{1,100}} [^\s:\[]{{1,60}}(?:\[[0-9]{{1,10}}\])?):{_GAP}",
        is_time=True,
    ),
    _form(
        "loguru",
        rf"{_ISO} \| {_LEVEL} {{1,8}}\| [\w.]{{1,80}}:[\w<>]{{1,80}}:[0-9]{{1,6}} -{_GAP}",
        is_time=True,
    ),
    _form(
        "glog",
        rf"[IWEF][0-9]{{4}} {_CLOCK} {{1,6}}[0-9]{{1,10}} [\w.\-]{{1,80}}:[0-9]{{1,6}}\]{_GAP}",
        is_time=True,
    ),
    _form("time", rf"\[{_ISO}\]{_GAP}|{_ISO}{_GAP}|\[{_CLOCK}\]{_GAP}|{_CLOCK}{_GAP}",
          is_time=True),
    _form("date", rf"\[[A-Z][a-z]{{2}} {_DAY} {_CLOCK} [0-9]{{4}}\]{_GAP}"
          rf"|[A-Z][a-z]{{2}} {_DAY} {_CLOCK} [0-9]{{4}}(?:{_GAP}|(?=[\[<]))", is_time=True),
    _form("month and time", rf"{_DAY} {_CLOCK}{_GAP}", is_time=True),
    _form("journal", rf"(?P<who>[\w.\-]{{1,100}} [\w./\-]{{1,60}}\[[0-9]{{1,10}}\]):{_GAP}"),
    _form(
        "serving log",
        rf"(?:\([\w ]{{1,40}} pid=[0-9]{{1,10}}\) )?{_LEVEL} [0-9]{{2}}-[0-9]{{2}} {_CLOCK} "
        rf"\[[\w./]{{1,80}}:[0-9]{{1,6}}\]{_GAP}",
        is_time=True,
    ),
    _form("logger", rf"{_LEVEL}:[\w.]{{1,80}}:"),
    _form(
        "level",
        rf"(?:- [\w.]{{1,80}} )?(?:- )?\[?{_LEVEL}\]?(?: {{1,8}}-| {{0,8}}:)?{_GAP}"
        rf"(?![ \t]{{0,8}}nhc:)",  # Azure's checks begin a line with ERROR or SUCCESS themselves
        is_weak=True,
    ),
    _form("task", rf" {{0,6}}(?P<who>[0-9]{{1,6}}):{_GAP}", is_weak=True),
    _form("rank", rf"\[(?P<who>[0-9]{{1,6}})\]{_GAP}", is_weak=True),
    _form(
        "bracketed name",
        rf"\[(?![A-Z]{{1,20}}\])(?P<who>(?:[0-9]{{1,6}}@)?[A-Za-z][\w.\-]{{0,120}})\](?:{_GAP}|:{_GAP}?)",
        is_weak=True,
    ),
    _form("quote", rf" {{0,3}}>(?:{_GAP}|(?=>))", is_weak=True),
    _form("service", rf"(?P<who>[\w.\-@]{{1,120}}) {{0,60}}\|{_GAP}", is_weak=True),
    _form("node", rf"(?![A-Z]{{1,20}}:)(?P<who>[A-Za-z0-9][\w.\-]{{0,120}}):{_GAP}", is_weak=True),
)  # fmt: skip
_WITHOUT_TIMES = tuple(form for form in FORMS if not form.is_time)
# How a line of a table begins or ends; a message begins with a word, and has colons.
_OF_TABLE = re.compile(r"[ \t]{1,200}\S|[#>|+=\-{\[*0-9]|[^:\n]{1,200}[ \t][0-9.]{1,20}\s{0,20}$")
_JSON = re.compile(r"[>\s]{0,8}[{\[]\s{0,20}[{\[\"]")
_ROW = re.compile(r"[\s#|>\[]{0,60}[0-9]|[A-Za-z#][\w #%()/.\-]{0,80}:[ \t]{1,80}-?[0-9]", re.ASCII)


def without_prefixes(text: str, *, is_log: bool = False) -> str:
    """Return the text without prefixes, sorted by who printed the lines; unchanged without any.

    ``is_log`` keeps the times: in a kernel's log they are part of the lines.
    """
    lines = text.split("\n")
    origins = [""] * len(lines)
    for _ in range(_MOST_LAYERS):
        form = _common(lines, _WITHOUT_TIMES if is_log else FORMS)
        if form is None:
            break
        _take_off(lines, origins, form)
    else:
        form = None
    return text if lines == text.split("\n") else "\n".join(_sorted(lines, origins))


def _common(lines: Sequence[str], forms: Sequence[Prefix]) -> Prefix | None:
    """Return the form that most lines have, if all that could be rows have it."""
    printed = [line[:_LONGEST_PREFIX] for line in lines if line.strip()]
    counts = Counter(filter(None, map(_first_of(forms), printed)))
    if not counts:
        return None
    name, count = counts.most_common(1)[0]
    form = forms[int(name[1:])]
    matches = [form.pattern.match(line) for line in printed]
    if count * 2 <= len(printed) or not _is_a_name(printed, matches, form):
        return None
    if _has_no_gap(printed, matches):
        return None
    is_torn = bool(lines[-1].strip())
    longest = max(found.end() for found in matches if found)
    others = [line for line, found in zip(printed, matches, strict=True) if not found]
    if is_torn and others[-1:] == printed[-1:] and len(printed[-1]) <= longest:
        others.pop()  # it was cut off inside its prefix
    return None if any(map(_ROW.match, others)) else form


def _has_no_gap(lines: Sequence[str], matches: Sequence[re.Match[str] | None]) -> bool:
    """Return whether some lines have the prefix without the blank that the form asks for.

    Then the blank of the other lines belongs to their column, which a wide value fills.
    """
    begins = {found[0].rstrip() for found in matches if found}
    lengths = {len(begin) for begin in begins}
    others = (line for line, found in zip(lines, matches, strict=True) if not found)
    return any(
        len(line) > size and line[:size] in begins for line in others for size in lengths if size
    )


@cache
def _first_of(forms: Sequence[Prefix]) -> Callable[[str], str | None]:
    """Return a function that names the first form of a line: ``f`` and its place.

    Every line of every output is checked: one pattern for each form would take seven times as long.
    The result is cached, because more than half of the lines occur in earlier outputs.
    """
    patterns = (form.pattern.pattern.replace("(?P<who>", "(?:") for form in forms)
    either = "|".join(f"(?P<f{place}>{pattern})" for place, pattern in enumerate(patterns))
    match = re.compile(either, re.ASCII).match

    @lru_cache(4096)
    def first_of(line: str) -> str | None:
        found = match(line)
        return found and found.lastgroup

    return first_of


def _is_a_name(lines: Sequence[str], matches: Sequence[re.Match[str] | None], form: Prefix) -> bool:
    """Return whether the text before the lines is a prefix, and no label of a value."""
    if not form.is_weak:
        return True
    found = [(line, match) for line, match in zip(lines, matches, strict=True) if match]
    rest = [line[match.end() :] for line, match in found]
    if any(map(_JSON.match, rest)):
        return True
    named = form.pattern.groupindex
    origins = Counter(match["who"] if named else "" for _, match in found)
    are_words = not all(name.isdigit() for name in origins if name)
    if max(origins.values()) == 1 or (are_words and 2 * len(origins) > len(found)):
        return False
    return any(map(_OF_TABLE.match, rest))


def _take_off(lines: list[str], origins: list[str], form: Prefix) -> None:
    """Remove the prefix of each line; a line without it has the origin of the line before it."""
    named = form.pattern.groupindex
    before = ""
    for at, line in enumerate(lines):
        found = form.pattern.match(line[:_LONGEST_PREFIX])
        if found:
            lines[at] = line[found.end() :]
            before = found["who"] if named else ""
        origins[at] = f"{origins[at]}\n{before}"


def _sorted(lines: list[str], origins: list[str]) -> list[str]:
    """Return the lines of each origin together; an incomplete last line stays the last one."""
    order = list(dict.fromkeys(origins[:-1] if not lines[-1] else origins))
    if lines[-1]:
        order.append(order.pop(order.index(origins[-1])))
    places = {origin: place for place, origin in enumerate(order)}
    last = len(order)
    by_place = sorted(
        range(len(lines)),
        key=lambda at: last if at == len(lines) - 1 and not lines[at] else places[origins[at]],
    )
    return [lines[at] for at in by_place]
