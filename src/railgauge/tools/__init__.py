"""The measuring tools: one module for each, found by name.

A tool turns a setting into commands, and output into samples. Its claims are the statements of the
output that must agree with the commands. To add a tool, add a module here and a line in ``_RUN``,
or in ``_READ`` if the suite only reads its output; no other place lists the tools.

A tool is one module, or above some 350 lines a folder of modules, in which ``plan`` has
``METRICS``, ``commands`` and ``claims``, and ``parse`` has ``parse``.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
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
from railgauge.tools.claims import Claim, SideOutput, ToolRequest
from railgauge.tools.form import FigureForm, ToolFigure, of_placement
from railgauge.tools.metric import ROW, SCALING, SWEEP, Metric


@dataclass(frozen=True, slots=True)
class Registered:
    """One line of the registry: the tool's module, and properties that its name does not give.

    ``keys`` are the names under ``tools`` in a hostfile that locate its programs; if there are
    none, the key is the tool's name. ``is_two_ended``: each side's command names its own NIC, so
    that the tool can measure across rails. ``root`` is why it needs root; empty if it does not.
    ``is_of_each_gpu``: its figures are of single GPUs, computing in their own memory, so that all
    GPUs of a model must reach the same. ``is_family``: the module holds several tools.
    ``is_identified``: its output may show what no other run of it shows. ``is_formed``: its figures
    are as good as the parts that they use, and ``form`` of its module tells which those are.
    """

    module: str
    keys: tuple[str, ...] = ()
    is_two_ended: bool = False
    root: str = ""
    is_of_each_gpu: bool = False
    is_family: bool = False
    is_identified: bool = False
    is_formed: bool = False


_INFINIBAND = "infiniband-diags"
_PROBED = "railgauge.tools.probed"
_UMAD = "management packets: /dev/infiniband/umad*"
# Tools that the suite starts: a platform file may name them.
_RUN = {
    "perftest": Registered(
        "railgauge.tools.perftest", is_two_ended=True, is_identified=True, is_formed=True
    ),
    "ccl-tests": Registered(
        "railgauge.tools.ccl_tests", keys=("ccl_tests",), is_identified=True, is_formed=True
    ),
    "transferbench": Registered(
        "railgauge.tools.transferbench", keys=("transferbench", "TransferBench"), is_formed=True
    ),
    "nvbandwidth": Registered("railgauge.tools.nvbandwidth", is_formed=True),
    "iperf3": Registered(
        "railgauge.tools.iperf3", is_two_ended=True, is_identified=True, is_formed=True
    ),
    "vllm-bench": Registered(
        "railgauge.tools.vllm_bench", keys=("vllm-bench", "vllm_bench", "vllm"), is_formed=True
    ),
    "sminfo": Registered(
        "railgauge.tools.infiniband_diags.sminfo", keys=("sminfo", _INFINIBAND), root=_UMAD
    ),
    "ibnetdiscover": Registered(
        "railgauge.tools.infiniband_diags.ibnetdiscover",
        keys=("ibnetdiscover", _INFINIBAND),
        root=_UMAD,
    ),
    "iblinkinfo": Registered(
        "railgauge.tools.infiniband_diags.iblinkinfo", keys=("iblinkinfo", _INFINIBAND), root=_UMAD
    ),
    "ibqueryerrors": Registered(
        "railgauge.tools.infiniband_diags.ibqueryerrors",
        keys=("ibqueryerrors", _INFINIBAND),
        root=_UMAD,
    ),
    "mpi-bench": Registered("railgauge.tools.mpi_bench", keys=("mpi_bench",), is_formed=True),
    "gemm-bench": Registered("railgauge.tools.gemm_bench", is_of_each_gpu=True),
    "gpu-burn": Registered(
        "railgauge.tools.gpu_burn", keys=("gpu-burn", "gpu_burn"), is_of_each_gpu=True
    ),
    "gpu-fryer": Registered("railgauge.tools.gpu_fryer", is_of_each_gpu=True),
    "rocblas-bench": Registered("railgauge.tools.blas_bench.rocblas", is_of_each_gpu=True),
    "hipblaslt-bench": Registered("railgauge.tools.blas_bench.hipblaslt", is_of_each_gpu=True),
    "rvs": Registered("railgauge.tools.rvs", is_of_each_gpu=True),
    "dcgmi-diag": Registered("railgauge.tools.dcgmi_diag", keys=("dcgmi",)),
    "azure-nhc": Registered(
        "railgauge.tools.azure_nhc", root="its script asks for root", is_formed=True
    ),
}
# Tools whose output the suite reads but which it never starts.
_READ = {
    "rocm-bandwidth-test": Registered("railgauge.tools.rocm_bandwidth_test"),
    "p2p-bandwidth-latency": Registered("railgauge.tools.p2p_bandwidth_latency"),
    "superbench-copy": Registered("railgauge.tools.superbench_copy"),
    "osu": Registered("railgauge.tools.osu"),
    "imb": Registered("railgauge.tools.imb"),
    "hpl": Registered("railgauge.tools.hpl"),
    "fio": Registered("railgauge.tools.fio"),
    "dcgmi-nvlink": Registered("railgauge.tools.dcgmi_nvlink"),
    "dcgmi-health": Registered("railgauge.tools.dcgmi_health"),
    "ras-status": Registered("railgauge.tools.ras_status"),
    "dmesg": Registered("railgauge.tools.dmesg"),
    "perfquery": Registered("railgauge.tools.infiniband_diags.perfquery"),
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
_TWO_ENDED = tuple(name for name, one in _RUN.items() if one.is_two_ended)


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


class Tool(Protocol):
    """The contract of a tool module.

    ``METRICS`` are the numbers that a platform file may limit; empty if output is only read.
    """

    METRICS: tuple[Metric, ...]

    def commands(self, setting: Setting, port: int) -> tuple[Command, ...]:
        """Return the commands of one run: servers first, then the client that prints the results.

        ``port`` is the TCP port for the servers. Raises ``BadInput`` for a case that the tool
        cannot run.
        """

    def parse(self, text: str) -> Parsed:
        """Parse the output. Never raises, whatever the text is: faults become problems."""

    def claims(self, asked: ToolRequest, sides: tuple[SideOutput, ...]) -> tuple[Claim, ...]:
        """Return the items that show whether the outputs of one run are of the planned command.

        ``sides`` begins with the client's output. An item that an output does not show is a claim
        too, with ``said`` as ``None``: it is reported as not shown and never assumed.
        """

    def payload_bytes(self, parsed: Parsed) -> float:
        """Return the bytes that one node sent to others in this run; 0 if the tool sends none."""


class Family(Protocol):
    """What a module that holds several tools has."""

    def named(self, name: str) -> Tool:
        """Return the tool that the registry calls ``name``."""


class TwoEnded(Protocol):
    """What the module of a two-ended tool has as well."""

    def flow(self, measurement: Measurement) -> Flow:
        """Return which way a test of this measurement moves its payload between two nodes."""


class Formed(Protocol):
    """What the module of a tool has whose figures are as good as the parts that they use."""

    def form(self, figure: ToolFigure) -> FigureForm | None:
        """Return what a figure means in parts; ``None`` if nothing is known of it."""


class Identified(Protocol):
    """What the module of a tool has whose output may show what no other run of it shows."""

    def identity(self, text: str) -> str:
        """Return that part of the output, in words; empty if this output does not show it.

        Two runs may have it alike by chance only so seldom that a healthy run of 100,000
        measurements never does.
        """


def run_identity(name: str, text: str) -> str:
    """Return what in an output of the tool ``name`` no other run of it shows; empty for nothing."""
    if not (name in _RUN and _RUN[name].is_identified):
        return ""
    return cast(Identified, tool(name)).identity(text)


def flow(measurement: Measurement) -> Flow:
    """Return which way a measurement between two nodes moves its payload.

    Tools without two ends, such as collectives, move it both ways.
    """
    if measurement.tool not in _TWO_ENDED:
        return Flow.BOTH
    return cast(TwoEnded, tool(measurement.tool)).flow(measurement)


def form(figure: ToolFigure) -> FigureForm | None:
    """Return what a figure means in parts of the cluster; ``None`` for a tool that does not tell.

    That of a tool whose figures are of single GPUs, or of single links, follows from this.
    """
    name = figure.measurement.tool
    if is_of_each_gpu(name):
        return of_placement(figure)
    if not (name in _RUN and _RUN[name].is_formed):
        return None
    return cast(Formed, tool(name)).form(figure)


@cache  # planning asks for it with every command
def tool(name: str) -> Tool:
    """Return the module of the tool ``name``. Raises ``BadInput`` for an unknown name."""
    if name not in NAMES:
        raise BadInput(f"unknown tool {name!r}", remedy=f"known: {', '.join(NAMES)}")
    registered = {**_RUN, **_READ}[name]
    module = import_module(registered.module)
    return cast(Family, module).named(name) if registered.is_family else cast(Tool, module)


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
    """Raise ``BadInput`` if the hostfile locates a program that the suite never starts there."""
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
        if measurement.is_cross_rail and measurement.tool not in _TWO_ENDED:
            raise BadInput(
                f"measurement {name}: {measurement.tool} does not run from one NIC to another",
                where=platform.path,
                remedy=f"remove cross_rail, or use one of {', '.join(sorted(_TWO_ENDED))}",
            )


def is_not_run(setting: Setting, port: int) -> NoReturn:  # noqa: ARG001 - the contract of commands
    """``commands`` of a tool that the suite never starts: always raises ``BadInput``."""
    raise BadInput(
        f"tool {setting.measurement.tool!r} can only be read, not run",
        remedy=f"tools that run: {', '.join(PLANNABLE)}",
    )


# ``METRICS`` of a tool whose output is only read.
NOT_LIMITED: tuple[Metric, ...] = ()


def sends_nothing(parsed: Parsed) -> float:  # noqa: ARG001 - the contract of payload_bytes
    """``payload_bytes`` of a tool whose payload stays inside a node."""
    return 0.0
