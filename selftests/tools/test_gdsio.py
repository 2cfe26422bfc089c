"""gdsio on declared storage: its rows, the way that the data took, and what a run leaves behind."""

from __future__ import annotations

import os
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from testing.core_values import ROOT, case, cluster
from testing.waiting import wait_until

from railgauge.config import thresholds
from railgauge.config.thresholds.storage import NODE_GDS, with_storage
from railgauge.core.errors import BadInput
from railgauge.core.storage import StorageMount
from railgauge.core.terms import Role
from railgauge.planning import plan
from railgauge.tools.gdsio import output_checks, parse
from railgauge.tools.output_checks import SideOutput, ToolRequest

H200 = thresholds.load("h200", ROOT / "thresholds")
BOTH = {"write": 3.0, "read": 5.0}
OWN = ".railgauge-bench-cluster-n1"
MODE = " 30-11-2026 10:00:00:1 [pid=7 tid=7] INFO   0:1511 properties.use_compat_mode : {}\n"
OFF = MODE.format("false")
# What cuFile's log says of a file that has no direct path.
FELL_BACK = (
    " 30-11-2026 10:00:00:2 [pid=7 tid=7] NOTICE  cufio:293 cuFileHandleRegister GDS not supported "
    "or disabled by config, using cuFile posix read/write with compat mode enabled\n"
)


def row(way="READ", transfer="GPUD", *, moved=8192, data=65536, io=1024, seconds=1.0, **changes):
    """A row of gdsio, by default of 8 threads that moved 8 GiB a second."""
    shown = {"threads": 8, "rate": moved / 1024 / seconds, "ops": moved * 1024 // io} | changes
    return (
        f"IoType: {way} XferType: {transfer} Threads: {shown['threads']} "
        f"DataSetSize: {moved * 1024}/{data}(KiB) IOSize: {io}(KiB) "
        f"Throughput: {shown['rate']:.6f} GiB/sec, Avg_Latency: 976.562500 usecs "
        f"ops: {shown['ops']} total_time {seconds:.6f} secs\n"
    )


def phase(name, *parts):
    return f"railgauge storage phase {name}\n" + "".join(parts)


FILL = phase("scratch-fill", row("WRITE"), OFF)
WRITE = phase("scratch-write", row("WRITE"), OFF)
READ = phase("scratch-read", row(), OFF)


def planned(path="/scratch", gds=BOTH, platform=H200, tools=None, **changes):
    """The platform with this mount, the case on node n1, and its command."""
    sizes = {"size_mib": 64, "seconds": 1} | changes
    one = StorageMount(str(path), "made up for a test", gds=gds, **sizes)
    made = with_storage(platform, {"scratch": one})
    at = case("n1", measurement=NODE_GDS, pairing=None, sizes=())
    of = cluster("n1", storage={"scratch": one}, tools=tools or {})
    (command,) = plan.commands(at, made, of, 20000)
    return made, at, command


def disagreeing(text, lasted_s=None, **changes):
    """The items in which output and command differ."""
    platform, at, command = planned(**changes)
    side = SideOutput("n1", Role.CLIENT, parse(text), command.argv, lasted_s)
    asked = ToolRequest(at, platform.measurements[NODE_GDS], platform)
    return [one.item for one in output_checks(asked, (side,)) if not one.agrees]


def values(text):
    return {(one.metric, one.placement): one.value for one in parse(text).samples}


# --- its output ---


def test_a_row_is_read():
    parsed = parse(row(seconds=2.0))
    assert parsed.problems == ()
    assert values(row(seconds=2.0)) == {
        ("bandwidth_read", "GPUD"): 4.0, ("latency_read", "GPUD"): 976.5625,
    }  # fmt: skip
    assert {one.unit for one in parsed.samples} == {"GiB/s", "us"}


@pytest.mark.parametrize(
    "text",
    [
        row().replace("Threads: 8 ", "Threads: 8 IoDepth: 4 ").replace("GPUD", "GPU_BATCH"),
        row("RANDREAD"),
        row().replace("IOSize: 1024(", "IOSize: 4096-16384-4096("),
        f"$ gdsio -D /mnt -d 0 -w 8\n{row()}",
    ],
)
def test_rows_of_other_tests_are_read(text):
    assert parse(text).problems == ()
    assert [name for name, _ in values(text)] == ["bandwidth_read", "latency_read"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (row(rate=9.0), "inconsistent"),
        (row(ops=3), "inconsistent"),
        (row()[:90], "truncated"),
        (row("MIXED"), "unparsable"),
        ("", "no-output"),
        ("nothing of it\n", "no-table"),
        ("sh: 1: gdsio: not found\n", "tool-missing"),
        ("storage: /scratch is no folder on this node\n", "tool-failed"),
        (
            "file register error: GPUDirect Storage not supported on current file filename:/a/g\n",
            "tool-failed",
        ),
        (phase("scratch-read", row(), row()), "several-tables"),
        (READ + READ, "several-tables"),
    ],
)
def test_what_is_no_result_is_an_error(text, kind):
    assert kind in [one.kind for one in parse(text).errors]


# --- the way of the data ---


def test_a_healthy_run_agrees_with_its_command():
    assert disagreeing(FILL + WRITE + READ, 4.0) == []
    assert parse(FILL + WRITE + READ).problems == ()


def test_gdscheck_shows_the_mode_where_the_log_does_not():
    bare = [phase(f"scratch-{name}", row(way)) for name, way in (
        ("fill", "WRITE"), ("write", "WRITE"), ("read", "READ"))]  # fmt: skip
    checked = " properties.use_compat_mode : false\n properties.force_compat_mode : false\n"
    assert disagreeing(checked + "".join(bare)) == []
    assert len(disagreeing("".join(bare))) == 3


def test_gdscheck_that_does_not_know_the_environment_is_no_failure():
    """cuFile's own log counts for what gdsio did."""
    assert disagreeing(" properties.use_compat_mode : true\n" + FILL + WRITE + READ) == []


@pytest.mark.parametrize(
    ("read", "item"),
    [
        (phase("scratch-read", row(transfer="CPUONLY"), OFF), "transfer"),
        (phase("scratch-read", row(transfer="CPU_GPU"), OFF), "transfer"),
        (phase("scratch-read", row(transfer="GPU_BATCH"), OFF), "transfer"),
        (phase("scratch-read", row()), "compatibility mode"),
        (phase("scratch-read", row(), MODE.format("true")), "compatibility mode"),
        (phase("scratch-read", row(), OFF, OFF.replace("use_", "force_").replace("false", "true")),
         "compatibility mode"),
        (phase("scratch-read", row(), MODE.format("1")), "compatibility mode"),
        (phase("scratch-read", row("WRITE"), OFF), "way"),
        (phase("scratch-read", row(threads=4), OFF), "threads"),
        (phase("scratch-read", row(data=8192), OFF), "data_kib"),
        (phase("scratch-read", row(io=4096), OFF), "io_kib"),
        (phase("scratch-read", row(moved=819, seconds=0.1), OFF), "seconds"),
        (phase("other-read", row(), OFF), "phases"),
        ("", "phases"),
    ],
)  # fmt: skip
def test_a_run_that_shows_no_direct_transfer_as_asked_is_found(read, item):
    """gdsio prints GPUD also while cuFile moves the data through host memory."""
    assert item in {one.partition(" of ")[0] for one in disagreeing(FILL + WRITE + read)}


def test_a_command_that_was_shorter_than_its_phases_is_found():
    assert disagreeing(FILL + WRITE + READ, 1.0) == ["time"]


@pytest.mark.parametrize(
    "line",
    [
        FELL_BACK,
        " [pid=7 tid=7] INFO   cufio:12 cuFile IO mode: POSIX\n",
        " [pid=7 tid=7] INFO 0:12 GPFS Writes disabled by config, enabling compat mode write\n",
    ],
)
def test_a_transfer_that_the_log_calls_indirect_is_an_error(line):
    (error,) = parse(phase("scratch-read", row(), OFF, line)).errors
    assert error.message.startswith("cuFile moved data through host memory: ")


# --- the plan ---


def test_what_is_declared_is_limited_and_no_faster_than_the_slot():
    platform, _, _ = planned(gds={"read": 5.0})
    (limit,) = platform.measurements[NODE_GDS].limits
    assert (limit.metric, limit.floor, limit.unit) == ("bandwidth_read/scratch-read", 5.0, "GiB/s")
    assert limit.ceiling == pytest.approx(58.7, abs=0.1)
    assert limit.pointer == "/storage/scratch/gds_read_gib_per_s"


def test_what_is_not_declared_is_not_planned():
    one = StorageMount("/scratch", "a contract of the site", least={"read_mb_per_s": 5400.0})
    assert NODE_GDS not in with_storage(H200, {"scratch": one}).measurements


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"platform": thresholds.load("mi300x", ROOT / "thresholds")}, "needs GPUs of NVIDIA"),
        ({"platform": replace(H200, gpus=None)}, "needs GPUs of NVIDIA"),
        ({"gds_gpu": 8}, "names GPU 8 of 8"),
    ],
)
def test_storage_of_a_gpu_that_is_not_declared_is_refused(change, why):
    with pytest.raises(BadInput, match=why):
        planned(**change)


# --- the shell around it ---


def ran(argv):
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)


def program(folder: Path, text: str) -> dict[str, str]:
    """A program in the place of gdsio, as the hostfile's ``tools`` name it."""
    path = folder / "gdsio"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return {"gdsio": str(path)}


@pytest.fixture
def mount(tmp_path) -> Path:
    found = tmp_path / "mount"
    found.mkdir()
    return found


def left(mount: Path) -> list[str]:
    return sorted(one.name for one in mount.iterdir())


def test_cufile_may_not_fall_back_and_its_log_is_kept_and_removed(tmp_path, mount):
    log = 'echo "x properties.use_compat_mode : $CUFILE_ALLOW_COMPAT_MODE" >$CUFILE_LOGFILE_PATH'
    tools = program(tmp_path, f"{log}; pwd; echo asked: $*")
    done = ran(planned(mount, tools=tools)[2].argv)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("use_compat_mode : false") == 3
    assert done.stdout.count(f"{mount}/{OWN}\n") == 3
    assert (
        f"phase scratch-read\n{mount}/{OWN}\nasked: -D {mount}/{OWN} -d 0 -w 8 -s 8M -i 1024K -x 0 "
        "-I 0 -T 1\n"
    ) in done.stdout
    assert left(mount) == []


def test_gdscheck_beside_gdsio_is_asked_under_the_same_settings(tmp_path, mount):
    tools = program(tmp_path, "true")
    check = tmp_path / "gdscheck"
    check.write_text('#!/bin/sh\necho "$1 use_compat_mode : $CUFILE_ALLOW_COMPAT_MODE"; >x.log\n')
    check.chmod(0o755)
    done = ran(planned(mount, tools=tools)[2].argv)
    assert done.stdout.startswith("-p use_compat_mode : false\nrailgauge storage phase")
    assert left(mount) == []


@pytest.mark.parametrize(
    ("text", "says"),
    [("echo 'file register error: no'; exit 1", "file register error: no"), ("exit 9", "")],
)
def test_a_gdsio_that_fails_ends_the_run_and_leaves_nothing(tmp_path, mount, text, says):
    done = ran(planned(mount, tools=program(tmp_path, text))[2].argv)
    assert done.returncode in (1, 9)
    assert done.stdout.count("railgauge storage phase") == 1
    assert says in done.stdout
    assert left(mount) == []


def test_a_missing_gdsio_and_too_little_room_are_errors(mount):
    done = ran(planned(mount, tools={"gdsio": "/nowhere/gdsio"})[2].argv)
    (missing,) = parse(done.stdout + done.stderr).errors
    assert (done.returncode, missing.kind) == (127, "tool-missing")
    full = ran(planned(mount, size_mib=1 << 40)[2].argv)
    (error,) = parse(full.stdout).errors
    assert (full.returncode, "are needed" in error.message) == (3, True)
    assert left(mount) == []


@pytest.mark.parametrize("name", ["TERM", "INT"])
def test_a_run_that_is_ended_leaves_neither_files_nor_a_process(tmp_path, mount, name):
    tools = program(tmp_path, f"echo $$ >{tmp_path}/pid; exec sleep 60")
    shell = subprocess.Popen(
        planned(mount, tools=tools)[2].argv, stdout=subprocess.DEVNULL, start_new_session=True
    )
    wait_until((tmp_path / "pid").exists, 20.0, "gdsio has begun")
    wait_until(lambda: (tmp_path / "pid").read_text().strip(), 20.0, "gdsio has a number")
    os.kill(shell.pid, getattr(signal, f"SIG{name}"))
    assert shell.wait(20) != 0
    assert left(mount) == []
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
