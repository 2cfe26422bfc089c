"""The command (some or all test cases on one node), and the output checks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

from railgauge.core.model import Command
from railgauge.tools import Setting
from railgauge.tools.form import FigureForm, ToolFigure, of_all_links, of_placement
from railgauge.tools.hosts import check_of_hosts
from railgauge.tools.metric import HIGHER, LOWER, Metric, several
from railgauge.tools.options import Count, Options, on_its_node, program, read_options
from railgauge.tools.output_checks import (
    OutputCheck,
    SideOutput,
    ToolRequest,
    checks_of_buses,
    equal,
    same_models,
)

_HOST = tuple(
    f"{ends}{ways}_memcpy"
    for ends in ("host_to_device", "device_to_host", "host_to_all", "all_to_host")
    for ways in ("", "_bidirectional")
)
_PEERS = tuple(
    f"device_to_device{ways}_memcpy_{verb}"
    for ways, verb in product(("", "_bidirectional"), ("read", "write"))
)
_ONE_AND_ALL = tuple(
    f"{ends}_{verb}" for ends, verb in product(("all_to_one", "one_to_all"), ("write", "read"))
)
_BISECT = ("device_to_device_all_to_one", "device_to_device_all_from_one", "bisect_write")
_COPIES = (
    *(
        f"{prefix}{name}_{engine}"
        for prefix, name, engine in product(
            ("", "multinode_"), (*_HOST, *_PEERS, *_ONE_AND_ALL, *_BISECT), ("ce", "sm")
        )
    ),
    "device_local_copy",
)
_LATENCIES = tuple(
    f"{prefix}{name}_latency_sm"
    for prefix, name in product(("", "multinode_"), ("host_device", "device_to_device"))
)
# A bidirectional case prints each direction's parts and the total of both directions.
_PARTS = ("", "_read1", "_read2", "_write1", "_write2")


def _with_totals(name: str, unit: str) -> tuple[Metric, ...]:
    """Return the metrics of a matrix: its cells, their printed sum, and the number of cells."""
    better = LOWER if name in _LATENCIES else HIGHER
    cells = Metric(f"{name}_cells", ("count",), HIGHER, may_be_zero=True)
    return *several((name, f"{name}_sum"), unit, better), cells


METRICS = (
    *(
        metric
        for copy in _COPIES
        for part in (_PARTS if "_bidirectional_" in copy else _PARTS[:1])
        for metric in _with_totals(f"{copy}{part}", "GB/s")
    ),
    *(metric for latency in _LATENCIES for metric in _with_totals(latency, "ns")),
)


_COUNTS = {"buffer_mib": Count("-b"), "samples": Count("-i")}
_OPTIONS = frozenset({"testcases", "json", *_COUNTS})
_NAME = re.compile(r"[a-z0-9_]{1,80}")


def commands(setting: Setting, port: int) -> tuple[Command, ...]:  # noqa: ARG001 - no server
    """Return one run on the case's first node.

    Options: ``testcases`` (names; default all), ``json`` (default true), ``buffer_mib`` and
    ``samples`` (default: the tool's). The tool does not print its buffer's size, so the case's
    sizes are not used. Raises ``BadInput`` for other options.
    """
    options = read_options(setting, _OPTIONS)
    return on_its_node(setting, (program(setting, "nvbandwidth"), *_flags(options)))


def form(figure: ToolFigure) -> FigureForm | None:
    """Return the form of a copy over one link, or between the host and one GPU; or of all."""
    return of_placement(figure) if figure.placement else of_all_links(figure)


def _flags(options: Options) -> tuple[str, ...]:
    names = options.words("testcases")
    for name in names:
        if not _NAME.fullmatch(name):
            options.refuse(f"{name!r} is not a test case", "see nvbandwidth --list")
    flags = ["-t", *names] if names else []
    return (*flags, *options.flags(_COUNTS), *(("-j",) if options.flag("json", True) else ()))


# --- output checks ---

_DEVICE = re.compile(r"[0-9]{1,4}: (.{1,80}?) \(([0-9a-fA-F:.]{4,20})\)(?:: \(([^()\s]{1,255})\))?")


def output_checks(asked: ToolRequest, sides: tuple[SideOutput, ...]) -> tuple[OutputCheck, ...]:
    """Compare test cases, GPUs, their PCI addresses, host and model.

    Buffer size and samples are never printed.
    """
    summary = sides[0].parsed.summary
    wanted = asked.option("testcases", ())
    found = [_testcases(wanted, summary.get("testcases"))] if wanted else []
    found += _devices(asked, summary.get("devices"))
    unprinted = {"buffer_mib": "buffer size", "samples": "samples"}
    for option, item in unprinted.items():
        if asked.option(option) is not None:
            found.append(equal(item, asked.option(option), None))
    return tuple(found)


def _testcases(wanted: object, shown: object) -> OutputCheck:
    """Check that exactly the wanted test cases ran; a waived one did not run."""
    names = [
        sorted(map(str, one)) if isinstance(one, list | tuple) else [] for one in (wanted, shown)
    ]
    return equal("test cases", ", ".join(names[0]), ", ".join(names[1]) or None)


def _devices(asked: ToolRequest, shown: object) -> Iterator[OutputCheck]:
    if asked.platform.gpus is None:
        return
    devices = shown if isinstance(shown, tuple) else ()
    yield equal("GPUs", asked.platform.gpus.count, len(devices) or None)
    named = [match for device in devices if (match := _DEVICE.match(str(device)))]
    yield check_of_hosts("host", asked, [match[3] for match in named if match[3]])
    yield from checks_of_buses(asked, [match[2] for match in named])
    wanted = asked.models(asked.case.nodes)
    models = same_models("GPU model", wanted, (match[1] for match in named))
    if models:
        yield models
