"""``railgauge plan --soak``: the rounds, and what they prove."""

from __future__ import annotations

import json

import pytest
from testing.places import ROOT

from railgauge.cli import main

PLAN = ("plan", "--root", str(ROOT), "--level", "smoke", "--hostfile")
H200 = str(ROOT / "hostfiles" / "lab-h200.yaml")


def planned(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main([*PLAN, H200, *options])
    return (code, *capsys.readouterr())


def test_the_plan_describes_the_soak(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = planned(capsys, "--soak", "24h", "--soak-below", "1/168h")
    words = " ".join(out.split())
    assert code == 0
    assert "soak of 24h after the ladder: about 37 rounds of 39 min 32 s" in words
    each = "24 h, in which each of 4 nodes was measured for 9.84 h on average: with 95% confidence"
    assert f"no event in {each} fewer than one in 8.01 h of the cluster, or in 13.1 h" in words
    assert f"1 event in {each} fewer than one in 5.06 h" in words
    assert "fewer than one event in 168 h of a node under load: 20.90% confidence" in words


def test_json_has_the_plan_of_the_soak(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = planned(capsys, "--soak", "5rounds", "--json")
    soak = json.loads(out)["soak"]
    assert (code, soak["asked"], soak["rounds"], soak["allowed_events"]) == (0, "5rounds", 5, 0)
    assert soak["estimate_s"] == 5 * soak["round_s"]
    assert [one["events"] for one in soak["proves"]] == [0, 1, 2]
    for one in soak["proves"]:
        assert one["hours"] < one["node_hours"] < 4 * one["hours"], "one measurement at a time"
    assert "soak" not in json.loads(planned(capsys, "--json")[1])


@pytest.mark.parametrize("options", [("--soak", "often"), ("--soak-below", "1/5h")])
def test_an_invalid_soak_is_refused(
    capsys: pytest.CaptureFixture[str], options: tuple[str, ...]
) -> None:
    code, out, err = planned(capsys, *options)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
