"""Open MPI and MPICH launched for real between nodes, and broken on purpose."""

from __future__ import annotations

import json
import shutil

import pytest
from test_mpi_failures import error
from testing import programs
from testing.netlab_bench import missing, visit

from railgauge.core.errors import LaunchFailed, RankDied
from railgauge.launchers import Host, Launch, launcher
from railgauge.tools import tool

HOSTS = (Host("tcp01", "10.77.0.1", 1), Host("tcp02", "10.77.0.2", 1))
PROGRAMS = {"openmpi": "mpirun.openmpi", "mpich": "mpiexec.hydra"}
OPTIONS = {
    "openmpi": ("--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "eth0", "--mca",
                "oob_tcp_if_include", "eth0", "--mca", "mpi_yield_when_idle", "1"),
    "mpich": ("-iface", "eth0"),
}  # fmt: skip
SUICIDE = 'if [ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 1 ]; then kill -9 $$; fi; sleep 2'

# Hydra waits endlessly for a node on which it could not start anything.
BREAK = """
import json, shlex
launches = json.loads(Path(sys.argv[0]).with_name("launches.json").read_text())
def go(name, mpi, limit_s=30):
    limit_s = limit_s if mpi == "openmpi" else 6
    given, argv = launches[mpi][name]
    line = f"timeout -k 1 {limit_s} {shlex.join(argv)}"
    sets = " ".join(f"export {k}={shlex.quote(v)};" for k, v in given.items())
    FOUND[f"{mpi} {name}"] = on("tcp01", f"{sets} {line}", limit_s + 30)
for mpi in launches:
    for name in ("works", "environment", "killed"):
        go(name, mpi, 60)
for name in ("all_gather", "reduce_scatter", "alltoall", "broadcast", "odd"):
    go(name, "openmpi", 60)
on("tcp01", "cp .ssh/known_hosts kept; grep -v ^tcp02 kept >.ssh/known_hosts")
for mpi in launches: go("host-key", mpi)
on("tcp01", "cp kept .ssh/known_hosts")
overlay = "lowerdir=/usr/bin,upperdir=/run/u,workdir=/run/w,userxattr"
FOUND["removed"] = on("tcp02", "mkdir /run/u /run/w; mount -t overlay overlay -o " + overlay +
    " /usr/bin && rm -f /usr/bin/orted /usr/bin/hydra_pmi_proxy")
for mpi in launches: go("daemon", mpi)
"""


def launch(mpi, *program, **changes):
    made = Launch(
        hosts=HOSTS, program=program, bind="none", options=OPTIONS[mpi], allow_run_as_root=True,
        **changes,
    )  # fmt: skip
    # Both install an mpirun and an mpiexec; which one is the default depends on the system.
    return made.by_name, [PROGRAMS[mpi], *launcher(mpi).argv(made)[1:]]


def launches(mpi):
    # Hydra can die of SIGPIPE if a rank ends before its standard input is forwarded.
    works = (
        ["mpi-bench", "all_reduce", "-b", "65536", "-n", "2"]
        if mpi == "openmpi"
        else ["sh", "-c", "hostname; sleep 1"]
    )
    show = ("sh", "-c", "echo $GREETING; sleep 1")
    others = ("all_gather", "reduce_scatter", "alltoall", "broadcast") if mpi == "openmpi" else ()
    return {
        **{name: launch(mpi, "mpi-bench", name, "-b", "65536", "-n", "2") for name in others},
        "odd": launch(mpi, "mpi-bench", "alltoall", "-b", "20"),
        "works": launch(mpi, *works),
        "environment": launch(mpi, *show, environment={"GREETING": "a, b 'c'"}),
        "killed": launch(mpi, "sh", "-c", SUICIDE),
        "host-key": launch(mpi, "hostname"),
        "daemon": launch(mpi, "hostname"),
    }


@pytest.fixture(scope="module")
def found(tmp_path_factory, cannot_run):
    path = programs.machine()
    if lacking := [name for name in PROGRAMS.values() if shutil.which(name, path=path) is None]:
        cannot_run(f"not installed: {', '.join(lacking)}")
    if lacks := missing():
        cannot_run(f"no cluster of namespaces on this machine: {lacks}")
    folder = tmp_path_factory.mktemp("launches")
    planned = {mpi: launches(mpi) for mpi in PROGRAMS}
    (folder / "launches.json").write_text(json.dumps(planned), encoding="utf-8")
    return visit(BREAK, folder, "--nodes", "2")


def test_open_mpi_runs_one_rank_on_each_node(found):
    ran = found["openmpi works"]
    assert ran["code"] == 0, ran
    parsed = tool("mpi-bench").parse(ran["out"])
    assert parsed.errors == ()
    assert parsed.summary["ranks"] == {"tcp01": 1, "tcp02": 1}


@pytest.mark.parametrize(
    ("collective", "factor"),
    [("all_gather", 0.5), ("reduce_scatter", 0.5), ("alltoall", 0.5), ("broadcast", 1.0)],
)
def test_every_collective_is_right_and_counts_as_its_factor_says(found, collective, factor):
    ran = found[f"openmpi {collective}"]
    assert ran["code"] == 0, ran
    parsed = tool("mpi-bench").parse(ran["out"])
    assert parsed.errors == ()
    values = {sample.metric: sample.value for sample in parsed.samples}
    assert values["wrong"] == 0
    assert values["busbw"] == pytest.approx(factor * values["algbw"], rel=1e-2)


def test_a_size_that_ranks_cannot_share_is_refused(found):
    ran = found["openmpi odd"]
    assert ran["code"] == 2
    assert "20 bytes are not a multiple of 8" in ran["err"]


def test_mpich_runs_one_rank_on_each_node(found):
    ran = found["mpich works"]
    assert (ran["code"], sorted(ran["out"].split())) == (0, ["tcp01", "tcp02"]), ran


@pytest.mark.parametrize("mpi", PROGRAMS)
def test_ranks_have_the_environment_as_it_was_given(found, mpi):
    ran = found[f"{mpi} environment"]
    assert (ran["code"], ran["out"].splitlines()) == (0, ["a, b 'c'"] * 2), ran


@pytest.mark.parametrize(
    ("mpi", "name", "means"),
    [
        ("openmpi", "killed", ("rank-died", RankDied, "")),
        ("mpich", "killed", ("rank-died", RankDied, "tcp02")),
        ("openmpi", "host-key", ("host-key", LaunchFailed, "tcp02")),
        ("mpich", "host-key", ("host-key", LaunchFailed, "tcp02")),
        ("openmpi", "daemon", ("launcher-daemon-missing", LaunchFailed, "tcp02")),
        ("mpich", "daemon", ("launcher-daemon-missing", LaunchFailed, "tcp02")),
    ],
)
def test_the_reported_failure_is_the_one_that_was_made(found, mpi, name, means):
    kind, wanted, node = means
    ran = found[f"{mpi} {name}"]
    if name == "daemon" and found["removed"]["code"]:
        pytest.skip("no overlay over /usr/bin in a user namespace of this kernel")
    assert ran["code"], ran
    late = "command-timed-out" if ran["code"] in (124, 137) and mpi == "mpich" else ""
    failure = error(ran["out"] + ran["err"], argv=tuple(launches(mpi)[name][1]), cut=late)
    assert type(failure) is wanted, failure
    assert f"({kind})" in failure.what
    assert not node or failure.where == f"{node}: {PROGRAMS[mpi]}"
