"""Which series are looked at together: a cluster, a node, a metric, a path, a pair. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from railgauge.trend.values import FindingScope, SeriesKey

_PAIR = 2


def shared_scopes(keys: Iterable[SeriesKey]) -> dict[FindingScope, tuple[SeriesKey, ...]]:
    """Every scope of two series or more, the widest first, with its series.

    A scope stands for its nodes only if nothing else is common to its series: what node A does in
    pairs with node B alone is said of the pair, and what all pairs of a cluster with one node in
    the middle do is said of that node.
    """
    members: dict[FindingScope, list[SeriesKey]] = {}
    for key in keys:
        for scope in _scopes_of(key):
            members.setdefault(scope, []).append(key)
    sound = {scope: tuple(found) for scope, found in members.items() if _stands(scope, found)}
    return {scope: sound[scope] for scope in sorted(sound, key=_width)}


def alone(key: SeriesKey) -> FindingScope:
    """The scope of one series."""
    return FindingScope(key.nodes, key.subject, key.metric, key.pairing, key.size_bytes)


def _scopes_of(key: SeriesKey) -> Iterator[FindingScope]:
    for nodes in _parties(key.nodes):
        yield FindingScope(nodes)
        yield FindingScope(nodes, key.subject, key.metric)
        if len(nodes) == 1 and key.pairing:
            yield FindingScope(nodes, pairing=key.pairing)


def _parties(nodes: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """All nodes; each node, where two are few enough for one to decide; the nodes together.

    A pair is the same whichever of its nodes sends.
    """
    yield ()
    if len(nodes) <= _PAIR:
        yield from ((node,) for node in nodes)
    if len(nodes) > 1:
        yield tuple(sorted(nodes))


def _stands(scope: FindingScope, keys: Collection[SeriesKey]) -> bool:
    common = frozenset[str].intersection(*(frozenset(key.nodes) for key in keys))
    return len(keys) > 1 and common == frozenset(scope.nodes)


def _width(scope: FindingScope) -> tuple[int, bool, bool, str]:
    """All nodes before one node before several named ones; in each, all metrics before one."""
    return len(scope.nodes), bool(scope.metric), bool(scope.pairing), str(scope)
