"""The command, the metrics, and the items that the output must confirm."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from railgauge.core.model import Command
from railgauge.launchers import Launch
from railgauge.tools import Setting
from railgauge.tools.form import FigureForm, ToolFigure, inside_node, of_ring
from railgauge.tools.hosts import by_hostname, checks_of_ranks, short
from railgauge.tools.launching import hosts, launched, launcher_options, may_be_root
from railgauge.tools.metric import HIGHER, LOWER, Metric
from railgauge.tools.options import Count, Options, check_port, program, read_options
from railgauge.tools.output_checks import (
    OutputCheck,
    SideOutput,
    ToolRequest,
    checks_of_gpus,
    equal,
    long_enough,
)
from railgauge.tools.train_bench.lines import REPLAY, TRAIN, TrainRank

METRICS = (
    Metric("agreed", ("count",), HIGHER, may_be_zero=True),
    Metric("wrong", ("count",), LOWER, may_be_zero=True),
    Metric("tokens_per_s", ("1/s",), HIGHER),
    Metric("model_tflops", ("TFLOP/s",), HIGHER),
    Metric("compute_tflops", ("TFLOP/s",), HIGHER),
    Metric("step_p99", ("1",), LOWER),
    Metric("exchange_share", ("1",), LOWER, may_be_zero=True),
    Metric("load_share", ("1",), LOWER, may_be_zero=True),
)

COMMANDS = (REPLAY, TRAIN)
# How much of the model was trained in the time of all steps depends on all parts.
_OF_ALL_PARTS = ("tokens_per_s", "model_tflops")
_DEVICES = ("gpu", "cpu")
_COUNTS = {
    "steps": Count("-n", default=100),
    "warmup": Count("-w", least=0, default=0),
    "seed": Count("--seed", least=0, default=1),
    "layers": Count("--layers", default=4),
    "width": Count("--width", least=64, default=1024),
    "sequence": Count("--sequence", default=512),
    "batch": Count("--batch", default=4),
    "vocabulary": Count("--vocabulary", default=8192),
}
_OPTIONS = frozenset({*_COUNTS, "devices", "ranks_per_node", "launcher_args"})


def commands(setting: Setting, port: int) -> tuple[Command, ...]:
    """Return one command on the first node: the launcher, with a rank for each GPU of every node.

    Rank 0 listens on ``port``, where the ranks meet. Options: ``steps``, ``warmup``, ``seed``, the
    size of the model (``layers``, ``width``, ``sequence``, ``batch``, ``vocabulary``), ``devices``
    (``gpu`` or ``cpu``), ``ranks_per_node`` (all GPUs of the platform by default),
    ``launcher_args``. The program is ``train-bench`` on the nodes' PATH, or at the path under
    ``train-bench`` in the hostfile's ``tools``. Raises ``BadInput`` for other options.
    """
    options = read_options(setting, _OPTIONS, COMMANDS)
    each = _ranks_per_node(setting, options)
    if each * len(setting.case.nodes) < 2:  # noqa: PLR2004
        options.refuse("a single rank has no other to agree with", "use more nodes or GPUs")
    check_port(port, options.where)
    on = hosts(setting, each)
    address = f"[{on[0].address}]" if ":" in on[0].address else on[0].address
    argv = (program(setting, "train-bench"), setting.measurement.command)
    devices = options.choice("devices", _DEVICES, "gpu")
    launch = Launch(
        hosts=on,
        program=(
            *(*argv, "-d", devices, "--master", f"{address}:{port}"),
            *options.flags(_COUNTS),
        ),
        environment=dict(setting.environment),
        bind="none",  # a rank waits for its GPU, and needs no core of its own
        options=launcher_options(setting, options),
        network=setting.cluster.mpi_network,
        allow_run_as_root=may_be_root(setting),
        ports=setting.cluster.ports,
    )
    return (launched(setting, launch, argv[0]),)


def form(figure: ToolFigure) -> FigureForm | None:
    """Return the form of the whole training: it loses at most what its parts lose.

    What a rank computes depends on its host too, which no other figure shows.
    """
    if figure.metric not in _OF_ALL_PARTS:
        return None
    gpus = figure.layout.gpus
    if len(figure.case.nodes) > 1:
        return of_ring(figure, gpus, upto=True)
    return inside_node(figure, gpus, figure.layout.links(gpus), upto=True)


def _ranks_per_node(setting: Setting, options: Options) -> int:
    gpus = setting.platform.gpus
    return options.number("ranks_per_node", gpus.count if gpus else 1)


# --- what the output must confirm ---


def output_checks(asked: ToolRequest, sides: tuple[SideOutput, ...]) -> tuple[OutputCheck, ...]:
    """Compare mode, devices, steps, seed, the model's size, ranks, their hosts and their GPUs.

    Also the time of the command with that of the slowest rank.
    """
    summary = sides[0].parsed.summary
    gpus = asked.platform.gpus
    devices = asked.option("devices", "gpu")
    each = asked.option("ranks_per_node", gpus.count if gpus else 1)
    seconds = summary.get("seconds")
    return (
        equal("mode", asked.measurement.command, summary.get("mode")),
        equal("devices", devices, summary.get("devices")),
        *(
            equal(name, asked.option(name, one.default), summary.get(name))
            for name, one in _COUNTS.items()
        ),
        *checks_of_ranks(asked, each, summary, summary.get("ranks"), "ranks"),
        *(_gpus(asked, summary.get("places")) if devices == "gpu" else ()),
        *long_enough(sides[0], seconds if isinstance(seconds, float) else 0.0, "for all steps"),
    )


def _gpus(asked: ToolRequest, places: object) -> Iterator[OutputCheck]:
    """Check of each host that its ranks used the declared GPUs, one each, and those of the node."""
    listed = places if isinstance(places, tuple) else ()
    ranks = [one for one in listed if isinstance(one, TrainRank)]
    known = {name: facts.node for name, facts in by_hostname(asked).items()}
    for host in dict.fromkeys(one.host for one in ranks):
        node = known.get(short(host), asked.case.nodes[0])
        own = [one for one in ranks if one.host == host]
        one_node = replace(asked, case=replace(asked.case, nodes=(node,)))
        summary = {
            "measured": tuple(one.device for one in own),
            "models": tuple(one.model for one in own),
            "uuids": tuple(one.uuid for one in own),
        }
        yield from checks_of_gpus(one_node, summary)
