"""Find which NICs carried the payload, from their byte counters before and after a measurement.

A collective that went over the management network, or over one NIC of eight, prints a busbw too,
so the path has to be checked.

Example: a node sent 128 GB of payload. ``mlx5_0`` to ``mlx5_3`` carried 32 GB each and ``eth0``
nothing: the share is 100 % and the spread even.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from railgauge.config.thresholds.counter_groups import STANDS_AT
from railgauge.config.thresholds.model import Platform, Traffic
from railgauge.core.devices import AS_DECLARED, DeviceNames
from railgauge.core.errors import FactMissing, MetricMissing
from railgauge.core.model import Command, Judgement, Outcome, Transcript
from railgauge.core.terms import Role
from railgauge.core.units import convert, format_value

# The kernel counts InfiniBand data in words of four bytes (Documentation/ABI, infiniband).
_BYTES = {"port_xmit_data": ("sent", 4), "port_rcv_data": ("received", 4)} | {
    "tx_bytes": ("sent", 1),
    "rx_bytes": ("received", 1),
}
_PORT_ERRORS = (
    "symbol_error",
    "link_error_recovery",
    "link_downed",
    "port_rcv_errors",
    "port_xmit_discards",
    "excessive_buffer_overrun_errors",
    "local_link_integrity_errors",
)
_NETDEV_ERRORS = ("rx_dropped", "tx_dropped", "rx_errors", "tx_errors", "rx_devmem_dropped")
_DEVMEM = "rx_devmem_pkts"
# The kernel's counters at every port of an HCA, and at every network device.
_NEEDED = (
    (*("port_xmit_data", "port_rcv_data"), *_PORT_ERRORS[:4]),
    (*("tx_bytes", "rx_bytes"), *_NETDEV_ERRORS[:4]),
)
# Counters of less than 64 bits stop at these values: a port's data counters here (InfiniBand
# Architecture Specification, volume 1, PortCounters), error counters at STANDS_AT.
_DATA_STANDS_AT = 2**32 - 1
# Losses and retransmissions of an HCA's transport (000, 3.2: all are 0 on a good link). Other
# hw_counters also grow in healthy runs: flushes when a test ends, receivers without a buffer.
_RESENT = (
    "packet_seq_err",
    "out_of_sequence",
    "implied_nak_seq_err",
    "local_ack_timeout_err",
    "req_transport_retries_exceeded",
    "roce_adp_retrans",
    "roce_adp_retrans_to",
)
# The files of each NIC that are read, by its folders below /sys/class.
_READ = {
    "infiniband/*/ports/1/counters": ("port_xmit_data", "port_rcv_data", *_PORT_ERRORS),
    "infiniband/*/ports/1/hw_counters": _RESENT,
    "net/*/statistics": ("tx_bytes", "rx_bytes", *_NETDEV_ERRORS),
}
_LINE = re.compile(
    r"(?:^|(?:^|/)sys/class/)(?:infiniband/(?P<hca>[^/]+)/ports/1/(?:hw_)?counters|net/(?P<net>[^/]+)/statistics)"
    r"/(?P<name>\w+):(?P<value>[0-9]{1,20})\s*$"  # 64 bits have 20 digits
)

# Print ethtool's counters in the form of the kernel's files, so that one parser reads both. The
# PATH of a login that is not root may lack the folders that hold ethtool.
_ETHTOOL = (
    'shift; PATH=$PATH:/usr/sbin:/sbin; for d in "$@"; do ethtool -S "$d" |'
    ' grep -o "rx_devmem_[a-z]*: *[0-9]*" |'
    ' sed "s|: *|:|; s|^|net/$d/statistics/|"; done; '
)

# Other traffic over a NIC during a measurement: management packets, the handshake of a tool.
_STRAY_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class Counters:
    """The counters of one NIC by their names in the kernel, or by how much each of them grew."""

    counts: Mapping[str, int]

    @property
    def sent(self) -> int:
        """Bytes."""
        return self._bytes("sent")

    @property
    def received(self) -> int:
        """Bytes."""
        return self._bytes("received")

    def _bytes(self, wanted: str) -> int:
        return sum(
            self.counts.get(name, 0) * unit for name, (way, unit) in _BYTES.items() if way == wanted
        )

    @property
    def error_counts(self) -> dict[str, int]:
        """The counters that do not change on a good link."""
        still = (*_PORT_ERRORS, *_NETDEV_ERRORS, *_RESENT)
        return {name: self.counts[name] for name in still if name in self.counts}

    @property
    def devmem(self) -> int | None:
        """Packets received into GPU memory; ``None`` where the NIC does not report them."""
        return self.counts.get(_DEVMEM)


def probe_argv(rootfs: str, netdevs: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the command that prints the counters of every NIC of a node, as ``path:value``.

    It runs before and after every measurement, so one process reads all counters. Only for
    ``netdevs`` it also runs ``ethtool``, which costs a process each.
    """
    names = (f'for n in {" ".join(read)}; do f="$f {at}/$n"; done' for at, read in _READ.items())
    files = f'cd "$1/sys/class" || exit 1; f=; {"; ".join(names)}; grep -sH . /dev/null $f'
    script = f"{files}; {_ETHTOOL if netdevs else ''}:"
    return ("sh", "-c", script, "railgauge", rootfs, *netdevs)


def probes(
    nodes: Iterable[str], rootfs: str, spec: Traffic | None, platform: Platform
) -> tuple[Command, ...]:
    """The commands that read the counters of a case's nodes, the same before and after it."""
    if spec is None:
        return ()
    nics = platform.fabric_nics if spec.devmem_packet is not None else ()

    def command(node: str) -> Command:
        argv = probe_argv(rootfs, [platform.devices.on(node, nic.name) for nic in nics])
        return Command(node, argv, {"LC_ALL": "C"}, plain=True)

    return tuple(map(command, nodes))


def parse(text: str) -> dict[str, Counters]:
    """Return NIC -> counters from the output of ``probe_argv``; other lines are skipped."""
    values: dict[str, dict[str, dict[str, int]]] = {"hca": {}, "net": {}}
    for line in text.splitlines():
        read = _known_line if len(line) <= _LONGEST_KNOWN else _of_line
        if (found := read(line)) is not None:
            kind, nic, name, value = found
            values[kind].setdefault(nic, {})[name] = value
    # An HCA and its network device may have the same name; then the HCA's counters are used.
    named = {**values["net"], **values["hca"]}
    return {nic: Counters(found) for nic, found in named.items()}


def _of_line(line: str) -> tuple[str, str, str, int] | None:
    """The kind of a counter's device, the device, the counter's name and its value."""
    match = _LINE.search(line)
    if match is None:
        return None
    hca, net, name, value = match.groups()
    return ("hca", hca, name, int(value)) if hca else ("net", net, name, int(value))


# Most counters do not change: those of errors, and those of NICs that are not under test.
_known_line = lru_cache(10_000)(_of_line)
_LONGEST_KNOWN = 300


@dataclass(frozen=True, slots=True)
class Moved:
    """Traffic of one node: NIC -> bytes in the busier direction, and the error counters that grew.

    ``devmem`` is NIC -> (bytes received, packets received into GPU memory). ``full`` are error
    counters that stood at their highest value before, and so cannot show an error.
    """

    node: str
    nics: Mapping[str, int]
    error_counts: Mapping[str, int]
    devmem: Mapping[str, tuple[int, int]]
    full: Sequence[str] = ()


def moved(
    run: Sequence[Transcript], node: str, nics: Sequence[str], names: DeviceNames = AS_DECLARED
) -> Moved:
    """The traffic of a node in a run over ``nics``. Raises ``FactMissing`` without counters.

    ``nics`` are declared names, ``names`` those of the same NICs on single nodes.
    """

    def read(role: Role) -> Mapping[str, Counters]:
        own = [parse(one.stdout) for one in run if (one.role, one.node) == (role, node)]
        if not own:
            raise FactMissing("the counters of the NICs were not read", where=node)
        return {names.declared(node, nic): counters for nic, counters in own[-1].items()}

    before, after = read(Role.COUNTERS_BEFORE), read(Role.COUNTERS_AFTER)
    totals: dict[str, int] = {}
    error_counts: dict[str, int] = {}
    devmem: dict[str, tuple[int, int]] = {}
    full: list[str] = []
    for nic in nics:
        if nic not in before or nic not in after:
            what = f"the counters of {nic} could not be read"
            raise FactMissing(what, where=node, remedy=_elsewhere(nic))
        then, now = before[nic].counts, after[nic].counts
        grown = _grown(node, nic, then, now)
        totals[nic] = max(grown.sent, grown.received)
        error_counts.update({f"{nic} {name}": n for name, n in grown.error_counts.items() if n})
        full += [f"{nic} {name}" for name, count in then.items() if count == STANDS_AT.get(name)]
        if grown.devmem is not None:
            devmem[nic] = (grown.received, grown.devmem)
    return Moved(node, totals, error_counts, devmem, full)


def _grown(node: str, nic: str, then: Mapping[str, int], now: Mapping[str, int]) -> Counters:
    if odd := sorted(then.keys() ^ now.keys()):
        what = f"only one of two readings shows {', '.join(odd)} of {nic}"
        raise FactMissing(what, where=node)
    if lacking := min(([x for x in every if x not in then] for every in _NEEDED), key=len):
        what = f"no {', '.join(lacking)} of {nic} was read"
        raise FactMissing(what, where=node, remedy=_elsewhere(nic))
    grown = {name: now[name] - count for name, count in then.items()}
    if min(grown.values()) < 0:
        raise FactMissing(f"the counters of {nic} were reset during the run", where=node)
    for name in (name for name in _NEEDED[0][:2] if now.get(name) == _DATA_STANDS_AT):
        what = f"{name} of {nic} stands at {_DATA_STANDS_AT}, its highest value"
        raise FactMissing(what, where=node, remedy=_RESET)
    return Counters(grown)


def _elsewhere(nic: str) -> str:
    """The remedy for a NIC without the counters that the kernel has for every port."""
    return (
        f"look into /sys/class/infiniband/{nic}/ports/1/counters; drivers that count elsewhere"
        " (EFA, irdma, bnxt_re: railgauge docs telemetry) are measured without 'traffic'"
    )


_RESET = "reset the counters of the port: perfquery -R LID PORT"


def judge_traffic(
    one: Moved, payload_bytes: float, spec: Traffic, carriers: Sequence[str]
) -> Iterator[Judgement]:
    """Judge the share of the payload, its spread over the ``carriers``, and the error counters.

    ``carriers`` are the NICs that should have carried the payload; traffic over other NICs is
    judged too. ``payload_bytes`` is what the node sent or received. Raises ``MetricMissing`` if it
    is 0, since no share of it can be computed.
    """
    if payload_bytes <= 0:
        raise MetricMissing("the tool reports no payload, so the counters prove nothing")
    yield _share(one, payload_bytes, spec, carriers)
    if spec.spread is not None and len(carriers) > 1:
        yield _spread(one, spec, spec.spread, carriers)
    if spec.devmem_packet is not None:
        stray = _STRAY_SHARE * payload_bytes / len(carriers)
        yield _devmem(one, spec, spec.devmem_packet, stray, carriers)
    yield _still(one, spec)


def _share(one: Moved, payload_bytes: float, spec: Traffic, carriers: Sequence[str]) -> Judgement:
    least, most = spec.share
    carried = sum(one.nics[nic] for nic in carriers)
    stray = sum(count for nic, count in one.nics.items() if nic not in carriers)
    share = carried / payload_bytes
    reasons = []
    if not least <= share <= most:
        reasons.append(f"{', '.join(carriers)} of {one.node} carried {share:.0%} of the payload")
    if stray > _STRAY_SHARE * payload_bytes:
        reasons.append(f"other NICs of {one.node} carried {_gb(stray)}")
    measured = f"{one.node}: {share:.1%} of {_gb(payload_bytes)}"
    device = carriers[0] if len(carriers) == 1 else ""
    figures = (measured, f"{least:.0%} to {most:.0%}")
    return _judgement("traffic", figures, reasons, spec, [(one.node, device)])


def _spread(one: Moved, spec: Traffic, spread: float, carriers: Sequence[str]) -> Judgement:
    mean = sum(one.nics[nic] for nic in carriers) / len(carriers)
    off = {nic: (one.nics[nic] - mean) / mean if mean else -1.0 for nic in carriers}
    # Other NICs carry the share of a slow one, so NICs far above the mean are named only if none is
    # far below it.
    odd = [nic for nic in carriers if off[nic] < -spread] or [
        nic for nic in carriers if off[nic] > spread
    ]
    reasons = [
        f"{nic} of {one.node} carried {_gb(one.nics[nic])}, the mean is {_gb(mean)}" for nic in odd
    ]
    measured = f"{one.node}: within {max(map(abs, off.values())):.1%} of the mean"
    named = [(one.node, nic) for nic in odd]
    figures = (measured, f"within {spread:.0%}")
    judged = _judgement("traffic_spread", figures, reasons, spec, named)
    return replace(judged, carried=tuple((one.node, nic, one.nics[nic]) for nic in carriers))


def _devmem(
    one: Moved, spec: Traffic, most: int, stray: float, carriers: Sequence[str]
) -> Judgement:
    """Judge whether a NIC received all but ``stray`` bytes into GPU memory.

    ``most`` is the most bytes of a packet. Raises ``FactMissing`` if a NIC does not report that.
    """
    if silent := [nic for nic in carriers if nic not in one.devmem]:
        remedy = f"install ethtool, and a driver whose statistics include {_DEVMEM}"
        raise FactMissing(f"no {_DEVMEM} of {', '.join(silent)}", where=one.node, remedy=remedy)
    seen = {nic: one.devmem[nic] for nic in carriers}
    odd = [nic for nic, (received, packets) in seen.items() if received > most * packets + stray]
    reasons = [
        f"{nic} of {one.node} received {_gb(seen[nic][0])}, {seen[nic][1]} packets into GPU memory"
        for nic in odd
    ]
    worst = max((received / packets for received, packets in seen.values() if packets), default=0)
    measured = f"{one.node}: up to {worst:.0f} bytes a packet into GPU memory"
    named = [(one.node, nic) for nic in odd]
    return _judgement("devmem", (measured, f"at most {most}"), reasons, spec, named)


def _still(one: Moved, spec: Traffic) -> Judgement:
    """Judge that no error counter grew. Raises ``FactMissing`` if one could not have grown."""
    if one.full and not one.error_counts:
        what = f"{', '.join(one.full)} stood at the highest value before"
        raise FactMissing(what, where=one.node, remedy=_RESET)
    reasons = [f"{name} of {one.node} grew by {count}" for name, count in one.error_counts.items()]
    measured = f"{one.node}: {len(one.error_counts)} counters moved"
    named = [(one.node, nic) for nic in dict.fromkeys(name.split()[0] for name in one.error_counts)]
    figures = (measured, "no error, discard or drop")
    return _judgement("link_errors", figures, reasons, spec, named)


def _judgement(
    metric: str,
    figures: tuple[str, str],
    reasons: Sequence[str],
    spec: Traffic,
    named: Sequence[tuple[str, str]],
) -> Judgement:
    return Judgement(
        metric=metric,
        outcome=Outcome.FAILED if reasons else Outcome.PASSED,
        measured=figures[0],
        limit=figures[1],
        basis=str(spec.basis),
        reason="; ".join(reasons),
        points_at=tuple(named) if reasons else (),
    )


def _gb(count: float) -> str:
    return format_value(convert(count, "B", "GB"), "GB")
