"""How mx-smi samples GPUs.

Its loop mode prints temperatures, power and utilisation as CSV. Only its listings, with one block
for each GPU, have the clock and the reasons for which it is lowered (2.2.12). No output of a
listing in loop mode is public, so the node runs the tool repeatedly, and makes one line of each
block.
"""

from __future__ import annotations

from collections.abc import Mapping

from railgauge.core.errors import TelemetryUnread
from railgauge.stacks import sampling
from railgauge.stacks.metax_blocks import gpu_of, values
from railgauge.stacks.sampling import SampleCells, Sampler

_REASONS = "Xcore Clocks Throttle Reason/"
# MetaX, mxsml header, mxsmlClocksThrottleReasons. An idle GPU, a limit that an administrator has
# set and a clock that follows the use of the GPU are no throttling.
_NAMES: Mapping[str, str] = {
    "Over Power": "power-limit",
    "Chip Over Temperature": "chip-thermal",
    "VR Over Temperature": "regulator-thermal",
    "Hbm Over Temperature": "memory-thermal",
    "Thermal Over Temperature": "thermal",
    "Pcc": "peak-current",
    "Power Brake": "power-brake",
    "Didt": "current-slope",
    "Other": "other",
}
_NO_THROTTLING = ("Idle", "Applications Limit", "Low Usage", "Dynamic")
_STATES = ("Active", "Not Active")

# A tool that prints no block has failed: its last line is passed on, and the sampler ends.
_JOINED = r"""{ gsub(/[ \t\r,]+/, " "); sub(/^ /, ""); sub(/ $/, "") }
/^GPU#[0-9]/ { if (row != "") print row; row = $0; next }
$0 == "" || $0 == "End of Log" { next }
row != "" { row = row "," $0; next }
{ last = $0 }
END { if (row == "") { print last; exit 1 }; print row }"""


def _cells(line: str) -> SampleCells | None:
    """The values of a block that the node has put into one line; ``None`` for any other line."""
    start, *lines = line.split(",")
    gpu = gpu_of(start)
    return None if gpu is None else {"GPU": str(gpu)} | values(lines)


def _reasons(row: SampleCells) -> frozenset[str] | None:
    """The reasons for which the clock is lowered; ``None`` unless the row has all known ones."""
    states = {k.removeprefix(_REASONS): v for k, v in row.items() if k.startswith(_REASONS)}
    for name, state in states.items():
        if state not in _STATES:
            raise TelemetryUnread(f"{name[:40]!r} is {state[:40]!r}, neither active nor not")
    if not _NAMES.keys() <= states.keys():
        return None
    active = (name for name, state in states.items() if state == "Active")
    return frozenset(_NAMES.get(name, name) for name in active if name not in _NO_THROTTLING)


LOOP = Sampler(
    "mx-smi",
    lambda interval_ms: ("dmon", "--format", "csv", "-l", str(interval_ms)),
    {
        sampling.GPU: ("dev",),
        sampling.HEAT: ("hottemp",),
        sampling.MEMORY_HEAT: ("hbmtemp",),
        sampling.POWER: ("power",),
        sampling.LOAD: ("gpu",),
    },
)
LISTINGS = Sampler(
    "mx-smi",
    lambda _: (
        *("--show-temperature", "--show-board-power", "--show-usage"),
        *("--show-clock", "--show-clk-tr"),
    ),
    {
        sampling.GPU: ("GPU",),
        sampling.CLOCK: ("Clock/XCORE",),
        sampling.HEAT: ("Chip Temperature/hotspot",),
        sampling.POWER: ("Board Power/Total",),
        sampling.CAP: ("Board Power/Limit",),
        sampling.LOAD: ("Utilization/GPU",),
    },
    known_reasons=tuple(_NAMES.values()),
    reasons=_reasons,
    joined=_JOINED,
    cells=_cells,
    needs="mx-smi 2.2.12 or later (--show-clk-tr)",
)
SAMPLERS = (LOOP, LISTINGS)
