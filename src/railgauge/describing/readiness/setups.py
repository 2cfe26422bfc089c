"""The lines of ``setup`` that find what a login does not find. Pure.

``setup`` runs on every node, and a line that fails ends the node's commands. A line that not every
node needs is therefore written so that it succeeds where there is nothing to load.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from railgauge.describing.readiness.model import HostfileLine, NodesSeen, ProgramPlace, SelfReport

_KEYS = ("setup",)


def finding(
    missing: Collection[str], output: SelfReport, site: NodesSeen
) -> tuple[HostfileLine, ...]:
    """Return the fewest lines that find every missing program that the node has somewhere."""
    left, lines = set(missing), dict[str, None]()
    while left:
        best = _best(left, output.places)
        if best is None:
            break
        lines.update(dict.fromkeys(_safe(best, site)))
        left -= {place.program for place in output.places if place.setup == best}
    return (HostfileLine(_KEYS, list(lines)),) if lines else ()


def found_in(missing: Collection[str], output: SelfReport) -> dict[str, str]:
    """Return the paths of those missing programs that the node has somewhere."""
    found: dict[str, str] = {}
    for place in output.places:
        if place.program in missing:
            found.setdefault(place.program, place.path)
    return found


def _best(left: Collection[str], places: Collection[ProgramPlace]) -> tuple[str, ...] | None:
    """Return the setup that finds the most programs, the first of several."""
    ways = dict.fromkeys(place.setup for place in places if place.program in left)
    count = {way: sum(p.setup == way and p.program in left for p in places) for way in ways}
    return max(ways, key=lambda way: count[way], default=None)


def _safe(way: tuple[str, ...], site: NodesSeen) -> Iterator[str]:
    everywhere = all(
        any(p.setup == way for p in one.self_report.places) for one in site.asked if one.self_report
    )
    for line in way:
        command, _, rest = line.partition(" ")
        if everywhere or command == "export":
            yield line
        elif command == "source":
            yield f"test ! -e {rest} || source {rest}"
        else:
            yield f"{line} || true"
