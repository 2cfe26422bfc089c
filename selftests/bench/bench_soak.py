"""A soak: what eight hours of rounds leave behind, and the page of a day on 32 nodes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from bench_preflight import lab_of, sessions_of
from measuring import ROOT, Row, cpu_s

sys.path.append(str(ROOT / "selftests"))

from bench_report import write_run
from testing import browser
from testing.diagnose_scenes import names, pairs_of, paths, run_results
from testing.render_page import Replacement, render_of

from railgauge.config import thresholds
from railgauge.core.model import Case, Cluster, Command, Outcome, Transcript
from railgauge.core.question import CaseResult
from railgauge.diagnosis import RunResults
from railgauge.diagnosis.model import SoakResults, SoakRound
from railgauge.judging import traffic
from railgauge.judging.record import ItemRecord
from railgauge.planning import plan, sample
from railgauge.planning.soak import SoakRounds, folder_of, planned, round_s
from railgauge.run.case_files import text_file
from railgauge.run.runner import Runner
from railgauge.run.soak.judged import judged
from railgauge.run.soak.proof import Soaked, in_words, proof
from railgauge.run.soak.rounds import RoundEvidence
from railgauge.run.soaking import carry_out
from railgauge.run.store import Store
from railgauge.run.survey import survey
from railgauge.verdict import decision

TITLE = "Soak"
ABOUT = """As many rounds as eight hours of a soak of three nodes have by their plan. The first
eight are measured on the lab: what runs on the nodes between two rounds, and what the suite's
process holds open. The others have a fast clock: what was measured before is stored and judged as
if five minutes had passed. After a quarter, a half and all of them: the memory of the suite's
process, and what a round adds to the run's folder. Nothing may grow but the evidence, and that by
the same amount each round. Then the judging of all rounds at the end (CPU seconds), and the report
of a soak of 24 h on 32 nodes: its size, and how many more CPU seconds headless Chromium takes to
open it, with all its scripts, than to open a blank page."""

HOURS = 8
# A day on 32 nodes of H200 at level smoke has so many rounds by its plan, each with so many items.
NODES, ROUNDS, ITEMS = 32, 52, 393
FAILED = 40  # of every tenth round
_DAY = "2026-01-31"
_PLAN = planned("24h", 1, "1/1000h")
_DAY_LONG = Soaked(86400.0, NODES, 2 * 86400.0)  # pairs, one after the other
LIVE = (2, 4, 8)
"""SoakRounds that are measured on the lab; what later ones draw was measured before, or is then."""
FLAT = 0.1  # the exponent of what does not grow, with the noise of a process's memory
OPENS_IN_S = 3.0
_SEED = 5
_Measure = Callable[[Case], CaseResult]


def rows() -> Iterator[Row]:
    with TemporaryDirectory() as folder, lab_of(Path(folder), nodes=3) as cluster:
        yield from _rounds(Path(folder), cluster)
    yield from _page()


def _rounds(folder: Path, cluster: Cluster) -> Iterator[Row]:
    platform = thresholds.on_site(
        thresholds.load("connectx4-homelab", ROOT / "thresholds"), cluster, ""
    )
    sessions = sessions_of(cluster)
    found = survey(cluster, sessions, None, lambda _: None)
    base = RunResults({}, found, platform, cluster)
    level = sample.level(platform, cluster, "smoke")
    took_s, _ = round_s(SoakRounds(planned("1h", _SEED), platform, cluster, level))
    count = round(HOURS * 3600 / took_s)
    rounds = SoakRounds(planned(f"{count}rounds", _SEED), platform, cluster, level)
    run, stops = folder / "run", (*LIVE, count // 4, count // 2, count)
    clock = _Clock()

    def planner(case: Case, port: int) -> tuple[Command, ...]:
        return plan.commands(case, platform, cluster, port)

    def counters(case: Case) -> tuple[Command, ...]:
        spec = platform.measurements[case.measurement].traffic
        return traffic.probes(case.nodes, cluster.rootfs, spec, platform)

    def measure_in(name: str) -> Callable[[Case], CaseResult]:
        store = Store(run / name)
        live = Runner(sessions, store, planner, counters).measure
        number = int(name.rpartition("/")[2])
        return clock.live(live) if number <= LIVE[-1] else clock.again(live, store)

    seen: dict[int, dict[str, float]] = {}
    done = 0

    def tell(line: str) -> None:
        nonlocal done
        if line.startswith("soak: round "):
            done += 1
            if done in stops:
                seen[done] = _held(run, folder, done)

    assert carry_out(rounds, base, measure_in, tell)
    for what, (unit, is_of_nodes) in _HELD.items():
        for at in LIVE if is_of_nodes else stops[len(LIVE) :]:
            yield Row(what, at, "rounds", seen[at][what], unit, growth_max=FLAT)

    def evidence(number: int) -> RoundEvidence:
        store = Store(run / folder_of(number))
        return RoundEvidence(found, store.load, text_file)

    for at in stops[len(LIVE) :]:
        cost_s = cpu_s(lambda at=at: judged(rounds, at, base, evidence))  # type: ignore[misc]
        yield Row(
            "judging at the end",
            at,
            "rounds",
            cost_s,
            "s",
            shown=f"{cost_s / at * 1e3:.0f} ms a round",
        )


class _Clock:
    """A fast clock: what was measured once is stored again as if a round's time had passed."""

    def __init__(self) -> None:
        self._kept: dict[Case, CaseResult] = {}
        self._passed = timedelta(0)

    def live(self, measure: _Measure) -> _Measure:
        def measured(case: Case) -> CaseResult:
            self._kept[case] = measure(case)
            return self._kept[case]

        return measured

    def again(self, measure: _Measure, store: Store) -> _Measure:
        self._passed += timedelta(minutes=5)

        def stored(case: Case) -> CaseResult:
            if case not in self._kept:
                return self.live(measure)(case)
            runs = self._kept[case].runs
            late = tuple(tuple(_later(one, self._passed) for one in run) for run in runs)
            return store.save(case, CaseResult(late))

        return stored


def _later(one: Transcript, passed: timedelta) -> Transcript:
    started = datetime.fromisoformat(one.started_at) + passed
    return replace(one, started_at=started.isoformat())


# Each figure: its unit, and whether it depends on what is run on the nodes.
_HELD = {
    "memory of the suite": ("MiB", False),
    "open files": ("files", True),
    "threads": ("threads", True),
    "processes on the nodes": ("processes", True),
    "folder, a round": ("KiB", False),
}


def _held(run: Path, lab: Path, rounds: int) -> dict[str, float]:
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    of = {
        line.split(":")[0]: line.split()[1] for line in status.splitlines() if len(line.split()) > 1
    }
    size = sum(path.stat().st_size for path in run.rglob("*") if path.is_file())
    figures = (
        int(of["VmRSS"]) / 1024,
        len(list(Path("/proc/self/fd").iterdir())),
        int(of["Threads"]),
        _processes(lab),
        size / rounds / 1024,
    )
    return dict(zip(_HELD, map(float, figures), strict=True))


def _processes(lab: Path) -> int:
    """The processes whose folder is one of the lab's: the lab's server, and what it started."""
    count = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            try:
                command = (entry / "cmdline").read_bytes().decode(errors="replace")
                count += str(lab) in command or str((entry / "cwd").readlink()).startswith(str(lab))
            except OSError:
                continue
    return count


def _page() -> Iterator[Row]:
    """The report of a day: a ladder of 32 nodes, and its rounds, some with failures."""
    if browser.program() is None:
        return
    of = names(NODES)
    found = run_results(paths(pairs_of(of, 2), tuple(f"mlx5_{n}" for n in range(8)), {}), nodes=of)
    with TemporaryDirectory() as name:
        folder, out = Path(name), Path(name, "report.html")
        write_run(folder, found)
        shown = render_of(_Soaked(folder, list(found.records.values())), out)
        blank = folder / "blank.html"
        blank.write_text("<!doctype html><title>blank</title>", encoding="utf-8")
        opened_s, blank_s = (
            min(_opens_s(page, folder / f"{page.stem}{turn}") for turn in range(3))
            for page in (out, blank)
        )
        size = f"{out.stat().st_size / 1e6:.1f} MB"
    yield Row(
        "report of 24 h, opened", len(shown.records), "items", opened_s - blank_s, "s",
        target=OPENS_IN_S, shown=size,
    )  # fmt: skip


class _Soaked(Replacement):
    """The records of the ladder, and those of a soak of a day."""

    def __init__(self, folder: Path, ladder: Sequence[ItemRecord]) -> None:
        super().__init__(folder, None)
        items, rounds = list[ItemRecord](), []
        for number in range(1, ROUNDS + 1):
            wrong = FAILED if number % 10 == 0 else 0
            one = SoakRound(number, f"{_DAY}T00:00:00", f"{_DAY}T00:30:00", 115, 115, ITEMS, wrong)
            rounds.append(one)
            items.append(_passed(one, ladder[0]))
            items += [_failed(one, item) for item in ladder[:wrong]]
        about = {"rounds": [asdict(one) for one in rounds], **proof(_PLAN, _DAY_LONG, 5)}
        notes = tuple(f"soak: {line}" for line in in_words(_PLAN, _DAY_LONG, 5))
        soak = SoakResults(tuple(items), (), tuple(rounds), about, notes)
        self.records |= {item.id: item for item in items}
        planned = replace(self.run, planned=tuple(self.records), soak=_PLAN)
        self.verdict = decision.decide(planned, replace(self.results, soak=soak))


def _passed(one: SoakRound, like: ItemRecord) -> ItemRecord:
    judged = replace(like.judgements[0], metric="passed items", measured=f"{one.passed} items")
    name = f"{folder_of(one.number)}/passed::round[all]"
    return replace(like, id=name, subject="soak", questions=(), judgements=(judged,))


def _failed(one: SoakRound, like: ItemRecord) -> ItemRecord:
    name = f"{folder_of(one.number)}/{like.id.rpartition('/')[2]}"
    return replace(like, id=name, outcome=Outcome.FAILED, reason="too slow", questions=())


def _opens_s(page: Path, folder: Path) -> float:
    """CPU seconds of all of Chromium's processes; other load on the machine changes them little."""
    before = os.times()
    browser.look(page, folder)
    after = os.times()
    user, system = (getattr(after, n) - getattr(before, n) for n in _CHILDREN)
    return float(user + system)


_CHILDREN = ("children_user", "children_system")
