"""A pair beside a load on the lab: what runs, what is left, and what each cheat ends in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from testing.congestion_bench import H200, NAME, Argv, Printed, measured
from testing.lab_bench import Bench, StartLab, laid_out

from railgauge.tools.congestion import parse

LIMITS = {one.metric: one for one in H200.measurements[NAME].limits}


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with laid_out(tmp_path_factory.mktemp("quiet"), "h200", nodes=4) as found:
        yield found


@pytest.fixture(scope="module")
def healthy(bench: Bench) -> Printed:
    return measured(bench)


def missed(printed: Printed) -> set[str]:
    """The metrics beyond their limits."""
    found = printed.figures
    return {
        name
        for name, one in LIMITS.items()
        if not (one.floor or 0) <= found[name] <= (one.ceiling or 1e9)
    }


def section(text: str, name: str) -> str:
    return re.split(
        r"^railgauge congestion ", text.partition(f"congestion {name}\n")[2], flags=re.M
    )[0]


def swapped(text: str, one: str, other: str) -> str:
    first, second = section(text, one), section(text, other)
    return text.replace(first, "\0").replace(second, first).replace("\0", second)


def test_a_healthy_fabric_keeps_a_pair_as_it_is(healthy: Printed) -> None:
    assert (healthy.code, healthy.errors, healthy.denied) == (0, set(), [])
    assert missed(healthy) == set()
    assert healthy.figures["latency_impact"] == pytest.approx(1.6, rel=0.05)
    assert healthy.figures["load_busbw"] > 80


def test_a_fabric_without_congestion_control_is_seen_under_load_alone(start_lab: StartLab) -> None:
    found = measured(start_lab("h200", "no-congestion-control", nodes=4))
    assert (found.code, found.errors, found.denied) == (0, set(), [])
    assert missed(found) == {"latency_impact", "bandwidth_impact"}


def test_nothing_is_left_of_the_load(bench: Bench, tmp_path: Path) -> None:
    found = measured(bench, lambda argv: ("env", f"TMPDIR={tmp_path}", *argv))
    assert found.code == 0
    assert list(tmp_path.iterdir()) == []
    assert found.figures["p99_again"] < 3


@pytest.mark.parametrize(
    ("change", "item"),
    [
        (lambda argv: _with(argv, "alltoall_perf", "all_reduce_perf"), "collective"),
        (lambda argv: _with(argv, "1073741824", "1048576"), "message size of the load"),
        (lambda argv: _after(_with(argv, "04:8", "04:4"), "-np", "12"), "ranks"),
        (lambda argv: _after(argv, "-n", "2"), "iterations"),
        (lambda argv: _after(argv, "-c", "1"), "validation"),
    ],
    ids=["another collective", "small messages", "fewer GPUs", "iterations", "pauses to check"],
)
def test_another_load_than_asked_for_is_no_evidence(
    bench: Bench, change: Callable[[Argv], Argv], item: str
) -> None:
    found = measured(bench, change)
    assert found.code == 0
    assert item in {one.item for one in found.denied}


def _with(argv: Argv, word: str, other: str) -> Argv:
    """The argv with this in place of that in the words of the load."""
    return (*argv[:7], *(one.replace(word, other) for one in argv[7:]))


def _after(argv: Argv, flag: str, value: str) -> Argv:
    at = len(argv) - 1 - argv[::-1].index(flag)
    return (*argv[: at + 1], value, *argv[at + 2 :])


@pytest.mark.parametrize(
    ("load", "says"),
    [
        (("false",), "the load ended after 0 rows"),
        (("sh", "-c", "echo '  1024  256  float'; sleep 0.1"), "the load ended after 1 rows"),
    ],
)
def test_a_load_that_never_starts_or_ends_early_ends_the_measurement(
    bench: Bench, load: Argv, says: str
) -> None:
    found = measured(bench, lambda argv: (*argv[:7], *load))
    assert found.code == 4
    assert says in {one.message for one in parse(found.client).errors}
    assert not found.figures.keys() & {"latency_impact", "bandwidth_impact"}


def test_a_launcher_that_is_not_there_is_a_missing_tool(bench: Bench) -> None:
    found = measured(bench, lambda argv: (*argv[:7], "/nowhere/mpirun", "alltoall_perf"))
    assert "tool-missing" in found.errors


def test_a_load_that_ends_while_the_pair_is_measured_gives_no_figure(bench: Bench) -> None:
    row = "echo '  1073741824  16777216  float none -1 1.0 2.0 3.0 N/A 1.0 2.0 3.0 N/A';"
    found = measured(bench, lambda argv: (*argv[:7], "sh", "-c", f"{row * 2} sleep 0.2"))
    assert found.code == 4
    assert found.errors >= {"tool-failed"}


@pytest.mark.parametrize("part", ["before", "during", "after"])
def test_rows_must_be_there_before_during_and_after(healthy: Printed, part: str) -> None:
    own = section(healthy.client, f"load {part}")
    # The last row may be cut off where the load was ended.
    rows = "\n".join(line for line in own.splitlines() if not re.match(r" +\d", line))
    found = healthy.changed(healthy.client.replace(own, f"{rows}\n"))
    assert "metric-missing" in found.errors


def test_a_load_below_its_bandwidth_is_no_evidence(healthy: Printed) -> None:
    """Times and bandwidths of a load at a fifth of its rate."""
    row = re.compile(r"^( +1073741824 +\d+ +float +none +-1) +([\d.]+) +([\d.]+) +([\d.]+)", re.M)

    def slow(found: re.Match[str]) -> str:
        time, algbw, busbw = (float(one) for one in found.groups()[1:])
        return f"{found[1]} {time * 5:.1f} {algbw / 5:.2f} {busbw / 5:.2f}"

    during = section(healthy.client, "load during")
    found = healthy.changed(healthy.client.replace(during, row.sub(slow, during)))
    assert [one.item for one in found.denied] == ["bandwidth of the load"]


@pytest.mark.parametrize("test", ["latency", "bandwidth"])
def test_figures_of_load_in_the_place_of_those_without_are_denied(
    start_lab: StartLab, test: str
) -> None:
    found = measured(start_lab("h200", "no-congestion-control", nodes=4))
    lie = found.changed(swapped(found.client, f"isolated {test}", f"loaded {test}"))
    assert {one.item for one in lie.denied} >= {"remote address of h200-01"}
    assert missed(lie), "nor does it reach the limits of a quiet pair"


def test_one_quiet_test_twice_is_denied(healthy: Printed) -> None:
    text = healthy.client
    lie = text.replace(section(text, "loaded latency"), section(text, "isolated latency"))
    assert healthy.changed(lie).denied


def test_parts_in_another_order_are_no_run(healthy: Printed) -> None:
    text = healthy.client
    renamed = text.replace("congestion isolated", "congestion \0").replace(
        "congestion again", "congestion isolated"
    )
    assert "inconsistent" in healthy.changed(renamed.replace("\0", "again")).errors
    assert "truncated" in healthy.changed(text.partition("congestion again bandwidth")[0]).errors


def test_percentiles_under_each_others_headings_are_inconsistent(healthy: Printed) -> None:
    names = "99% percentile[usec]", "99.9% percentile[usec]"
    text = healthy.client
    lie = text.replace(names[1], "\0").replace(names[0], names[1]).replace("\0", names[0])
    assert "inconsistent" in healthy.changed(lie).errors
