"""Each fault on one platform it applies to, and pairs of faults: the right cause, and no other.

The whole matrix is ``make matrix``; here every fault has its run on the platform where that is
shortest.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from fault_matrix import carry_out, page
from strikes import CAUSES, LEFT_OUT, PLATFORMS, TUNING, Strike, pairs_of, strikes

from railgauge.diagnosis import CATALOGUE
from railgauge.lab import faults

SEED = 7
# In the order of how long a run takes.
EVERY = {name: list(strikes(name, SEED)) for name in PLATFORMS}
SHORTEST = {strike.name: strike for name in reversed(PLATFORMS) for strike in EVERY[name]}
# What the GPUs' own tools tell needs no measurement, and no run each.
TOLD = ("remap-failed", "ecc-off", "power-cap", "gpu-clock", "gpu-pcie", "gpu-link", "gpu-fabric",
        "gpu-partition", "vbios", "version")  # fmt: skip
MEASURED = [strike for name, strike in SHORTEST.items() if name not in TOLD]
PAIRS = [pair for name in ("connectx4-homelab", "h100-tcpx") for pair in pairs_of(name, SEED, 2)]


@pytest.mark.parametrize("strike", MEASURED, ids=lambda s: f"{s.platform}-{s.name}")
def test_the_cause_is_named_and_no_other(strike: Strike, tmp_path: Path) -> None:
    result = carry_out((strike,), SEED, tmp_path / "project")
    assert not result.complaint, result.output[-4000:]


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair[0].name}-{pair[1].name}")
def test_two_faults_are_two_causes(pair: tuple[Strike, Strike], tmp_path: Path) -> None:
    result = carry_out(pair, SEED, tmp_path / "project")
    assert not result.complaint, result.output[-4000:]


@pytest.mark.parametrize("name", ["h200", "mi300x"])
def test_all_that_gpus_tell_of_is_told_at_once(name: str, tmp_path: Path) -> None:
    struck = tuple(strike for strike in EVERY[name] if strike.name in TOLD)
    assert len(struck) >= len(TOLD) - 1
    result = carry_out(struck, SEED, tmp_path / "project", "-k", "preflight")
    assert not result.complaint, result.output[-4000:]


def test_every_fault_of_the_lab_is_in_the_matrix() -> None:
    assert set(faults.NAMES) == set(CAUSES) | LEFT_OUT
    assert set(SHORTEST) == {*CAUSES, TUNING}


def test_every_cause_that_is_expected_can_be_named() -> None:
    assert {strike.cause for strike in SHORTEST.values()} - {""} <= set(CATALOGUE)


def test_the_page_says_what_is_wrong() -> None:
    strike = EVERY["h200"][0]
    from fault_matrix import Result  # noqa: PLC0415

    wrong = Result((strike,), "accepted", (), {}, "")
    assert wrong.complaint
    assert "**wrong**" in page([wrong], SEED)
