"""Which parts of a node are behind their peers, from where it stands in each measurement."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from statistics import median

from railgauge.core.terms import Rung
from railgauge.diagnosis.localise.directions import RECEIVING, SENDING
from railgauge.diagnosis.model import LIKELY, OPEN
from railgauge.diagnosis.peers.standing import Comparable, Series, Standing, noise_of

BEHIND_MIN = 0.02
NOISE_MIN = 0.005
FALSE_ALARMS = 1e-5

_MOST = 2 / 3  # of the measurements of a part must show it; the others may be bound elsewhere
_SEEN = 2.0  # standard deviations from which a single measurement counts as behind
_ROUNDING = 1e-9
_POOL = 16  # values that show whether a lone measurement is quiet

Lies = Callable[[Standing], bool]


@dataclass(frozen=True, slots=True)
class Straggler:
    """A part that is behind its peers: ``behind`` is the median over its runs, as a share.

    ``suspects`` are the nodes that the evidence fits, one if it is decided. ``seen`` of ``runs``
    runs show it. ``note`` says what else would explain it, ``would_decide`` what to measure.
    """

    suspects: tuple[str, ...]
    device: str
    domain: str
    way: str
    behind: float
    seen: int
    runs: int
    confidence: str
    standings: tuple[Standing, ...]
    would_decide: str = ""

    @property
    def kind(self) -> str:
        """``node``, ``nic``, ``gpu``; ``path`` for a link or a GPU with a NIC."""
        if len(_SEPARATORS.split(self.device)) > 1:
            return "path"
        return "gpu" if self.device[:3] == "gpu" else "nic" if self.device else "node"


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a node and what lies on it; the node itself, or a domain of it, has no device.

    With a ``way`` it is one direction of the part.
    """

    device: str
    domain: str
    lies: Lies
    is_last: bool = False
    way: str = ""

    def shows(self, one: Standing) -> bool:
        """Whether the standing is one of this part, in its direction."""
        return one.way == self.way and self.lies(one)

    def holds(self, one: Standing) -> bool:
        """Whether the standing is explained by the part: that of a direction by both as well."""
        return self.way in ("", one.way) and self.lies(one)


@dataclass(frozen=True, slots=True)
class _Scale:
    """What a finding is measured by: the noise of each subject, its number of values, and t."""

    noise: Mapping[Comparable, float]
    pool: Mapping[Comparable, int]
    least: float

    @classmethod
    def of(cls, found: Sequence[Standing]) -> _Scale:
        pool: dict[Comparable, int] = defaultdict(int)
        parts: set[tuple[str, ...]] = set()
        for one in found:
            pool[one.kind] += 1
            parts |= {(one.node, one.way, name) for name in ("", one.part, *devices(one))}
            parts |= {(one.node, f"{name} {one.alone}") for name in ("", one.part) if one.alone}
        least = math.sqrt(2 * math.log((len(parts) + 1) / FALSE_ALARMS))
        return cls(noise_of(found, NOISE_MIN), pool, least)

    def score(self, one: Standing) -> float:
        return one.behind / self.noise[one.kind]


def found(seen: Sequence[Standing]) -> list[Straggler]:
    """The stragglers of a run, node by node; suspects that cannot be told apart only once."""
    scale = _Scale.of(seen)
    by_node: dict[str, list[Standing]] = defaultdict(list)
    for one in seen:
        by_node[one.node].append(one)
    every = [one for those in by_node.values() for one in _of_node(those, scale)]
    decided = {one.suspects[0] for one in every if len(one.suspects) == 1}
    return list(
        _once(one for one in every if len(one.suspects) == 1 or decided.isdisjoint(one.suspects))
    )


def _once(found: Iterable[Straggler]) -> Iterator[Straggler]:
    known: set[tuple[frozenset[str], str]] = set()
    for one in found:
        key = (frozenset(one.suspects), one.device)
        if len(one.suspects) == 1 or key not in known:
            known.add(key)
            yield one


def _of_node(mine: Sequence[Standing], scale: _Scale) -> Iterator[Straggler]:
    """The node or a domain of it if most of their parts are behind; else single parts."""
    if not any(scale.score(one) >= _SEEN and one.behind >= BEHIND_MIN for one in mine):
        return
    left, doubted = list(mine), list[Straggler]()
    for part in _parts(mine):
        some = [one for one in left if part.shows(one)]
        takes = part.device if not part.domain else ""
        beside = [one for one in left if not devices(one) and _takes_part(takes, one)]
        if not _stands_out(part, some, mine):
            continue
        straggler = _judged(part, some, beside, scale)
        if straggler is None:
            continue
        if part.way and straggler.confidence == OPEN:
            doubted.append(straggler)
        elif part.lies is _together and straggler.confidence != OPEN and doubted:
            # Which of several it is they do not tell.
            yield from map(_decided, doubted) if len(doubted) == 1 else doubted
            doubted = []
        else:
            yield straggler
        left = _without(part, left, is_open=straggler.confidence == OPEN)
    yield from doubted


def _without(part: _Part, left: Sequence[Standing], *, is_open: bool) -> list[Standing]:
    """What the part does not explain; an open direction leaves the collectives to decide."""
    ends = _SEPARATORS.split(part.device)  # the sum of a GPU's links holds the slow one
    keeps_all = is_open if part.way else not part.device
    return [
        one
        for one in left
        if not part.holds(one) and one.part not in ends and (devices(one) or keeps_all)
    ]


def _decided(one: Straggler) -> Straggler:
    """The direction of that one of its suspects that is behind in collectives as well."""
    return replace(one, suspects=one.suspects[:1], confidence=LIKELY, would_decide="")


def _everywhere(_: Standing) -> bool:
    return True


def _inside(one: Standing) -> bool:
    return one.rung == Rung.INTRANODE


def _between(one: Standing) -> bool:
    return not _inside(one)


def _together(one: Standing) -> bool:
    return one.rung >= Rung.COLLECTIVE


def _together_inside(one: Standing) -> bool:
    return _inside(one) and not devices(one)


def _parts(mine: Sequence[Standing]) -> Iterator[_Part]:
    """What may be behind, from the whole node to a single link, and last what uses all of it."""
    yield _Part("", "", _everywhere)
    yield _Part("", "between nodes", _between)
    yield _Part("", "inside the node", _inside)
    kinds = dict.fromkeys(one.alone for one in mine if one.alone)
    for kind in kinds:
        yield _Part("", f"of {_ALONE.get(kind, kind)}", partial(_is_alone, {kind}, ""))
    for name, _ in Counter(name for one in mine for name in devices(one)).most_common():
        yield _Part(name, "", partial(_uses, name))
    for gpu in dict.fromkeys(one.part for one in mine if one.alone):
        yield _Part(gpu, "by itself", partial(_is_alone, kinds, gpu))
        for kind in kinds:
            yield _Part(gpu, f"of {_ALONE.get(kind, kind)}", partial(_is_alone, {kind}, gpu))
    paths = dict.fromkeys(one.part for one in mine if devices(one))
    for path in sorted(paths, key=lambda path: len(_SEPARATORS.split(path)), reverse=True):
        yield _Part(path, "", partial(_is_over, path))
    for way, domain in _WAYS.items():
        yield _Part("", domain, _everywhere, way=way)
        names = Counter(name for one in mine if one.way == way for name in devices(one))
        for name, _ in names.most_common():
            yield _Part(name, domain, partial(_uses, name), way=way)
    yield _Part("", "in collectives with other nodes", _together, is_last=True)
    yield _Part("", "in collectives inside the node", _together_inside, is_last=True)


_WAYS = {SENDING: "of what it sends", RECEIVING: "of what it receives"}
# What a GPU does by itself, by the dimension of its rate.
_ALONE = {"computing rate": "matrix products", "bandwidth": "its memory"}


def _is_alone(kinds: Collection[str], gpu: str, one: Standing) -> bool:
    """Whether this is what a GPU reaches by itself; ``gpu`` is empty for any of the node."""
    return one.alone in kinds and gpu in ("", one.part)


def _takes_part(device: str, one: Standing) -> bool:
    """Whether a collective uses the device; a NIC carries nothing inside a node."""
    on_gpus = all(name.startswith("gpu") for name in _SEPARATORS.split(device))
    return bool(device) and (on_gpus or not _inside(one))


def _uses(device: str, one: Standing) -> bool:
    return device in devices(one)


def _is_over(path: str, one: Standing) -> bool:
    return one.part == path


_SEPARATORS = re.compile(r">|(?<=\d)-(?=[a-z])")


def devices(one: Standing) -> tuple[str, ...]:
    """The NIC and GPUs of a part; none for a path between two rails, which has two of each."""
    return _named_in(one.part)


@cache  # a part is asked about thousands of times
def _named_in(part: str) -> tuple[str, ...]:
    return tuple(_SEPARATORS.split(part)) if part and ":" not in part else ()


def _stands_out(part: _Part, some: Sequence[Standing], mine: Sequence[Standing]) -> bool:
    """Whether the other parts of the node are less than half as far behind.

    Where all are, and the node is only just not proven, no single part is to blame.
    """
    beside = [one for one in mine if one.way == part.way and devices(one)]
    rest = [one.behind for one in beside if not part.lies(one)]
    if not some or not (part.device or part.is_last) or not rest:
        return bool(some)
    return median(rest) < median(one.behind for one in some) / 2


def _judged(
    part: _Part, some: Sequence[Standing], beside: Sequence[Standing], scale: _Scale
) -> Straggler | None:
    """The straggler if these standings prove one: alone, or together with uncleared partners.

    ``beside`` is where the node stands in collectives, which its slowest part slows as well.
    """
    own = [one for one in some if one.cleared or not one.suspects or scale.score(one) < _SEEN]
    if straggler := _proven(part, own, beside, scale):
        return straggler
    shared = frozenset(name for one in some for name in one.suspects)
    if part.way:  # a partner of some of these alone explains the others less well than the part
        seen = [one.suspects for one in some if scale.score(one) >= _SEEN]
        shared = frozenset.intersection(*seen) if seen else shared
        return _proven(part, some, beside, scale, shared)
    return _proven(part, some, beside, scale, shared) if shared else None


def _proven(
    part: _Part,
    some: Sequence[Standing],
    beside: Sequence[Standing],
    scale: _Scale,
    shared: frozenset[str] = frozenset(),
) -> Straggler | None:
    runs = _runs(some)
    behind = median(map(_share, runs)) if runs else 0.0
    if behind < BEHIND_MIN or not _is_behind(part, some, scale):
        return None
    own = runs
    if not _is_certain(own, (), scale):
        runs = [*own, *_runs(beside)]
    lone = not _is_certain(own, runs[len(own) :], scale)
    if lone:
        runs = own
        if not _is_far(own, scale):
            return None
    seen = [run for run in runs if _score(run, scale) >= _SEEN]
    doubt = doubt_of(some, lone=lone, shared=shared)
    return Straggler(
        suspects=(some[0].node, *sorted(shared)),
        device=part.device,
        domain=part.domain,
        way=part.way,
        behind=behind,
        seen=len(seen),
        runs=len(runs),
        confidence=OPEN if doubt else LIKELY,
        standings=tuple(one for run in seen for one in run if scale.score(one) >= _SEEN),
        would_decide=doubt,
    )


def doubt_of(some: Sequence[Standing], *, lone: bool, shared: Iterable[str]) -> str:
    """What would decide, if something is undecided."""
    if shared:
        return "measure each of them with another partner"
    if lone:
        return "one measurement shows it: measure it again"
    cleared = {name for one in some for name in one.cleared}
    alone = any(not one.cleared and not one.suspects for one in some)
    if len(cleared) != 1 or alone:
        return ""
    (partner,) = cleared  # the path to it may be at fault
    return f"measure {some[0].node} with another partner than {partner}"


def _runs(some: Iterable[Standing]) -> list[list[Standing]]:
    found: dict[Series, list[Standing]] = defaultdict(list)
    for one in some:
        found[one.run].append(one)
    return list(found.values())


def _share(run: Iterable[Standing]) -> float:
    return median(one.behind for one in run)


def _score(run: Sequence[Standing], scale: _Scale) -> float:
    return _share(run) / scale.noise[run[0].kind]


def _is_behind(part: _Part, some: Sequence[Standing], scale: _Scale) -> bool:
    """Whether most of these are behind.

    For a node, most of its parts, and most of the collectives, which a single slow part slows too.
    """
    tagged = [one for one in some if devices(one)]
    if part.device or part.is_last:
        return _mostly(some, scale)
    others = [one for one in some if not devices(one)]
    return bool(tagged) and _mostly(tagged, scale) and _mostly(others, scale)


def _mostly(group: Sequence[Standing], scale: _Scale) -> bool:
    runs = _runs(group)
    return sum(_score(run, scale) >= _SEEN for run in runs) >= _MOST * len(runs)


def _is_certain(
    own: Sequence[Sequence[Standing]], beside: Sequence[Sequence[Standing]], scale: _Scale
) -> bool:
    """Whether the scores of independent runs, each of limited weight, add up to t.

    Of the runs ``beside``, only those that are behind by as much as counts speak for it.
    """
    most = scale.least / math.sqrt(2)
    runs = [*own, *beside]
    weights = [run[0].repeats for run in runs]
    scores = [max(-most, min(most, _score(run, scale))) for run in runs]
    for number, run in enumerate(beside, len(own)):
        if _share(run) < BEHIND_MIN:
            scores[number] = min(0.0, scores[number])
    total = sum(score * weight for score, weight in zip(scores, weights, strict=True))
    return total >= scale.least * math.sqrt(sum(weights)) - _ROUNDING


def _is_far(runs: Sequence[Sequence[Standing]], scale: _Scale) -> bool:
    """Whether a lone run of a quiet measurement is far enough behind."""
    if len(runs) != 1:
        return False
    (run,) = runs
    kind = run[0].kind
    quiet = scale.pool[kind] >= _POOL and scale.noise[kind] <= NOISE_MIN
    return quiet and _score(run, scale) >= scale.least
