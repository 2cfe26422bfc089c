"""The answers of a lease's script, and how its text is sent."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from testing.places import ROOT

from railgauge.leases.holder import Held, Holder, Taken, Unleasable, answer, beat_s

ALICE = Holder("alice", "ctl1", "run-a", "2026-11-21T14:03:22+00:00", "a1")


def test_the_answer_of_a_node_is_not_trusted() -> None:
    for line in ("held", "held 1", "held -5", "held 12; reboot", "held 99999999999", "held ٣٤"):
        assert answer(line) == Held()
        assert answer(line).process == 0
    assert answer("held 4711\n").process == 4711
    assert answer("taken {") == Taken(None, is_forged=True)
    assert answer("taken []") == Taken(None, is_forged=True)
    assert answer("taken ") == Taken(None)
    hostile = answer(
        'taken {"user": "\\u001b[31m", "host": [1], "run": "'
        + "x" * 500
        + '", "since": 5, "tag": null}'
    )
    assert isinstance(hostile, Taken)
    assert str(hostile).isprintable()
    assert len(str(hostile)) < 200
    assert answer("cannot \x1b[2J") == Unleasable("?[2J")
    assert answer("") == Unleasable("the lease script printed nothing")
    assert str(Taken(ALICE)) == "alice on ctl1 since 2026-11-21T14:03:22+00:00 (run run-a)"


def test_signs_of_life_get_rarer_with_many_nodes() -> None:
    assert beat_s(1) == beat_s(128) == 3.0
    assert beat_s(1250) == 5.0


def test_shellcheck_accepts_the_scripts() -> None:
    beside = Path(sys.executable).with_name("shellcheck")
    shellcheck = shutil.which("shellcheck") or (str(beside) if beside.exists() else None)
    if shellcheck is None:
        pytest.skip("there is no shellcheck")
    scripts = sorted((ROOT / "src" / "railgauge" / "leases" / "holder").glob("*.sh"))
    assert len(scripts) == 2
    done = subprocess.run([shellcheck, *scripts], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
