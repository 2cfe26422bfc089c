"""Collectives whose output is not what it should be: an error on their items, nowhere a pass.

A program before the launchers of a standing lab runs the real one and changes what it prints: for
each pair of nodes in another way, so that one run has them all, beside a pair that is healthy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from acceptance import BARE, Run, assert_sound, make_project
from standing_lab import StandingLab, standing_lab

from railgauge.model import Pair
from railgauge.pairing import tournament

# One round: each node is in one pair.
LEVEL = ("--level", "nightly", "--rounds", "1", *BARE)
COLLECTIVES = ("tests/intranode/test_node_collectives.py", "tests/collective/test_pairs.py")

# Each spoils what the launcher says of the job that spans both nodes: $out is what it printed,
# ONE and OTHER are the nodes.
SPOIL = {
    "nothing": 'printf "%s\\n" "$out"',
    "harmless": 'printf "%s\\n" "$out"',
    "column-renamed": 'printf "%s\\n" "$out" | sed "s/  busbw/busrate/g"',
    "column-added": 'printf "%s\\n" "$out" | sed -e "s/algbw   busbw/algbw   newbw   busbw/g"'
    ' -e "s/(GB\\/s)  (GB\\/s)/(GB\\/s)  (GB\\/s)  (GB\\/s)/g"'
    ' | awk \'NF==13 && $1+0>0 {$7=$7 " 9.99"; $11=$11 " 9.99"} {print}\'',
    "cut": 'printf "%s\\n" "$out" | sed "/^ *1048576 /,\\$d"',
    "cut-in-a-row": 'printf "%s" "$out" | sed "/^ *1048576 /,\\$d"; printf "     1048576    2621"',
    "two-tables": 'printf "%s\\n" "$out" "$out"',
    "killed": 'printf "%s\\n" "$out" | sed "/^ *1048576 /,\\$d"; ' + "echo 'slurmstepd: error: ***"
    " STEP 4711.0 ON ONE CANCELLED AT 2026-03-01T02:11:09 DUE TO TIME LIMIT ***' >&2; exit 143",
    "killed-in-silence": 'printf "%s\\n" "$out" | sed "/^ *1048576 /,\\$d"; '
    + "echo 'srun: error: ONE: tasks 0-15: CANCELLED' >&2; exit 0",
    "out-of-memory": 'printf "%s\\n" "$out" | sed "/^ *1048576 /,\\$d"; '
    + "echo \"ONE: Test CUDA failure common.cu:892 'out of memory'\"; exit 2",
    "size-skipped": 'printf "%s\\n" "$out" | sed "/^ *1048576 /d"',
    "last-size-skipped": 'printf "%s\\n" "$out" | sed "/^ *1073741824 /d"',
    "wrong": 'printf "%s\\n" "$out" | sed "/^ *1048576 /s/ 0\\( *\\)$/ 7\\1/"',
    "nothing-printed": "",
    "other-hosts": 'printf "%s\\n" "$out" | sed "s/ OTHER device / elsewhere device /"',
}
# The launcher is told to start fewer ranks than were asked for, or puts them elsewhere.
RANKS = {
    "fewer-gpus": "s/-np 16 /-np 14 /;s/:8,/:7,/;s/:8 /:7 /",
    "one-node": "s/:8,[0-9.]*:8/:8/;s/-np 16 /-np 8 /",
}
SAYS: dict[str, tuple[str, ...]] = {
    "column-renamed": ("busrate",),
    "column-added": ("newbw",),
    "cut": ("truncated",),
    "cut-in-a-row": ("truncated",),
    "two-tables": ("several-tables",),
    "killed": ("CANCELLED",),
    "killed-in-silence": ("CANCELLED",),
    "out-of-memory": ("out of memory",),
    "size-skipped": ("27 rows where the arguments announce 28",),
    "last-size-skipped": ("27 rows where the arguments announce 28",),
    "nothing-printed": ("no-output",),
    "other-hosts": ("asked for ONE, OTHER, the tool says ONE, elsewhere",),
    "fewer-gpus": (
        "asked for 16 GPUs (8 on each of 2 nodes)",
        "the tool says 14 GPUs (7 on ONE, 7 on OTHER)",
    ),
    "one-node": ("asked for 16 GPUs", "the tool says 8 GPUs (8 on ONE)"),
}
# One pair of nodes for each.
KINDS = (*SAYS, "nothing", "harmless", "wrong")


def launcher(real: Path, name: str, pair: Pair) -> str:
    """The program: the real launcher for all jobs but the one that spans both nodes."""
    head = f'#!/bin/sh\ncase "$*" in *-np\\ 16\\ *) ;; *) exec {real} "$@";; esac\n'
    if name in RANKS:
        return f'{head}exec {real} $(echo "$*" | sed "{RANKS[name]}")\n'
    return f'{head}out=$({real} "$@"); code=$?\n{of_nodes(SPOIL[name], pair)}\nexit $code\n'


def of_nodes(text: str, pair: Pair) -> str:
    return text.replace("ONE", pair.source).replace("OTHER", pair.target)


def put_before_the_launcher(lab: StandingLab, name: str, pair: Pair) -> None:
    """The pair's first node is where its job is launched."""
    tool = lab.home(pair.source) / "bin" / "mpirun"
    real = lab.home(pair.source) / "real" / "mpirun"
    real.parent.mkdir()
    real.symlink_to(tool.readlink())
    tool.unlink()
    tool.write_text(launcher(real, name, pair))
    tool.chmod(0o755)


@dataclass(frozen=True)
class Spoilt:
    """The run of a part of the lab's pairs; ``pairs`` by what is spoilt there."""

    run: Run
    pairs: Mapping[str, Pair]

    def of_the_pair(self, name: str) -> set[str]:
        """The items of the pair at which this was spoilt."""
        start = f"[{self.pairs[name]}"
        found = {item_id for item_id in self.run.outcomes if start in item_id}
        assert len(found) == 4
        return found


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandingLab]:
    folder = tmp_path_factory.mktemp("bad") / "lab"
    with standing_lab(folder, "h100-tcpx", "--nodes", str(2 * len(KINDS))) as lab:
        yield lab


def spoilt(lab: StandingLab, folder: Path, *names: str) -> Spoilt:
    """A run of as many pairs as there are names."""
    nodes = list(lab.logins)[2 * KINDS.index(names[0]) :][: 2 * len(names)]
    (pairs,) = tournament(nodes, 1)
    for name, pair in zip(names, pairs, strict=True):
        put_before_the_launcher(lab, name, pair)
    part = replace(lab, logins={node: lab.logins[node] for node in nodes})
    project = make_project(folder)
    run = project.run(*part.hostfile(project), *LEVEL, *COLLECTIVES)
    return Spoilt(run, dict(zip(names, pairs, strict=True)))


@pytest.fixture(scope="module")
def bad(lab: StandingLab, tmp_path_factory: pytest.TempPathFactory) -> Spoilt:
    return spoilt(lab, tmp_path_factory.mktemp("bad") / "project", *SAYS, "nothing")


def test_the_program_before_the_launcher_does_no_harm(lab: StandingLab, tmp_path: Path) -> None:
    run = spoilt(lab, tmp_path / "project", "harmless").run
    assert_sound(run)
    assert run.is_good, run.output


def test_never_accepted_and_the_others_go_on(bad: Spoilt) -> None:
    run = bad.run
    assert run.code == 10, run.output
    assert_sound(run)
    assert run.verdict["verdict"] == "incomplete"
    of_pairs = set().union(*(bad.of_the_pair(name) for name in SAYS))
    assert run.with_outcome("error") == of_pairs
    assert run.with_outcome("passed") == set(run.outcomes) - of_pairs
    assert bad.of_the_pair("nothing") <= run.with_outcome("passed")


@pytest.mark.parametrize("name", SAYS)
def test_never_taken_for_a_measurement(bad: Spoilt, name: str) -> None:
    pair = bad.of_the_pair(name)
    assert pair <= bad.run.with_outcome("error")
    assert not any(line["id"] in pair for line in bad.run.measurements)


@pytest.mark.parametrize("name", SAYS)
def test_the_reason_names_it(bad: Spoilt, name: str) -> None:
    one = bad.pairs[name].source
    for item_id in bad.of_the_pair(name):
        message = bad.run.junit[item_id].message
        assert f"{one}: mpirun: " in message or f"{one}: all_reduce_perf: " in message
        for words in SAYS[name]:
            assert of_nodes(words, bad.pairs[name]) in message


def test_data_corruption_is_a_failure_and_stops_the_run(lab: StandingLab, tmp_path: Path) -> None:
    found = spoilt(lab, tmp_path / "project", "wrong")
    run = found.run
    assert run.code == 1, run.output
    assert run.verdict["verdict"] == "rejected"
    (item_id,) = run.with_outcome("failed")
    assert item_id in found.of_the_pair("wrong")
    assert "data-corruption" in run.junit[item_id].message
    assert len(run.junit) == run.verdict["counts"]["planned"]
    assert run.counts == {
        "failed": 1,
        "passed": run.counts["passed"],
        "not_run": run.counts["not_run"],
    }
