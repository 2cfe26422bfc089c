"""An all-reduce is held to the slowest of the links that TransferBench measured on its node."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
from testing.core_values import TRANSCRIPTS, needs_transcripts
from testing.places import ROOT

from railgauge.config import thresholds
from railgauge.core.model import Case, Parsed, Sample
from railgauge.core.units import parse_size
from railgauge.judging import assess
from railgauge.judging.assess import Measured
from railgauge.tools import tool

PLATFORM = thresholds.load("mi300x", ROOT / "thresholds")
LARGEST, MIDDLE = parse_size("16GiB"), parse_size("1GiB")


def outcomes(reduction: Parsed, links: Parsed) -> tuple[list[str], list[str]]:
    both = [
        Measured(Case(name, ("n1",), None, ()), PLATFORM.measurements[name], (parsed,), ((),))
        for name, parsed in (("node_all_reduce", reduction), ("gpu_link_bandwidth", links))
    ]
    found = assess.ratio(both[0], both[1], "busbw")
    return [str(one.outcome) for one in found.judgements], [one.kind for one in found.errors]


def reduced(gb_per_s: float, size: int = LARGEST, *more: Sample) -> Parsed:
    """The output of an all-reduce with this bus bandwidth, in both placements."""
    rows = (Sample("busbw", "GB/s", gb_per_s, size, 0, p) for p in ("out_of_place", "in_place"))
    return Parsed("ccl-tests", None, (*rows, *more), {})


def linked(slowest: float) -> Parsed:
    """TransferBench's figure of the slowest link, beside those of GPUs whose slowest is faster."""
    named = {"gpu0": slowest + 3, "gpu7": slowest, "all": slowest}
    rows = (Sample("slowest_link", "GB/s", value, 64 << 20, 0, at) for at, value in named.items())
    return Parsed("transferbench", None, tuple(rows), {})


@pytest.mark.parametrize(
    ("reduction", "slowest", "outcome"),
    [
        (310, 45, "passed"),  # the ends of the ranges that document 002 names
        (330, 48, "passed"),
        (319.22, 45.095, "passed"),
        (330, 45, "passed"),
        (305.84, 43.11, "passed"),  # a slow link, and the reduction that it caps
        (312, 47, "failed"),  # both above their own floors, and too far apart
        (309, 48, "failed"),
    ],
)
def test_it_carries_what_its_slowest_link_allows(
    reduction: float, slowest: float, outcome: str
) -> None:
    assert outcomes(reduced(reduction), linked(slowest)) == ([outcome], [])


@pytest.mark.parametrize(("reduction", "slowest"), [(319, 30), (360, 46), (440, 48)])
def test_more_than_the_links_carry_is_no_measurement(reduction: float, slowest: float) -> None:
    """One of the two is wrong, though 440 GB/s are less than the raw rate of the links."""
    assert outcomes(reduced(reduction), linked(slowest)) == ([], ["implausible"])


def test_only_the_largest_message_is_compared() -> None:
    small = Sample("busbw", "GB/s", 0.5, 8, 0, "in_place")
    assert outcomes(reduced(319, LARGEST, small), linked(45.1)) == (["passed"], [])
    assert outcomes(reduced(319, MIDDLE), linked(45.1)) == ([], ["metric-missing"])


@pytest.mark.parametrize("lost", ["links", "reduction"])
def test_without_one_of_the_two_it_is_an_error(lost: str) -> None:
    reduction, links = reduced(319), linked(45.1)
    nothing = replace(links if lost == "links" else reduction, samples=())
    pair = (reduction, nothing) if lost == "links" else (nothing, links)
    assert outcomes(*pair) == ([], ["metric-missing"])


@cache
def recorded(name: str, of: str) -> Parsed:
    text = (TRANSCRIPTS / f"{name}.txt").read_text(encoding="utf-8", errors="replace")
    return tool(of).parse(text)


@needs_transcripts
@pytest.mark.parametrize("name", ["mi300x-rccl-allreduce-8gpu", "mi300x-rccl-allreduce-8gpu-graph"])
def test_the_document_s_own_runs_pass(name: str) -> None:
    links = recorded("mi300x-transferbench-a2a", "transferbench")
    assert outcomes(recorded(name, "ccl-tests"), links) == (["passed"], [])
