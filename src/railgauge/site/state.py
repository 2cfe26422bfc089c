"""Compares the files of a site with those of the package. Pure.

``made`` are the SHA-256 sums of the files as ``railgauge init`` wrote them, from which it follows
who has changed a file: the user, a newer package, or both.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

Sums = Mapping[str, str]
"""SHA-256 of each file, by its path relative to the site."""


class State(str, Enum):
    """How a file of the site differs from that of the package."""

    SAME = "same"
    NEW = "new"
    OLDER = "older"
    GONE = "gone"
    YOURS = "yours"
    BOTH = "both"
    REMOVED = "removed"


SAYS = {
    State.NEW: "not in the site: new in this version",
    State.OLDER: "as another version of railgauge wrote it",
    State.GONE: "from another version of railgauge; this one has no such file",
    State.BOTH: "differs, and not only by your changes",
    State.YOURS: "changed by you; railgauge's own is the same as before",
    State.REMOVED: "removed by you",
}
"""In the order in which they are listed."""

PENDING = (State.NEW, State.OLDER, State.GONE, State.BOTH)
"""What an update would change, or asks the user to merge."""


@dataclass(frozen=True, slots=True)
class SiteFile:
    """One file, by its path relative to the site."""

    name: str
    state: State


def compared(offered: Sums, made: Sums, found: Sums) -> tuple[SiteFile, ...]:
    """The state of every file that the package offers or once wrote, sorted by name."""
    return tuple(_states(offered, made, found))


def _states(offered: Sums, made: Sums, found: Sums) -> Iterator[SiteFile]:
    for name in sorted({*offered, *made}):
        if name in offered:
            yield SiteFile(name, _state(offered[name], made.get(name), found.get(name)))
        elif found.get(name) == made[name]:
            yield SiteFile(name, State.GONE)  # otherwise it is the user's own, or gone


def _state(offered: str, made: str | None, found: str | None) -> State:
    if found is None:
        return State.NEW if made is None else State.REMOVED
    if found == offered:
        return State.SAME
    if found == made:
        return State.OLDER
    return State.YOURS if made == offered else State.BOTH


@dataclass(frozen=True, slots=True)
class Changes:
    """What is done to a site: files to write, to write beside the user's, and to delete."""

    write: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    delete: tuple[str, ...] = ()


def update(files: Collection[SiteFile]) -> Changes:
    """What brings the site up to date; the user's files stay as they are."""
    return Changes(
        write=_of(files, State.NEW, State.OLDER),
        beside=_of(files, State.BOTH),
        delete=_of(files, State.GONE),
    )


def overwrite(files: Collection[SiteFile], names: Collection[str], also: Changes) -> Changes:
    """``also``, and the files of these names as the package has them."""
    given_up = {file.name for file in files if file.name in names and file.state != State.SAME}
    write = sorted({*also.write, *given_up} - {*_of(files, State.GONE)})
    beside = tuple(name for name in also.beside if name not in given_up)
    return Changes(tuple(write), beside, also.delete)


def _of(files: Collection[SiteFile], *states: State) -> tuple[str, ...]:
    return tuple(file.name for file in files if file.state in states)
