"""``--shard I/N`` and ``--only NODES``: the part of the level that a run measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from railgauge.acceptance.request import Request
from railgauge.config.thresholds import Platform
from railgauge.core.errors import BadInput
from railgauge.core.model import Cluster
from railgauge.core.nodeset import expanded
from railgauge.planning import part
from railgauge.planning.part import LevelPart
from railgauge.planning.plan import Level
from railgauge.verdict import known_good

_WORKER_INPUT = "railgauge_partners"
_ONLY, _SHARD, _PARTNERS, _FROM = "--only", "--shard", "--partners", "--partners-from"


def asked(request: Request, cluster: Cluster, platform: Platform, whole: Level) -> LevelPart | None:
    """The part that the options ask for; ``None`` for the whole level. Raises ``BadInput``."""
    found = _shard(request, cluster) or _nodes(request, cluster, platform)
    if found is None:
        return None
    if request.options.soak:
        raise BadInput("cannot be combined with --soak", where=_ONLY if found.only else _SHARD)
    uses = part.used(part.of_level(found, whole))
    if not uses:
        raise BadInput(
            f"has nothing to measure: this plan has fewer parts than {found.of}",
            where=f"{_SHARD} {found.shard}/{found.of}",
            remedy="use fewer shards; railgauge plan --shard I/N shows what each one has",
        )
    return replace(found, uses=uses)


def _shard(request: Request, cluster: Cluster) -> LevelPart | None:
    named = request.options.shard
    if named and request.options.only:
        raise BadInput(f"cannot be combined with {_ONLY}", where=_SHARD)
    return part.shard(named, cluster) if named else None


def _nodes(request: Request, cluster: Cluster, platform: Platform) -> LevelPart | None:
    only, partners, source = map(request.value, (_ONLY, _PARTNERS, _FROM))
    if not only:
        if partners or source:
            raise BadInput(f"needs {_ONLY}", where=_PARTNERS if partners else _FROM)
        return None
    if bool(partners) == bool(source):
        raise BadInput(f"needs {_PARTNERS} NODES or {_FROM} RUN, one of them", where=_ONLY)
    nodes = _named(only, cluster, _ONLY)
    good = _named(partners, cluster, _PARTNERS) if partners else ()
    if source:
        good = _good(request, source, cluster, platform, nodes)
    if both := [node for node in good if node in nodes]:
        raise BadInput(f"{both[0]} is to be qualified and a partner", where=_PARTNERS)
    every = tuple(node.name for node in cluster.nodes)
    return LevelPart(every, cluster.groups, only=nodes, partners=good, each=bool(partners))


def _named(text: str, cluster: Cluster, option: str) -> tuple[str, ...]:
    """The nodes of a NodeSet, in the order of the hostfile."""
    names = [node.name for node in cluster.nodes]
    try:
        found = set(expanded(text, len(names)))
    except BadInput as error:
        raise BadInput(error.what, where=option) from None
    if odd := sorted(found - set(names)):
        raise BadInput(f"{odd[0]} is no node of {cluster.source}", where=option)
    return tuple(name for name in names if name in found)


def _good(
    request: Request, source: str, cluster: Cluster, platform: Platform, only: Sequence[str]
) -> tuple[str, ...]:
    """The partners from a run; a worker is told them, because latest is this run by now."""
    if request.worker is not None:
        return tuple(request.worker[_WORKER_INPUT].split(","))
    path = _found(request, source)
    request.options.partners_from = str(path)  # so that --resume finds it
    return _shown_good(path, cluster, platform, only)


def tell_worker(measures: LevelPart | None, workerinput: dict[str, str]) -> None:
    if measures is not None:
        workerinput[_WORKER_INPUT] = ",".join(measures.partners)


def _found(request: Request, named: str) -> Path:
    for path in (request.root / "reports" / named, request.began_in / named):
        if path.exists():
            return path.resolve()
    raise BadInput(f"{named} is neither a run nor a bundle", where=_FROM)


def _shown_good(
    path: Path, cluster: Cluster, platform: Platform, only: Sequence[str]
) -> tuple[str, ...]:
    """The nodes that an earlier run of this cluster, under these limits, shows to be good."""
    from railgauge.bundle import certified  # noqa: PLC0415 - 0.3 s to import

    run = certified.read(path)
    if run.plan.evidence.is_of_another_run:  # it may be of a bundle that does not verify
        raise BadInput("is a replay: name the run that measured", where=f"{_FROM} {path}")
    for what, was, now in (
        ("cluster", run.cluster.name, cluster.name),
        ("platform file", run.platform.text, platform.text),
    ):
        if was != now:
            raise BadInput(f"is of another {what}", where=f"{_FROM} {path}")
    decided = known_good.DecidedRun(run.plan, run.verdict, run.records)
    shown = set(known_good.good(decided, only))
    if found := tuple(node.name for node in cluster.nodes if node.name in shown):
        return found
    doubts = known_good.doubts(decided, only)
    told = next(iter(sorted(doubts.items())), ("no node", known_good.UNMEASURED))
    raise BadInput(f"shows no node to be good: {told[0]}: {told[1]}", where=f"{_FROM} {path}")
