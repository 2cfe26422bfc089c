"""Items with all pairings and sizes of a test at one place change no record and no verdict."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from testing.acceptance import BARE, HOMELAB, METAX, Change, Project, Runs, Scenario, assert_counted
from testing.fewer import measuring

SPANNED = ("--most-items", "0")
SWEPT = (*HOMELAB, "--lab-nodes", "2", "--level", "signoff")
SLOW = (*SWEPT, "--lab-fault", "slow-node@columbia")
CORRUPT = (*METAX, "--lab-nodes", "2", "--level", "smoke", "--lab-fault", "corrupt@mx02:3")
TEST = "tests/network/test_rdma.py::test_bandwidth"
ITEM = f"{TEST}[host_write_bandwidth-"
ROW = f"{ITEM}viper:columbia-mlx5_0-64KiB]"
# The item that has the row, among three.
DIES_AT = f"{ITEM}all-pairs-of-viper-all-pairings-all-sizes]"
DIES = f"""

import os
import signal
from pathlib import Path

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item):
    place = Path(__file__).with_name("died")
    if item.nodeid == "{DIES_AT}" and not place.exists():
        place.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return (yield)
"""


# Runs items in a way of its own, which does not call their functions.
SWALLOWS = """

def pytest_collection_modifyitems(items):
    for item in items:
        if "test_bandwidth[host_write_bandwidth-" in item.nodeid:
            item.runtest = lambda: None
"""

# Goes wrong when all rows of an item have passed.
TEARS = """

import pytest


@pytest.fixture(autouse=True)
def tears(request):
    yield
    assert "test_bandwidth[host_write_bandwidth-" not in request.node.nodeid, "torn"
"""

SKIPS = """

import pytest


def pytest_collection_modifyitems(items):
    for item in items:
        if "test_bandwidth[host_write_bandwidth-" in item.nodeid:
            item.add_marker(pytest.mark.skip(reason="not tonight"))
"""

ASKS_FOR_A_SIZE = """
import pytest


@pytest.fixture
def kibibytes(size):
    return size // 1024


@pytest.mark.measures("host_write_bandwidth")
def test_of_the_site(pair, pairing, size, kibibytes, measure, check):
    assert kibibytes == size // 1024
    check(measure(pair, pairing), 1024 * kibibytes)
"""


SWEEPS = measuring(
    "connectx4-homelab",
    "host_send_bandwidth",
    "host_send_bandwidth_4qp",
    "host_write_bandwidth",
    "host_read_bandwidth",
    repeats=1,
)
WRITES = measuring("connectx4-homelab", "host_write_bandwidth", repeats=1)
OF_GPUS = measuring("metax-c500", "host_write_bandwidth", "node_all_reduce", "pair_all_reduce")


def with_conftest(text: str, few: Change = SWEEPS) -> Change:
    def change(project: Project) -> None:
        few(project)
        path = project.folder / "conftest.py"
        path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")

    return change


def with_test_of_the_site(project: Project) -> None:
    WRITES(project)
    path = project.folder / "tests/network/test_site.py"
    path.write_text(ASKS_FOR_A_SIZE, encoding="utf-8")


SCENARIOS = {
    "plain": Scenario((*SWEPT, *BARE), SWEEPS),
    "spanned": Scenario((*SWEPT, *SPANNED), SWEEPS),
    "spanned-n2": Scenario((*SWEPT, *SPANNED, "-n", "2"), SWEEPS),
    "dies": Scenario((*SWEPT, *SPANNED, "-n", "1"), with_conftest(DIES)),
    "plain-slow": Scenario((*SLOW, *BARE), SWEEPS),
    "spanned-slow": Scenario((*SLOW, *SPANNED), SWEEPS),
    "spanned-selected": Scenario(
        (*SWEPT, *SPANNED, *BARE, "-k", "test_bandwidth and write_bandwidth and 64KiB"), SWEEPS
    ),
    "swallowed": Scenario((*SWEPT, *SPANNED), with_conftest(SWALLOWS, WRITES)),
    "torn": Scenario((*SWEPT, *SPANNED, *BARE), with_conftest(TEARS, WRITES)),
    "torn-n1": Scenario((*SWEPT, *SPANNED, *BARE, "-n", "1"), with_conftest(TEARS, WRITES)),
    "skipped": Scenario((*SWEPT, *SPANNED, *BARE), with_conftest(SKIPS, WRITES)),
    "site": Scenario((*SWEPT, *SPANNED, *BARE), with_test_of_the_site),
    "corrupt": Scenario(
        (
            *METAX,
            "--lab-nodes",
            "2",
            "--level",
            "smoke",
            "--lab-fault",
            "corrupt@mx02:3",
            *SPANNED,
            *BARE,
        ),
        OF_GPUS,
    ),
    "plain-corrupt": Scenario(
        (*METAX, "--lab-nodes", "2", "--level", "smoke", "--lab-fault", "corrupt@mx02:3", *BARE),
        OF_GPUS,
    ),
}


@pytest.mark.parametrize(
    ("plain", "spanned"),
    [
        ("plain", "spanned"),
        ("plain", "spanned-n2"),
        ("plain", "dies"),
        ("plain-slow", "spanned-slow"),
    ],
)
def test_the_items_are_those_of_a_run_that_collects_each(
    runs: Runs, plain: str, spanned: str
) -> None:
    one, other = runs[plain], runs[spanned]
    assert_counted(other)
    assert (other.code, other.items) == (one.code, one.items)
    assert other.verdict["counts"] == one.verdict["counts"]
    causes = [[c["cause"], c["where"], c["evidence"]] for c in one.verdict["causes"]]
    assert [[c["cause"], c["where"], c["evidence"]] for c in other.verdict["causes"]] == causes


@pytest.mark.parametrize("name", ["spanned", "spanned-n2", "dies", "spanned-slow"])
def test_a_report_has_a_line_for_a_test_at_one_place(runs: Runs, name: str) -> None:
    run = runs[name]
    lines: dict[str, list[str]] = {}
    for line in map(json.loads, (run.latest / "records.jsonl").read_text().splitlines()):
        test, bracket, words = line["id"].partition("[")
        member = f"{line['subject']}-" if words.startswith(f"{line['subject']}-") else ""
        place = f"{test}[{member}{':'.join(line['nodes'])}]"
        place = place if bracket and line["nodes"] else line["id"]
        lines.setdefault(place, []).append(line["outcome"])
    assert set(run.junit) == set(run.html_rows) == set(run.allure) == set(lines)
    for place, outcomes in lines.items():
        is_good = set(outcomes) <= {"passed", "marginal"}
        assert (run.junit[place].outcome == "passed") == is_good, place
        assert (run.allure[place]["status"] == "passed") == is_good, place


def test_a_line_says_how_many_of_its_items_failed_and_which(runs: Runs) -> None:
    run = runs["spanned-slow"]
    reported = 0
    for at in (f"{name.removesuffix(']')}-" for name in run.junit if "viper:columbia]" in name):
        rows = {item: found for item, found in run.items.items() if item.startswith(at)}
        bad = [item for item, found in rows.items() if found not in ("passed", "marginal")]
        message = run.junit[f"{at.removesuffix('-')}]"].message
        if len(rows) > 1 and bad:
            assert f"{len(bad)} of {len(rows)} not passed: " in message
            assert all(f"{item.removeprefix(at).removesuffix(']')}: " in message for item in bad)
            reported += 1
    assert reported > 3


@pytest.mark.parametrize("name", ["spanned", "spanned-n2", "dies"])
def test_each_judgement_is_written_once(runs: Runs, name: str) -> None:
    written, expected = (
        Counter((line["id"], line["metric"]) for line in runs[one].measurements)
        for one in (name, "plain")
    )
    assert written == expected


def test_the_worker_died_in_the_middle(runs: Runs) -> None:
    assert f"died while it ran {DIES_AT}; another worker runs it" in runs["dies"].output


def test_what_was_not_called_is_no_pass(runs: Runs) -> None:
    run = runs["swallowed"]
    rows = [item for item in run.items if item.startswith(f"{ITEM}")]
    assert len(rows) == 6  # three sizes, both ways
    assert {run.items[item] for item in rows} == {"error"}
    assert run.code == 10  # incomplete
    assert "the function of the test was not called" in run.html


@pytest.mark.parametrize(
    ("name", "outcome", "printed"),
    [
        ("torn", "error", "torn"),
        ("torn-n1", "error", "torn"),
        ("skipped", "blocked", "not tonight"),
    ],
)
def test_what_goes_wrong_around_an_item_goes_wrong_for_each_row(
    runs: Runs, name: str, outcome: str, printed: str
) -> None:
    run = runs[name]
    ended = {found for item, found in run.items.items() if item.startswith(f"{ITEM}")}
    assert ended == {outcome}
    assert run.code == 10  # incomplete
    assert printed in run.junit[f"{ITEM}viper:columbia]"].message


def test_what_a_fixture_asks_for_is_collected_one_by_one(runs: Runs) -> None:
    run = runs["site"]
    own = [item for item in run.order if "test_of_the_site[" in item]
    other = [item for item in run.order if item.startswith(f"{ITEM}")]
    words = sorted(item.partition("[")[2] for item in own)
    assert words == sorted(item.removeprefix(ITEM) for item in other)
    assert {run.items[item] for item in own} == {"passed"}


def test_corruption_stops_the_run_at_its_row(runs: Runs) -> None:
    run, other = runs["corrupt"], runs["plain-corrupt"]
    assert run.code == other.code == 1
    assert run.items == other.items
    assert run.verdict["causes"][0]["cause"] == "data-corruption"


def test_the_run_says_how_many_items_it_collected(runs: Runs) -> None:
    (line,) = (line for line in runs["spanned"].output.splitlines() if "that are collected" in line)
    judged, collected = (int(word) for word in line.split() if word.isdigit())
    assert judged == sum(".py::" in item for item in runs["plain"].items) > collected + 30
    assert "that are collected" not in runs["plain"].output


def test_who_selects_by_name_selects_the_names_of_sizes(runs: Runs) -> None:
    run = runs["spanned-selected"]
    asked = [item for item, outcome in run.items.items() if outcome != "not_run"]
    other_way = ROW.replace("viper:columbia", "columbia:viper")
    assert [item for item in asked if ".py::" in item] == [ROW, other_way]
