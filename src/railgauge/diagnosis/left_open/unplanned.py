"""What the plan of a level does not measure of the declared hardware. Pure.

Example: level smoke measures one GPU for each NIC. Of eight GPUs behind two NICs the line says
``unknown of mx[01-04]: gpu[0-2,5-7] alone, 14 of 16 pairings of GPU and NIC; level smoke does not
measure this``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from railgauge.config.thresholds.model import Measurement, Platform
from railgauge.core import naming
from railgauge.core.terms import Scope
from railgauge.diagnosis.left_open import parts
from railgauge.diagnosis.left_open.unknown import Unknown, folded
from railgauge.planning import plan
from railgauge.planning.plan import Level
from railgauge.planning.required import GPU, LINK

_MOST_NAMES = 4
OUTSIDE = "all but rung 0 and what runs over all nodes at once"
"""What is unknown of a node that the level's sample leaves out."""
_WHY = "level {} does not measure this"


def unplanned(platform: Platform, level: Level) -> tuple[Unknown, ...]:
    """Return what the level does not measure of each node, although the hardware is declared."""
    why = not_asked(level.name)
    same = tuple(_of_every_node(platform, level))
    lines: dict[tuple[tuple[str, ...], str], list[str]] = {}
    met = _partners(level)
    measured = set(level.measured)
    for node in level.nodes:
        paths = tuple(_paths(len(met[node]), len(level.nodes) - 1))
        what = (*same, *paths) if node in measured else (OUTSIDE,)
        if what:
            lines.setdefault((what, why), []).append(node)
    return tuple(folded(lines))


def not_asked(level: str) -> str:
    """Return why something is unknown that a level does not measure, in words."""
    return _WHY.format(level)


def _of_every_node(platform: Platform, level: Level) -> Iterator[str]:
    made = [m for m in platform.measurements.values() if m.made_at(level.name)]
    made = [m for m in made if plan.has_place(m, level)]
    planned = _planned(platform, level, made)
    declared = parts.declared_parts(platform)
    if alone := [gpu for gpu in declared[parts.GPU] if gpu not in planned]:
        yield f"{naming.folded(alone)} alone"
    for kind, words in _PARTS.items():
        left = sum(part not in planned for part in declared[kind])
        if left and _is_measured(platform, kind):
            yield f"{left} of {len(declared[kind])} {words}"
    left_out = [name for name, one in platform.measurements.items() if not one.made_at(level.name)]
    if left_out:
        yield naming.listed(left_out, _MOST_NAMES)


_PARTS = {
    parts.NIC: "NICs alone",
    parts.PAIRING: "pairings of GPU and NIC",
    parts.LINK: "links between GPUs",
}


def _is_measured(platform: Platform, kind: str) -> bool:
    """Whether parts of this kind are measured at some level; else the platform file says why not.

    Links between GPUs carry every collective inside a node, so they are named in any case.
    """
    memories = ("gpu",) if kind == parts.PAIRING else ("gpu", "host")
    every = platform.measurements.values()
    on_paths = (m.memory in memories for m in every if m.scope == Scope.PATH)
    return kind == parts.LINK or any(on_paths)


def _planned(platform: Platform, level: Level, made: Sequence[Measurement]) -> set[str]:
    """Return the names of the parts that the level measures by themselves."""
    found: set[str] = set()
    declared = parts.declared_parts(platform)
    for measurement in made:
        for path in plan.paths(platform, measurement, level.name):
            if path is not None:
                found.update(parts.parts_of(str(path)))
        swept = measurement.extents[level.name].sizes
        if measurement.asserted(LINK, swept=swept):
            found.update(declared[parts.LINK], declared[parts.GPU])
        if measurement.asserted(GPU, swept=swept):
            found.update(declared[parts.GPU])
    return found


def _partners(level: Level) -> dict[str, set[str]]:
    met: dict[str, set[str]] = defaultdict(set)
    for pair in level.pairs:
        met[pair.source].add(pair.target)
        met[pair.target].add(pair.source)
    return met


def _paths(met: int, others: int) -> Iterator[str]:
    if met < others:
        yield f"the paths to {others - met} of {others} other nodes"
