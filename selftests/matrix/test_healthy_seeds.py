"""Healthy labs are not rejected, whatever their noise; and what is rejected is counted."""

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import healthy_seeds
import healthy_seeds_values
import pytest
from healthy_seeds import Ask, Tally, bench, examine, judge_seed, page, rate, run, table
from healthy_seeds_lab import Stage, on_stage
from strikes import NODES, PLATFORMS, ROOT

from railgauge.lab.sim import figures

HOMELAB, SEEDS = "connectx4-homelab", 3


@pytest.fixture
def few_are_played(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(healthy_seeds, "PLAYED", {"smoke": 1, "signoff": 1})


@pytest.fixture
def raised(tmp_path: Path) -> Callable[[float], Path]:
    """Platform files that ask the homelab's RDMA writes for ``floor`` MiB/s."""

    def write(floor: float) -> Path:
        folder = Path(shutil.copytree(ROOT / "thresholds", tmp_path / "thresholds"))
        path = folder / f"{HOMELAB}.json"
        document = json.loads(path.read_text(encoding="utf-8"))
        (limit,) = document["measurements"]["host_write_bandwidth"]["limits"]
        limit["floor"] = floor
        path.write_text(json.dumps(document), encoding="utf-8")
        return folder

    return write


def homelab(**options: object) -> list[Tally]:
    tallies, unlike = examine(Stage(HOMELAB, **options), SEEDS, played=False)
    assert unlike == []
    return tallies


@pytest.mark.usefixtures("few_are_played")
@pytest.mark.parametrize("platform", PLATFORMS)
def test_no_healthy_lab_is_rejected_and_the_short_way_judges_as_the_long_one(platform):
    tallies, unlike = examine(Stage(platform), SEEDS, played=True)
    assert [tally.rejected for tally in tallies] == [[], []]
    assert unlike == []
    assert [(tally.level, tally.seeds) for tally in tallies] == [("smoke", 3), ("signoff", 3)]
    assert all(tally.samples >= tally.judgements > 0 for tally in tallies)


def test_every_size_of_every_pair_is_judged_and_every_repeat_is_a_sample():
    smoke, signoff = homelab()
    # Three times each; and once both ways at two sizes and two latencies in two metrics.
    pairs, sizes, once = 3, 23 + 8 + 3 + 3 + 3, 3 * 2 + 2 * 2
    assert len(NODES[HOMELAB]) == 3
    assert signoff.judgements == SEEDS * pairs * (sizes + once)
    assert signoff.samples == SEEDS * pairs * (3 * sizes + once)
    assert smoke.judgements == smoke.samples == SEEDS * pairs * 7


def smoke_of(platform: str) -> tuple[list[Ask], Tally]:
    """All that is asked at level smoke, and what came of it with one seed."""
    stage, tally = Stage(platform), Tally(platform, "smoke")
    with on_stage(stage):
        one = bench(stage, "smoke")
        judge_seed(one, 1, tally)
    return [ask for _, _, asked in one.cases for ask in asked], tally


def test_links_gpus_and_runs_are_judged_too():
    """Four nodes, each with a full mesh of eight GPUs."""
    asked, tally = smoke_of("mi300x")
    metrics = Counter(ask.key[0] for ask in asked)
    wanted = {"link_bw": 4 * 56, "gpu_actual": 4 * 8, "average_bw": 4}
    assert {name: metrics[name] for name in wanted} == wanted
    assert tally.judgements == len(asked)


def test_ratios_are_judged_too():
    """Four pairs at level smoke, each over its first node alone."""
    asked, tally = smoke_of("metax-c500")
    assert tally.judgements == len(asked) + 4


def test_two_groups_of_iterations_reject(monkeypatch):
    """Every second iteration is a tenth slower, and still above its limit without the other."""
    calm = figures.noise

    def swinging(seed: int, key: str, size: int) -> float:
        words = key.split()
        is_cycle = "all_reduce_perf" in words and words[0].count(":") == 1
        return 0.9 if is_cycle and int(words[-2]) % 2 else calm(seed, key, size)

    monkeypatch.setattr(figures, "noise", swinging)
    (smoke, _), _ = examine(Stage("h200"), 1, played=False)
    found = [line for line in smoke.rejected if "pair_all_reduce[" in line]
    assert len(found) == 4
    assert all("falls into two groups" in line for line in found)


def test_seeds_are_unlike():
    """Each seed has noise of its own: the worst of more seeds is never better."""
    first, _ = examine(Stage(HOMELAB), 1, played=False)
    more, _ = examine(Stage(HOMELAB), 8, played=False)
    assert more[1].margin < first[1].margin


@pytest.mark.usefixtures("few_are_played")
def test_a_limit_that_is_raised_too_far_rejects(raised, capsys):
    options = ["--platform", HOMELAB, "--seeds", "2", "--thresholds", str(raised(3800.0))]
    assert run(options) == 1
    said = capsys.readouterr().out
    # Three pairs; 8 MiB at smoke, 64 KiB, 1 and 8 MiB at signoff; each of two seeds.
    assert "24 false rejections" in said
    assert "smoke seed 2: host_write_bandwidth[" in said
    # Played in full it is judged alike, and what misses its limit has a cause.
    assert "judged otherwise" not in said
    assert "a healthy lab has the cause slow-" in said


def test_the_runs_that_are_rejected_are_counted_once_each(raised):
    smoke, signoff = homelab(limits=raised(3800.0))
    assert (len(smoke.rejected), len(signoff.rejected)) == (9, 27)
    assert smoke.alarmed == signoff.alarmed == {1, 2, 3}
    assert smoke.margin < 0


def test_noise_beyond_the_dispersion_limit_rejects(monkeypatch):
    monkeypatch.setattr(figures, "_NOISE_LARGE", 0.045)
    _, signoff = homelab()
    assert signoff.margin > 0
    assert signoff.rejected
    assert all("varies by" in line for line in signoff.rejected)


def test_what_cannot_be_judged_is_a_false_alarm_too(monkeypatch):
    monkeypatch.setattr(figures, "noise", lambda *_: 1.2)
    smoke, _ = homelab()
    assert any("above the physical ceiling" in line for line in smoke.rejected)


@pytest.mark.usefixtures("few_are_played")
def test_a_short_way_that_leads_elsewhere_is_noticed(monkeypatch):
    honest = healthy_seeds_values._bandwidths
    monkeypatch.setattr(
        healthy_seeds_values,
        "_bandwidths",
        lambda *row: [(key, unit, value * 0.9999) for key, unit, value in honest(*row)],
    )
    _, unlike = examine(Stage(HOMELAB), 1, played=True)
    # Four bandwidths of three pairs at two levels, three more at one.
    assert len(unlike) == 3 * (4 + 4 + 3)
    assert "is judged otherwise when played in full" in unlike[0]


def test_platforms_may_be_judged_at_once(capsys):
    options = ["--seeds", "1", "--no-played", "--platform", HOMELAB, "--platform", "h100-tcpx"]
    said = [(run([*options, "--jobs", jobs]), capsys.readouterr().out) for jobs in ("1", "2")]
    assert said[0] == said[1]
    assert said[0][0] == 0


def test_the_rule_of_three():
    assert rate(0, 1000) == "0 (below 3.0e-03)"
    assert rate(0, 2) == "0 (below 1.0e+00)"
    assert rate(2, 1000) == "0.002"


def test_the_page_says_what_was_judged_and_how(tmp_path):
    target = tmp_path / "page.md"
    options = ["--platform", HOMELAB, "--seeds", "2", "--no-played", "--page", str(target)]
    assert run(options) == 0
    said = target.read_text(encoding="utf-8")
    assert "noise seeds 1 to 2" in said
    assert "| connectx4-homelab | signoff | 2 | 300 | 780 | 0 | 0 | 4.7" in said
    assert "played in full" not in said


def test_the_published_page_has_a_thousand_seeds_and_no_rejection():
    said = (ROOT / "docs" / "false-alarms.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in said.splitlines() if line.startswith("| ")][2:]
    assert [(row[0].removeprefix("| "), row[1]) for row in rows] == [
        (platform, level) for platform in PLATFORMS for level in healthy_seeds.LEVELS
    ]
    assert {(row[2], row[5]) for row in rows} == {("1,000", "0")}
    assert "0 were not as they must be" in said
    empty = [Tally(platform, "smoke", seeds=1000, judgements=1) for platform in PLATFORMS]
    assert page(empty, [], played=True).replace(table(empty), "").split() == (
        said.replace("\n".join(line for line in said.splitlines() if line[:1] == "|"), "").split()
    )
