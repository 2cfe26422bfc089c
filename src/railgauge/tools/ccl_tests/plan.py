"""From a case of the platform file to the launcher's command."""

from __future__ import annotations

from railgauge.core.errors import BadInput
from railgauge.core.model import Command
from railgauge.core.terms import RankPlace
from railgauge.launchers import Launch
from railgauge.launchers.beside_gpu import OWN_PLACEMENT, beside_gpu
from railgauge.tools import Setting, keys
from railgauge.tools.ccl_tests.facts import COLLECTIVES
from railgauge.tools.form import FigureForm, ToolFigure, inside_node, of_ring
from railgauge.tools.launching import hosts, launched, launcher_options, may_be_root
from railgauge.tools.metric import HIGHER, LOWER, SWEEP, Metric, several
from railgauge.tools.options import program

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

_FLAGS = {
    "dtype": "-d",
    "iterations": "-n",
    "warmup": "-w",
    "cycles": "-N",
    "graph": "-G",
    "check": "-c",
}
_OWN = ("gpus_per_node", "gpus_per_process", "launcher_args", "factor", "debug")
_OPTIONS = frozenset({*_FLAGS, *_OWN})
_LEAST = {
    "gpus_per_node": 1, "gpus_per_process": 1, "factor": 2, "iterations": 1, "warmup": 0,
    "cycles": 0, "graph": 0, "check": 0,
}  # fmt: skip
_FACTOR = 2
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
    sweep (2) and ``debug``, which makes the library log its transports.

    Raises ``BadInput`` for other options and for sizes that are not a sweep.
    """
    _check(setting)
    options = launcher_options(setting, _launcher_args(setting))
    program = (_program(setting), *_arguments(setting))
    is_placed = _is_placed(setting, options)
    launch = Launch(
        hosts=hosts(setting, _gpus_per_node(setting) // _gpus_per_process(setting)),
        program=_beside_gpu(setting, program) if is_placed else program,
        environment=_environment(setting),
        bind="none" if is_placed or _gpus_per_process(setting) > 1 else "numa",
        options=options,
        network=setting.cluster.mpi_network,
        allow_run_as_root=may_be_root(setting),
        ports=setting.cluster.ports,
    )
    return (launched(setting, launch),)


def form(figure: ToolFigure) -> FigureForm:
    """Return the form of a collective. A time contains what no part's speed changes.

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
    """Whether the suite binds the ranks: neither the hostfile nor a measurement says otherwise.

    A process with several GPUs is beside none of them.
    """
    own = any(word.partition("=")[0] in OWN_PLACEMENT for word in options)
    alone = _gpus_per_process(setting) == 1
    return setting.cluster.ranks == RankPlace.BESIDE_GPU and alone and not own


def _beside_gpu(setting: Setting, program: tuple[str, ...]) -> tuple[str, ...]:
    gpus, stack = setting.platform.gpus, setting.stack
    assert gpus is not None
    assert stack is not None
    return beside_gpu(program, stack.pci_vendor, _VISIBLE[gpus.vendor])


def _check(setting: Setting) -> None:
    measurement = setting.measurement
    if measurement.command not in COMMANDS:
        known = f"use one of {', '.join(COMMANDS)}"
        _refuse(setting, f"{measurement.command!r} is not a collective test", known)
    if unknown := sorted(set(measurement.options) - _OPTIONS):
        known = f"ccl-tests takes {', '.join(sorted(_OPTIONS))}"
        _refuse(setting, f"unknown option {', '.join(unknown)}", known)
    for name, lowest in _LEAST.items():
        _number(setting, name, lowest)
    if _gpus_per_node(setting) % _gpus_per_process(setting):
        what = f"{_gpus_per_node(setting)} GPUs a node are not shared by processes of "
        _refuse(
            setting, f"{what}{_gpus_per_process(setting)}", "give a divisor as gpus_per_process"
        )
    if _gpus_per_node(setting) * len(setting.case.nodes) < 2:  # noqa: PLR2004
        _refuse(setting, "a collective needs 2 ranks or more", "use more nodes or more GPUs a node")


def _program(setting: Setting) -> str:
    """Return the path of the test; its name ends in ``_mpi`` if that in the hostfile does."""
    command, tools = setting.measurement.command, setting.cluster.tools
    given = next((tools[key] for key in (command, *keys("ccl-tests")) if key in tools), "")
    if given.rpartition("/")[2] in _MPI_COMMANDS:
        return given.rpartition("/")[0] + f"/{command}_mpi"
    return program(setting, command, COMMANDS)


def _number(setting: Setting, name: str, lowest: int) -> None:
    value = setting.measurement.options.get(name, lowest)
    if not isinstance(value, int) or value < lowest:
        _refuse(setting, f"{name} is {value!r}", f"give a whole number of {lowest} or more")


def _gpus_per_process(setting: Setting) -> int:
    """Return the GPUs of one process (``-g``): as many ranks, in NCCL's sense."""
    count = setting.measurement.options.get("gpus_per_process", 1)
    return count if isinstance(count, int) else 1


def _gpus_per_node(setting: Setting) -> int:
    gpus = setting.platform.gpus
    if gpus is None or setting.stack is None:
        _refuse(setting, "the platform declares no GPUs", "remove the measurement")
        return 0
    count = setting.measurement.options.get("gpus_per_node", gpus.count)
    if not isinstance(count, int) or count > gpus.count:
        _refuse(
            setting, f"gpus_per_node is {count!r}", f"give 1 to {gpus.count}, the declared GPUs"
        )
        return 0
    return count


def _arguments(setting: Setting) -> tuple[str, ...]:
    options = setting.measurement.options
    flags = [*_size_flags(setting), "-g", str(_gpus_per_process(setting))]
    for name, flag in _FLAGS.items():
        if name in options:
            value = options[name]
            flags += [flag, str(int(value)) if isinstance(value, bool) else str(value)]
    return tuple(flags)


def _size_flags(setting: Setting) -> tuple[str, ...]:
    sizes = sorted(set(setting.case.sizes))
    factor = setting.measurement.options.get("factor", _FACTOR)
    if not sizes or sizes[0] < 1:
        _refuse(setting, f"no message size to measure in {sizes}", "give sizes of 1 byte or more")
    step = factor if isinstance(factor, int) else _FACTOR
    swept = [sizes[0] * step**n for n in range(len(sizes))]
    if sizes != swept:
        missing = next(size for size in swept if size not in sizes)
        remedy = f"give sizes each {step} times the one before, or another factor"
        _refuse(setting, f"the sizes are not a sweep: {missing} is missing", remedy)
    return ("-b", str(sizes[0]), "-e", str(sizes[-1]), "-f", str(step))


def _environment(setting: Setting) -> dict[str, str]:
    return {**_visible(setting), **setting.environment, **_debug(setting)}


def _visible(setting: Setting) -> dict[str, str]:
    """Return the variable that selects the GPU, if a node uses one; otherwise nothing."""
    gpus, pairing = setting.platform.gpus, setting.case.pairing
    if gpus is None or _gpus_per_node(setting) != 1 or gpus.vendor not in _VISIBLE:
        return {}
    if pairing is None or pairing.gpu is None:
        return {_VISIBLE[gpus.vendor]: "0"}  # any GPU does, by whatever number
    gpu = pairing.gpu
    numbers = {node: setting.platform.devices.gpu_on(node, gpu) for node in setting.case.nodes}
    if len(set(numbers.values())) > 1:
        some = ", ".join(f"{number} on {node}" for node, number in numbers.items())
        _refuse(setting, f"GPU {gpu} has the number {some}", "remove gpu numbers from devices")
    return {_VISIBLE[gpus.vendor]: str(numbers[setting.case.nodes[0]])}


def _debug(setting: Setting) -> dict[str, str]:
    """Return variables that make the library log its transports: the evidence of the path."""
    if not setting.measurement.options.get("debug") or setting.stack is None:
        return {}
    prefix = setting.stack.collective_prefix
    prefix = _VARIABLE_PREFIX.get(prefix, prefix)
    return {f"{prefix}_DEBUG": "INFO", f"{prefix}_DEBUG_SUBSYS": "INIT,NET"}


def _launcher_args(setting: Setting) -> tuple[str, ...]:
    """Return a list for all launchers, or the one under ``{"openmpi": ["-mca", …]}``."""
    given = setting.measurement.options.get("launcher_args", ())
    if isinstance(given, dict):
        given = given.get(setting.cluster.launcher, ())
    if not isinstance(given, list | tuple) or not all(isinstance(word, str) for word in given):
        _refuse(setting, f"launcher_args is {given!r}", "give a list of words, or one by launcher")
        return ()
    return tuple(given)


def _refuse(setting: Setting, what: str, remedy: str) -> None:
    raise BadInput(what, where=setting.measurement.name, remedy=remedy)
