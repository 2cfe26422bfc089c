"""The command, the metrics, and the output checks."""

from __future__ import annotations

from railgauge.core.model import Command
from railgauge.launchers import Launch
from railgauge.tools import Setting
from railgauge.tools.cores import checks_of_cores
from railgauge.tools.form import FigureForm, ToolFigure, of_ring
from railgauge.tools.hosts import checks_of_ranks
from railgauge.tools.launching import (
    hosts,
    launched,
    launcher_options,
    may_be_root,
    sweep_flags,
)
from railgauge.tools.metric import HIGHER, LOWER, Metric
from railgauge.tools.options import Count, program, read_options
from railgauge.tools.output_checks import (
    OutputCheck,
    SideOutput,
    ToolRequest,
    all_iterations_s,
    equal,
    long_enough,
)

METRICS = (
    Metric("time_us", ("us",), LOWER),
    Metric("algbw", ("GB/s",), HIGHER),
    Metric("busbw", ("GB/s",), HIGHER),
    Metric("wrong", ("count",), LOWER, may_be_zero=True),
)


COMMANDS = ("all_reduce", "all_gather", "reduce_scatter", "alltoall", "broadcast")

_COUNTS = {"iterations": Count("-n"), "warmup": Count("-w", least=0), "cycles": Count("-N")}
_OPTIONS = frozenset({*_COUNTS, "ranks_per_node", "factor", "launcher_args"})


def commands(setting: Setting, port: int) -> tuple[Command, ...]:  # noqa: ARG001 - no server
    """Return one command on the first node: the launcher, with the ranks of every node.

    Options: ``ranks_per_node`` (1), ``iterations``, ``warmup``, ``cycles``, ``factor`` of the sweep
    (2), ``launcher_args`` (a list, or one by launcher). The program is ``mpi-bench`` on the nodes'
    PATH, or at the path under ``mpi_bench`` in the hostfile's ``tools``. Raises ``BadInput`` for
    other options and for sizes that are not a sweep.
    """
    options = read_options(setting, _OPTIONS, COMMANDS)
    test = (program(setting, "mpi-bench"), setting.measurement.command)
    launch = Launch(
        hosts=hosts(setting, options.number("ranks_per_node", 1)),
        program=(*test, *sweep_flags(setting, options), *options.flags(_COUNTS)),
        environment=dict(setting.environment),
        bind="none",  # ranks share all cores: the network is measured, not the CPU
        options=launcher_options(setting, options),
        network=setting.cluster.mpi_network,
        allow_run_as_root=may_be_root(setting),
        ports=setting.cluster.ports,
    )
    if launch.ranks < 2:  # noqa: PLR2004
        options.refuse("a collective needs 2 ranks or more", "use more nodes or more ranks a node")
    return (launched(setting, launch, test[0]),)


def form(figure: ToolFigure) -> FigureForm:
    """Return the form of a collective in host memory, over NICs that MPI chooses."""
    return of_ring(figure, upto=True)


# --- output checks ---

_DEFAULTS = {"iterations": 5, "warmup": 1, "cycles": 1}


def output_checks(asked: ToolRequest, sides: tuple[SideOutput, ...]) -> tuple[OutputCheck, ...]:
    """Compare collective, data type, iterations, warm-up, cycles, ranks and their hosts.

    Also the cores of the ranks, if the launcher is asked to bind them to cores, and the time of the
    command with that of all iterations.
    """
    summary = sides[0].parsed.summary
    return (
        equal("collective", asked.measurement.command, summary.get("collective")),
        equal("data type", "float32", summary.get("dtype")),
        *(
            equal(name, asked.option(name, own), summary.get(name))
            for name, own in _DEFAULTS.items()
        ),
        *checks_of_ranks(
            asked, asked.option("ranks_per_node", 1), summary, summary.get("ranks"), "ranks"
        ),
        *checks_of_cores(asked, sides[0], _ranks(asked)),
        *long_enough(sides[0], all_iterations_s(sides[0].parsed), "for all iterations"),
    )


def _ranks(asked: ToolRequest) -> int | None:
    each = asked.option("ranks_per_node", 1)
    return each * len(asked.case.nodes) if isinstance(each, int) else None
