"""The lines of train-bench, read one by one."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from railgauge.core.problems import ProblemKind
from railgauge.tools.collector import OutputCollector

REPLAY, TRAIN = "replay", "train"
SIZES = ("steps", "warmup", "seed", "layers", "width", "sequence", "batch", "vocabulary")
_COUNT = r"[0-9]{1,9}"
_NUMBER = r"[0-9]{1,9}(?:\.[0-9]{1,9})?"
_LOSS = r"[0-9]{1,5}(?:\.[0-9]{1,9})?"
_DIGEST = r"[0-9a-f]{16}"
_LINE = re.compile(
    r"(?:^|(?<=\]))train-bench (version|run|library|rank|step|replayed|differs|row|end)\b"
    r"([^\n]{0,300})$"
)
_RUN = re.compile(
    rf" mode=(replay|train) devices=(gpu|cpu) ranks=({_COUNT}) steps=({_COUNT})"
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
_ROW = re.compile(
    rf" rank=({_COUNT}) steps=({_COUNT}) step_ms=({_NUMBER}) step_p99_ms=({_NUMBER})"
    rf" load_ms=({_NUMBER}) compute_ms=({_NUMBER}) exchange_ms=({_NUMBER})"
    rf" loss=({_LOSS}) digest=({_DIGEST})"
)
_END = re.compile(rf" ranks=({_COUNT}) (?:differing=({_COUNT})|seconds=({_NUMBER}))")


@dataclass(frozen=True, slots=True)
class TrainRank:
    """Where a rank ran: ``device`` is ``gpu3``; ``uuid`` is ``-`` where the library tells none."""

    host: str
    device: str
    uuid: str
    model: str

    def __str__(self) -> str:
        return f"{self.host} {self.device}"


@dataclass(frozen=True, slots=True)
class RankReplayed:
    """What a rank computed alone."""

    steps: int
    seconds: float
    chain: str


@dataclass(frozen=True, slots=True)
class RankTrained:
    """The times of a rank in milliseconds, its last loss, and the digest of its weights."""

    steps: int
    step_ms: float
    step_p99_ms: float
    load_ms: float
    compute_ms: float
    exchange_ms: float
    loss: float
    digest: str


@dataclass(slots=True)
class TrainBenchRun:
    """The values of all lines. ``differs`` has the step and the tensor of a rank.

    ``end`` has the number of ranks, then how many differ, or the seconds of all steps.
    """

    header: dict[str, object] = field(default_factory=dict)
    version: str | None = None
    library: str = ""
    ranks: dict[int, TrainRank] = field(default_factory=dict)
    runs: int = 0
    losses: list[float] = field(default_factory=list)
    steps: list[str] = field(default_factory=list)
    replayed: dict[int, RankReplayed] = field(default_factory=dict)
    differs: dict[int, tuple[int, str]] = field(default_factory=dict)
    trained: dict[int, RankTrained] = field(default_factory=dict)
    end: tuple[int, int | None, float | None] | None = None

    def count(self, name: str) -> int:
        return int(str(self.header.get(name, 0)))

    @property
    def seconds(self) -> float:
        """How long the slowest rank took for all steps; 0 if unknown."""
        ended = self.end[2] if self.end else None
        return ended or max((one.seconds for one in self.replayed.values()), default=0.0)

    def summary(self) -> dict[str, object]:
        hosts = [one.host for one in self.ranks.values()]
        return {
            **self.header,
            "library": self.library,
            "nranks": len(self.ranks),
            "nnodes": len(set(hosts)),
            "ranks": dict(Counter(hosts)),
            "places": tuple(self.ranks.values()),
            "seconds": self.seconds,
        }

    def at(self, rank: int) -> str:
        return str(self.ranks.get(rank, f"rank {rank}"))

    def placement(self, rank: int) -> str | None:
        """The device of a rank, if all ranks are on one node."""
        is_one_node = len({one.host for one in self.ranks.values()}) == 1
        return self.ranks[rank].device if is_one_node and rank in self.ranks else None


def joined(steps: Sequence[str]) -> str:
    """Return the chain of these steps, as ``program`` makes it."""
    return hashlib.sha256(" ".join(steps).encode()).hexdigest()[:16]


def read(text: str, collector: OutputCollector) -> TrainBenchRun:
    """Read all lines of the program; a line that it does not print so is an error."""
    run = TrainBenchRun()
    for line in text.split("\n"):
        if "train-bench " in line[:200] and (match := _LINE.search(line[:600])):
            _take(match[1], match[2].rstrip(), run, collector)
    return run


def _take(kind: str, rest: str, run: TrainBenchRun, collector: OutputCollector) -> None:
    if kind == "version":
        run.version = rest.strip()[:20]
    elif kind == "library":
        run.library = rest.strip()
    else:
        pattern, take = _READERS[kind]
        match = pattern.fullmatch(rest)
        if not match or not take(match, run):
            collector.error(ProblemKind.UNPARSABLE, f"train-bench {kind}{rest}")


def _take_run(match: re.Match[str], run: TrainBenchRun) -> bool:
    run.runs += 1
    run.header = {"mode": match[1], "devices": match[2], "asked_ranks": int(match[3])}
    run.header |= {name: int(match[at]) for at, name in enumerate(SIZES, 4)}
    run.header["parameters"] = int(match[12])
    return True


def _take_rank(match: re.Match[str], run: TrainBenchRun) -> bool:
    run.ranks[int(match[1])] = TrainRank(match[2], match[3], match[4], match[5].strip())
    return int(match[1]) == len(run.ranks) - 1


def _take_step(match: re.Match[str], run: TrainBenchRun) -> bool:
    run.losses.append(float(match[2]))
    run.steps.append(match[3])
    return int(match[1]) == len(run.steps) - 1


def _take_replayed(match: re.Match[str], run: TrainBenchRun) -> bool:
    run.replayed[int(match[1])] = RankReplayed(int(match[2]), float(match[3]), match[4])
    return int(match[1]) == len(run.replayed) - 1


def _take_differs(match: re.Match[str], run: TrainBenchRun) -> bool:
    is_new = int(match[1]) not in run.differs
    run.differs[int(match[1])] = int(match[2]), match[3]
    return is_new


def _take_row(match: re.Match[str], run: TrainBenchRun) -> bool:
    step, p99, load, compute, exchange, loss = map(float, match.group(3, 4, 5, 6, 7, 8))
    times = (step, p99, load, compute, exchange)
    run.trained[int(match[1])] = RankTrained(int(match[2]), *times, loss=loss, digest=match[9])
    run.losses.append(loss)
    return int(match[1]) == len(run.trained) - 1


def _take_end(match: re.Match[str], run: TrainBenchRun) -> bool:
    is_first = run.end is None
    differing = int(match[2]) if match[2] is not None else None
    run.end = int(match[1]), differing, float(match[3]) if match[3] is not None else None
    return is_first


_READERS: Mapping[str, tuple[re.Pattern[str], Callable[[re.Match[str], TrainBenchRun], bool]]] = {
    "run": (_RUN, _take_run),
    "rank": (_RANK, _take_rank),
    "step": (_STEP, _take_step),
    "replayed": (_REPLAYED, _take_replayed),
    "differs": (_DIFFERS, _take_differs),
    "row": (_ROW, _take_row),
    "end": (_END, _take_end),
}
