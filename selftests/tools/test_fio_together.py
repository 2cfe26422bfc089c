"""fio on all nodes at once: real runs of three nodes in one folder, and what they show together."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from testing import programs
from testing.core_values import case, cluster
from testing.waiting import wait_until

from railgauge.config.thresholds import Platform
from railgauge.config.thresholds.storage import GROUP_STORAGE, with_storage
from railgauge.core.model import Parsed, Sample
from railgauge.core.storage import StorageMount
from railgauge.core.terms import Role
from railgauge.planning import plan
from railgauge.tools.fio import joined, output_checks, parse
from railgauge.tools.fio.together import SharedRun, shared_run
from railgauge.tools.output_checks import SideOutput, ToolRequest

BARE = Platform("bench", "Bench", "bench.json", (), None, {}, {}, {}, {}, {})
NODES = ("n1", "n2", "n3")
TOGETHER = {"write": 30.0, "read": 30.0}


@pytest.fixture
def mount() -> Path:
    """A folder on a disk: not all kernels read one in memory past the cache."""
    programs.asked("fio")
    found = Path("/var/tmp") / f"railgauge-together-{os.getpid()}"
    found.mkdir()
    yield found
    shutil.rmtree(found)


def planned(path: Path, **changes):
    """The platform, the case, and the commands of all nodes; the last one reports."""
    one = StorageMount(
        str(path), "made up", shared=True, together=TOGETHER, fairness=0.5,
        **{"size_mib": 4, "seconds": 1, **changes},
    )  # fmt: skip
    platform = with_storage(BARE, {"pool": one})
    made = case(*NODES, measurement=GROUP_STORAGE, pairing=None, sizes=())
    site = cluster(*NODES, storage={"pool": one})
    return platform, made, plan.commands(made, platform, site, 20000)


def started(command, argv=None):
    return subprocess.Popen(
        argv or command.argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True, env={**os.environ, "RAILGAUGE_RUN": f"run7/{command.node}/main/"},
    )  # fmt: skip


def ran(commands):
    """What each node printed, and its exit code."""
    running = {command.node: started(command) for command in commands}
    return {node: (one.communicate(timeout=60)[0], one.returncode) for node, one in running.items()}


def sides(printed, commands):
    argv = {command.node: command.argv for command in commands}
    return tuple(
        SideOutput(node, Role.SERVER if at else Role.CLIENT, parse(printed[node][0]), argv[node])
        for at, node in enumerate(NODES)
    )


def asked(platform, made):
    return ToolRequest(made, platform.measurements[GROUP_STORAGE], platform)


def figures(parsed):
    return {one.metric: one.value for one in parsed.samples}


def test_three_nodes_write_read_and_check_what_the_others_wrote(mount):
    platform, made, commands = planned(mount)
    assert [one.node for one in commands] == ["n2", "n3", "n1"]
    printed = ran(commands)
    assert {code for _, code in printed.values()} == {0}
    reported = sides(printed, commands)
    wrong = [
        one
        for one in output_checks(asked(platform, made), reported)
        if not one.agrees or not one.shown
    ]
    assert wrong == []
    found = figures(joined(asked(platform, made), reported))
    assert found.keys() == {one.metric for one in platform.measurements[GROUP_STORAGE].limits}
    assert (found["corrupt"], 0 < found["fairness_write"] <= 1) == (0, True)
    assert list(mount.iterdir()) == []


def test_a_block_that_is_changed_behind_the_writer_is_found_by_both_readers(mount):
    """A file system that loses a write looks like this to the nodes that read it."""
    platform, made, commands = planned(mount)
    folder = mount / ".railgauge-bench-cluster-together"
    # The first phase is the last chance to put a program in: it breaks what n2 has signed.
    breaking = mount / "fio"
    breaking.write_text(
        f'#!/bin/sh\n{programs.asked("fio")} "$@" || exit\n'
        'case "$*" in *--name=sign-n2*) printf XXXX |'
        f" dd of={folder}/n2/check bs=1 seek=2000000 conv=notrunc 2>/dev/null ;; esac\n"
    )
    breaking.chmod(0o755)
    changed = [
        replace(one, argv=tuple(str(breaking) if word == "fio" and at > 3 else word
                                for at, word in enumerate(one.argv)))
        for one in commands
    ]  # fmt: skip
    reported = sides(ran(changed), commands)
    assert figures(joined(asked(platform, made), reported))["corrupt"] == 2
    errors = shared_run({side.node: side.parsed for side in reported}).errors
    assert {pair for pair, count in errors.items() if count} == {("n2", "n1"), ("n2", "n3")}
    breaking.unlink()
    assert list(mount.iterdir()) == []


def test_a_node_that_does_not_come_ends_the_others_which_leave_nothing(mount):
    *_, commands = planned(mount)
    impatient = [
        replace(one, argv=tuple("2" if at == 8 else word for at, word in enumerate(one.argv)))
        for one in commands[:2]
    ]
    for text, code in ran(impatient).values():
        assert (code, "of 3 nodes came to phase 1" in parse(text).errors[0].message) == (3, True)
    assert list(mount.iterdir()) == []


def test_nodes_that_are_ended_leave_nothing(mount):
    *_, commands = planned(mount, seconds=60)
    running = [started(command) for command in commands]
    wait_until(lambda: list(mount.glob("*/n3/data")), 30.0, "fio has begun to write")
    for one in running:
        os.killpg(one.pid, signal.SIGTERM)
    assert all(one.wait(30) for one in running)
    wait_until(lambda: list(mount.iterdir()) == [], 10.0, "all is removed")


def test_what_an_earlier_run_left_is_neither_counted_nor_kept(mount):
    *_, commands = planned(mount)
    folder = mount / ".railgauge-bench-cluster-together"
    for node in NODES:
        (folder / node).mkdir(parents=True)
        for phase in (*range(1, 8), "end"):
            (folder / f"@{node}@{phase}@run6").touch()
    assert {code for _, code in ran(commands).values()} == {0}
    assert list(mount.iterdir()) == []


# --- what is shown together ---


def side(node, **values):
    made = {"bandwidth_write/write": 900.0, "bandwidth_read/read": 900.0, **values}
    samples = [Sample(m, "MB/s", value, placement=p) for m, p, value in _split(made)]
    return SideOutput(node, Role.CLIENT, Parsed("fio", "3.36", tuple(samples), {}, ()))


def _split(values):
    return [(*name.split("/"), value) for name, value in values.items()]


def checks(node, **errors):
    at = NODES.index(node)
    others = (NODES[(at + 1) % 3], NODES[(at + 2) % 3])
    return {f"corrupt/check-{one}": errors.get(one, 0.0) for one in others}


def test_a_slow_client_lowers_the_fairness_and_is_named():
    platform, made, _ = planned(Path("/pool"))
    reported = [side(node, **checks(node)) for node in NODES]
    reported[1] = side("n2", **{"bandwidth_write/write": 300.0}, **checks("n2"))
    found = figures(joined(asked(platform, made), tuple(reported)))
    assert found == {
        "shared_write": 700.0, "fairness_write": 1 / 3, "shared_read": 900.0, "fairness_read": 1.0,
        "corrupt": 0.0,
    }  # fmt: skip
    run = shared_run({one.node: one.parsed for one in reported})
    assert (run.slow_clients("write", 0.5), run.slow_clients("read", 0.5)) == (("n2",), ())


@pytest.mark.parametrize("left_out", ["bandwidth_write/write", "corrupt/check-n1"])
def test_a_figure_that_one_node_did_not_print_is_no_figure(left_out):
    """Two fair nodes are no evidence of the third, nor is a file that nobody checked."""
    platform, made, _ = planned(Path("/pool"))
    reported = [side(node, **checks(node)) for node in NODES]
    kept = [s for s in reported[1].parsed.samples if f"{s.metric}/{s.placement}" != left_out]
    reported[1] = replace(reported[1], parsed=replace(reported[1].parsed, samples=tuple(kept)))
    found = figures(joined(asked(platform, made), tuple(reported)))
    lost = {"corrupt"} if "corrupt" in left_out else {"shared_write", "fairness_write"}
    assert not lost & found.keys()


def test_errors_are_of_the_author_and_the_reader():
    run = shared_run({node: side(node, **checks(node, n2=3.0)).parsed for node in NODES})
    assert isinstance(run, SharedRun)
    assert {pair for pair, count in run.errors.items() if count} == {("n2", "n1"), ("n2", "n3")}
