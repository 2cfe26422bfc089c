"""The load of the control host: what is read, and what counts as busy."""

import os
import subprocess
import sys

import pytest
from testing.waiting import pass_time, wait_until

from railgauge.core.terms import Role
from railgauge.facts.control_host import parse
from railgauge.run.control_host import ARGV, NODE, watched

BOOT = "5b4a7c8e-0d3f-4a55-9c6e-0123456789ab"


def reading(running=1, busy=0, steal=0, waited=0, left=50):
    lines = [
        f"cpu  {1000 + busy} 0 0 5000 0 0 0 {steal} 0 0",
        f"procs_running {running}",
        "MemTotal:  1000 kB",
        f"MemAvailable: {left * 10} kB",
        f"some avg10=0.00 avg60=0.00 avg300=0.00 total={waited}",
    ]
    return "".join(f"{line}\n" for line in lines)


def text(before, after, cpus=2, boot=BOOT):
    return f"cpus {cpus}\nboot_id {boot}\nbefore\n{before}after\n{after}"


BUSY = text(reading(6), reading(7, waited=900_000))


def test_tasks_that_wait_before_and_after_make_a_host_busy():
    load = parse(BUSY, 1.0)
    assert (load.boot_id, load.cpus, load.others, load.waiting) == (BOOT, 2, 5, 0.9)
    assert load.is_busy
    assert str(load) == "5 other tasks on 2 CPUs"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (reading(1), reading(9, waited=900_000)),  # what the measurement left behind
        (reading(9), reading(1, waited=900_000)),  # gone before it ended
        (reading(3), reading(2, waited=900_000)),  # this process and one other on two CPUs
        (reading(9), reading(9, waited=100_000)),  # many tasks, but none of them waited long
        (reading(1), reading(1, busy=90, waited=0)),  # the measurement's own work
    ],
)
def test_a_smaller_load_is_not_busy(before, after):
    load = parse(text(before, after), 1.0)
    assert not load.is_busy
    assert str(load) == "not busy"


def test_without_the_waiting_times_of_the_kernel_the_tasks_decide():
    bare = "\n".join(line for line in BUSY.splitlines() if not line.startswith("some ")) + "\n"
    assert parse(bare, 1.0).waiting is None
    assert parse(bare, 1.0).is_busy


def test_stolen_time_and_missing_memory_are_load_too():
    stolen = parse(text(reading(), reading(busy=98, steal=20)), 1.0)
    assert stolen.is_busy
    assert str(stolen) == "17% of the CPU time given to other guests"
    full = parse(text(reading(), reading(left=2)), 1.0)
    assert full.is_busy
    assert str(full) == "2.0% of the memory available"


@pytest.mark.parametrize(
    "broken",
    [
        "", "before\nafter\n", BUSY.replace("cpus 2", "cpus 0"), BUSY.replace(BOOT, "here"),
        BUSY.replace("procs_running", "procs"), BUSY.replace("MemTotal:", "Total:"),
        BUSY.replace(" 0 0 0", " 0"), BUSY.replace("after\n", ""),
        text(reading(6, waited=900_000), reading(7)),  # a counter that went back
        text(reading(6, busy=50), reading(7)),
    ],
)  # fmt: skip
def test_an_unreadable_text_gives_no_load(broken):
    assert parse(broken, 1.0) is None


def test_this_machine_is_read_beside_a_repeat():
    made = watched(lambda: ())
    (reading,) = made
    assert (reading.node, reading.argv, reading.role) == (NODE, ARGV, Role.CONTROL_HOST)
    load = parse(reading.stdout, reading.duration_s)
    assert load.cpus == len(os.sched_getaffinity(0))
    assert 0 < load.memory_left <= 1


def test_a_machine_that_others_load_is_busy():
    """More processes than CPUs, before, while and after."""
    spin = [sys.executable, "-c", "while True: pass"]
    others = [subprocess.Popen(spin) for _ in range(2 * len(os.sched_getaffinity(0)) + 2)]
    try:
        wait_until(lambda: seen().is_busy, 30, "the control host to be busy")
    finally:
        for one in others:
            one.kill()
            one.wait()


def seen():
    def repeat():
        pass_time(0.2, "as long as a short measurement takes")
        return ()

    (reading,) = watched(repeat)
    return parse(reading.stdout, reading.duration_s)
