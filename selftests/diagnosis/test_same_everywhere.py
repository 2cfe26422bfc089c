"""A bundle is judged in another process than its run, where sets have another order."""

from __future__ import annotations

import os
import subprocess
import sys

from testing.asked_again import NICS, RING, run
from testing.diagnose_scenes import paths
from testing.places import ROOT

from railgauge.diagnosis import diagnosed

_SCENE = """
from testing.asked_again import FINE, NICS, RING, answered, run
from testing.diagnose_scenes import paths
from railgauge.diagnosis import diagnosed

slow = {("n2", NICS[1]): 300.0, frozenset(("n3", "n4")): 330.0}
found = run(*paths(RING, NICS, slow))
for one in diagnosed(found).follow_ups():
    print(one)
for cause in answered(found, lambda case: 300.0 if "n2" in case.nodes else FINE).causes:
    print(cause.to_json())
"""


def test_every_process_finds_the_same_in_the_same_order():
    printed = {
        subprocess.run(
            [sys.executable, "-c", _SCENE], check=True, capture_output=True, text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT / "selftests"), "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2", "3")
    }  # fmt: skip
    assert len(printed) == 1
    assert all(printed)


def test_suspects_are_nodes_of_their_measurement():
    """Also where the same is measured on good nodes beside it."""
    found = diagnosed(run(*paths(RING, NICS, {"n2": 300.0})))
    asked = [*found.follow_ups(), *found.confirmations()]
    assert asked
    for one in asked:
        assert set(one.suspects) <= set(one.question.case.nodes)
