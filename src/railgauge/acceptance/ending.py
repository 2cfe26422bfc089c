"""The exit code of a session: the verdict's code, whatever pytest or a plugin has set.

An error after the verdict is printed on a line of its own. It changes the exit code to one that no
verdict has.

Example: a run is rejected (1), then a lease cannot be released. The session prints both facts and
ends with 3.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from railgauge.core.terms import Verdict

# The exit codes of a session by pytest; no verdict has one of these.
_INTERRUPTED, _INTERNAL_ERROR, _USAGE_ERROR, _NOTHING_COLLECTED = 2, 3, 4, 5
NO_VERDICT_CODE = _INTERNAL_ERROR
"""Exit code of a run with an error after its verdict; the verdict may be valid."""

# If a session ends for one of these reasons, its exit code replaces the verdict's.
_OTHER_REASONS = (_INTERRUPTED, _INTERNAL_ERROR, _USAGE_ERROR)
_NO_VERDICT = (*_OTHER_REASONS, _NOTHING_COLLECTED)


def end_python_with_no_verdict_code() -> None:
    """Let Python end with ``NO_VERDICT_CODE`` after an uncaught error.

    Python's own exit code is 1, the code of a rejected cluster. pytest raises such errors at its
    very end if no memory is left.
    """
    print_error = sys.excepthook

    def print_and_end(*error: Any) -> None:
        print_error(*error)
        raise SystemExit(NO_VERDICT_CODE)

    sys.excepthook = print_and_end


def nothing_tested(code: int) -> int:
    """The exit code of a run whose session another plugin has replaced."""
    return _untested("a plugin ended pytest before the session began", code)


def only_listed(option: str, code: int) -> int:
    """The exit code if a listing option comes from the environment or the configuration."""
    return _untested(f"{option} of PYTEST_ADDOPTS or the configuration runs no test", code)


def _untested(why: str, code: int) -> int:
    if code in _NO_VERDICT:
        return code
    ended = Ending()
    ended.add_error(f"{why}: nothing was tested")
    return ended.last_word(code)


class Ending:
    """The exit code that the controller has reached, and the errors after that."""

    def __init__(self) -> None:
        self._code: int | None = None
        self._has_begun = False
        self._errors: list[str] = []

    def begin(self) -> None:
        """Expect a verdict from now on; a session without one must not end with the code of one."""
        self._has_begun = True

    def settle(self, verdict_code: int, session_code: int) -> int:
        """Return the session's exit code, given the verdict's and the one that pytest has set."""
        self._code = int(session_code if session_code in _OTHER_REASONS else verdict_code)
        return self._code

    def without_verdict(self) -> None:
        """Withdraw the verdict, because it could not be written; the caller has reported that."""
        self._code = NO_VERDICT_CODE

    def add_error(self, line: str) -> None:
        """Add a line about an error that does not change the verdict but must be reported."""
        self._errors.append(line)

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Run one step of the cleanup; an error is recorded, so that later steps still run.

        ``what`` names the error, such as "the leases could not be released".
        """
        try:
            yield
        except (Exception, KeyboardInterrupt) as error:
            self.wrong(what, error)

    def wrong(self, what: str, error: BaseException) -> None:
        message = " ".join(str(error).split()) or "no reason given"
        self.add_error(f"{what}: {type(error).__name__}: {message}")

    def last_word(self, code: int) -> int:
        """Print the errors and return the session's exit code; ``code`` is the one from pytest."""
        if self._code is None and self._has_begun and code not in _NO_VERDICT:
            self.add_error("the run reached no verdict")
        reached = code if self._code is None else self._code
        if not self._errors:
            return reached
        ends_with = reached if reached in _NO_VERDICT else NO_VERDICT_CODE
        codes = [verdict.exit_code for verdict in Verdict]
        stands = f", not the verdict's {reached}" if self._code in codes else ""
        lines = [f"railgauge: {line}" for line in self._errors]
        sys.stderr.write("\n".join(["", *lines, f"railgauge: exit code {ends_with}{stands}", ""]))
        return ends_with
