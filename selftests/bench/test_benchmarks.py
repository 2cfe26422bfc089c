"""The benchmark harness fits growth, compares within a run, and reports missed targets."""

import importlib
import json
import sys
import types
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import bench_fanout
import bench_parsers
import benchmarks
import measuring
import pytest
import renamed_results
from benchmark_page import reasons
from measuring import Row, compare, exponent, python

SIZES = (1_000, 2_000, 4_000)


def series(cost: Callable[[int], float], **changes: object) -> list[Row]:
    plain = Row("reading", 0, "items", 0.0, "s")
    return [replace(plain, size=size, measured=cost(size), **changes) for size in SIZES]


@pytest.mark.parametrize("power", [0.0, 1.0, 1.5, 2.0])
def test_the_exponent_of_a_power_is_that_power(power):
    assert exponent((size, 3e-6 * size**power) for size in SIZES) == pytest.approx(power)


def test_two_sizes_give_no_exponent():
    assert exponent([(1.0, 1.0), (2.0, 2.0), (2.0, 2.1)]) is None


def test_both_sides_are_measured_in_turn_and_the_ratio_is_that_of_a_turn():
    """A load that doubles both sides of one turn does not change the ratio."""
    seen: list[str] = []

    def side(name: str, *costs: float) -> Callable[[], float]:
        given = iter(costs)
        return lambda: (seen.append(name), next(given))[1]

    both = compare(side("ours", 2.0, 9.0, 4.0), side("theirs", 1.0, 4.5, 2.0))
    assert (both.measured, both.baseline, both.ratio) == (4.0, 2.0, 2.0)
    assert seen == ["ours", "theirs"] * 3


def test_a_child_tells_its_cost_and_its_failure():
    reported = python("-c", "x = bytearray(50 << 20); print(len(x))")
    assert reported.stdout == f"{50 << 20}\n"
    assert reported.peak_rss_mib > 50
    held = bytearray(150 << 20)  # this process's memory is not the child's
    assert python("-c", "pass").peak_rss_mib < len(held) / 2**20 / 2
    assert 0 < reported.cpu_s < 30
    with pytest.raises(RuntimeError, match=r"exited 3: boom"):
        python("-c", "import sys; print('boom'); sys.exit(3)")


@pytest.fixture
def topic(monkeypatch: pytest.MonkeyPatch) -> Callable[[list[Row]], None]:
    """``topic(rows)`` makes these rows the only topic."""

    def make(rows: list[Row]) -> None:
        module = types.ModuleType("bench_made_up")
        module.TITLE, module.ABOUT, module.rows = "Made up", "For a test.", lambda: rows
        monkeypatch.setitem(sys.modules, "bench_made_up", module)
        monkeypatch.setattr(benchmarks, "topics", lambda: ["made_up"])

    return make


def measured(folder: Path, *arguments: str) -> tuple[int, str]:
    where = ["--json", str(folder / "b.json"), "--page", str(folder / "b.md")]
    code = benchmarks.main([*where, *arguments])
    return code, (folder / "b.md").read_text(encoding="utf-8")


def test_what_is_met_is_met(topic, tmp_path):
    topic(series(lambda size: size / 1e6, target=0.5))
    code, text = measured(tmp_path)
    assert code == 0
    assert "| reading | 4,000 items | 0.004 s |  |  | 0.5 s at most | met | 1.00 |" in text
    assert "missed**" not in text


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (
            series(float, baseline=1.0, ratio=1.31, target=1.3),
            "| 1.31 | 1.3 at most | **missed** |",
        ),
        (series(float, target=3_999.0), "| 3999 s at most | **missed** |"),
        (series(lambda size: size**2 / 1e6), "| **missed**: growth | 2.00 |"),
        (series(lambda size: float("nan"), target=1.0), "**missed**"),
    ],
    ids=["ratio", "value", "growth", "nan"],
)
def test_what_is_missed_is_said_to_be_missed(topic, tmp_path, rows, says):
    topic([replace(row, why="light is slow") for row in rows])
    code, text = measured(tmp_path)
    assert code == 1
    assert says in text
    assert "- reading: light is slow" in text


def test_a_topic_that_is_not_run_stays_as_it_was(topic, tmp_path):
    topic(series(float))
    measured(tmp_path)
    kept = json.loads((tmp_path / "b.json").read_text(encoding="utf-8"))
    kept["other"] = {**kept["made_up"], "title": "Another"}
    (tmp_path / "b.json").write_text(json.dumps(kept), encoding="utf-8")
    _, text = measured(tmp_path, "--only", "made_up")
    assert "## Another" in text
    assert "## Made up" in text


def test_an_unknown_topic_is_refused(capsys):
    assert benchmarks.main(["--only", "nothing"]) == 2
    assert "no topic nothing" in capsys.readouterr().err


def test_the_published_figures_name_every_topic_and_count_the_missed_targets():
    text = (measuring.ROOT / "docs" / "validation.md").read_text(encoding="utf-8")
    section = text.partition("\n## What the suite itself costs\n")[2].partition("\n## ")[0]
    titles = [importlib.import_module(f"bench_{topic}").TITLE for topic in benchmarks.topics()]
    assert [title for title in titles if f"\n| {title} | " not in section] == []
    assert f"| {section.count('| **missed** |')} targets missed |" in text


def test_the_reason_is_that_of_the_largest_size_that_missed():
    rows = [replace(row, target=2_500.0, why=f"at {row.size}") for row in series(float)]
    assert list(reasons(rows)) == ["reading: at 4000"]
    rows = [replace(row, target=row.size - 1 if row.size < 3_000 else None) for row in rows]
    assert list(reasons(rows)) == ["reading: at 2000"]


@pytest.mark.parametrize("what", bench_parsers.TEXTS)
def test_every_parser_reads_the_text_that_its_benchmark_gives_it(what):
    name, text = bench_parsers.TEXTS[what]
    assert bench_parsers.parsed(what, name, text(20_000)).measured > 0


def test_a_thread_that_has_ended_has_no_children(tmp_path):
    assert bench_fanout._children(tmp_path / "4711") == []


def test_an_output_that_is_given_to_other_nodes_is_theirs_alone():
    """Both sides of a case have the same numbers of queue pairs, another case has others."""
    one, other = (renamed_results.renumbered("QPN 0x0101", key) for key in ("a:b", "a:c"))
    assert one == renamed_results.renumbered("QPN 0x0101", "a:b") != other
    assert len(one) >= len("QPN 0x0101")
