"""The text of a case's file of transcripts while its repeats are added one after the other.

The whole file is written after each repeat, so that it survives the death of the process. Repeats
that it already contains are neither masked nor encoded again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from json.encoder import encode_basestring as _quoted
from typing import Any

from railgauge.core.model import Transcript
from railgauge.core.terms import COUNTER_ROLES, Role

Repeat = tuple[Transcript, ...]
_NO_RUNS = '\n "runs": []'


@dataclass(frozen=True, slots=True)
class KeptRun:
    """One repeat: as it was measured, with secrets masked, and its text in the file."""

    measured: Repeat
    masked: Repeat
    text: str


class KeptRuns:
    """The repeats that were written, for each file that will be written again."""

    def __init__(
        self, masked: Callable[[Repeat], Repeat], plain: Callable[[Repeat], object]
    ) -> None:
        """``masked`` and ``plain`` make of a measured repeat what is stored of it."""
        self._masked = masked
        self._plain = plain
        self._files: dict[str, list[KeptRun]] = {}

    def of(self, name: str, runs: Sequence[Repeat]) -> list[KeptRun]:
        """Return the repeats of a file; those of the last call are not made again."""
        before = self._files.get(name, [])
        made = self._files[name] = [
            before[at] if at < len(before) and before[at].measured is run else self._made(run)
            for at, run in enumerate(runs)
        ]
        return made

    def forget(self, name: str) -> None:
        """Keep nothing of a file that is complete."""
        self._files.pop(name, None)

    def _made(self, run: Repeat) -> KeptRun:
        masked = self._masked(run)
        return KeptRun(run, masked, indented(json_text(self._plain(masked)).rstrip("\n")))


def changed_text(
    name: str, text: str, of_text: Callable[[str], str], of_data: Callable[[Any], Any]
) -> str:
    """The text of a file with its contents changed; of JSON only the strings are changed.

    Unchanged contents give the same text, byte by byte.
    """
    with suppress(ValueError, RecursionError):
        if name.endswith(".json"):
            changed = of_data(data := json.loads(text))
            return text if changed == data else json_text(changed)
        if name.endswith(".jsonl"):
            return "".join(_changed_line(line, of_data) for line in text.splitlines(keepends=True))
    return of_text(text)


def _changed_line(line: str, of_data: Callable[[Any], Any]) -> str:
    changed = of_data(data := json.loads(line))
    if changed == data:
        return line
    return json.dumps(changed, ensure_ascii=False, sort_keys=True) + "\n"


def json_text(data: object) -> str:
    """JSON in the format of all files of a run; equal data give equal bytes.

    The library writes JSON of several lines by Python code, in three times the time.
    """
    try:
        return _text(data, "\n") + "\n"
    except TypeError:  # a key that is not a string
        return json.dumps(data, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _text(value: Any, line: str) -> str:
    """The JSON of a value whose lines begin with ``line``, a line end and blanks."""
    kind, deeper = type(value), f"{line} "
    if kind is str:
        return _quoted(value)
    if isinstance(value, dict):
        fields = [f"{deeper}{_quoted(key)}: {_text(value[key], deeper)}" for key in sorted(value)]
        return f"{{{','.join(fields)}{line}}}" if fields else "{}"
    if isinstance(value, (list, tuple)):
        items = [f"{deeper}{_text(item, deeper)}" for item in value]
        return f"[{','.join(items)}{line}]" if items else "[]"
    return repr(value) if kind is int else json.dumps(value, ensure_ascii=False)


def whole_text(without_runs: Mapping[str, Any], kept: Sequence[KeptRun]) -> str:
    """The text of a file: that of its data, of which the list ``runs`` is given as text."""
    text = json_text({**without_runs, "runs": []})
    if not kept:
        return text
    runs = ",\n  ".join(one.text for one in kept)
    return text.replace(_NO_RUNS, f'\n "runs": [\n  {runs}\n ]', 1)


def indented(text: str) -> str:
    """The text as it stands two levels deeper; JSON has no line ends within its strings."""
    return text.replace("\n", "\n  ")


def readable(run: Sequence[Transcript], number: int) -> str:
    """A repeat for people: an excerpt of samples and counters, which the JSON has in full."""
    return "\n".join(_command_text(_excerpt(one, run), number) for one in run)


def _command_text(transcript: Transcript, number: int) -> str:
    ended = transcript.error or f"exit code {transcript.exit_code}"
    head = f"### run {number}, {transcript.role} on {transcript.node}, {transcript.started_at}"
    tail = f"### {ended}, {transcript.duration_s:.3f} s"
    errors = f"### stderr\n{transcript.stderr.rstrip()}\n" if transcript.stderr.strip() else ""
    return f"{head}\n$ {' '.join(transcript.argv)}\n{transcript.stdout}\n{errors}{tail}\n"


_FEW_SAMPLES = 12
_OTHER_READING = dict(zip(COUNTER_ROLES, reversed(COUNTER_ROLES), strict=True))


def _excerpt(one: Transcript, run: Sequence[Transcript]) -> Transcript:
    """The first samples of GPUs, and the counters that have another value after the run."""
    if one.role == Role.TELEMETRY:
        lines = one.stdout.splitlines()
        return replace(one, stdout=_left_out(lines, lines[:_FEW_SAMPLES], "more"))
    wanted = (_OTHER_READING.get(one.role), one.node)
    other = next((each.stdout for each in run if (each.role, each.node) == wanted), None)
    if other is None:
        return one
    same, lines = {*other.splitlines()}, one.stdout.splitlines()
    changed = [line for line in lines if line not in same]
    return replace(one, stdout=_left_out(lines, changed, "equal"))


def _left_out(lines: Sequence[str], shown: Sequence[str], what: str) -> str:
    rest = len(lines) - len(shown)
    return "\n".join([*shown, *([f"... {rest} {what} lines"] if rest > 0 else [])])
