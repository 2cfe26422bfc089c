"""Small results of runs, of which a test of the diagnosis changes one thing: records, facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from railgauge.config import thresholds
from railgauge.config.thresholds import Platform
from railgauge.core.model import Case, Cluster, Judgement, Node, Outcome, Pairing
from railgauge.core.question import LIMITS, READ, Question
from railgauge.core.terms import Rung
from railgauge.diagnosis import Cause, RunResults, diagnose
from railgauge.facts import NodeFacts
from railgauge.facts.model import GpuFacts, NicFacts
from railgauge.judging.correctness import CORRUPTION
from railgauge.judging.record import ItemRecord
from railgauge.planning.direction import directed
from railgauge.planning.pairing import DIRECTED, tournament
from railgauge.tools.metric import HIGHER
from railgauge.verdict.decision import RunPlan
from testing.places import ROOT

MIB8 = 8388608
LINE_RATE = 400.0  # Gb/s, of each direction
FLOORS = {1: (372.4, "Gb/s"), 2: (372.4, "Gb/s"), 3: (300.0, "GB/s"), 4: (350.0, "GB/s")}


@cache
def platform(name: str = "h200") -> Platform:
    return thresholds.load(name, ROOT / "thresholds")


def names(count: int) -> tuple[str, ...]:
    return tuple(f"n{i}" for i in range(1, count + 1))


def cluster(nodes: Iterable[str], environment: Mapping[str, str] | None = None) -> Cluster:
    made = tuple(Node(name, name, name) for name in nodes)
    return Cluster("bench", "h200", "ssh", made, "bench.yaml", environment=environment or {})


def healthy(node: str, on: str = "h200") -> NodeFacts:
    """A node as the platform file declares it."""
    declared = platform(on)
    expected = {name: declared.expected.get(name) for name in ("kernel_module", "peer_memory")}
    has = {name: tuple(one.value) if one else () for name, one in expected.items()}
    return NodeFacts(
        node,
        kernel="5.14",
        modules=has["kernel_module"],
        peer_memory=has["peer_memory"],
        gpus=tuple(
            GpuFacts(i, declared.gpus.model, f"0000:{0x1A + i:02X}:00.0", None)
            for i in range(declared.gpus.count if declared.gpus else 0)
        ),
        nics=tuple(NicFacts(nic.name, firmware="28.39") for nic in declared.nics),
    )


def run_results(
    records: Iterable[ItemRecord],
    *changed: Any,
    on: str = "h200",
    nodes: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> RunResults:
    """``changed`` are facts of nodes that are not as declared, or the errors that left none."""
    kept = {record.id: record for record in records}
    seen = nodes or tuple(dict.fromkeys(n for r in kept.values() for n in r.nodes))
    found = {node: healthy(node, on) for node in seen}
    found |= {getattr(one, "node", "") or one.where: one for one in changed}
    return RunResults(kept, found, platform(on), cluster(seen, environment))


def planned(found: RunResults) -> RunPlan:
    """A run that set out to do just what was found."""
    items = tuple(found.records)
    return RunPlan(2, "run", "hardware", "smoke", None, items, "0", directions=DIRECTED)


def causes(*records: Any, **known: Any) -> tuple[Cause, ...]:
    """The diagnosis of these records (or lists of them); ``facts`` are those that are changed."""
    flat = [r for one in records for r in ([one] if isinstance(one, ItemRecord) else one)]
    return diagnose(run_results(flat, *known.pop("facts", ()), **known))


def named(found: Iterable[Cause]) -> list[tuple[str, str]]:
    """Cause and place of each, as a title says them."""
    return [(cause.cause, str(cause.where)) for cause in found]


def accounted(found: Iterable[Cause]) -> set[str]:
    return {i for cause in found for i in (*cause.evidence, *cause.explains)}


# --- records ---


def record(rung: int, subject: str, *nodes: str, part: str = "", **more: Any) -> ItemRecord:
    name = "-".join(filter(None, (":".join(nodes), part, str(more.get("size_bytes") or ""))))
    outcome = more.pop("outcome", Outcome.PASSED)
    item = f"tests/rung{rung}/test_x.py::test_{subject}[{name}]"
    return ItemRecord(item, rung, subject, "A title", outcome, nodes, part, **more)


def fact(node: str, subject: str, part: str = "", measured: str = "bad") -> ItemRecord:
    """An expectation that a node misses."""
    return _told(record(0, subject, node, part=part), subject, measured, f"{subject} {measured}")


def unknown(node: str, subject: str, part: str = "") -> ItemRecord:
    """An expectation of which nothing is known."""
    return broken(record(0, subject, node, part=part), "fact-missing", node)


def broken(item: ItemRecord, kind: str, where: str, what: str = "no answer") -> ItemRecord:
    """The same item, ended in an error."""
    reason = f"{where}: {what}"
    return replace(
        item, outcome=Outcome.ERROR, judgements=(), reason=reason, error_kind=kind,
        error_where=where,
    )  # fmt: skip


def blocked(item: ItemRecord, *by: ItemRecord) -> ItemRecord:
    """As a run records it: no question of it was asked."""
    ids = tuple(one.id for one in by)
    held = replace(item, outcome=Outcome.BLOCKED, judgements=(), questions=())
    return replace(held, reason="blocked", blocked_by=ids)


def measured(
    item: ItemRecord, *values: float, metric: str = "busbw", directions: int = 1
) -> ItemRecord:
    """An item as a run makes it, judged against the floor of its rung for each direction."""
    floor, unit = FLOORS[item.rung]
    floor *= directions
    best = LINE_RATE * directions if unit == "Gb/s" else None
    margin = (min(values) - floor) / floor
    outcome = Outcome.PASSED if margin >= 0 else Outcome.FAILED
    judged = Judgement(
        metric, outcome, f"{min(values):g} {unit}", f">= {floor:g} {unit}", "001: figures",
        unit=unit, values=values, worst=min(values), floor=floor, physical_ceiling=best,
        margin=margin, better=HIGHER,
        reason="" if margin >= 0 else f"{metric} {min(values):g} {unit}",
    )  # fmt: skip
    judgements = (*item.judgements, judged)
    return asking(replace(item, outcome=outcome, judgements=judgements, reason=judged.reason))


def path(one: str, other: str, part: str, value: float, subject: str = "") -> ItemRecord:
    """A pair over a NIC (rung 1), or over a GPU and a NIC (rung 2).

    A test of both directions reaches ``value`` in each, and reports the sum.
    """
    rung = 2 if part.startswith("gpu") else 1
    subject = subject or ("gpu_write_bandwidth" if rung == 2 else "host_write_bandwidth")
    item = record(rung, subject, one, other, part=part, size_bytes=MIB8)
    directions = 2 if subject.endswith("bidirectional") else 1
    return measured(item, value * directions, metric="bw_average", directions=directions)


def collective(nodes: Sequence[str], *values: float, subject: str = "") -> ItemRecord:
    subject = subject or {1: "node_all_reduce", 2: "pair_all_reduce"}.get(
        len(nodes), "group_all_reduce"
    )
    return measured(record(3 if len(nodes) == 1 else 4, subject, *nodes), *values)


def transport(nodes: Sequence[str], printed: str, wanted: str = "GDRDMA") -> ItemRecord:
    """What the library's log named over these nodes."""
    subject = "pair_all_reduce" if len(nodes) == 2 else "group_all_reduce"
    item = record(4, subject, *nodes, part="")
    item = replace(item, id=item.id.replace("test_pair", "test_transport_pair"))
    if printed == wanted:
        good = Judgement("transport", Outcome.PASSED, printed, wanted, "001: log")
        return replace(item, judgements=(good,))
    return _told(item, "transport", printed, f"the log names {printed}")


def counters(
    nodes: Sequence[str], metric: str, at: tuple[str, str], reason: str, part: str = ""
) -> ItemRecord:
    """A traffic item whose judgement points at one NIC of one node."""
    subject = "host_write_bandwidth" if part else "pair_all_reduce"
    item = record(1 if part else 4, subject, *nodes, part=part)
    item = replace(item, id=item.id.replace("::test_", "::test_traffic_"))
    reported = _told(item, metric, at[0], reason)
    return replace(reported, judgements=(replace(reported.judgements[0], points_at=(at,)),))


def corrupt(nodes: Sequence[str], subject: str = "") -> ItemRecord:
    item = collective(nodes, 1.0, subject=subject)
    return _told(replace(item, judgements=()), CORRUPTION, "3 wrong", "3 values are wrong")


def _told(item: ItemRecord, metric: str, measured: str, reason: str) -> ItemRecord:
    judged = Judgement(metric, Outcome.FAILED, measured, "as declared", "001: x", reason=reason)
    return replace(item, outcome=Outcome.FAILED, judgements=(judged,), reason=reason)


def asking(item: ItemRecord) -> ItemRecord:
    """The item as a run makes it: with what it asked."""
    placement = item.pairing if item.rung == Rung.INTRANODE else ""
    pairing = None if placement else _pairing(item.pairing)
    case = Case(item.subject, item.nodes, pairing, (MIB8,), 1)
    limits = Question(LIMITS, case, item.size_bytes, placement or None)
    return replace(item, questions=(Question(READ, case), limits))


def _pairing(text: str) -> Pairing | None:
    """A NIC, a GPU with a NIC, or two of either on different rails."""
    own, _, peer = text.partition(":")
    on_gpus = {str(pairing): pairing for pairing in platform("h200").pairings("gpu")}
    found = on_gpus.get(own, Pairing(own)) if own else None
    if found is None or not peer:
        return found
    return replace(found, distance="cross_rail", peer=_pairing(peer))


# --- whole clusters ---


def pairs_of(nodes: Sequence[str], rounds: int) -> Iterator[tuple[str, str]]:
    for one in directed(tournament(nodes, rounds)):
        for pair in one:
            yield pair.source, pair.target


READS = "host_read_bandwidth"


def paths(
    pairs: Iterable[tuple[str, str]],
    parts: Sequence[str],
    capacity: Mapping[Any, float],
    subject: str = "",
) -> list[ItemRecord]:
    """Writes, or ``subject``, of all pairs over all parts.

    A pair has the smallest ``capacity`` of what it takes. Keys are a node, (node, part), frozenset
    of two nodes, or (node, part, ``sending`` or ``receiving``); what is not named reaches 392 Gb/s.
    """
    return [
        path(a, b, part, _least(capacity, _taken(a, b, part, subject)), subject)
        for a, b in pairs
        for part in parts
    ]


def _taken(a: str, b: str, part: str, subject: str) -> tuple[Any, ...]:
    sender, receiver = (b, a) if subject == READS else (a, b)
    ends = ((sender, part, "sending"), (receiver, part, "receiving"))
    return (a, b, (a, part), (b, part), frozenset((a, b)), *ends)


def both_directions(
    pairs: Iterable[tuple[str, str]], parts: Sequence[str], capacity: Mapping[Any, float]
) -> list[ItemRecord]:
    """The same pairs with writes and with reads."""
    pairs = list(pairs)
    return paths(pairs, parts, capacity) + paths(pairs, parts, capacity, READS)


def collectives(
    pairs: Iterable[tuple[str, str]], capacity: Mapping[Any, float]
) -> list[ItemRecord]:
    return [collective(pair, _least(capacity, (*pair, frozenset(pair)))) for pair in pairs]


def _least(capacity: Mapping[Any, float], keys: Iterable[Any]) -> float:
    return min(capacity.get(key, 392.0) for key in keys)


def links(node: str, capacity: Mapping[tuple[int, int], float], count: int = 8) -> list[ItemRecord]:
    """The matrix of all directed GPU-to-GPU links of a node."""
    return [
        measured(
            record(3, "gpu_copy_bandwidth", node, part=f"gpu{i}>gpu{j}"),
            capacity.get((i, j), 400.0),
            metric="bandwidth",
        )
        for i in range(count)
        for j in range(count)
        if i != j
    ]
