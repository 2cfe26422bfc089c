"""The command for a level, a module or a configuration, and the output checks."""

from __future__ import annotations

import re

from railgauge.core.model import Command
from railgauge.tools import Setting
from railgauge.tools.metric import HIGHER, Metric, several
from railgauge.tools.options import Options, on_its_node, program, read_options, starting
from railgauge.tools.output_checks import (
    OutputCheck,
    SideOutput,
    ToolRequest,
    checks_of_gpus,
    equal,
)

FORMATS = ("fp64", "fp32", "fp16", "bf16", "fp8", "fp6", "fp4")
KERNELS = ("read", "write", "copy", "mul", "add", "triad", "dot")
_BANDWIDTHS = tuple(f"babel_{kernel}{end}" for kernel in KERNELS for end in ("", "_min", "_max"))
METRICS = (
    *several(("gflops", *(f"gflops_{form}" for form in FORMATS)), "GFLOP/s", HIGHER),
    *several(("p2p_bw", "p2p_bw_bidirectional"), "GB/s", HIGHER),
    *(Metric(name, ("MB/s", "MiB/s"), HIGHER) for name in _BANDWIDTHS),
)

_LEVELS, _MODULES = ("1", "2", "3", "4", "5"), ("gst", "iet", "babel", "pbqt")
_CHOICES = {"level": "-r", "module": "-m", "config": "-c"}
# RVS names GPUs by numbers of the driver. Its list, which comes first, maps them to addresses.
_SCRIPT = (
    'echo "railgauge: rvs begins"; "$1" -g || exit; "$@"; code=$?; '
    'echo "railgauge: rvs ended with $code"; exit "$code"'
)


def commands(setting: Setting, port: int) -> tuple[Command, ...]:  # noqa: ARG001 - no server
    """Return one run on the case's node.

    One option selects the tests: ``level`` (``"1"`` to ``"5"``), ``module`` (``gst``, ``iet``,
    ``babel``, ``pbqt``: its configuration for this GPU), or ``config``, a file on the node. Raises
    ``BadInput`` for other options.
    """
    options = read_options(setting, frozenset(_CHOICES))
    given = [name for name in _CHOICES if options.text(name)]
    if len(given) != 1:
        options.refuse(f"{len(given)} of {', '.join(_CHOICES)} are given", "give one of them")
    value = _checked(options, given[0])
    rvs = program(setting, "rvs")
    argv = ("sh", "-c", _SCRIPT, "rvs", rvs, _CHOICES[given[0]], value)
    return starting((rvs,), on_its_node(setting, argv, {"LC_ALL": "C"}))


def _checked(options: Options, name: str) -> str:
    value = options.text(name)
    known = {"level": _LEVELS, "module": _MODULES}.get(name)
    if known and value not in known:
        options.refuse(f"{name} is {value!r}", f"give one of {', '.join(known)}")
    if not re.fullmatch(r"[\w./+@=-]{1,400}", value) or value.startswith("-"):
        options.refuse(f"{name} is {value!r}", "give the path of a configuration of RVS")
    return value


def output_checks(asked: ToolRequest, sides: tuple[SideOutput, ...]) -> tuple[OutputCheck, ...]:
    """Compare number, models and PCI addresses of the GPUs; RVS does not show its level."""
    summary = sides[0].parsed.summary
    wanted = next((str(asked.option(name)) for name in _CHOICES if asked.option(name)), "")
    return (
        equal("configuration", wanted, None),
        *checks_of_gpus(asked, summary),
    )
