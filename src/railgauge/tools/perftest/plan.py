"""From a case of the platform file to perftest's commands for server and client."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from railgauge.config.thresholds.model import Measurement
from railgauge.core.model import Command, Pairing
from railgauge.core.terms import Flow
from railgauge.tools import Setting
from railgauge.tools.form import FigureForm, ToolFigure, of_path
from railgauge.tools.metric import HIGHER, LOWER, Metric, several
from railgauge.tools.options import Count, Options, check_port, program, read_options

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
        return Flow.UNSET
    if measurement.options.get("bidirectional"):
        return Flow.BOTH
    return Flow.BACKWARD if measurement.command == "ib_read_bw" else Flow.FORWARD


def form(figure: ToolFigure) -> FigureForm | None:
    """Return the form of a test between two nodes; times of its slowest messages have none."""
    if figure.metric in _TAILS:
        return None
    return of_path(figure, flow(figure.measurement))


COMMANDS = (
    "ib_write_bw",
    "ib_read_bw",
    "ib_send_bw",
    "ib_write_lat",
    "ib_read_lat",
    "ib_send_lat",
)
_QPS = {"qps": Count("-q")}
_COUNTS = {  # of the network, and of the queues
    "iterations": Count("-n", 5, 100_000_000),
    "gid_index": Count("-x", 0, 255),
    "traffic_class": Count("--tclass=", 0, 255),
    "service_level": Count("-S", 0, 15),
    "mtu": Count("-m", 256, 4096),
    "inline_bytes": Count("-I", 0),
    "cq_moderation": Count("-Q", 0, 1024),
}
_SWITCHES = {
    "bidirectional": "-b",
    "report_gbits": "--report_gbits",
    "disable_pcie_relaxed": "--disable_pcie_relaxed",
}
_OPTIONS = frozenset({"dmabuf", *_QPS, *_COUNTS, *_SWITCHES})
_ITSELF = "127.0.0.1"
"""The address of the server for a client on the same node; the payload goes through their NIC."""
_MTUS = (256, 512, 1024, 2048, 4096)
# The sizes that -a measures: every power of two from 2 B to 8 MiB.
SWEEP_SIZES = tuple(2**exponent for exponent in range(1, 24))


def commands(setting: Setting, port: int) -> tuple[Command, ...]:
    """Return the server on the pair's target and the client on its source, each over its NIC.

    In loopback both are on one node, and the payload goes through one NIC.

    The server listens on TCP ``port``. Writes and sends flow from source to target, reads from
    target to source. Options: ``qps``, those of ``_COUNTS`` and ``_SWITCHES``, and ``dmabuf``, by
    which GPU memory is registered. Raises ``BadInput`` for values that perftest would refuse or
    silently ignore.
    """
    options = read_options(setting, _OPTIONS, COMMANDS)
    check_port(port, options.where)
    if setting.case.pairing is None or len(setting.case.nodes) != 2:  # noqa: PLR2004
        options.refuse("no NICs of two nodes", "measure it over the platform's pairings")
    source, target = setting.case.nodes
    own, other = setting.case.pairing.ends
    address = setting.cluster.node(target).data_address if target != source else _ITSELF
    _check(setting, options, address)
    flags = tuple(_flags(setting, options, port))
    server = _side(setting, options, (target, other), flags)
    client = _side(setting, options, (source, own), flags)
    return replace(server, listens_on=port), replace(client, argv=(*client.argv, address))


def _side(
    setting: Setting, options: Options, of: tuple[str, Pairing], flags: tuple[str, ...]
) -> Command:
    node, end = of
    device = setting.platform.devices.on(node, end.nic)
    if not device:
        options.refuse(f"no RDMA device of {node} named", "name one in the platform file")
    tool = program(setting, setting.measurement.command, COMMANDS)
    argv = (tool, "-d", device, *flags, *_memory_flags(setting, options, node, end))
    return Command(node=node, argv=argv, time_limit_s=setting.measurement.time_limit_s)


def _memory_flags(setting: Setting, options: Options, node: str, end: Pairing) -> tuple[str, ...]:
    if end.gpu is None:
        return ()
    if setting.stack is None:
        options.refuse("GPU memory, but the platform declares no GPUs", "declare hardware.gpus")
    flags = setting.stack.perftest_memory_flags(setting.platform.devices.gpu_on(node, end.gpu))
    if not options.flag("dmabuf"):
        return flags
    if not setting.stack.perftest_dmabuf:
        options.refuse("perftest has no DMA-BUF for this vendor's GPUs", "remove dmabuf")
    return (*flags, *setting.stack.perftest_dmabuf)


def _flags(setting: Setting, options: Options, port: int) -> Iterator[str]:
    # Both sides get the same flags: a side without --report_gbits prints its own heading above the
    # other side's values, and a server without -a ends the client's sweep.
    yield from ("-i", "1", "-p", str(port), "-F")
    sizes = set(setting.case.sizes)
    yield from ("-a",) if len(sizes) > 1 else ("-s", str(sizes.pop()))
    if options.number("qps", 1) > 1:
        yield from options.flags(_QPS)
    yield from options.flags(_COUNTS)
    for name, flag in _SWITCHES.items():
        if options.flag(name) and (name != "report_gbits" or _is_bandwidth(setting)):
            yield flag


def _is_bandwidth(setting: Setting) -> bool:
    return setting.measurement.command.endswith("_bw")


def _check(setting: Setting, options: Options, address: str) -> None:
    if not address:
        options.refuse("no address for the server", "give the target's data address")
    sizes = sorted(set(setting.case.sizes))
    if not sizes or sizes[0] < 1:
        options.refuse(f"no message size to measure in {sizes}", "give sizes of 1 byte or more")
    unprinted = [size for size in sizes if size not in SWEEP_SIZES]
    if len(sizes) > 1 and unprinted:
        options.refuse(
            f"a sweep does not print size {unprinted[0]}",
            "give powers of two from 2 to 8388608, or a single size",
        )
    if (mtu := options.count("mtu", None)) is not None and mtu not in _MTUS:
        options.refuse(f"mtu is {mtu}", f"give the RDMA MTU: {', '.join(map(str, _MTUS))}")
    _check_combinations(setting, options)


def _check_combinations(setting: Setting, options: Options) -> None:
    """Refuse options that do not go with this command, or with this memory."""
    command, pairing = setting.measurement.command, setting.case.pairing
    in_gpu = pairing is not None and any(end.gpu is not None for end in pairing.ends)
    if options.flag("dmabuf") and not in_gpu:
        options.refuse("dmabuf is of GPU memory", "remove it from measurements of host memory")
    if options.count("inline_bytes", 0, least=0) and (in_gpu or "_read_" in command):
        remedy = "remove inline_bytes"
        options.refuse("perftest sends nothing inline in reads, or from GPU memory", remedy)
    if _is_bandwidth(setting):
        return
    if options.number("qps", 1) > 1 or options.flag("bidirectional"):
        options.refuse(
            f"{command} supports neither several queue pairs nor both directions",
            "measure them with a bandwidth test",
        )
    if options.count("cq_moderation", None, least=0) is not None:
        options.refuse(f"{command} has no CQ moderation", "remove cq_moderation")
