"""The sections of a script's output: one command each, with its exit code."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_ABSENT_FILE = 66
_TIMED_OUT = (124, 137)
_NOT_FOUND = 127
_NOT_FOUND_PROGRAM = re.compile(r"(?<![^\s:])([^\s:]{1,400}): (?:command )?not found")
_LONGEST_REASON = 200


@dataclass(frozen=True, slots=True)
class Section:
    """The output of one command of the probe, stdout and stderr together.

    ``exit_code`` is ``None`` if the section's end is missing; ``problem`` is then the reason.
    """

    name: str
    text: str
    exit_code: int | None = 0
    problem: str = ""

    @property
    def failure(self) -> str:
        """Return why the text is no evidence, in one line; empty if the command succeeded."""
        if self.exit_code is None:
            return f"{self.name}: {self.problem or 'the output is truncated'}"
        if self.exit_code == 0:
            return ""
        return self._explain(self.exit_code)

    def _explain(self, code: int) -> str:
        last = next((line.strip() for line in reversed(self.text.splitlines()) if line.strip()), "")
        last = last[:_LONGEST_REASON]
        if code == _ABSENT_FILE:
            return last or f"{self.name}: no such file"
        if code in _TIMED_OUT:
            return f"{self.name}: no answer within its time limit (exit {code})"
        if code == _NOT_FOUND:
            match = _NOT_FOUND_PROGRAM.search(last)
            return f"{match[1] if match else self.name}: command not found (exit {code})"
        return f"{self.name}: {last or 'printed nothing'} (exit {code})"


def section(sections: Mapping[str, Section], name: str) -> Section:
    """Return the section of that name; one that was not printed has a problem and no exit code."""
    return sections.get(name) or Section(name, "", None, "the probe printed no such section")
