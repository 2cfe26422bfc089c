"""The command, the metrics, and the output checks."""

from __future__ import annotations

from collections.abc import Iterator

from railgauge.core.model import Command
from railgauge.tools import Setting
from railgauge.tools.hosts import check_of_hosts
from railgauge.tools.metric import HIGHER, LOWER, Metric
from railgauge.tools.options import Count, on_its_node, program, read_options
from railgauge.tools.output_checks import (
    OutputCheck,
    SideOutput,
    ToolRequest,
    checks_of_gpus,
    equal,
)

METRICS = (
    Metric("tflops", ("TFLOP/s", "GFLOP/s"), HIGHER),
    Metric("copy_bandwidth", ("GB/s",), HIGHER),
    Metric("wrong", ("count",), LOWER, may_be_zero=True),
)

COMMANDS = ("fp64", "fp32", "tf32", "bf16", "fp8", "copy")
_DEVICES = ("gpu", "cpu")
_COUNTS = {
    "size": Count("-s", default=8192),
    "iterations": Count("-n", default=4),
    "warmup_s": Count("-w", least=0, default=5),
    "cycles": Count("-N", default=5),
    "seed": Count("--seed", least=0, default=1),
}
_LIBRARIES = ("torch", "cupy", "numpy")


def commands(setting: Setting, port: int) -> tuple[Command, ...]:  # noqa: ARG001 - no server
    """Return one run on the case's node, which visits its devices one after the other.

    The measurement's command is the format (``fp64``, …), or ``copy``. Options: ``devices``
    (``gpu`` or ``cpu``), ``size`` (rows of a matrix), ``iterations`` (products of a cycle),
    ``warmup_s``, ``cycles``, ``seed``, ``library``. The program is ``gemm-bench`` on the node's
    PATH, or at the path under ``gemm-bench`` in the hostfile's ``tools``. Raises ``BadInput`` for
    other options.
    """
    options = read_options(setting, frozenset({*_COUNTS, "devices", "library"}), COMMANDS)
    form = setting.measurement.command
    devices, library = (
        options.choice("devices", _DEVICES, "gpu"),
        options.choice("library", _LIBRARIES),
    )
    argv = [program(setting, "gemm-bench"), form, "-d", devices, *options.flags(_COUNTS)]
    return on_its_node(setting, [*argv, "--library", library] if library else argv)


# --- output checks ---


def output_checks(asked: ToolRequest, sides: tuple[SideOutput, ...]) -> tuple[OutputCheck, ...]:
    """Compare format, devices, size, iterations, warm-up, cycles, seed, library, host and GPUs."""
    summary = sides[0].parsed.summary
    host = summary.get("host")
    devices = asked.option("devices", "gpu")
    return (
        equal("format", asked.measurement.command, summary.get("format")),
        equal("devices", devices, summary.get("devices")),
        *(
            equal(name, asked.option(name, one.default), summary.get(name))
            for name, one in _COUNTS.items()
        ),
        *_library(asked.option("library"), summary.get("library")),
        check_of_hosts("host", asked, [str(host)] if host else []),
        *(checks_of_gpus(asked, summary) if devices == "gpu" else ()),
    )


def _library(wanted: object, shown: object) -> Iterator[OutputCheck]:
    if wanted:
        yield equal("library", wanted, str(shown).partition(" ")[0] if shown else None)
