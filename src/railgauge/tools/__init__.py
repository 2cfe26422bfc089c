"""The measuring tools: one module for each, found by name.

A tool turns a setting into commands, and output into samples. Its output checks compare the output
with the commands. To add a tool, add a module here and a line in ``_RUN``,
or in ``_READ`` if the suite only reads its output; no other place lists the tools.

A tool is one module, or above some 350 lines a folder of modules, in which ``plan`` has
``METRICS``, ``commands`` and ``output_checks``, and ``parse`` has ``parse``.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib import import_module
from typing import NoReturn, Protocol, cast

from railgauge import launchers
from railgauge.config.thresholds.model import Measurement, Platform
from railgauge.core.errors import BadInput, Gathered, HostfileError
from railgauge.core.model import Case, Cluster, Command, Container, Parsed
from railgauge.core.terms import Flow
from railgauge.core.units import KNOWN_UNITS
from railgauge.facts.probe import PROGRAMS as PROBED
from railgauge.stacks import Stack
from railgauge.tools.form import FigureForm, ToolFigure, of_placement
from railgauge.tools.metric import ROW, SCALING, SWEEP, Metric
from railgauge.tools.output_checks import OutputCheck, SideOutput, ToolRequest, checks_nothing


@dataclass(frozen=True, slots=True)
class Registered:
    """One line of the registry: the tool's module, and properties that its name does not give.

    ``keys`` are the names under ``tools`` in a hostfile that locate its programs; if there are
    none, the key is the tool's name. ``root`` is why it needs root; empty if it does not.
    ``is_of_each_gpu``: its values are of single GPUs that compute in their own memory, so that all
    GPUs of a model must reach the same value. ``is_family``: the module holds several tools.
    """

    module: str
    keys: tuple[str, ...] = ()
    root: str = ""
    is_of_each_gpu: bool = False
    is_family: bool = False


_SUBNET = "railgauge.tools.infiniband_diags"
_PROBED = "railgauge.tools.probed"
_UMAD = "management packets: /dev/infiniband/umad*"
# Tools that the suite starts: a platform file may name them.
_RUN = {
    "perftest": Registered("railgauge.tools.perftest"),
    "ccl-tests": Registered("railgauge.tools.ccl_tests", keys=("ccl_tests",)),
    "transferbench": Registered(
        "railgauge.tools.transferbench", keys=("transferbench", "TransferBench")
    ),
    "nvbandwidth": Registered("railgauge.tools.nvbandwidth"),
    "iperf3": Registered("railgauge.tools.iperf3"),
    "vllm-bench": Registered(
        "railgauge.tools.vllm_bench", keys=("vllm-bench", "vllm_bench", "vllm")
    ),
    **{
        name: Registered(_SUBNET, keys=(name, "infiniband-diags"), root=_UMAD, is_family=True)
        for name in ("sminfo", "ibnetdiscover", "iblinkinfo", "ibqueryerrors")
    },
    "mpi-bench": Registered("railgauge.tools.mpi_bench", keys=("mpi_bench",)),
    "gemm-bench": Registered("railgauge.tools.gemm_bench", is_of_each_gpu=True),
    "train-bench": Registered("railgauge.tools.train_bench"),
    "gpu-burn": Registered(
        "railgauge.tools.gpu_burn", keys=("gpu-burn", "gpu_burn"), is_of_each_gpu=True
    ),
    "gpu-fryer": Registered("railgauge.tools.gpu_fryer", is_of_each_gpu=True),
    "rocblas-bench": Registered("railgauge.tools.blas_bench.rocblas", is_of_each_gpu=True),
    "hipblaslt-bench": Registered("railgauge.tools.blas_bench.hipblaslt", is_of_each_gpu=True),
    "rvs": Registered("railgauge.tools.rvs", is_of_each_gpu=True),
    "dcgmi-diag": Registered("railgauge.tools.dcgmi_diag", keys=("dcgmi",)),
    "fio": Registered("railgauge.tools.fio"),
    "congestion": Registered("railgauge.tools.congestion", keys=("ccl_tests", "perftest")),
    "gdsio": Registered("railgauge.tools.gdsio"),
    "azure-nhc": Registered("railgauge.tools.azure_nhc", root="its script asks for root"),
}
# Tools whose output the suite reads but which it never starts.
_READ = {
    "rocm-bandwidth-test": Registered("railgauge.tools.rocm_bandwidth_test"),
    "p2p-bandwidth-latency": Registered("railgauge.tools.p2p_bandwidth_latency"),
    "superbench-copy": Registered("railgauge.tools.superbench_copy"),
    "osu": Registered("railgauge.tools.osu"),
    "imb": Registered("railgauge.tools.imb"),
    "hpl": Registered("railgauge.tools.hpl"),
    "dcgmi-nvlink": Registered("railgauge.tools.dcgmi_nvlink"),
    "dcgmi-health": Registered("railgauge.tools.dcgmi_health"),
    "ras-status": Registered("railgauge.tools.ras_status"),
    "dmesg": Registered("railgauge.tools.dmesg"),
    "perfquery": Registered(_SUBNET, is_family=True),
    "nvidia-smi": Registered(_PROBED, is_family=True),
    "rocm-smi": Registered(_PROBED, is_family=True),
    "amd-smi": Registered(_PROBED, is_family=True),
    "mx-smi": Registered(_PROBED, is_family=True),
    "ibstat": Registered(_PROBED, is_family=True),
    "ibstatus": Registered(_PROBED, is_family=True),
    "ibv_devinfo": Registered(_PROBED, is_family=True),
    "rdma-link": Registered(_PROBED, is_family=True),
    "ethtool": Registered(_PROBED, is_family=True),
    "lspci": Registered(_PROBED, is_family=True),
}

PLANNABLE = tuple(_RUN)
NAMES = (*PLANNABLE, *_READ)


@dataclass(frozen=True, slots=True)
class Setting:
    """All that a tool needs to plan a case. ``stack`` is ``None`` if the platform has no GPUs.

    ``environment`` holds the platform's recommended variables, overridden by the hostfile's.
    """

    case: Case
    measurement: Measurement
    cluster: Cluster
    stack: Stack | None
    platform: Platform
    environment: Mapping[str, str]


def _is_not_run(setting: Setting, port: int) -> NoReturn:  # noqa: ARG001 - the contract of commands
    """``commands`` of a tool that the suite never starts: always raises ``BadInput``."""
    raise BadInput(
        f"tool {setting.measurement.tool!r} can only be read, not run",
        remedy=f"tools that run: {', '.join(PLANNABLE)}",
    )


def _sends_nothing(parsed: Parsed) -> float:  # noqa: ARG001 - the contract of payload_bytes
    """``payload_bytes`` of a tool whose payload stays inside a node."""
    return 0.0


@dataclass(frozen=True, slots=True)
class Tool:
    """What the module of a tool has; that of a tool that is only read has just ``parse``.

    ``parse`` reads an output. It never raises, whatever the text is: faults become problems.
    ``METRICS`` are the numbers that a platform file may limit. ``commands`` returns the commands of
    one run: servers first, which listen on the TCP port, then the client that prints the results;
    it raises ``BadInput`` for a case that the tool cannot run. ``output_checks`` returns the items
    that show whether the outputs of one run, the client's first, are of the planned command; an
    item that an output does not show has ``shown`` ``None``: it is listed as such, never assumed.
    ``payload_bytes`` returns the bytes that one node sent to others in this run.

    ``flow`` returns which way a test moves its payload between two nodes, if each side's command
    names its own NIC, so that the tool can measure across rails. ``form`` returns the parts of the
    cluster that decide a value; ``None`` if they are unknown for it. ``identity`` returns a text
    that no other run of the tool prints, empty if an output has none; two runs must have the same
    one by chance so rarely that it never happens in a healthy run of 100,000 measurements.
    ``joined`` returns what the outputs of all commands show together; without it the client's
    output holds all figures.
    """

    parse: Callable[[str], Parsed]
    METRICS: tuple[Metric, ...] = ()
    commands: Callable[[Setting, int], tuple[Command, ...]] = _is_not_run
    output_checks: Callable[[ToolRequest, tuple[SideOutput, ...]], tuple[OutputCheck, ...]] = (
        checks_nothing
    )
    payload_bytes: Callable[[Parsed], float] = _sends_nothing
    flow: Callable[[Measurement], Flow] | None = None
    form: Callable[[ToolFigure], FigureForm | None] | None = None
    identity: Callable[[str], str] | None = None
    joined: Callable[[ToolRequest, tuple[SideOutput, ...]], Parsed] | None = None


@cache  # planning asks for it with every command
def tool(name: str) -> Tool:
    """Return the tool ``name``. Raises ``BadInput`` for an unknown name."""
    if name not in NAMES:
        raise BadInput(f"unknown tool {name!r}", remedy=f"known: {', '.join(NAMES)}")
    registered = {**_RUN, **_READ}[name]
    module: object = import_module(registered.module)
    if registered.is_family:
        module = cast(Family, module).named(name)
    parts = [one.name for one in fields(Tool)] if name in _RUN else ["parse"]
    return Tool(**{part: getattr(module, part) for part in parts if hasattr(module, part)})


class Family(Protocol):
    """What a module that holds several tools has."""

    def named(self, name: str) -> object:
        """Return the object that is the tool which the registry calls ``name``."""


def run_identity(name: str, text: str) -> str:
    """Return the identity that an output of the tool ``name`` shows; empty if it shows none."""
    identity = tool(name).identity if name in _RUN else None
    return identity(text) if identity else ""


def flow(measurement: Measurement) -> Flow:
    """Return which way a measurement between two nodes moves its payload.

    Tools without two ends, such as collectives, move it both ways.
    """
    flow = tool(measurement.tool).flow if measurement.tool in _RUN else None
    return flow(measurement) if flow else Flow.BOTH


def form(figure: ToolFigure) -> FigureForm | None:
    """Return the parts of the cluster that decide a value; ``None`` if the tool declares none.

    For a tool with values of single GPUs or links, they are that GPU or link.
    """
    name = figure.measurement.tool
    if is_of_each_gpu(name):
        return of_placement(figure)
    form = tool(name).form if name in _RUN else None
    return form(figure) if form else None


def keys(name: str) -> tuple[str, ...]:
    """Return the keys under ``tools`` in a hostfile that locate the programs of a tool."""
    return _RUN[name].keys or (name,)


def container_of(cluster: Cluster, name: str) -> Container | None:
    """Return the container that the hostfile gives for a tool, or for all; ``None`` without one."""
    found = (cluster.runtime[key] for key in (name, *keys(name)) if key in cluster.runtime)
    return next(found, cluster.runtime.get("*"))


def root_reason(name: str) -> str:
    """Return why a tool needs root; empty if it does not."""
    return _RUN[name].root


def is_of_each_gpu(name: str) -> bool:
    """Return whether the figures of a tool are of single GPUs that depend on nothing else."""
    return name in _RUN and _RUN[name].is_of_each_gpu


def check_keys(cluster: Cluster, platform: Platform) -> None:
    """Raise ``BadInput`` if the hostfile locates a program that the suite never starts."""
    of_tools = [key for name in _RUN for key in keys(name)]
    measured = sorted({one.command for one in platform.measurements.values() if one.command})
    prepared = sorted({step.apply[0] for step in platform.preparations})
    known = [*of_tools, *measured, *launchers.PROGRAMS, *PROBED, *prepared]
    gathered = Gathered()
    for key in cluster.tools:
        if key not in known:
            (near,) = difflib.get_close_matches(key, known, n=1, cutoff=0.0)
            gathered.add(
                HostfileError(
                    f"tools: {key!r} is not one of {', '.join(dict.fromkeys(known))}",
                    where=cluster.source,
                    remedy=f"did you mean {near}?",
                )
            )
    for key in cluster.runtime:
        if key not in (of_runtime := ["*", *_RUN, *of_tools]):
            (near,) = difflib.get_close_matches(key, of_runtime, n=1, cutoff=0.0)
            what = f"runtime: {key!r} is not a tool that runs in a container"
            gathered.add(HostfileError(what, where=cluster.source, remedy=f"did you mean {near}?"))
    gathered.raise_any()


def declared_metric(name: str, called: str) -> Metric | None:
    """Return what the tool ``name`` declares about the metric ``called``.

    ``called`` may have a placement (``busbw/in_place``). ``None`` if the tool does not declare the
    metric, or if there is no such tool.
    """
    return metrics(name).get(called.partition("/")[0]) if name in NAMES else None


@cache
def metrics(name: str) -> Mapping[str, Metric]:
    """Return a tool's metrics by name. Raises ``TypeError`` for an invalid declaration."""
    found = (*tool(name).METRICS, SCALING)
    by_name = {one.name: one for one in found}
    if len(by_name) < len(found):
        raise TypeError(f"tool {name} declares a metric twice")
    for one in found:
        if not one.units or not KNOWN_UNITS.issuperset(one.units) or one.per not in (ROW, SWEEP):
            raise TypeError(f"tool {name}: {one.name} is declared with {one.units}, per {one.per}")
    return by_name


def check_plannable(platform: Platform) -> None:
    """Raise ``BadInput`` if a measurement of the platform file names a tool that cannot run it."""
    for name, measurement in platform.measurements.items():
        if measurement.tool not in PLANNABLE:
            known = measurement.tool in NAMES
            what = "can only be read, not run" if known else "is unknown"
            raise BadInput(
                f"measurement {name}: tool {measurement.tool!r} {what}",
                where=platform.path,
                remedy=f"tools that run: {', '.join(PLANNABLE)}",
            )
        if measurement.is_cross_rail and tool(measurement.tool).flow is None:
            two_ended = sorted(one for one in PLANNABLE if tool(one).flow)
            raise BadInput(
                f"measurement {name}: {measurement.tool} does not run from one NIC to another",
                where=platform.path,
                remedy=f"remove cross_rail, or use one of {', '.join(two_ended)}",
            )
