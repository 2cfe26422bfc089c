"""Measuring tools: one module each, found by name.

A tool turns a setting into commands and output into samples, and says what of the output must
agree with the commands. A new tool is a new module here, and a line in ``_MODULES``. What other
people run and only its output is read is a line in ``_PARSE_ONLY``: no platform file can plan it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import NoReturn, Protocol, cast

from railgauge.config.thresholds.model import Measurement, Platform
from railgauge.core.errors import BadInput
from railgauge.core.model import Case, Cluster, Command, Parsed
from railgauge.core.units import KNOWN_UNITS
from railgauge.stacks import Stack
from railgauge.tools.claims import Asked, Claim, Heard
from railgauge.tools.metric import ROW, SCALING, SWEEP, Metric

_MODULES = {
    "perftest": "railgauge.tools.perftest",
    "ccl-tests": "railgauge.tools.ccl_tests",
    "transferbench": "railgauge.tools.transferbench",
    "nvbandwidth": "railgauge.tools.nvbandwidth",
    "iperf3": "railgauge.tools.iperf3",
    "vllm-bench": "railgauge.tools.vllm_bench",
    "sminfo": "railgauge.tools.infiniband_diags.sminfo",
    "ibnetdiscover": "railgauge.tools.infiniband_diags.ibnetdiscover",
    "iblinkinfo": "railgauge.tools.infiniband_diags.iblinkinfo",
    "ibqueryerrors": "railgauge.tools.infiniband_diags.ibqueryerrors",
    "mpi-bench": "railgauge.tools.mpi_bench",
    "dcgmi-diag": "railgauge.tools.dcgmi_diag",
    "azure-nhc": "railgauge.tools.azure_nhc",
}
_PARSE_ONLY = {
    "rocm-bandwidth-test": "railgauge.tools.rocm_bandwidth_test",
    "p2p-bandwidth-latency": "railgauge.tools.p2p_bandwidth_latency",
    "superbench-copy": "railgauge.tools.superbench_copy",
    "rvs": "railgauge.tools.rvs",
    "ras-status": "railgauge.tools.ras_status",
    "perfquery": "railgauge.tools.infiniband_diags.perfquery",
}

PLANNABLE = tuple(_MODULES)
NAMES = (*PLANNABLE, *_PARSE_ONLY)
# Those whose two sides are told their NIC one by one.
_TWO_ENDED = frozenset({"perftest", "iperf3"})


@dataclass(frozen=True, slots=True)
class Setting:
    """All that a tool needs to know to plan a case. ``stack`` is ``None`` without GPUs.

    ``environment`` is the platform's recommended one, overlaid by the hostfile's.
    """

    case: Case
    measurement: Measurement
    cluster: Cluster
    stack: Stack | None
    platform: Platform
    environment: Mapping[str, str]


class Tool(Protocol):
    """The contract of a tool module.

    ``METRICS`` are the numbers that a platform file may limit; none where output is only read.
    """

    METRICS: tuple[Metric, ...]

    def commands(self, setting: Setting, port: int) -> tuple[Command, ...]:
        """The commands of one run: servers first, then the one that reports.

        ``port`` is the TCP port that servers are to use. Raises ``BadInput`` for a case that the
        tool cannot do.
        """

    def parse(self, text: str) -> Parsed:
        """What the output says; never raises, whatever the text is."""

    def claims(self, asked: Asked, heard: tuple[Heard, ...]) -> tuple[Claim, ...]:
        """What the outputs of one run must say so that they are of the command that was asked for.

        ``heard`` begins with the command that reports. An item that an output does not show is a
        claim too: it is told, not assumed.
        """

    def payload_bytes(self, parsed: Parsed) -> float:
        """What one node sent to others in this run, in bytes; 0 where the tool sends nothing."""


def tool(name: str) -> Tool:
    """The tool module ``name``, be it only a reader. Raises ``BadInput`` for an unknown one."""
    if name not in NAMES:
        raise BadInput(f"unknown tool {name!r}", remedy=f"known: {', '.join(NAMES)}")
    return cast(Tool, import_module({**_MODULES, **_PARSE_ONLY}[name]))


def declared_metric(name: str, called: str) -> Metric | None:
    """What the tool ``name`` declares of the metric ``called`` so.

    With or without its placement (``busbw/in_place``). ``None`` if the tool declares no such
    metric, or there is no such tool.
    """
    return metrics(name).get(called.partition("/")[0]) if name in NAMES else None


@cache
def metrics(name: str) -> Mapping[str, Metric]:
    """All metrics of a tool by name. Raises ``TypeError`` for a module that declares nonsense."""
    found = (*tool(name).METRICS, SCALING)
    by_name = {one.name: one for one in found}
    if len(by_name) < len(found):
        raise TypeError(f"tool {name} declares a metric twice")
    for one in found:
        if not one.units or not KNOWN_UNITS.issuperset(one.units) or one.per not in (ROW, SWEEP):
            raise TypeError(f"tool {name}: {one.name} is declared with {one.units}, per {one.per}")
    return by_name


def check_plannable(platform: Platform) -> None:
    """Raises ``BadInput`` if a measurement of the platform file names a tool that cannot be run."""
    for name, measurement in platform.measurements.items():
        if measurement.tool not in PLANNABLE:
            known = measurement.tool in NAMES
            what = "can only be read, not run" if known else "is unknown"
            raise BadInput(
                f"measurement {name}: tool {measurement.tool!r} {what}",
                where=platform.path,
                remedy=f"tools that run: {', '.join(PLANNABLE)}",
            )
        if measurement.is_cross_rail and measurement.tool not in _TWO_ENDED:
            raise BadInput(
                f"measurement {name}: {measurement.tool} does not run from one NIC to another",
                where=platform.path,
                remedy=f"take cross_rail out; tools that do: {', '.join(sorted(_TWO_ENDED))}",
            )


def is_not_run(setting: Setting, port: int) -> NoReturn:  # noqa: ARG001 - the contract of commands
    """``commands`` of a tool whose output is read and which is never started."""
    raise BadInput(
        f"tool {setting.measurement.tool!r} can only be read, not run",
        remedy=f"tools that run: {', '.join(PLANNABLE)}",
    )


# ``METRICS`` of a tool whose output is only read.
NOT_LIMITED: tuple[Metric, ...] = ()


def sends_nothing(parsed: Parsed) -> float:  # noqa: ARG001 - the contract of payload_bytes
    """``payload_bytes`` of a tool whose payload stays inside a node."""
    return 0.0
