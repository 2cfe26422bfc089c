"""Group series into scopes: a cluster, a node, a metric, a path, a pair. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from railgauge.trend.values import SeriesKey, TrendScope

_PAIR = 2


def shared_scopes(keys: Iterable[SeriesKey]) -> dict[TrendScope, tuple[SeriesKey, ...]]:
    """Return every scope of two or more series, the widest first, with its series.

    A scope is kept only if its nodes are exactly the nodes that all its series share. If node A was
    measured only with node B, its series belong to the pair A-B; if node C is in all pairs of the
    cluster, they belong to node C.
    """
    members: dict[TrendScope, list[SeriesKey]] = {}
    for key in keys:
        for scope in _scopes_of(key):
            members.setdefault(scope, []).append(key)
    kept = {scope: tuple(found) for scope, found in members.items() if _owns_all(scope, found)}
    return {scope: kept[scope] for scope in sorted(kept, key=_width)}


def families(
    scopes: Mapping[TrendScope, Collection[SeriesKey]],
) -> list[list[TrendScope]]:
    """Group the scopes of one kind, such as all NICs of nodes; their order is kept.

    They are of one kind if they have as many nodes and hold series of the same metrics and sizes.
    """
    found: dict[object, list[TrendScope]] = {}
    for scope, keys in scopes.items():
        holds = frozenset((key.measured, key.size_bytes) for key in keys)
        kind = len(scope.nodes), scope.metric, bool(scope.pairing), holds
        found.setdefault(kind, []).append(scope)
    return list(found.values())


def alone(key: SeriesKey) -> TrendScope:
    """The scope of one series."""
    return TrendScope(key.nodes, key.subject, key.metric, key.pairing, key.size_bytes)


def _scopes_of(key: SeriesKey) -> Iterator[TrendScope]:
    for nodes in _parties(key.nodes):
        yield TrendScope(nodes)
        yield TrendScope(nodes, key.subject, key.metric)
        if len(nodes) == 1 and key.pairing:
            yield TrendScope(nodes, pairing=key.pairing)


def _parties(nodes: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The node sets of the scopes: all nodes, each of one or two nodes, and the nodes together.

    They are sorted, so a pair is the same in both directions. A single node is not a scope of
    larger groups, since it does not determine their value.
    """
    yield ()
    if len(nodes) <= _PAIR:
        yield from ((node,) for node in nodes)
    if len(nodes) > 1:
        yield tuple(sorted(nodes))


def _owns_all(scope: TrendScope, keys: Collection[SeriesKey]) -> bool:
    common = frozenset[str].intersection(*(frozenset(key.nodes) for key in keys))
    return len(keys) > 1 and common == frozenset(scope.nodes)


def _width(scope: TrendScope) -> tuple[int, bool, bool, str]:
    """The sort key, widest first: all nodes, one node, several nodes; all metrics before one."""
    return len(scope.nodes), bool(scope.metric), bool(scope.pairing), str(scope)
