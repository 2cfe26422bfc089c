"""Tests wait for a state with ``testing.waiting``; nothing else sleeps."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from testing.places import ROOT
from testing.waiting import stays, wait_until

# Who calls time.sleep, and why. A program that a test writes as text does not count.
MAY_SLEEP = {
    "testing/waiting.py": "what all others use",
    "plugin/test_signals.py": "the sleep is what a signal interrupts",
    "bench/bench_page.py": "no test: it measures when a page is ready",
    "mutation/mutants.py": "no test: it waits for the processes that it started",
}


def sleeps(path: Path) -> bool:
    """Whether the file uses ``time.sleep``, under any name."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    modules = {
        alias.asname or alias.name
        for node in nodes
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name == "time"
    }
    return any(
        alias.name == "sleep"
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.module == "time"
        for alias in node.names
    ) or any(
        isinstance(node, ast.Attribute)
        and node.attr == "sleep"
        and isinstance(node.value, ast.Name)
        and node.value.id in modules
        for node in nodes
    )


def test_nothing_sleeps_but_what_is_named() -> None:
    folder = ROOT / "selftests"
    found = {str(path.relative_to(folder)) for path in folder.rglob("*.py") if sleeps(path)}
    assert found == set(MAY_SLEEP)


@pytest.mark.parametrize(
    "text",
    ["import time\ntime.sleep(1)\n", "from time import sleep\n", "import time as t\nt.sleep\n"],
)
def test_every_way_to_sleep_is_seen(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.py"
    path.write_text(text)
    assert sleeps(path)
    path.write_text(f"PROGRAM = {text!r}\n")
    assert not sleeps(path)


def test_waiting_gives_what_was_seen() -> None:
    answers = iter([0, "", 7])
    assert wait_until(lambda: next(answers), 10, "a number") == 7


def test_waiting_in_vain_says_for_what_and_what_there_was() -> None:
    with pytest.raises(AssertionError, match=r"waited 0 s for a file; last seen: \[\]"):
        wait_until(list, 0, "a file")


def test_what_does_not_stay_is_told() -> None:
    answers = iter([True, 0])
    with pytest.raises(AssertionError, match="did not stay so: it runs; last seen: 0"):
        stays(lambda: next(answers), 10, "it runs")
