"""Healthy labs are not rejected for any noise seed, and rejections are counted."""

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import healthy_seeds
import healthy_seeds_lab
import healthy_seeds_values
import pytest
from healthy_seeds import Check, Tally, bench, examine, judge_seed, rate, run
from healthy_seeds_lab import InProcessLab, using_lab
from injections import NODES, PLATFORMS, ROOT

from railgauge_lab.sim import counters, figures, gemm, nvbandwidth
from railgauge_lab.sim.counters import turn

HOMELAB, SEEDS = "connectx4-homelab", 3


@pytest.fixture
def few_complete_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(healthy_seeds, "PLAYED", {"smoke": 1, "signoff": 1})


@pytest.fixture
def with_floor(tmp_path: Path) -> Callable[[float], Path]:
    """Writes platform files with this floor, in MiB/s, for the homelab's RDMA writes."""

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
    tallies, unlike = examine(InProcessLab(HOMELAB, **options), SEEDS, played=False)
    assert unlike == []
    return tallies


@pytest.mark.usefixtures("few_complete_runs")
@pytest.mark.parametrize("platform", PLATFORMS)
def test_no_healthy_lab_is_rejected_and_short_samples_judge_as_complete_runs(platform):
    tallies, unlike = examine(InProcessLab(platform), SEEDS, played=True)
    assert [tally.rejected for tally in tallies] == [[], []]
    assert unlike == []
    assert [(tally.level, tally.seeds) for tally in tallies] == [("smoke", 3), ("signoff", 3)]
    assert all(tally.samples >= tally.judgements > 0 for tally in tallies)


def test_each_size_of_each_pair_is_judged_and_each_repeat_is_a_sample():
    smoke, signoff = homelab()
    # Three repeats each; one repeat of two sizes both ways and of two latencies in two metrics.
    pairs, sizes, once = 3, 23 + 8 + 3 + 3 + 3, 3 * 2 + 2 * 2
    assert len(NODES[HOMELAB]) == 3
    assert signoff.judgements == SEEDS * pairs * (sizes + once)
    assert signoff.samples == SEEDS * pairs * (3 * sizes + once)
    assert smoke.judgements == smoke.samples == SEEDS * pairs * 7


def smoke_of(platform: str) -> tuple[list[Check], Tally]:
    """All checks of level smoke, and their tally for one seed."""
    lab, tally = InProcessLab(platform), Tally(platform, "smoke")
    with using_lab(lab):
        one = bench(lab, "smoke")
        judge_seed(one, 1, tally)
    return [check for _, _, checks in one.cases for check in checks], tally


def test_links_gpus_and_averages_are_judged_too():
    """Four nodes, each with a full mesh of eight GPUs."""
    checks, tally = smoke_of("mi300x")
    metrics = Counter(check.key[0] for check in checks)
    wanted = {"link_bw": 4 * 56, "gpu_actual": 4 * 8, "average_bw": 4}
    assert {name: metrics[name] for name in wanted} == wanted
    assert tally.judgements == len(checks)


def test_a_lab_in_memory_counts_the_runs_of_every_tool_in_memory():
    """``counters.turn`` is where a node's files count; a node in memory has no folder."""
    lab = InProcessLab("h200")
    counting = [module for module in healthy_seeds_lab._SIMULATING if hasattr(module, "turn")]
    assert {gemm, counters, nvbandwidth} <= set(counting)
    with using_lab(lab):
        assert all(module.turn == lab.turn for module in counting)
        code = gemm.run("gemm-bench", ["bf16", "-N", "1"], lab.nodes["h200-01"])
    assert code == 0
    assert lab.turn(lab.nodes["h200-01"], "h200-01 gemm-bench bf16 gpu0") == 2
    assert all(module.turn == turn for module in counting)
    assert not Path("/turns").exists()


def test_ratios_are_judged_too():
    """Four pairs at level smoke, each compared with its first node alone."""
    checks, tally = smoke_of("metax-c500")
    assert tally.judgements == len(checks) + 4


def test_iterations_in_two_groups_are_rejected(monkeypatch):
    """Every second iteration is 10 % slower, but still above the limit."""
    plain_noise = figures.noise

    def swinging(node: dict, key: str, size: int) -> float:
        words = key.split()
        is_cycle = "all_reduce_perf" in words and words[0].count(":") == 1
        return 0.9 if is_cycle and int(words[-2]) % 2 else plain_noise(node, key, size)

    monkeypatch.setattr(figures, "noise", swinging)
    (smoke, _), _ = examine(InProcessLab("h200"), 1, played=False)
    found = [line for line in smoke.rejected if "pair_all_reduce[" in line]
    assert len(found) == 4
    assert all("falls into two groups" in line for line in found)


def test_seeds_give_different_noise():
    """Each seed has its own noise, so the worst margin of more seeds is smaller."""
    first, _ = examine(InProcessLab(HOMELAB), 1, played=False)
    more, _ = examine(InProcessLab(HOMELAB), 8, played=False)
    assert more[1].margin < first[1].margin


@pytest.mark.usefixtures("few_complete_runs")
def test_a_limit_that_is_too_high_rejects(with_floor, capsys):
    options = ["--platform", HOMELAB, "--seeds", "2", "--thresholds", str(with_floor(3800.0))]
    assert run(options) == 1
    output = capsys.readouterr().out
    # Three pairs and two seeds; 8 MiB at smoke, and 64 KiB, 1 MiB and 8 MiB at signoff.
    assert "24 false rejections" in output
    assert "smoke seed 2: host_write_bandwidth[" in output
    # Complete runs are judged alike, and items below the limit have a cause.
    assert "judged otherwise" not in output
    assert "a healthy lab has the cause slow-" in output


def test_each_rejected_run_is_counted_once(with_floor):
    smoke, signoff = homelab(limits=with_floor(3800.0))
    assert (len(smoke.rejected), len(signoff.rejected)) == (9, 27)
    assert smoke.alarmed == signoff.alarmed == {1, 2, 3}
    assert smoke.margin < 0


def test_noise_beyond_the_dispersion_limit_rejects(monkeypatch):
    monkeypatch.setattr(figures, "_NOISE_LARGE", 0.045)
    _, signoff = homelab()
    assert signoff.margin > 0
    assert signoff.rejected
    assert all("varies by" in line for line in signoff.rejected)


def test_a_sample_that_cannot_be_judged_is_a_false_alarm_too(monkeypatch):
    monkeypatch.setattr(figures, "noise", lambda *_: 1.2)
    smoke, _ = homelab()
    assert any("above the physical ceiling" in line for line in smoke.rejected)


@pytest.mark.usefixtures("few_complete_runs")
def test_a_difference_between_short_samples_and_complete_runs_is_reported(monkeypatch):
    original = healthy_seeds_values._bandwidths
    monkeypatch.setattr(
        healthy_seeds_values,
        "_bandwidths",
        lambda *row: [(key, unit, value * 0.9999) for key, unit, value in original(*row)],
    )
    _, unlike = examine(InProcessLab(HOMELAB), 1, played=True)
    # Three pairs: four bandwidths at each of two levels, and three more at one level.
    assert len(unlike) == 3 * (4 + 4 + 3)
    assert "is judged otherwise when played in full" in unlike[0]


def test_several_jobs_give_the_same_output_as_one(capsys):
    options = ["--seeds", "1", "--no-played", "--platform", HOMELAB, "--platform", "h100-tcpx"]
    output = [(run([*options, "--jobs", jobs]), capsys.readouterr().out) for jobs in ("1", "2")]
    assert output[0] == output[1]
    assert output[0][0] == 0


def test_the_rule_of_three():
    assert rate(0, 1000) == "0 (below 3.0e-03)"
    assert rate(0, 2) == "0 (below 1.0e+00)"
    assert rate(2, 1000) == "0.002"


def test_the_page_has_the_seeds_and_counts(tmp_path):
    target = tmp_path / "page.md"
    options = ["--platform", HOMELAB, "--seeds", "2", "--no-played", "--page", str(target)]
    assert run(options) == 0
    output = target.read_text(encoding="utf-8")
    assert "noise seeds 1 to 2" in output
    assert "| connectx4-homelab | signoff | 2 | 334 | 862 | 0 | 0 | 4.7" in output
    assert "played in full" not in output


def test_the_published_page_has_a_thousand_seeds_and_no_rejection():
    text = (ROOT / "docs" / "validation.md").read_text(encoding="utf-8")
    section = text.partition("\n## Healthy clusters\n")[2].partition("\n## ")[0]
    rows = [line.split(" | ") for line in section.splitlines() if line.startswith("| ")][2:]
    assert [(row[0].removeprefix("| "), row[1]) for row in rows] == [
        (platform, level) for platform in PLATFORMS for level in healthy_seeds.LEVELS
    ]
    assert {(row[2], row[5]) for row in rows} == {("1,000", "0")}
    assert "0 were not as they must be" in section
    assert f"the true rate is below {rate(0, 1000).partition('below ')[2][:-1]} a run" in section
