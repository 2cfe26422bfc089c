"""``--shard I/N`` and ``--only NODES``: the part of the level that a run measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from railgauge.acceptance.request import Request
from railgauge.config.thresholds import Platform
from railgauge.core.errors import BadInput
from railgauge.core.model import Cluster
from railgauge.planning import part
from railgauge.planning.part import LevelPart
from railgauge.planning.plan import Level

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
    nodes = part.named(only, cluster, _ONLY)
    good = part.named(partners, cluster, _PARTNERS) if partners else ()
    if source:
        good = _good(request, source, cluster, platform, nodes)
    if both := [node for node in good if node in nodes]:
        raise BadInput(f"{both[0]} is to be qualified and a partner", where=_PARTNERS)
    every = tuple(node.name for node in cluster.nodes)
    return LevelPart(every, cluster.groups, only=nodes, partners=good, each=bool(partners))


def _good(
    request: Request, source: str, cluster: Cluster, platform: Platform, only: Sequence[str]
) -> tuple[str, ...]:
    """The partners from a run; a worker gets them from its controller, because latest has moved."""
    if request.worker is not None:
        return tuple(request.worker[_WORKER_INPUT].split(","))
    from railgauge.bundle import certified, partners  # noqa: PLC0415 - 0.3 s to import

    path = partners.run_named(source, (request.root / "reports", request.began_in), _FROM)
    request.options.partners_from = str(path)  # so that --resume finds it
    return partners.shown_good(certified.read(path), cluster, platform, only, f"{_FROM} {path}")


def tell_worker(measures: LevelPart | None, workerinput: dict[str, str]) -> None:
    if measures is not None:
        workerinput[_WORKER_INPUT] = ",".join(measures.partners)
