"""Rungs 4 and 5: the path that the payload took, and collectives that are slow on a good path."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from railgauge.diagnose.ladder import swing_of
from railgauge.diagnose.model import LIKELY, OPEN, Claim, Scene, Where, missed
from railgauge.localise import PairResult, blame
from railgauge.model import Judgement, Outcome
from railgauge.record import ItemRecord

_FIRST_RUNG = 4
_PAIR = 2


def link_errors(scene: Scene) -> Iterator[Claim]:
    """Error counters that grew while something was measured, on any rung."""
    yield from _pointed(scene, "link_errors", "link-error-rate")


def idle_nics(scene: Scene) -> Iterator[Claim]:
    """NICs that lag behind the mean of those that should share the traffic."""
    yield from _pointed(scene, "traffic_spread", "nic-idle")


def _pointed(scene: Scene, metric: str, cause: str) -> Iterator[Claim]:
    """One claim for each part that failed judgements of this metric single out."""
    found: dict[tuple[str, str], list[tuple[ItemRecord, Judgement]]] = {}
    for record, judged in scene.judged(metric):
        for part in judged.points_at:
            found.setdefault(part, []).append((record, judged))
    for (node, device), seen in found.items():
        says = "; ".join(dict.fromkeys(_said_of(judged, node, device) for _, judged in seen[:3]))
        records = tuple(dict.fromkeys(record for record, _ in seen))
        yield Claim(cause, Where(node, device), says, records)


def _said_of(judged: Judgement, node: str, device: str) -> str:
    """The clauses of the reason that are about this part."""
    clauses = [c for c in judged.reason.split("; ") if f"{node}" in c and device in c.split()]
    return ", ".join(clauses) or judged.reason


def transports(scene: Scene) -> Iterator[Claim]:
    """What the library's log names: sockets, or InfiniBand without access to GPU memory."""
    failed = [record for record, _ in scene.judged("transport")]
    sockets = [record for record in failed if _names_refused(scene, record)]
    yield from _between_nodes(scene, sockets, "wrong-transport", "transport")
    rest = [record for record in failed if record not in sockets]
    yield from _between_nodes(scene, rest, "gpudirect-rdma-disabled", "transport")


def _names_refused(scene: Scene, record: ItemRecord) -> bool:
    spec = scene.findings.platform.measurements[record.subject].transport
    said = {word for judged in missed(record) for word in judged.measured.split(", ")}
    return spec is not None and bool(said.intersection(spec.refused))


def tuning(scene: Scene) -> Iterator[Claim]:
    """The hostfile overrides what the platform file asks for, and no pair reaches its limit."""
    differs = {
        name: value
        for name, value in _asked_for(scene).items()
        if scene.findings.cluster.environment.get(name, value) != value
    }
    slow = [r for r in scene.open if r.rung >= _FIRST_RUNG and missed(r)]
    failing = [r for r in slow if len(r.nodes) == _PAIR]
    subjects = {record.subject for record in failing}
    cleared = [
        r for r in _passed(scene) if r.subject in subjects and any(map(_is_value, r.judgements))
    ]
    if differs and failing and not cleared:
        have = scene.findings.cluster.environment
        names = ", ".join(f"{n}={have[n] or '(empty)'} instead of {v}" for n, v in differs.items())
        says = f"{_worst(slow)}; the hostfile sets {names}"
        yield Claim("collective-tuning-missing", Where("", ",".join(differs)), says, tuple(slow))


def _asked_for(scene: Scene) -> Mapping[str, str]:
    platform = scene.findings.platform
    own = [m.environment for m in platform.measurements.values() if m.rung >= _FIRST_RUNG]
    return {k: v for environment in (platform.environment, *own) for k, v in environment.items()}


def unstable(scene: Scene) -> Iterator[Claim]:
    """Iterations that fall into two groups, where neither facts nor lower rungs say why."""
    swinging = [r for r in scene.open if r.rung >= _FIRST_RUNG and _swing(r)]
    yield from _between_nodes(scene, swinging, "unstable-collective", "")


def _swing(record: ItemRecord) -> str:
    return next(filter(None, map(swing_of, missed(record))), "")


def slow_collectives(scene: Scene) -> Iterator[Claim]:
    """Collectives that are slow over a path that is fine: rung by rung."""
    for rung in (4, 5):
        slow = [r for r in scene.open if r.rung == rung and any(map(_is_value, missed(r)))]
        yield from _alone(slow)
        claims = list(_between_nodes(scene, slow, "slow-node", ""))
        yield from claims
        scene = scene.without(record for claim in claims for record in claim.evidence)


def _alone(slow: Sequence[ItemRecord]) -> Iterator[Claim]:
    """What one node does by itself, such as serving a model."""
    for node in dict.fromkeys(r.nodes[0] for r in slow if len(r.nodes) == 1):
        records = tuple(r for r in slow if r.nodes == (node,))
        yield Claim("slow-node", Where(node), _worst(records), records, LIKELY)


def _between_nodes(
    scene: Scene, records: Sequence[ItemRecord], cause: str, metric: str
) -> Iterator[Claim]:
    """Blame the nodes that are in all of the pairs that went wrong, as far as that is decided."""
    pairs = [record for record in records if len(record.nodes) == _PAIR]
    if not pairs:
        yield from _of_groups(records, cause)
        return
    subjects = {record.subject for record in pairs}
    fine = [r for r in _passed(scene) if r.subject in subjects and _shows(r, metric)]
    wrong = {record.id for record in pairs}
    results = [PairResult((r.nodes[0], r.nodes[1]), r.id in wrong) for r in (*fine, *pairs)]
    blamed = blame(results)
    for node in blamed.nodes:
        mine = tuple(record for record in records if node in record.nodes)
        says = (
            f"{_says(mine, metric)}; in all pairs of {node}, and its partners are fine with others"
        )
        yield Claim(cause, Where(node), says, mine, LIKELY)
    for one, other in blamed.pairs:
        mine = tuple(record for record in pairs if {one, other} == set(record.nodes))
        kind = "slow-path" if cause == "slow-node" else cause
        yield Claim(kind, Where(one, "", other), _says(mine, metric), mine, LIKELY)
    for open_ in blamed.undecided:
        names = [name for name in open_.among if ":" not in name]
        mine = tuple(r for r in records if set(names) & set(r.nodes))
        says = f"{_says(mine, metric)}; the evidence does not tell apart: {', '.join(open_.among)}"
        yield Claim(cause, Where("|".join(names)), says, mine, OPEN, open_.would_decide)


def _of_groups(records: Sequence[ItemRecord], cause: str) -> Iterator[Claim]:
    """Only groups went wrong: every pair of their nodes that was measured is fine."""
    groups = [record for record in records if len(record.nodes) > _PAIR]
    if groups:
        smallest = min(groups, key=lambda record: len(record.nodes))
        yield Claim(
            cause,
            Where("|".join(smallest.nodes)),
            f"{_says(groups, '')}; pairs of these nodes are fine",
            tuple(groups),
            OPEN,
            "halves of the group, declared under 'groups' in the hostfile",
        )


def _says(records: Sequence[ItemRecord], metric: str) -> str:
    if metric:
        return next(j.reason for r in records for j in missed(r) if j.metric == metric)
    return next(filter(None, map(_swing, records)), "") or _worst(records)


def _passed(scene: Scene) -> Iterable[ItemRecord]:
    good = (Outcome.PASSED, Outcome.MARGINAL)
    return [
        r for r in scene.findings.records.values() if r.outcome in good and len(r.nodes) == _PAIR
    ]


def _shows(record: ItemRecord, metric: str) -> bool:
    """Whether a good item is evidence of the same kind as the bad ones."""
    return any(j.metric == metric if metric else _is_value(j) for j in record.judgements)


def _is_value(judged: Judgement) -> bool:
    return judged.worst is not None


def _worst(records: Sequence[ItemRecord]) -> str:
    lines = [(j.margin or 0.0, r, j) for r in records for j in missed(r)]
    _, record, judged = min(lines, key=lambda line: line[0])
    return f"{record.subject} {judged.metric} {judged.measured}, limit {judged.limit}"


FIRST: tuple[Callable[[Scene], Iterator[Claim]], ...] = (link_errors,)
RULES: tuple[Callable[[Scene], Iterator[Claim]], ...] = (
    tuning, transports, idle_nics, unstable, slow_collectives,
)  # fmt: skip
