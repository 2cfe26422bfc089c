"""The cores that ranks name are compared with what their launcher was asked for."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from test_ccl_plan import BESIDE, CLUSTER, Given, command

from railgauge.core.model import Parsed
from railgauge.launchers.on_core import RankOnCore, on_core
from railgauge.tools import ccl_tests, mpi_bench
from railgauge.tools.cores import checks_of_cores

ARGV = ("mpirun", "-np", "4", "--bind-to", "core", *on_core(("all_reduce_perf",)))
GOOD = tuple(RankOnCore(n, "gpu01", f"{n},{n + 8}", f"{n},{n + 8}") for n in range(4))
CPUS = {"0": "0-3,8-11", "1": "4-7,12-15"}


def checks(listed, argv=ARGV, ranks=4, numa_node=None, cpus=CPUS, *, is_planned=True):
    facts = SimpleNamespace(hostname="gpu01.site", numa_cpus=cpus)
    case = SimpleNamespace(nodes=("n1",))
    asked = SimpleNamespace(case=case, facts=lambda _node: facts, is_planned=is_planned)
    side = SimpleNamespace(argv=argv, parsed=Parsed("t", None, (), {"on_core": listed}, ()))
    return list(checks_of_cores(asked, side, ranks, numa_node))


def test_ranks_on_cores_of_their_own_agree():
    (check,) = checks(GOOD)
    assert (check.shown, check.agrees) == ("4 ranks on cores of their own", True)


def test_one_thread_of_the_core_is_enough():
    """A job that may use one thread of each core gives a rank no other."""
    (check,) = checks(tuple(RankOnCore(n, "gpu01", f"{n},{n + 8}", str(n)) for n in range(4)))
    assert check.agrees


def test_ranks_of_two_nodes_may_have_cores_of_the_same_number():
    (check,) = checks((*GOOD[:2], *(RankOnCore(n, "gpu02", f"{n}", f"{n}") for n in (0, 1))))
    assert check.agrees


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        (tuple(RankOnCore(n, "gpu01", "0,8", "0-15") for n in range(4)),
         "rank 0 of gpu01 on CPUs 0-15, which are more than the core 0,8"),
        ((*GOOD[:3], RankOnCore(3, "gpu01", "2,10", "2,10")),
         "2 ranks of gpu01 on the core 2,10"),
        ((*GOOD[:2], RankOnCore(2, "gpu01", "2,10", "2"), RankOnCore(3, "gpu01", "2,10", "10")),
         "2 ranks of gpu01 on the core 2,10"),
        ((*GOOD[:3], RankOnCore(3, "gpu01", "", "3")),
         "rank 3 of gpu01 on CPUs 3, whose core the node does not show"),
        ((*GOOD[:3], RankOnCore(3, "gpu01", "3,11", "3-")),
         "rank 3 of gpu01 on CPUs 3-, which are more than"),
        (GOOD[:3], "3 of 4 ranks print where they run"),
        ((*GOOD[:3], GOOD[2]), "3 of 4 ranks print where they run"),
        ((*GOOD, GOOD[2]), "4 of 4 ranks print where they run"),
        ((), "no rank prints where it runs"),
        (None, "no rank prints where it runs"),
    ],
    ids=["option ignored", "two on a core", "two threads of a core", "no core", "no list",
         "one silent", "one speaks for another", "one speaks twice", "all silent", "no lines"],
)  # fmt: skip
def test_ranks_that_are_not_bound_as_asked_disagree(listed, message):
    (check,) = checks(listed)
    assert not check.agrees
    assert check.shown.startswith(message)
    assert "by hand" in check.remedy


def test_a_list_of_many_ranks_is_shortened():
    (check,) = checks(tuple(RankOnCore(n, "gpu01", "0,8", "0-15") for n in range(4)))
    assert check.shown.endswith("; and 2 more")


def test_a_core_of_another_numa_node_than_the_declared_one_disagrees():
    far = (*GOOD[:3], RankOnCore(3, "gpu01", "4,12", "4,12"))
    assert [check.agrees for check in checks(far)] == [True]
    (check,) = checks(far, numa_node=0)
    assert check.shown == (
        "rank 3 of gpu01 on CPUs 4,12, which are not those of NUMA node 0 (0-3,8-11)"
    )
    assert check.asked == "one for each rank, no other rank's, on NUMA node 0"
    assert not check.agrees
    assert [check.agrees for check in checks(GOOD, numa_node=0)] == [True]
    assert [check.agrees for check in checks(far, numa_node=0, cpus={})] == [True]


def test_without_a_request_to_bind_there_is_no_check():
    assert checks((), ("mpirun", "--bind-to", "none", "all_reduce_perf")) == []
    assert checks((), ()) == []


def test_an_output_of_another_run_need_not_show_the_cores():
    (check,) = checks(None, is_planned=False)
    assert (check.shown, check.agrees) == (None, True)
    (check,) = checks(GOOD[:3], is_planned=False)
    assert not check.agrees


# --- the commands ---


@pytest.mark.parametrize("cluster", [CLUSTER, BESIDE], ids=["launcher", "beside-gpu"])
@pytest.mark.parametrize("by", ["site", "measurement"])
def test_ranks_that_are_bound_to_cores_print_their_core(cluster, by):
    words = ("--bind-to", "core", "--map-by", "socket")
    own = {"launcher_args": list(words)} if by == "measurement" else {}
    site = words if by == "site" else ()
    stack = SimpleNamespace(collective_prefix="MCCL", pci_vendor="0x9999")
    given = Given(cluster=replace(cluster, launcher_args=site), stack=stack)
    argv = command(given, **own).argv
    at = argv.index("railgauge-core")
    assert argv[at - 3 : at - 1] == ("sh", "-c")
    assert argv[at + 1] == "/opt/perf/mccl_perf/all_reduce_perf"
    assert argv.count("--bind-to") == argv.count("--map-by") == 1
    assert "railgauge-rank" not in argv


def test_a_site_replaces_the_binding_of_a_measurement():
    """Newer Open MPI refuses an option that is given twice, and older ones take the last."""
    own = {"launcher_args": ["--bind-to", "core", "--map-by", "socket", "-mca", "pml", "^ucx"]}
    site = replace(CLUSTER, launcher_args=("-bind-to", "none"))
    argv = command(Given(cluster=site), **own).argv
    assert "core" not in argv
    assert argv[argv.index("-bind-to") + 1] == "none"
    assert "railgauge-core" not in argv
    assert argv[argv.index("--map-by") + 1] == "socket"
    assert "^ucx" in argv


# --- the lines, among those of the tools ---


@pytest.mark.parametrize("prefix", ["", "[1,0]<stdout>: "])
@pytest.mark.parametrize("parse", [ccl_tests.parse, mpi_bench.parse])
def test_the_lines_are_read_from_between_those_of_the_tool(parse, prefix):
    lines = [
        "railgauge: rank 0 of gpu01: core 0,8, CPUs 0,8",
        "# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 1 iters: 5",
        "mpi-bench run collective=all_reduce ranks=2 type=float32 iterations=2 warmup=1 cycles=1",
        "railgauge: rank 1 of gpu01: core none, CPUs 0-1",
    ]
    listed = parse("".join(f"{prefix}{line}\n" for line in lines)).summary["on_core"]
    assert listed == (RankOnCore(0, "gpu01", "0,8", "0,8"), RankOnCore(1, "gpu01", "", "0-1"))
