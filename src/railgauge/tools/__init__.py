"""Measuring tools: one module each, found by name.

A tool turns a setting into commands and output into samples. A new tool is a new module here with
those two functions, and a line in ``_MODULES``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, cast

from railgauge.errors import BadInput
from railgauge.model import Case, Cluster, Command, Parsed
from railgauge.stacks import Stack
from railgauge.thresholds.model import Measurement, Platform

_MODULES = {
    "perftest": "railgauge.tools.perftest",
    "ccl-tests": "railgauge.tools.ccl_tests",
    "transferbench": "railgauge.tools.transferbench",
    "nvbandwidth": "railgauge.tools.nvbandwidth",
    "iperf3": "railgauge.tools.iperf3",
    "vllm-bench": "railgauge.tools.vllm_bench",
}

NAMES = tuple(_MODULES)


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
    """The contract of a tool module."""

    def commands(self, setting: Setting, port: int) -> tuple[Command, ...]:
        """The commands of one run: servers first, then the one that reports.

        ``port`` is the TCP port that servers are to use. Raises ``BadInput`` for a case that the
        tool cannot do.
        """

    def parse(self, text: str) -> Parsed:
        """What the output says; never raises, whatever the text is."""

    def payload_bytes(self, parsed: Parsed) -> float:
        """What one node sent to others in this run, in bytes; 0 where the tool sends nothing."""


def tool(name: str) -> Tool:
    """The tool module ``name``. Raises ``BadInput`` for an unknown one."""
    if name not in _MODULES:
        raise BadInput(f"unknown tool {name!r}", remedy=f"known: {', '.join(NAMES)}")
    return cast(Tool, import_module(_MODULES[name]))


def sends_nothing(parsed: Parsed) -> float:  # noqa: ARG001 - the contract of payload_bytes
    """``payload_bytes`` of a tool whose payload stays inside a node."""
    return 0.0
