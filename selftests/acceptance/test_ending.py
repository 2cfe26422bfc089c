"""The session's exit code is the verdict's; an error after the verdict has its own code."""

import subprocess
import sys

import pytest

from railgauge.acceptance.ending import NO_VERDICT_CODE, Ending
from railgauge.core.terms import Verdict

OK, FAILED, INTERRUPTED, INTERNAL, USAGE, NOTHING = range(6)  # pytest's
_INSTALL = "ending.end_python_with_no_verdict_code"
VERDICTS = sorted(verdict.exit_code for verdict in Verdict)


@pytest.fixture
def ending():
    ending = Ending()
    ending.begin()
    return ending


def test_no_verdict_has_an_exit_code_of_an_error():
    assert NO_VERDICT_CODE not in VERDICTS
    assert NO_VERDICT_CODE not in (INTERRUPTED, USAGE, NOTHING)


@pytest.mark.parametrize("forced", [OK, FAILED, INTERRUPTED, USAGE, NOTHING, 10, 77])
@pytest.mark.parametrize("verdict", VERDICTS)
def test_the_exit_code_is_that_of_the_verdict_whatever_a_hook_sets(ending, verdict, forced, capsys):
    ending.settle(verdict, FAILED)
    assert ending.last_word(forced) == verdict
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("session", [OK, FAILED, NOTHING, 10, 11, 77])
def test_a_code_that_pytest_has_no_reason_for_does_not_hide_the_verdict(ending, session):
    assert ending.settle(1, session) == 1


@pytest.mark.parametrize("session", [INTERRUPTED, INTERNAL, USAGE])
def test_exit_codes_for_reasons_of_pytest_stay(ending, session):
    assert ending.settle(0, session) == session
    assert ending.last_word(OK) == session


@pytest.mark.parametrize("verdict", VERDICTS)
def test_an_error_after_the_verdict_is_reported_and_has_its_own_code(ending, verdict, capsys):
    ending.settle(verdict, OK)
    with ending.step("the leases could not be released"):
        raise RuntimeError("can't start new thread")
    with ending.step("this went well"):
        pass
    assert ending.last_word(OK) == NO_VERDICT_CODE
    err = capsys.readouterr().err
    assert (
        "railgauge: the leases could not be released: RuntimeError: can't start new thread" in err
    )
    assert f"exit code {NO_VERDICT_CODE}, not the verdict's {verdict}" in err
    assert "went well" not in err


def test_an_interrupt_during_the_cleanup_skips_no_later_step(ending):
    ending.settle(0, OK)
    done = []
    for name in ("first", "second"):
        with ending.step(name):
            done.append(name)
            raise KeyboardInterrupt
    assert done == ["first", "second"]
    assert ending.last_word(OK) == NO_VERDICT_CODE


@pytest.mark.parametrize("code", [INTERRUPTED, USAGE, NOTHING])
def test_an_error_during_the_cleanup_hides_no_other_exit_code(ending, code, capsys):
    ending.add_error("prepare: NOT UNDONE: n01")
    assert ending.last_word(code) == code
    assert "NOT UNDONE: n01" in capsys.readouterr().err


@pytest.mark.parametrize("code", [OK, FAILED, 10, 11])
def test_a_run_without_a_verdict_has_no_code_of_one(ending, code, capsys):
    assert ending.last_word(code) == NO_VERDICT_CODE
    assert "reached no verdict" in capsys.readouterr().err


@pytest.mark.parametrize("code", [INTERRUPTED, USAGE, NOTHING])
def test_a_run_that_is_refused_ends_as_pytest_says(ending, code):
    assert ending.last_word(code) == code


def test_a_session_without_a_run_ends_as_pytest_says():
    assert Ending().last_word(OK) == OK  # pytest --markers


def test_a_verdict_that_could_not_be_stored_is_none(ending):
    ending.settle(0, OK)
    ending.without_verdict()
    assert ending.last_word(OK) == NO_VERDICT_CODE


# --- after pytest ---


@pytest.mark.parametrize(("first", "code"), [("", 1), (f"{_INSTALL}()", 3)], ids=["python", "ours"])
def test_an_uncaught_error_is_no_rejection(first, code):
    text = f"from railgauge.acceptance import ending\n{first}\nraise MemoryError"
    words = [sys.executable, "-c", text]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ended.returncode == code
    assert ended.stderr.endswith("MemoryError\n")
