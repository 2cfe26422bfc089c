"""From a case of the platform file to the launcher's command."""

from __future__ import annotations

from railgauge.core.errors import BadInput
from railgauge.core.model import Command
from railgauge.core.terms import RankPlace
from railgauge.launchers import Launch
from railgauge.launchers.beside_gpu import OWN_PLACEMENT, beside_gpu
from railgauge.tools import Setting, keys
from railgauge.tools.ccl_tests.algorithms import subsystems
from railgauge.tools.ccl_tests.facts import COLLECTIVES
from railgauge.tools.form import FigureForm, ToolFigure, inside_node, of_ring
from railgauge.tools.launching import (
    hosts,
    launched,
    launcher_options,
    may_be_root,
    sweep_flags,
)
from railgauge.tools.metric import HIGHER, LOWER, SWEEP, Metric, several
from railgauge.tools.options import Count, Options, program, read_options

METRICS = (
    Metric("time_us", ("us",), LOWER),
    Metric("cputime_us", ("us",), LOWER),
    *several(tuple(f"iteration_{one}_us" for one in ("min", "p99", "max")), "us", LOWER),
    Metric("algbw", ("GB/s",), HIGHER),
    Metric("busbw", ("GB/s",), HIGHER),
    Metric("wrong", ("count",), LOWER, may_be_zero=True),
    Metric("avg_busbw", ("GB/s",), HIGHER, per=SWEEP),
)


COMMANDS = tuple(f"{name}_perf" for name in COLLECTIVES)
_SENDRECV = "sendrecv_perf"
_MPI_COMMANDS = tuple(f"{name}_mpi" for name in COMMANDS)

_COUNTS = {
    "iterations": Count("-n"),
    "warmup": Count("-w", least=0),
    "cycles": Count("-N", least=0),
    "graph": Count("-G", least=0),
    "check": Count("-c", least=0),
}
_OWN = ("dtype", "gpus_per_node", "gpus_per_process", "launcher_args", "factor", "debug")
_OPTIONS = frozenset({*_COUNTS, *_OWN})
_VISIBLE = {
    "nvidia": "CUDA_VISIBLE_DEVICES",
    "amd": "HIP_VISIBLE_DEVICES",
    "metax": "MACA_VISIBLE_DEVICES",
}
# RCCL uses the variable names of NCCL.
_VARIABLE_PREFIX = {"RCCL": "NCCL"}


def commands(setting: Setting, port: int) -> tuple[Command, ...]:  # noqa: ARG001
    """Return one command on the first node: the launcher, with its processes on every node.

    There is no server: ``port`` is not used. Options: ``dtype``, ``iterations``, ``warmup``,
    ``cycles``, ``graph``, ``check``, ``gpus_per_node`` (all of the platform's by default),
    ``gpus_per_process`` (1), ``launcher_args`` (a list, or one by launcher), ``factor`` of the
    sweep (2) and ``debug``, which makes the library log its transports. It also logs what shows the
    algorithm, if the measurement's ``environment`` asks for one.

    Raises ``BadInput`` for other options and for sizes that are not a sweep.
    """
    options = _options(setting)
    each, count = options.number("gpus_per_process", 1), _gpus_per_node(setting, options)
    if count % each:
        what = f"{count} GPUs a node are not shared by processes of {each}"
        options.refuse(what, "give a divisor as gpus_per_process")
    if count * len(setting.case.nodes) < 2:  # noqa: PLR2004
        options.refuse("a collective needs 2 ranks or more", "use more nodes or more GPUs a node")
    given = launcher_options(setting, options)
    test = (_program(setting), *sweep_flags(setting, options), "-g", str(each))
    dtype = options.text("dtype")
    test = (*test, *(("-d", dtype) if dtype else ()), *options.flags(_COUNTS))
    # A process with several GPUs is beside none of them.
    is_placed = each == 1 and _is_placed(setting, given)
    environment = {**_visible(setting, count), **setting.environment, **_debug(setting, options)}
    launch = Launch(
        hosts=hosts(setting, count // each),
        program=_beside_gpu(setting, test) if is_placed else test,
        environment=environment,
        bind="none" if is_placed or each > 1 else "numa",
        options=given,
        network=setting.cluster.mpi_network,
        allow_run_as_root=may_be_root(setting),
        ports=setting.cluster.ports,
    )
    return (launched(setting, launch, test[0]),)


def form(figure: ToolFigure) -> FigureForm:
    """Return the form of a collective; a part of its time depends on the speed of no part.

    A sendrecv goes from each GPU to the next one: between nodes over some of the NICs, inside a
    node over the links of that ring. Any other may use every link.
    """
    options, gpus = figure.measurement.options, figure.layout.gpus
    count = options.get("gpus_per_node", len(gpus))
    used = gpus[: count if isinstance(count, int) else None]
    is_ring = figure.measurement.command == _SENDRECV
    if len(figure.case.nodes) > 1:
        return of_ring(figure, used, upto=is_ring)
    links = figure.layout.links(used)
    if is_ring:
        links = list(zip(used, (*used[1:], *used[:1]), strict=True))
    return inside_node(figure, used, links, upto=figure.metric.startswith("time"))


def _is_placed(setting: Setting, options: tuple[str, ...]) -> bool:
    """Whether the suite binds the ranks: neither the hostfile nor a measurement says otherwise."""
    own = any(word.partition("=")[0] in OWN_PLACEMENT for word in options)
    return setting.cluster.ranks == RankPlace.BESIDE_GPU and not own


def _beside_gpu(setting: Setting, program: tuple[str, ...]) -> tuple[str, ...]:
    gpus, stack = setting.platform.gpus, setting.stack
    assert gpus is not None
    assert stack is not None
    return beside_gpu(program, stack.pci_vendor, _VISIBLE[gpus.vendor])


def _options(setting: Setting) -> Options:
    """Return the options, in which ``graph`` and ``check`` may be true or false for 1 or 0."""
    options = read_options(setting, _OPTIONS, COMMANDS)
    switches = {name: options.values.get(name) for name in ("graph", "check")}
    given = {name: int(one) for name, one in switches.items() if isinstance(one, bool)}
    return Options(options.where, {**options.values, **given})


def _program(setting: Setting) -> str:
    """Return the path of the test; its name ends in ``_mpi`` if that in the hostfile does."""
    command, tools = setting.measurement.command, setting.cluster.tools
    given = next((tools[key] for key in (command, *keys("ccl-tests")) if key in tools), "")
    if given.rpartition("/")[2] in _MPI_COMMANDS:
        return given.rpartition("/")[0] + f"/{command}_mpi"
    return program(setting, command, COMMANDS)


def _gpus_per_node(setting: Setting, options: Options) -> int:
    gpus = setting.platform.gpus
    if gpus is None or setting.stack is None:
        options.refuse("the platform declares no GPUs", "remove the measurement")
    return options.number("gpus_per_node", gpus.count, most=gpus.count)


def _visible(setting: Setting, count: int) -> dict[str, str]:
    """Return the variable that selects the GPU, if a node uses one; otherwise nothing."""
    gpus, pairing = setting.platform.gpus, setting.case.pairing
    if gpus is None or count != 1 or gpus.vendor not in _VISIBLE:
        return {}
    if pairing is None or pairing.gpu is None:
        return {_VISIBLE[gpus.vendor]: "0"}  # any GPU does, by whatever number
    gpu = pairing.gpu
    numbers = {node: setting.platform.devices.gpu_on(node, gpu) for node in setting.case.nodes}
    if len(set(numbers.values())) > 1:
        some = ", ".join(f"{number} on {node}" for node, number in numbers.items())
        raise BadInput(
            f"GPU {gpu} has the number {some}",
            where=setting.measurement.name,
            remedy="remove gpu numbers from devices",
        )
    return {_VISIBLE[gpus.vendor]: str(numbers[setting.case.nodes[0]])}


def _debug(setting: Setting, options: Options) -> dict[str, str]:
    """Return variables that make the library log its transports, and what it was asked for."""
    path = ("INIT", "NET") if options.values.get("debug") else ()
    logged = dict.fromkeys((*path, *subsystems(setting.measurement.environment)))
    if not logged or setting.stack is None:
        return {}
    prefix = setting.stack.collective_prefix
    prefix = _VARIABLE_PREFIX.get(prefix, prefix)
    return {f"{prefix}_DEBUG": "INFO", f"{prefix}_DEBUG_SUBSYS": ",".join(logged)}
