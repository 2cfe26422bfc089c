"""Causes from the scan of the subnet: cables that are down, slow or have errors, by port."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from railgauge.core.model import Judgement
from railgauge.core.problems import ProblemKind
from railgauge.diagnosis.model import CauseRule, Context, Finding, JudgedItem, Where, missed
from railgauge.judging.links import (
    BIT_ERRORS,
    CABLING,
    ERRORS,
    GROWTH,
    LINK_RATE,
    LINK_STATE,
    MANAGER,
)
from railgauge.judging.record import ItemRecord

PortEnd = tuple[str, str]

_DOWNED = "LinkDownedCounter"
_UNMANAGED = "subnet-manager-missing"
_SEVERAL = 3  # this many cables down at one node: the node has the fault, not its cables
_NO_ADDRESS = ("port_state", "lid", "subnet_manager")
_PORT = (*_NO_ADDRESS, "physical_state", "link_rate")
# A port that waits for its subnet manager is not a broken link.
_WAITING = ("Initialize/LinkUp", "Armed/LinkUp")


def subnet(context: Context) -> Iterator[Finding]:
    """All subnet causes in one rule, since one item may report several cables and the manager."""
    managers = list(_no_manager(context))
    yield from managers
    yield from _links(context, is_managed=not managers)


def _no_manager(context: Context) -> Iterator[Finding]:
    """One cause if no subnet manager is there, although every port waits for its address."""
    found = [*_judged(context, MANAGER)]
    waiting = [one for one in _judged(context, LINK_STATE) if one[1].measured in _WAITING]
    if not found and len(waiting) < _SEVERAL:
        return
    unasked = [r for r in context.open if ProblemKind.NO_SUBNET_MANAGER in r.reason]
    addresses = [r for r in context.about(*_NO_ADDRESS) if missed(r) and not _is_dead(context, r)]
    evidence = (*_records([*found, *waiting]), *unasked, *addresses)
    yield Finding(_UNMANAGED, Where(""), _reasons([*found, *waiting][:1]), evidence)


def _is_dead(context: Context, record: ItemRecord) -> bool:
    """Whether the port has no physical link, so that no manager could reach it."""
    return any(
        missed(other) and (other.nodes, other.pairing) == (record.nodes, record.pairing)
        for other in context.about("physical_state")
    )


def _links(context: Context, *, is_managed: bool) -> Iterator[Finding]:
    """One finding for each bad cable, by its gravest problem: down, flapping, errors, slow."""
    cables: dict[frozenset[PortEnd], tuple[str, list[JudgedItem]]] = {}
    for cause, found in _ranked(context):
        if cause == _UNMANAGED and not is_managed:
            continue
        parts = frozenset(found[1].points_at)
        cables.setdefault(parts, (cause, []))[1].append(found)
    gone = _gone([parts for parts, (cause, _) in cables.items() if cause == "link-down"])
    for node in gone:
        yield _gone_node(node, [cables.pop(parts) for parts in gone[node]])
    for cause, several in cables.values():
        where = _where(context, several[0][1])
        evidence = (*_records(several), *_of_port(context, where))
        yield Finding(cause, where, _reasons(several), tuple({r.id: r for r in evidence}.values()))


def _gone(down: Sequence[frozenset[PortEnd]]) -> dict[str, list[frozenset[PortEnd]]]:
    """Nodes with several cables down, each cable under the end that has the most of them."""
    names = [{name for name, _ in parts} for parts in down]
    count = Counter(name for each in names for name in each)
    gone: dict[str, list[frozenset[PortEnd]]] = {}
    for parts, each in zip(down, names, strict=True):
        most = max(sorted(each), key=lambda name: count[name])
        if count[most] >= _SEVERAL:
            gone.setdefault(most, []).append(parts)
    return gone


def _gone_node(node: str, cables: Sequence[tuple[str, list[JudgedItem]]]) -> Finding:
    found = [one for _, several in cables for one in several]
    says = f"{len(cables)} cables of {node} are down: {_reasons(found[:_SEVERAL])}"
    return Finding("link-down", Where(node), says, _records(found))


def _records(found: Iterable[JudgedItem]) -> tuple[ItemRecord, ...]:
    return tuple({record.id: record for record, _ in found}.values())


def _reasons(found: Iterable[JudgedItem]) -> str:
    return "; ".join(dict.fromkeys(judged.reason for _, judged in found))


def _ranked(context: Context) -> Iterator[tuple[str, JudgedItem]]:
    for metric in (CABLING, LINK_STATE, GROWTH, ERRORS, LINK_RATE, BIT_ERRORS):
        for record, judged in _judged(context, metric):
            if metric == LINK_STATE and judged.measured in _WAITING:
                yield _UNMANAGED, (record, judged)
            else:
                yield _cause(metric, judged), (record, judged)


def _cause(metric: str, judged: Judgement) -> str:
    if metric == CABLING and judged.measured != "missing":
        return "miscabled"
    if metric in (CABLING, LINK_STATE) or (metric == GROWTH and _DOWNED in judged.measured):
        return "link-down"
    return "link-rate-degraded" if metric == LINK_RATE else "link-error-rate"


def _where(context: Context, judged: Judgement) -> Where:
    """The host's end of the cable if it has one, since the host's tests fail over that NIC."""
    nodes = {node.name.partition(".")[0]: node.name for node in context.results.cluster.nodes}
    ends = [(nodes.get(name, name), device) for name, device in judged.points_at]
    hosts = [end for end in ends if not end[1].startswith("port ")]
    if hosts:
        return Where(*hosts[0])
    (name, device), (peer, _) = ends[0], ends[-1]
    return Where(name, device, peer if peer != name else "")


def _of_port(context: Context, where: Where) -> list[ItemRecord]:
    """The failed facts of the same port, from the node itself."""
    return [
        record
        for record in context.about(*_PORT)
        if missed(record) and record.nodes == (where.node,) and record.pairing == where.device
    ]


def _judged(context: Context, *metrics: str) -> Iterable[JudgedItem]:
    """Failed judgements of the subnet's tests that name the ends of a cable, or the manager."""
    for record in context.open:
        for judged in missed(record):
            if judged.metric in metrics and (judged.points_at or judged.metric == MANAGER):
                yield record, judged


RULES: tuple[CauseRule, ...] = (subnet,)
