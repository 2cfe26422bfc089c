"""Collectives with wrong output: an error on their items, and no pass.

A program before the launcher of a standing lab runs the real one and changes what it prints.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from testing.acceptance import BARE, Project, Run, assert_sound, make_project
from testing.fewer import measuring
from testing.standing_lab import StandingLab, standing_lab

LEVEL = ("--level", "nightly", *BARE)
# One operation is enough for these tests.
COLLECTIVES = (
    *("tests/intranode/test_node_collectives.py", "tests/collective/test_pairs.py"),
    *("-k", "all_reduce"),
)
FEW = measuring("h100-tcpx", "node_all_reduce", "pair_all_reduce")
PAIR = "tcpx01:tcpx02"

# Each changes what the launcher prints for the job over both nodes; $out is the original output.
SPOIL = {
    "nothing": 'printf "%s\\n" "$out"',
    "column-renamed": 'printf "%s\\n" "$out" | sed "s/  busbw/busrate/g"',
    "column-added": 'printf "%s\\n" "$out" | sed -e "s/algbw   busbw/algbw   newbw   busbw/g"'
    ' -e "s/(GB\\/s)  (GB\\/s)/(GB\\/s)  (GB\\/s)  (GB\\/s)/g"'
    ' | awk \'NF==13 && $1+0>0 {$7=$7 " 9.99"; $11=$11 " 9.99"} {print}\'',
    "cut": 'printf "%s\\n" "$out" | sed "/^ *1048576 /,\\$d"',
    "cut-in-a-row": 'printf "%s" "$out" | sed "/^ *1048576 /,\\$d"; printf "     1048576    2621"',
    "two-tables": 'printf "%s\\n" "$out" "$out"',
    "killed": 'printf "%s\\n" "$out" | sed "/^ *1048576 /,\\$d"; ' + "echo 'slurmstepd: error: ***"
    " STEP 4711.0 ON tcpx01 CANCELLED AT 2026-03-01T02:11:09 DUE TO TIME LIMIT ***' >&2; exit 143",
    "killed-in-silence": 'printf "%s\\n" "$out" | sed "/^ *1048576 /,\\$d"; '
    + "echo 'srun: error: tcpx01: tasks 0-15: CANCELLED' >&2; exit 0",
    "out-of-memory": 'printf "%s\\n" "$out" | sed "/^ *1048576 /,\\$d"; '
    + "echo \"tcpx01: Test CUDA failure common.cu:892 'out of memory'\"; exit 2",
    "size-skipped": 'printf "%s\\n" "$out" | sed "/^ *1048576 /d"',
    "last-size-skipped": 'printf "%s\\n" "$out" | sed "/^ *1073741824 /d"',
    "wrong": 'printf "%s\\n" "$out" | sed "/^ *1048576 /s/ 0\\( *\\)$/ 7\\1/"',
    "nothing-printed": "",
    "other-hosts": 'printf "%s\\n" "$out" | sed "s/ tcpx02 device / tcpx09 device /"',
}
# The launcher starts fewer ranks than asked for, or places them elsewhere.
RANKS = {
    "fewer-gpus": "s/ -g 8 / -g 7 /",
    "one-node": "s/:1,[0-9.]*:1/:1/;s/-np 2 /-np 1 /",
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
    "other-hosts": ("asked for tcpx01, tcpx02, the tool says tcpx01, tcpx09",),
    "fewer-gpus": (
        "asked for 16 GPUs (8 on each of 2 nodes)",
        "the tool says 14 GPUs (7 on tcpx01, 7 on tcpx02)",
    ),
    "one-node": ("asked for 16 GPUs", "the tool says 8 GPUs (8 on tcpx01)"),
}


def launcher(real: Path, name: str) -> str:
    """The program: the real launcher, except for the job over both nodes."""
    head = '#!/bin/sh\ncase "$* BAD=$BAD" in '
    head += f'*-np\\ 2\\ *BAD={name}*) ;; *BAD={name}*) exec {real} "$@";;'
    if name in RANKS:
        words = f'exec {real} $(echo "$*" | sed "{RANKS[name]}")'
        return f"{head} esac\n{words}\n"
    return f'{head} esac\nout=$({real} "$@"); code=$?\n{SPOIL[name]}\nexit $code\n'


def put_before_the_launcher(lab: StandingLab) -> None:
    """``mpirun`` finds the name of the fault in its environment."""
    for node in lab.logins:
        home = lab.home(node)
        tool = home / "bin" / "mpirun"
        real = home / "real" / "mpirun"
        real.parent.mkdir()
        real.symlink_to(tool.readlink())
        tool.unlink()
        cases = ""
        for name in SAYS | {"nothing": (), "wrong": ()}:
            program = home / "real" / name
            program.write_text(launcher(real, name))
            program.chmod(0o755)
            cases += f'  *BAD={name}\\ *) exec {program} "$@";;\n'
        tool.write_text(f'#!/bin/sh\ncase "$* BAD=$BAD " in\n{cases}esac\nexec {real} "$@"\n')
        tool.chmod(0o755)


@pytest.fixture(scope="module")
def bad_runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Run]]:
    folder = tmp_path_factory.mktemp("bad")
    with standing_lab(folder / "lab", "h100-tcpx") as lab:
        put_before_the_launcher(lab)
        # One after the other: they use the same nodes, and a run that waits asks them again and
        # again.
        yield {name: _run(lab, folder / name, name) for name in [*SAYS, "nothing", "wrong"]}


def _run(lab: StandingLab, folder: Path, name: str) -> Run:
    project: Project = make_project(folder)
    FEW(project)
    # The stand-in rewrites words, which would tear the shell that places a rank.
    more = f"environment: {{BAD: {name}}}\nranks: launcher"
    options = lab.hostfile(project, more)
    return project.run(*options, *LEVEL, *COLLECTIVES)


def of_the_pair(run: Run) -> set[str]:
    found = {item_id for item_id in run.outcomes if PAIR in item_id}
    assert len(found) == 4
    return found


def test_the_program_before_the_launcher_does_no_harm(bad_runs: dict[str, Run]) -> None:
    run = bad_runs["nothing"]
    assert_sound(run)
    assert run.is_good, run.output


@pytest.mark.parametrize("name", SAYS)
def test_never_accepted_and_the_others_go_on(bad_runs: dict[str, Run], name: str) -> None:
    run = bad_runs[name]
    assert run.code == 10, run.output
    assert_sound(run)
    assert run.verdict["verdict"] == "incomplete"
    assert run.with_outcome("error") == of_the_pair(run)
    assert run.with_outcome("passed") == set(run.outcomes) - of_the_pair(run)
    assert not any(PAIR in line["id"] for line in run.measurements)


@pytest.mark.parametrize("name", SAYS)
def test_the_reason_names_it(bad_runs: dict[str, Run], name: str) -> None:
    run = bad_runs[name]
    for item_id in of_the_pair(run):
        message = run.junit[item_id].message
        assert "tcpx01: mpirun: " in message or "tcpx01: all_reduce_perf: " in message
        for word in SAYS[name]:
            assert word in message


def test_data_corruption_is_a_failure_and_stops_the_run(bad_runs: dict[str, Run]) -> None:
    run = bad_runs["wrong"]
    assert run.code == 1, run.output
    assert run.verdict["verdict"] == "rejected"
    failed = run.with_outcome("failed")
    assert failed
    for item_id in failed:  # all that judge what was measured there
        assert PAIR in item_id
        assert "data-corruption" in run.junit[item_id].message
    assert len(run.junit) == run.verdict["counts"]["planned"]
    assert run.counts == {
        "failed": len(failed),
        "passed": run.counts["passed"],
        "not_run": run.counts["not_run"],
    }
