"""The output of another collective than the requested one, in formats without a name.

The rows are those of rccl-tests and of MetaX's fork, which leaves the reduction blank where there
is none: rccl/009 and mccl/002 of the corpus, and document 002.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from testing.places import ROOT
from testing.tool_setting import recorded

from railgauge.config import thresholds
from railgauge.config.thresholds.physics import bus_factor
from railgauge.core.model import Case, Parsed
from railgauge.tools import tool
from railgauge.tools.output_checks import SideOutput, ToolRequest

PLATFORM = thresholds.load("metax-c500", ROOT / "thresholds")
# Reduction, root and the column of wrong values in place, as nccl-tests prints them.
PRINTED = {
    "all_reduce": ("sum", -1, "0"),
    "reduce_scatter": ("sum", -1, "0"),
    "reduce": ("sum", 0, "0"),
    "all_gather": ("none", -1, "0"),
    "broadcast": ("none", 0, "0"),
    "alltoall": ("none", -1, "N/A"),
    "sendrecv": ("sum", -1, "N/A"),
}
RANKS, SIZE, TIME_US = 8, 2**30, 4000.0
HEADING = (
    "#       size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw #wrong"
)


def output(name: str, *, blank: bool) -> Parsed:
    """One row of ``name`` between eight GPUs; with ``blank`` in the format of MetaX's fork."""
    redop, root, in_place = PRINTED[name]
    algbw = SIZE / TIME_US / 1e3
    busbw = algbw * (bus_factor(name, RANKS) or 0)
    redop = "" if blank and redop == "none" else redop
    half = f"{TIME_US:.1f}  {algbw:.2f}  {busbw:.2f}"
    devices = [f"#   Rank {n:2} Pid 1{n} on mx01 device {n:2} [0x0{n}] X" for n in range(RANKS)]
    row = f"  {SIZE}  1024  float  {redop}  {root}  {half}  0  {half}  {in_place}"
    return tool("ccl-tests").parse("\n".join([*devices, HEADING, row, ""]))


def collective(wanted: str, parsed: Parsed) -> tuple[str | None, bool]:
    """The text of the check about the collective, and whether it agrees."""
    measurement = replace(PLATFORM.measurements["node_all_reduce"], command=f"{wanted}_perf")
    asked = ToolRequest(Case("x", ("mx01",), None, (SIZE,)), measurement, PLATFORM)
    checks = tool("ccl-tests").output_checks(asked, (SideOutput("mx01", "client", parsed),))
    return next((c.shown, c.agrees) for c in checks if c.item == "collective")


@pytest.mark.parametrize("blank", [False, True])
@pytest.mark.parametrize("name", PRINTED)
def test_each_collective_is_distinguished_from_every_other(name: str, blank: bool) -> None:
    parsed = output(name, blank=blank)
    assert parsed.errors == ()
    assert parsed.summary["collective"] is None
    denied = {wanted for wanted in PRINTED if not collective(wanted, parsed)[1]}
    assert denied == {*PRINTED} - {name}
    assert collective(name, parsed)[0] is not None


def test_the_columns_that_differ_are_named() -> None:
    shown, _ = collective("reduce_scatter", output("all_gather", blank=True))
    assert shown == "one with no reduction"
    shown, _ = collective("alltoall", output("all_gather", blank=False))
    assert shown == "one with a comparison in place"


@pytest.mark.parametrize(("folder", "number", "name", "open_"), [
    ("rccl", "009", "alltoall", set()),
    ("mccl", "002", "all_gather", set()),
    ("nccl", "005", "reduce", {"all_reduce", "sendrecv"}),
    # Before 2022 some columns did not exist, and these runs validated nothing.
    ("nccl", "003", "reduce_scatter", set()),
    ("nccl", "004", "broadcast", {"sendrecv", "reduce"}),
    ("nccl", "006", "alltoall", {"all_gather"}),
])  # fmt: skip
def test_real_tables_are_not_taken_for_others(
    folder: str, number: str, name: str, open_: set[str]
) -> None:
    parsed = tool("ccl-tests").parse(recorded(f"corpus/{folder}", number))
    parsed = replace(parsed, summary={**parsed.summary, "collective": None, "nranks": RANKS})
    allowed = {wanted for wanted in PRINTED if collective(wanted, parsed)[1]}
    assert name in allowed
    assert allowed <= {name} | open_
