"""How a session ends: its exit code is the verdict's, whoever else has set another one.

What goes wrong after the verdict is told, a line each, and ends the session with a code that no
verdict has.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from railgauge.core.terms import Verdict

TROUBLE = int(pytest.ExitCode.INTERNAL_ERROR)
"""Exit code of a run whose verdict may stand, and whose end went wrong."""

# Of a verdict that comes while pytest is on its way out for another reason, that reason is told.
_OTHER_REASONS = (
    pytest.ExitCode.INTERRUPTED,
    pytest.ExitCode.INTERNAL_ERROR,
    pytest.ExitCode.USAGE_ERROR,
)
# What a run may end with that came to no verdict: none of these can be read as one.
_NO_VERDICT = (*_OTHER_REASONS, pytest.ExitCode.NO_TESTS_COLLECTED)
# Plugins of the suite without which a run has no record, no leases, or no verdict.
_NEEDED = ("controller", "foreman", "hand", "holding", "messages")


def refuse_without(config: pytest.Config) -> None:
    """Raise ``pytest.UsageError`` if ``-p no:NAME`` switches off a part of the suite."""
    for name in (f"railgauge-{part}" for part in _NEEDED):
        if config.pluginmanager.is_blocked(name):
            raise pytest.UsageError(f"railgauge: -p no:{name}: no run can do without it; drop it")


class Ending:
    """What the controller has come to, and what went wrong on the way out."""

    def __init__(self) -> None:
        self._code: int | None = None
        self._has_begun = False
        self._troubles: list[str] = []

    def begin(self) -> None:
        """From now on a verdict is due: no other end of the session looks like one."""
        self._has_begun = True

    def settle(self, verdict_code: int, session_code: int) -> int:
        """The code of the session, from the verdict's and from what pytest is about to end with."""
        self._code = int(session_code if session_code in _OTHER_REASONS else verdict_code)
        return self._code

    def without_verdict(self) -> None:
        """The verdict could not be kept, which was told: there is none."""
        self._code = TROUBLE

    def trouble(self, line: str) -> None:
        """Something went wrong that is no reason to change the verdict, and none to keep quiet."""
        self._troubles.append(line)

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """One of the last things to do: what goes wrong there does not keep others from being done.

        ``what`` reads like "the leases could not be let go".
        """
        try:
            yield
        except (Exception, KeyboardInterrupt) as error:
            self.wrong(what, error)

    def wrong(self, what: str, error: BaseException) -> None:
        said = " ".join(str(error).split()) or "no reason given"
        self.trouble(f"{what}: {type(error).__name__}: {said}")

    def last_word(self, code: int) -> int:
        """The exit code of the session, where ``code`` is what it would be without this."""
        if self._code is None and self._has_begun and code not in _NO_VERDICT:
            self.trouble("the run came to no verdict")
        came_to = code if self._code is None else self._code
        if not self._troubles:
            return came_to
        ends_with = came_to if came_to in _NO_VERDICT else TROUBLE
        codes = [verdict.exit_code for verdict in Verdict]
        stands = f", not the verdict's {came_to}" if self._code in codes else ""
        told = [f"railgauge: {line}" for line in self._troubles]
        sys.stderr.write("\n".join(["", *told, f"railgauge: exit code {ends_with}{stands}", ""]))
        return ends_with
