"""The parser of train-bench: from its lines to samples and problems."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from railgauge.core.model import Parsed
from railgauge.core.problems import Problem, ProblemKind
from railgauge.launchers.failures import find_failures
from railgauge.tools.collector import OutputCollector, missing_program, problem
from railgauge.tools.text import clean

# A launcher that is missing is reported under its own name.
_PROGRAMS = ("train-bench", "python3", "mpirun", "mpiexec", "srun")
_FEWEST_RANKS = 2
_COUNT = r"[0-9]{1,9}"
_NUMBER = r"[0-9]{1,9}(?:\.[0-9]{1,9})?"
_LOSS = r"[0-9]{1,5}(?:\.[0-9]{1,9})?"
_DIGEST = r"[0-9a-f]{16}"
_LINE = re.compile(
    r"(?:^|(?<=\]))train-bench (version|run|library|rank|step|replayed|differs|end)\b"
    r"([^\n]{0,300})$"
)
_RUN = re.compile(
    rf" mode=([a-z]{{1,10}}) devices=(gpu|cpu) ranks=({_COUNT}) steps=({_COUNT})"
    rf" warmup=({_COUNT}) seed=({_COUNT}) layers=({_COUNT}) width=({_COUNT})"
    rf" sequence=({_COUNT}) batch=({_COUNT}) vocabulary=({_COUNT}) parameters=([0-9]{{1,15}})"
)
_RANK = re.compile(
    rf" ({_COUNT}) host=(\S{{1,255}}) device=((?:gpu|cpu)[0-9]{{1,4}}) uuid=(\S{{1,80}})"
    r" name=([^\n]{1,120})"
)
_STEP = re.compile(rf" ({_COUNT}) loss=({_LOSS}) digest=({_DIGEST})")
_REPLAYED = re.compile(rf" rank=({_COUNT}) steps=({_COUNT}) seconds=({_NUMBER}) chain=({_DIGEST})")
_DIFFERS = re.compile(
    rf" rank=({_COUNT}) step=({_COUNT}) tensor=([a-z0-9.]{{1,40}})"
    rf" digest=(-|{_DIGEST}) others=(-|{_DIGEST})"
)
_END = re.compile(rf" ranks=({_COUNT}) differing=({_COUNT})")
_COMPLAINTS = {
    ProblemKind.TOOL_MISSING: re.compile(
        r"^train-bench: (cannot measure [^\n]{1,600})", re.MULTILINE
    ),
    ProblemKind.OUT_OF_MEMORY: re.compile(
        r"^([\w.]{0,80}(?:OutOfMemoryError|MemoryError):? ?[^\n]{0,200})", re.MULTILINE
    ),
    ProblemKind.INVALID_ARGUMENT: re.compile(r"^train-bench: error: ([^\n]{1,200})", re.MULTILINE),
    ProblemKind.TOOL_FAILED: re.compile(
        r"^([\w.]{1,80}(?:Error|Exception): [^\n]{0,200})", re.MULTILINE
    ),
}
SIZES = ("steps", "warmup", "seed", "layers", "width", "sequence", "batch", "vocabulary")
# The first weights are small, so that the first loss is that of equal odds: ln(vocabulary).
_LOSS_APART = 0.2
_WIDTHS_OF_A_LAYER = 12  # matrices of width x width: 3 and 1 of the attention, 4 and 4 behind it


@dataclass(frozen=True, slots=True)
class TrainRank:
    """Where a rank ran: ``device`` is ``gpu3``; ``uuid`` is ``-`` where the library tells none."""

    host: str
    device: str
    uuid: str
    model: str

    def __str__(self) -> str:
        return f"{self.host} {self.device}"


@dataclass(slots=True)
class _Run:
    """The values of all lines."""

    said: dict[str, object] = field(default_factory=dict)
    version: str | None = None
    library: str = ""
    ranks: dict[int, TrainRank] = field(default_factory=dict)
    runs: int = 0
    losses: list[float] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    replayed: dict[int, tuple[int, float, str]] = field(default_factory=dict)
    differs: dict[int, tuple[int, str]] = field(default_factory=dict)
    end: tuple[int, int] | None = None

    def count(self, name: str) -> int:
        return int(str(self.said.get(name, 0)))

    def summary(self) -> dict[str, object]:
        hosts = [one.host for one in self.ranks.values()]
        return {
            **self.said,
            "library": self.library,
            "nranks": len(self.ranks),
            "nnodes": len(set(hosts)),
            "ranks": dict(Counter(hosts)),
            "places": tuple(self.ranks.values()),
            "seconds": max((one for _, one, _ in self.replayed.values()), default=0.0),
        }

    def at(self, rank: int) -> str:
        return str(self.ranks.get(rank, f"rank {rank}"))


def parse(text: str) -> Parsed:
    """Read one run. Never raises and takes time linear in the text.

    Samples of each rank, with the placement ``gpu3`` if all ranks are on one node: ``agreed``
    (``count``), the steps from the first on in which it has the bits of the other ranks, and
    ``wrong`` (``count``), 1 if it has others. Every rank must have a device of its own and all
    steps, the chains must be those of the printed steps, no two steps may have one digest, and the
    first loss must be that of equal odds. ``summary``: ``mode``, ``devices``, what was asked
    (``steps``, ``layers``, …), ``library``, ``nranks``, ``nnodes``, ``ranks`` (host -> how many),
    ``places`` (a ``TrainRank`` for each rank), ``seconds`` of the slowest rank.
    """
    text = clean(text)
    collector, run = OutputCollector(), _Run()
    for line in text.split("\n"):
        if "train-bench " in line[:200] and (match := _LINE.search(line[:600])):
            _take(match[1], match[2].rstrip(), run, collector)
    if run.runs == 1:
        _check_whole(run, collector)
        _add_samples(run, collector)
    collector.problems[:0] = _complaints(text)
    if run.runs > 1:
        collector.several_runs()
    elif not run.runs and not collector.has_errors:
        collector.nothing(text, "no run of train-bench in this text")
    return collector.parsed("train-bench", run.version, run.summary() if run.runs else {})


def _complaints(text: str) -> Iterator[Problem]:
    """Yield what prevented the measurement, the most likely cause first."""
    if missing := missing_program(text, _PROGRAMS):
        yield missing
    for kind, pattern in _COMPLAINTS.items():
        if match := pattern.search(text):
            yield problem(kind, match[1])
    yield from (problem(found.kind, found.message) for found in find_failures(text))


# --- the lines ---


def _take(kind: str, rest: str, run: _Run, collector: OutputCollector) -> None:
    if kind == "version":
        run.version = rest.strip()[:20]
    elif kind == "library":
        run.library = rest.strip()
    else:
        pattern, take = _READERS[kind]
        match = pattern.fullmatch(rest)
        if not match or not take(match, run):
            collector.error(ProblemKind.UNPARSABLE, f"train-bench {kind}{rest}")


def _take_run(match: re.Match[str], run: _Run) -> bool:
    run.runs += 1
    run.said = {"mode": match[1], "devices": match[2], "asked_ranks": int(match[3])}
    run.said |= {name: int(match[at]) for at, name in enumerate(SIZES, 4)}
    run.said["parameters"] = int(match[12])
    return True


def _take_rank(match: re.Match[str], run: _Run) -> bool:
    run.ranks[int(match[1])] = TrainRank(match[2], match[3], match[4], match[5].strip())
    return int(match[1]) == len(run.ranks) - 1


def _take_step(match: re.Match[str], run: _Run) -> bool:
    run.losses.append(float(match[2]))
    run.steps.append(match[3])
    return int(match[1]) == len(run.steps) - 1


def _take_replayed(match: re.Match[str], run: _Run) -> bool:
    run.replayed[int(match[1])] = int(match[2]), float(match[3]), match[4]
    return int(match[1]) == len(run.replayed) - 1


def _take_differs(match: re.Match[str], run: _Run) -> bool:
    is_new = int(match[1]) not in run.differs
    run.differs[int(match[1])] = int(match[2]), match[3]
    return is_new


def _take_end(match: re.Match[str], run: _Run) -> bool:
    is_first, run.end = run.end is None, (int(match[1]), int(match[2]))
    return is_first


_READERS: Mapping[str, tuple[re.Pattern[str], Callable[[re.Match[str], _Run], bool]]] = {
    "run": (_RUN, _take_run),
    "rank": (_RANK, _take_rank),
    "step": (_STEP, _take_step),
    "replayed": (_REPLAYED, _take_replayed),
    "differs": (_DIFFERS, _take_differs),
    "end": (_END, _take_end),
}


# --- the whole ---


def _check_whole(run: _Run, collector: OutputCollector) -> None:
    for complaint in _incomplete(run):
        collector.error(ProblemKind.METRIC_MISSING, complaint)
    for complaint in _contradictions(run):
        collector.error(ProblemKind.INCONSISTENT, complaint)
    if run.count("asked_ranks") < _FEWEST_RANKS:
        collector.error(ProblemKind.TOO_FEW_RANKS, "a single rank has no other to agree with")
    if run.end is None:
        collector.error(ProblemKind.TRUNCATED, "no closing line: the run did not finish")
    elif run.end != (len(run.ranks), len(run.differs)):
        collector.error(
            ProblemKind.TRUNCATED,
            f"{len(run.ranks)} ranks of which {len(run.differs)} differ, but the closing line "
            f"counts {run.end[0]} of which {run.end[1]} differ",
        )
    if run.differs and not collector.has_errors:
        kind, what = _verdict(run)
        collector.error(kind, what)


def _incomplete(run: _Run) -> Iterator[str]:
    """Yield what is missing: a rank, a step, or the steps of a rank."""
    ranks, steps = run.count("asked_ranks"), run.count("steps")
    if len(run.ranks) != ranks or len(run.replayed) != ranks:
        yield f"{len(run.ranks)} of {ranks} ranks are listed, {len(run.replayed)} replayed"
    if not steps or len(run.steps) != steps:
        yield f"{len(run.steps)} of {steps} steps are printed"
    for rank, (done, _, _) in run.replayed.items():
        if done != steps:
            yield f"{run.at(rank)} made {done} of {steps} steps"


def _contradictions(run: _Run) -> Iterator[str]:
    """Yield what cannot be: a device twice, other chains than the steps', no training at all."""
    places = [(one.host, one.device) for one in run.ranks.values()]
    uuids = [one.uuid for one in run.ranks.values() if one.uuid != "-"]
    if len(set(places)) < len(places) or len(set(uuids)) < len(uuids):
        yield "two ranks ran on one device"
    if any(not one.device.startswith(str(run.said["devices"])) for one in run.ranks.values()):
        yield "a rank ran on another kind of device"
    if run.said["parameters"] != _parameters(run):
        yield f"{run.said['parameters']} parameters are not those of such a model"
    if len(set(run.steps)) < len(run.steps):
        yield "two steps have one digest: the weights did not change"
    wanted = math.log(max(run.count("vocabulary"), 1))
    if run.losses and abs(run.losses[0] - wanted) > _LOSS_APART * wanted:
        yield f"the first loss is {run.losses[0]:g}, not about {wanted:.3f}, that of equal odds"
    common = _joined(run.steps)
    for rank, (_, seconds, chain) in run.replayed.items():
        if (chain != common) != (rank in run.differs):
            yield f"the chain of {run.at(rank)} is not what its lines say"
        if not seconds:
            yield f"{run.at(rank)} took no time"
    for rank, (step, _) in run.differs.items():
        if rank not in run.replayed or step >= len(run.steps):
            yield f"{run.at(rank)} differs where it has no step"


def _parameters(run: _Run) -> int:
    layers, width, vocabulary = (run.count(name) for name in ("layers", "width", "vocabulary"))
    each = _WIDTHS_OF_A_LAYER * width**2 + 2 * width
    return layers * each + width + 2 * vocabulary * width


def _joined(steps: list[str]) -> str:
    """Return the chain of these steps, as ``program`` makes it."""
    return hashlib.sha256(" ".join(steps).encode()).hexdigest()[:16]


def _verdict(run: _Run) -> tuple[ProblemKind, str]:
    """Return what ranks that differ mean. One wrong GPU makes two groups, however many there are.

    Of three groups and more without a majority, nobody can tell that any is wrong: the library may
    have no deterministic algorithm on these GPUs.
    """
    chains = Counter(chain for _, _, chain in run.replayed.values())
    each = [
        f"{run.at(rank)}: other bits from step {step} on, first in {tensor}"
        for rank, (step, tensor) in run.differs.items()
    ]
    if 2 * chains.most_common(1)[0][1] > len(run.replayed):
        return ProblemKind.DATA_CORRUPTION, ", ".join(each)
    first = min(step for step, _ in run.differs.values())
    if len(chains) == _FEWEST_RANKS:
        one = next(rank for rank in run.replayed if rank not in run.differs)
        other, (_, tensor) = next(iter(run.differs.items()))
        return (
            ProblemKind.DATA_CORRUPTION,
            f"half of the ranks ({run.at(one)}) have other bits than half ({run.at(other)}) from "
            f"step {first} on, first in {tensor}: which of them is right is not known",
        )
    return (
        ProblemKind.INCONSISTENT,
        f"{len(run.replayed)} ranks have {len(chains)} results from step {first} on: the library "
        "is not deterministic on these GPUs, or many of them compute wrong",
    )


def _add_samples(run: _Run, collector: OutputCollector) -> None:
    is_one_node = len({one.host for one in run.ranks.values()}) == 1
    for rank in run.replayed:
        own = run.ranks.get(rank)
        placement = own.device if own and is_one_node else None
        agreed, _ = run.differs.get(rank, (run.replayed[rank][0], ""))
        collector.add("agreed", "count", agreed, placement, may_be_zero=True)
        collector.add("wrong", "count", rank in run.differs, placement, may_be_zero=True)
