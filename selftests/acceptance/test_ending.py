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


def test_no_verdict_has_the_code_of_trouble():
    assert NO_VERDICT_CODE not in VERDICTS
    assert NO_VERDICT_CODE not in (INTERRUPTED, USAGE, NOTHING)


@pytest.mark.parametrize("forced", [OK, FAILED, INTERRUPTED, USAGE, NOTHING, 10, 77])
@pytest.mark.parametrize("verdict", VERDICTS)
def test_whatever_a_hook_sets_the_verdict_has_the_last_word(ending, verdict, forced, capsys):
    ending.settle(verdict, FAILED)
    assert ending.last_word(forced) == verdict
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("session", [OK, FAILED, NOTHING, 10, 11, 77])
def test_a_code_that_pytest_has_no_reason_for_does_not_hide_the_verdict(ending, session):
    assert ending.settle(1, session) == 1


@pytest.mark.parametrize("session", [INTERRUPTED, INTERNAL, USAGE])
def test_pytests_own_reasons_stay(ending, session):
    assert ending.settle(0, session) == session
    assert ending.last_word(OK) == session


@pytest.mark.parametrize("verdict", VERDICTS)
def test_trouble_after_the_verdict_is_told_and_has_its_own_code(ending, verdict, capsys):
    ending.settle(verdict, OK)
    with ending.step("the leases could not be released"):
        raise RuntimeError("can't start new thread")
    with ending.step("this went well"):
        pass
    assert ending.last_word(OK) == NO_VERDICT_CODE
    said = capsys.readouterr().err
    assert (
        "railgauge: the leases could not be released: RuntimeError: can't start new thread" in said
    )
    assert f"exit code {NO_VERDICT_CODE}, not the verdict's {verdict}" in said
    assert "went well" not in said


def test_an_interrupt_of_the_end_keeps_nothing_from_being_done(ending):
    ending.settle(0, OK)
    done = []
    for name in ("first", "second"):
        with ending.step(name):
            done.append(name)
            raise KeyboardInterrupt
    assert done == ["first", "second"]
    assert ending.last_word(OK) == NO_VERDICT_CODE


@pytest.mark.parametrize("code", [INTERRUPTED, USAGE, NOTHING])
def test_trouble_on_the_way_out_hides_no_other_reason(ending, code, capsys):
    ending.add_error("prepare: NOT UNDONE: n01")
    assert ending.last_word(code) == code
    assert "NOT UNDONE: n01" in capsys.readouterr().err


@pytest.mark.parametrize("code", [OK, FAILED, 10, 11])
def test_without_a_verdict_nothing_looks_like_one(ending, code, capsys):
    assert ending.last_word(code) == NO_VERDICT_CODE
    assert "reached no verdict" in capsys.readouterr().err


@pytest.mark.parametrize("code", [INTERRUPTED, USAGE, NOTHING])
def test_a_run_that_is_refused_ends_as_pytest_says(ending, code):
    assert ending.last_word(code) == code


def test_what_is_no_run_ends_as_pytest_says():
    assert Ending().last_word(OK) == OK  # pytest --markers


def test_a_verdict_that_could_not_be_kept_is_none(ending):
    ending.settle(0, OK)
    ending.without_verdict()
    assert ending.last_word(OK) == NO_VERDICT_CODE


# --- after pytest ---


@pytest.mark.parametrize(("first", "code"), [("", 1), (f"{_INSTALL}()", 3)], ids=["python", "ours"])
def test_an_error_that_nobody_catches_is_no_rejection(first, code):
    text = f"from railgauge.acceptance import ending\n{first}\nraise MemoryError"
    words = [sys.executable, "-c", text]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ended.returncode == code
    assert ended.stderr.endswith("MemoryError\n")
