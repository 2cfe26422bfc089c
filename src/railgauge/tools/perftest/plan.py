"""From a case of the platform file to perftest's commands for server and client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, NoReturn

from railgauge.config.thresholds.model import Measurement
from railgauge.core.errors import BadInput
from railgauge.core.model import Command, Pairing
from railgauge.core.terms import Flow
from railgauge.tools import Setting
from railgauge.tools.form import FigureForm, ToolFigure, of_path
from railgauge.tools.metric import HIGHER, LOWER, Metric, several
from railgauge.tools.options import Options

_BANDWIDTHS = ("Gb/s", "MB/s", "MiB/s")
_LATENCIES = ("lat_min", "lat_max", "lat_typical", "lat_avg", "lat_p99", "lat_p999")

_TAILS = frozenset({"lat_max", "lat_p99", "lat_p999", "lat_stdev"})

METRICS = (
    Metric("bw_peak", _BANDWIDTHS, HIGHER),
    Metric("bw_average", _BANDWIDTHS, HIGHER),
    Metric("msg_rate", ("Mpps",), HIGHER),
    Metric("tps", ("1/s",), HIGHER),
    *several(_LATENCIES, "us", LOWER),
    Metric("lat_stdev", ("us",), LOWER, may_be_zero=True),
)


def flow(measurement: Measurement) -> Flow:
    """Return which way the payload moves: a read takes it from the server to the client."""
    if not measurement.command.endswith("_bw"):
        return Flow.UNTOLD
    if measurement.options.get("bidirectional"):
        return Flow.BOTH
    return Flow.BACKWARD if measurement.command == "ib_read_bw" else Flow.FORWARD


def form(figure: ToolFigure) -> FigureForm | None:
    """Return the form of a test between two nodes; its slowest messages tell nothing of a part."""
    if figure.metric in _TAILS:
        return None
    return of_path(figure, flow(figure.measurement))


_FLAGS = frozenset({"report_gbits", "disable_pcie_relaxed", "bidirectional", "dmabuf"})
_COUNTS = {  # of the network, and of the queues
    "gid_index": "-x",
    "traffic_class": "--tclass",
    "service_level": "-S",
    "mtu": "-m",
    "inline_bytes": "-I",
    "cq_moderation": "-Q",
}
_OPTIONS = _FLAGS | {"qps", "iterations", *_COUNTS}


def commands(setting: Setting, port: int) -> tuple[Command, ...]:
    """Return the server on the pair's target and the client on its source, each over its NIC."""
    return plan(_request(setting), port)


def _request(setting: Setting) -> Request:
    case, measurement, cluster = setting.case, setting.measurement, setting.cluster
    if case.pairing is None:
        raise BadInput(f"{measurement.name} needs a NIC: measure it over the platform's pairings")
    source, target = case.nodes
    own, other = case.pairing.ends
    names = setting.platform.devices
    return Request(
        command=measurement.command,
        source=source,
        target=target,
        target_address=cluster.node(target).data_address,
        source_device=names.on(source, own.nic),
        target_device=names.on(target, other.nic),
        sizes=case.sizes,
        directory=cluster.tools.get("perftest", ""),
        memory_flags_source=_memory_flags(setting, source, own),
        memory_flags_target=_memory_flags(setting, target, other),
        time_limit_s=measurement.time_limit_s,
        **_options(setting),
    )


def _memory_flags(setting: Setting, node: str, end: Pairing) -> tuple[str, ...]:
    if end.gpu is None:
        return ()
    if setting.stack is None:
        raise BadInput(f"{setting.measurement.name} needs GPUs, but the platform declares none")
    flags = setting.stack.perftest_memory_flags(setting.platform.devices.gpu_on(node, end.gpu))
    if not setting.measurement.options.get("dmabuf"):
        return flags
    if not setting.stack.perftest_dmabuf:
        _refuse("perftest has no DMA-BUF for this vendor's GPUs", "remove dmabuf")
    return (*flags, *setting.stack.perftest_dmabuf)


def _options(setting: Setting) -> dict[str, Any]:
    options: dict[str, Any] = {"report_gbits": False, **setting.measurement.options}
    if unknown := sorted(set(options) - _OPTIONS):
        raise BadInput(
            f"{setting.measurement.name}: unknown option {', '.join(unknown)}",
            remedy=f"perftest takes {', '.join(sorted(_OPTIONS))}",
        )
    _check_kinds(Options(setting.measurement.name, setting.measurement.options))
    return options


def _check_kinds(options: Options) -> None:
    """Raise ``BadInput`` for a count that is not a whole number or a flag that is no boolean."""
    for name in options.values:
        if name in _FLAGS:
            options.flag(name)
        else:
            options.count(name, None, least=0)


# --- from a request to the commands of both sides ---

COMMANDS = (
    "ib_write_bw",
    "ib_read_bw",
    "ib_send_bw",
    "ib_write_lat",
    "ib_read_lat",
    "ib_send_lat",
)

# The sizes that -a measures: every power of two from 2 B to 8 MiB.
SWEEP_SIZES = tuple(2**exponent for exponent in range(1, 24))

_PORTS = range(1, 65536)
_ITERATIONS = range(5, 100_000_001)


@dataclass(frozen=True, slots=True)
class Request:
    """One perftest measurement between two nodes.

    ``directory`` holds the programs: empty for PATH, a directory, or the full path of one program.
    ``source`` and ``target`` are node names. The client runs on the source and contacts
    ``target_address``: writes and sends flow from source to target, reads from target to source.
    ``sizes`` are in bytes; several make a sweep. ``memory_flags_*`` select GPU memory, for example
    ``("--use_maca=0",)``; empty for host memory.
    """

    command: str
    source: str
    target: str
    target_address: str
    source_device: str
    target_device: str
    sizes: tuple[int, ...]
    directory: str = ""
    ib_port: int = 1
    qps: int = 1
    iterations: int | None = None
    report_gbits: bool = True
    disable_pcie_relaxed: bool = False
    gid_index: int | None = None
    traffic_class: int | None = None
    service_level: int | None = None
    mtu: int | None = None
    inline_bytes: int | None = None
    cq_moderation: int | None = None
    dmabuf: bool = False
    memory_flags_source: tuple[str, ...] = ()
    memory_flags_target: tuple[str, ...] = ()
    bidirectional: bool = False
    time_limit_s: float = 60.0
    environment: Mapping[str, str] = field(default_factory=dict)


def plan(request: Request, port: int) -> tuple[Command, ...]:
    """Return the server's command, which listens on TCP ``port``, then the client's.

    Raises ``BadInput`` for values that perftest would refuse or silently ignore.
    """
    _check(request, port)
    common = _common_flags(request, port)
    server = (*_program(request.target_device, request), *common, *request.memory_flags_target)
    client = (*_program(request.source_device, request), *common, *request.memory_flags_source)
    return (
        _command(request, request.target, server, listens_on=port),
        _command(request, request.source, (*client, request.target_address)),
    )


def _command(
    request: Request, node: str, argv: tuple[str, ...], listens_on: int | None = None
) -> Command:
    return Command(
        node=node,
        argv=argv,
        environment=request.environment,
        time_limit_s=request.time_limit_s,
        listens_on=listens_on,
    )


def _program(device: str, request: Request) -> tuple[str, ...]:
    return (_path(request), "-d", device)


def _path(request: Request) -> str:
    if not request.directory:
        return request.command
    folder = PurePosixPath(request.directory)
    return str((folder.parent if folder.name in COMMANDS else folder) / request.command)


def _common_flags(request: Request, port: int) -> tuple[str, ...]:
    # Both sides get the same flags: a side without --report_gbits prints its own heading above the
    # other side's values, and a server without -a ends the client's sweep.
    flags = ["-i", str(request.ib_port), "-p", str(port), "-F", *_size_flags(request)]
    if request.qps > 1:
        flags += ["-q", str(request.qps)]
    if request.iterations is not None:
        flags += ["-n", str(request.iterations)]
    for name, flag in _COUNTS.items():
        if (value := getattr(request, name)) is not None:
            flags += [f"{flag}={value}"] if flag.startswith("--") else [flag, str(value)]
    if request.bidirectional:
        flags.append("-b")
    if request.report_gbits and _is_bandwidth(request):
        flags.append("--report_gbits")
    if request.disable_pcie_relaxed:
        flags.append("--disable_pcie_relaxed")
    return tuple(flags)


def _size_flags(request: Request) -> tuple[str, ...]:
    sizes = set(request.sizes)
    return ("-a",) if len(sizes) > 1 else ("-s", str(sizes.pop()))


def _is_bandwidth(request: Request) -> bool:
    return request.command.endswith("_bw")


def _check(request: Request, port: int) -> None:
    if request.command not in COMMANDS:
        _refuse(
            f"{request.command!r} is not a perftest command", f"use one of {', '.join(COMMANDS)}"
        )
    if not request.source_device or not request.target_device:
        _refuse("no RDMA device named", "name one for the source and one for the target")
    if not request.target_address:
        _refuse("no address for the server", "give the target's data address")
    if port not in _PORTS:
        _refuse(f"{port} is not a TCP port", "give 1 to 65535")
    _check_sizes(request)
    _check_counts(request)
    _check_network(request)


def _check_sizes(request: Request) -> None:
    sizes = sorted(set(request.sizes))
    if not sizes or sizes[0] < 1:
        _refuse(f"no message size to measure in {sizes}", "give sizes of 1 byte or more")
    unprinted = [size for size in sizes if size not in SWEEP_SIZES]
    if len(sizes) > 1 and unprinted:
        _refuse(
            f"a sweep does not print size {unprinted[0]}",
            "give powers of two from 2 to 8388608, or a single size",
        )


def _check_counts(request: Request) -> None:
    if request.ib_port < 1 or request.qps < 1:
        _refuse("the device's port and the number of queue pairs start at 1", "give 1 or more")
    if request.iterations is not None and request.iterations not in _ITERATIONS:
        _refuse(f"iterations is {request.iterations}", "give 5 to 100000000")
    if not _is_bandwidth(request) and (request.qps > 1 or request.bidirectional):
        _refuse(
            f"{request.command} supports neither several queue pairs nor both directions",
            "measure them with a bandwidth test",
        )


_LARGEST = {"gid_index": 255, "traffic_class": 255, "service_level": 15, "cq_moderation": 1024}
_MTUS = (256, 512, 1024, 2048, 4096)


def _check_network(request: Request) -> None:
    for name, most in _LARGEST.items():
        if (value := getattr(request, name)) is not None and value > most:
            _refuse(f"{name} is {value}", f"give {most} at most")
    if request.mtu is not None and request.mtu not in _MTUS:
        _refuse(f"mtu is {request.mtu}", f"give the RDMA MTU: {', '.join(map(str, _MTUS))}")
    in_gpu = bool(request.memory_flags_source or request.memory_flags_target)
    if request.dmabuf and not in_gpu:
        _refuse("dmabuf is of GPU memory", "remove it from measurements of host memory")
    if request.inline_bytes and (in_gpu or "_read_" in request.command):
        _refuse("perftest sends nothing inline in reads, or from GPU memory", "remove inline_bytes")
    if request.cq_moderation is not None and not _is_bandwidth(request):
        _refuse(f"{request.command} has no CQ moderation", "remove cq_moderation")


def _refuse(what: str, remedy: str) -> NoReturn:
    raise BadInput(what, where="perftest", remedy=remedy)
