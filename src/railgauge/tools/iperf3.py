"""iperf3: TCP between two nodes, over one or more streams; output of UDP is read too.

Formats: the JSON (``-J``) of iperf 3.1 to 3.19, and the client's table (``iperf3_text``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from railgauge.config.thresholds.model import Measurement
from railgauge.core.errors import BadInput
from railgauge.core.model import Command, Parsed
from railgauge.core.problems import Problem, ProblemKind
from railgauge.core.terms import Flow
from railgauge.tools import Setting
from railgauge.tools.collector import OutputCollector
from railgauge.tools.documents import Document, integer, items, number, part, read_document
from railgauge.tools.form import FigureForm, ToolFigure, of_path
from railgauge.tools.iperf3_text import add_datagrams, read_table
from railgauge.tools.metric import HIGHER, LOWER, Metric, several
from railgauge.tools.options import (
    Count,
    Options,
    check_port,
    command_on,
    one_size,
    program,
    read_options,
)
from railgauge.tools.output_checks import OutputCheck, SideOutput, ToolRequest, equal, long_enough
from railgauge.tools.relations import AtMost
from railgauge.tools.text import clean

_WAYS = ("", "_reverse")

METRICS = (
    *several(tuple(f"bw_{side}{way}" for side in ("sent", "received") for way in _WAYS), "Gb/s"),
    Metric("bw_interval", ("Gb/s",), HIGHER, may_be_zero=True),
    *(Metric(f"retransmits{way}", ("count",), LOWER, may_be_zero=True) for way in _WAYS),
)


_OPTIONS = frozenset({"duration_s", "streams", "reverse", "omit_s", "bind_device"})
_COUNTS = {"duration_s": Count("-t", default=10), "streams": Count("-P", most=128, default=1)}


def commands(setting: Setting, port: int) -> tuple[Command, ...]:
    """Return the server on the pair's target, which listens on TCP ``port``, then the client.

    Options: ``duration_s`` (10), ``streams`` (1), ``reverse`` (the target sends), ``omit_s``
    (seconds at the start that are not measured), ``bind_device`` (bind both sides to the pairing's
    NIC). A size of the case is the length of each write (``-l``). Raises ``BadInput`` for other
    options and for several sizes.
    """
    options = read_options(setting, _OPTIONS)
    check_port(port, options.where)
    source, target = _pair(setting)
    node, end = setting.cluster.node(target), setting.case.path_at(target)
    address = node.reached_over(end.nic) if end else node.data_address
    tool = program(setting, "iperf3")
    server = (tool, "-s", "-1", "-p", str(port), *_bind(setting, options, target))
    bind = _bind(setting, options, source)
    client = (tool, "-c", address, "-p", str(port), "-J", *bind, *_flags(setting, options))
    return command_on(setting, target, server, port), command_on(setting, source, client)


def flow(measurement: Measurement) -> Flow:
    """Return which way the payload moves: with ``reverse`` the server sends."""
    return Flow.BACKWARD if measurement.options.get("reverse") else Flow.FORWARD


def form(figure: ToolFigure) -> FigureForm | None:
    """Return the form of a test between two nodes."""
    return of_path(figure, flow(figure.measurement))


def _pair(setting: Setting) -> tuple[str, str]:
    if len(setting.case.nodes) != 2:  # noqa: PLR2004 - a pair
        raise BadInput("iperf3 runs between two nodes", where=setting.measurement.name)
    return setting.case.nodes[0], setting.case.nodes[1]


def _bind(setting: Setting, options: Options, node: str) -> tuple[str, ...]:
    if not options.flag("bind_device"):
        return ()
    if (end := setting.case.path_at(node)) is None:
        options.refuse("bind_device needs a NIC", "measure over the platform's pairings")
    return ("--bind-dev", setting.platform.devices.on(node, end.nic))


def _flags(setting: Setting, options: Options) -> tuple[str, ...]:
    flags = list(options.flags(_COUNTS))
    if omitted_s := options.count("omit_s", 0, least=0):
        flags += ["-O", str(omitted_s)]
    if size := one_size(setting):
        flags += ["-l", str(size)]
    return (*flags, *(("-R",) if options.flag("reverse") else ()))


# --- its output ---

_GIGA = 1e9
_BITS_PER_BYTE = 8
_AGREEMENT = 0.01
_SHORTEST_PART = 0.9
_ENDINGS = {"": "", "_bidir_reverse": "_reverse"}
_SIDES = ("sent", "received")
_RELATIONS = (AtMost("lost", "datagrams"), AtMost("lost_reverse", "datagrams_reverse"))
_VERSION = re.compile(r"iperf ([0-9][\w.+-]{0,20})")
_KINDS = {
    ProblemKind.CONNECTION_REFUSED: (
        "connection refused",
        "no route to host",
        "timed out",
        "unreachable",
    ),
    ProblemKind.PORT_IN_USE: ("address already in use",),
    ProblemKind.SERVER_BUSY: ("server is busy",),
    ProblemKind.NAME_NOT_RESOLVED: (
        *("name or service not known", "name resolution", "unknown host"),
        *("no address associated", "does not resolve"),
    ),
    ProblemKind.PEER_GONE: (
        "has terminated",
        "closed",
        "reset by peer",
        "broken pipe",
        "control socket",
    ),
}


def parse(text: str) -> Parsed:
    """Read the client's JSON or table. Never raises and takes time linear in the text.

    Samples: ``bw_sent`` and ``bw_received`` over the whole run, ``bw_interval`` for each interval
    that was not omitted, all in decimal ``Gb/s`` (the tool's ``bits_per_second`` / 10^9), and
    ``retransmits`` (``count``, if the sender's kernel reports it). In a bidirectional test the
    other direction is ``bw_sent_reverse`` and ``bw_received_reverse``. ``size_bytes`` is the
    length of a write (``blksize``). A bandwidth must equal bytes over seconds within 1 %. By UDP
    ``jitter`` (``ms``), ``lost`` and ``datagrams`` (``count``) are those of the receiver.

    ``summary``: ``protocol``, ``streams``, ``reverse``, ``both_ways``, ``duration_s``,
    ``omitted_s``, ``write_bytes``, ``server`` and ``port`` as the command set them; ``seconds``,
    ``congestion``, ``cpu_host_percent`` and ``cpu_remote_percent`` as measured.
    """
    text = clean(text)
    collector = OutputCollector(relations=_RELATIONS)
    collector.check_started(text, "iperf3")
    document = read_document(text)
    if not isinstance(document, Document):
        version, summary = _collect_plain_text(text, document, collector)
        return collector.parsed("iperf3", version, summary)
    if document.behind.lstrip().startswith("{"):
        collector.several_runs()
    return _parse_document(document.content, collector)


def _collect_plain_text(
    text: str, found: Problem, collector: OutputCollector
) -> tuple[str | None, Mapping[str, object]]:
    """Read text without JSON: an error, a server's greeting, or the human-readable table."""
    error = re.search(r"iperf3: error - ([^\n]{1,200})", text)
    if error:
        collector.error(_kind(error[1]), error[1])
    elif (
        found.kind is ProblemKind.NO_TABLE and "[ ID]" in text and "Server listening on" not in text
    ):
        return read_table(text, collector)
    elif not collector.has_errors:
        collector.problems.append(found)
    return None, {}


def _kind(error: str) -> ProblemKind:
    words = error.lower()
    found = (kind for kind, signs in _KINDS.items() if any(sign in words for sign in signs))
    return next(found, ProblemKind.TOOL_FAILED)


def _parse_document(content: dict[str, object], collector: OutputCollector) -> Parsed:
    if error := content.get("error"):
        collector.error(_kind(str(error)), str(error)[:400])
    end = part(content, "end")
    if not end and not collector.has_errors:
        known = "start" in content or "intervals" in content
        kind = ProblemKind.TRUNCATED if known else ProblemKind.NO_TABLE
        collector.error(kind, "the JSON holds no results of iperf3")
    collector.size_bytes = integer(part(content, "start", "test_start").get("blksize"))
    if end:
        _collect_end(end, collector)
        _collect_intervals(content, collector)
        _check_completeness(content, collector)
    return collector.parsed("iperf3", _version(content), _summary(content))


def _collect_end(end: dict[str, object], collector: OutputCollector) -> None:
    for name, ending in _ENDINGS.items():
        for side in _SIDES:
            total = part(end, f"sum_{side}{name}")
            if total:
                _collect_total(f"bw_{side}{ending}", total, collector)
        _collect_datagrams(end, name, ending, collector)
        retransmits = integer(part(end, f"sum_sent{name}").get("retransmits"))
        if retransmits is not None:
            collector.add(f"retransmits{ending}", "count", retransmits, may_be_zero=True)
    if collector.is_empty:
        collector.error(
            ProblemKind.METRIC_MISSING, "the end section has neither sum_sent nor sum_received"
        )


def _collect_datagrams(
    end: dict[str, object], name: str, ending: str, collector: OutputCollector
) -> None:
    """Add what the receiver counted; releases before 3.7 have it in the only sum, the sender's."""
    sums = (part(end, f"sum_received{name}"), part(end, f"sum{name}"))
    total = next((one for one in sums if "jitter_ms" in one), {})
    jitter, lost, every = (total.get(key) for key in ("jitter_ms", "lost_packets", "packets"))
    counts = number(jitter), integer(lost), integer(every)
    if counts[0] is not None and counts[1] is not None and counts[2] is not None:
        if not part(end, f"sum_sent{name}"):
            _collect_total(f"bw_sent{ending}", total, collector)
        add_datagrams((counts[0], counts[1], counts[2]), ending, collector)


def _collect_total(metric: str, total: dict[str, object], collector: OutputCollector) -> None:
    rate = number(total.get("bits_per_second"))
    size, seconds = number(total.get("bytes")), number(total.get("seconds"))
    if rate is None:
        collector.error(ProblemKind.METRIC_MISSING, f"{metric}: no bits_per_second")
        return
    collector.add(metric, "Gb/s", rate / _GIGA)
    if size and seconds and abs(size * _BITS_PER_BYTE / seconds - rate) > _AGREEMENT * rate:
        message = f"{metric}: {size:.0f} bytes in {seconds:.3f} s do not give {rate:.0f} bit/s"
        collector.error(ProblemKind.INCONSISTENT, message)


def _collect_intervals(content: dict[str, object], collector: OutputCollector) -> None:
    for interval in items(content.get("intervals")):
        total = part(interval, "sum")
        rate = number(total.get("bits_per_second"))
        if rate is not None and total.get("omitted") is not True:
            collector.add("bw_interval", "Gb/s", rate / _GIGA, may_be_zero=True)


def _check_completeness(content: dict[str, object], collector: OutputCollector) -> None:
    asked = part(content, "start", "test_start")
    end = part(content, "end")
    duration_s = number(asked.get("duration"))
    seconds = number(part(end, "sum_sent").get("seconds"))
    if duration_s and seconds is not None and seconds < _SHORTEST_PART * duration_s:
        message = f"the test ended after {seconds:.1f} of {duration_s:.0f} s"
        collector.error(ProblemKind.TRUNCATED, message)
    streams, found = integer(asked.get("num_streams")), len(items(end.get("streams")))
    if streams is not None and "streams" in end and found < streams:
        collector.error(ProblemKind.INCONSISTENT, f"{found} of {streams} streams are reported")


def _version(content: dict[str, object]) -> str | None:
    match = _VERSION.match(str(part(content, "start").get("version"))[:80])
    return match[1] if match else None


def _summary(content: dict[str, object]) -> dict[str, object]:
    asked, end = part(content, "start", "test_start"), part(content, "end")
    load = part(end, "cpu_utilization_percent")
    found = {
        "protocol": asked.get("protocol"),
        "streams": asked.get("num_streams"),
        "reverse": bool(asked.get("reverse")) if "reverse" in asked else None,
        "both_ways": bool(asked.get("bidir")) if "bidir" in asked else None,
        "duration_s": number(asked.get("duration")),
        "omitted_s": number(asked.get("omit")),
        "write_bytes": integer(asked.get("blksize")),
        "server": part(content, "start", "connecting_to").get("host"),
        "port": integer(part(content, "start", "connecting_to").get("port")),
        "seconds": number(part(end, "sum_sent").get("seconds")),
        "congestion": end.get("sender_tcp_congestion"),
        "cpu_host_percent": number(load.get("host_total")),
        "cpu_remote_percent": number(load.get("remote_total")),
    }
    return {name: value for name, value in found.items() if value is not None}


def payload_bytes(parsed: Parsed) -> float:
    """Return the bytes that the receiver counted over the run; 0 if they are not printed."""
    seconds = parsed.summary.get("seconds")
    received = [sample.value for sample in parsed.samples if sample.metric == "bw_received"]
    if not isinstance(seconds, int | float) or not received:
        return 0.0
    return received[0] * _GIGA / _BITS_PER_BYTE * seconds


# --- comparison with the command ---

_NUMBERS = re.compile(r"(\d{1,3})\.(\d{1,3})")
_THREADED = (3, 16)


def output_checks(asked: ToolRequest, sides: tuple[SideOutput, ...]) -> tuple[OutputCheck, ...]:
    """Compare protocol, streams, threads, direction, seconds, omitted start and write length.

    Also the address and the port to which it connected, and the time of the command.
    """
    client, summary = sides[0], sides[0].parsed.summary
    found = [
        equal("protocol", "TCP", summary.get("protocol")),
        equal("streams", asked.option("streams", 1), summary.get("streams")),
        equal("sender", _sender(asked.option("reverse")), _shown_sender(summary.get("reverse"))),
        equal("both ways", False, summary.get("both_ways")),
        _seconds("seconds", asked.option("duration_s", 10), summary.get("duration_s")),
        _seconds("omitted seconds", asked.option("omit_s", 0), summary.get("omitted_s")),
    ]
    found += _threads(asked.option("streams", 1), client.parsed)
    if asked.case.sizes:
        found.append(equal("length of a write", asked.case.sizes[0], summary.get("write_bytes")))
    if asked.is_planned:
        found += _of_server(client)
    if isinstance(seconds := summary.get("seconds"), int | float):
        found += long_enough(client, seconds, "of sending")
    return tuple(found)


def _of_server(client: SideOutput) -> Iterator[OutputCheck]:
    """Check that it connected to the address and the port of its command.

    Each measurement has a port of its own, drawn from thousands.
    """
    given = dict(zip(client.argv, client.argv[1:], strict=False))
    for item, option, name in (("server", "-c", "server"), ("TCP port", "-p", "port")):
        shown = client.parsed.summary.get(name)
        if option in given and shown is not None:
            yield equal(item, given[option], shown)


def identity(text: str) -> str:
    """Return the ends of the first connection and its second; empty if they are not shown.

    No two connections have the same addresses and ports at a time.
    """
    document = read_document(clean(text))
    start = part(document.content, "start") if isinstance(document, Document) else {}
    first = next(iter(items(start.get("connected"))), {})
    ends = [first.get(name) for name in ("local_host", "local_port", "remote_host", "remote_port")]
    second = integer(part(start, "timestamp").get("timesecs"))
    if None in ends or second is None:
        return ""
    local, port, remote, other = (str(end)[:80] for end in ends)
    return f"from {local} port {port} to {remote} port {other} at {second}"


def _threads(streams: object, parsed: Parsed) -> list[OutputCheck]:
    """Check one thread a stream: before 3.16 one thread, and so one core, serves all streams."""
    found = _NUMBERS.match(parsed.tool_version or "")
    if found is None or streams == 1:
        return []
    threaded = (int(found[1]), int(found[2])) >= _THREADED
    shown = streams if threaded else f"1 (iperf {parsed.tool_version}; install 3.16)"
    return [equal("threads", streams, shown)]


def _sender(reverse: object) -> str:
    return "the server" if reverse else "the client"


def _shown_sender(reverse: object) -> str | None:
    return None if reverse is None else _sender(reverse)


def _seconds(item: str, asked: object, shown: object) -> OutputCheck:
    return equal(item, asked, f"{shown:g}" if isinstance(shown, int | float) else None)
