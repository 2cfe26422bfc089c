"""The cores that ranks name are compared with what their launcher was asked for."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from test_ccl_plan import BESIDE, CLUSTER, Given, command

from railgauge.core.model import Parsed
from railgauge.launchers.on_core import RankOnCore, on_core
from railgauge.tools import ccl_tests, mpi_bench
from railgauge.tools.cores import claims_of_cores

ARGV = ("mpirun", "-np", "4", "--bind-to", "core", *on_core(("all_reduce_perf",)))
GOOD = tuple(RankOnCore(n, "gpu01", f"{n},{n + 8}", f"{n},{n + 8}") for n in range(4))
CPUS = {"0": "0-3,8-11", "1": "4-7,12-15"}


def claims(told, argv=ARGV, ranks=4, numa_node=None, cpus=CPUS, *, is_planned=True):
    facts = SimpleNamespace(hostname="gpu01.site", numa_cpus=cpus)
    case = SimpleNamespace(nodes=("n1",))
    asked = SimpleNamespace(case=case, facts=lambda _node: facts, is_planned=is_planned)
    side = SimpleNamespace(argv=argv, parsed=Parsed("t", None, (), {"on_core": told}, ()))
    return list(claims_of_cores(asked, side, ranks, numa_node))


def test_each_rank_on_a_core_of_its_own():
    (claim,) = claims(GOOD)
    assert (claim.said, claim.agrees) == ("4 ranks on cores of their own", True)


def test_one_thread_of_the_core_is_enough():
    """A job that may use one thread of each core gives a rank no other."""
    (claim,) = claims(tuple(RankOnCore(n, "gpu01", f"{n},{n + 8}", str(n)) for n in range(4)))
    assert claim.agrees


def test_ranks_of_two_nodes_have_the_cores_of_the_same_number():
    (claim,) = claims((*GOOD[:2], *(RankOnCore(n, "gpu02", f"{n}", f"{n}") for n in (0, 1))))
    assert claim.agrees


@pytest.mark.parametrize(
    ("told", "says"),
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
        (GOOD[:3], "3 of 4 ranks say where they run"),
        ((*GOOD[:3], GOOD[2]), "3 of 4 ranks say where they run"),
        ((*GOOD, GOOD[2]), "4 of 4 ranks say where they run"),
        ((), "no rank says where it runs"),
        (None, "no rank says where it runs"),
    ],
    ids=["option ignored", "two on a core", "two threads of a core", "no core", "no list",
         "one silent", "one speaks for another", "one speaks twice", "all silent", "no lines"],
)  # fmt: skip
def test_what_was_not_done_as_asked_disagrees(told, says):
    (claim,) = claims(told)
    assert not claim.agrees
    assert claim.said.startswith(says)
    assert "by hand" in claim.remedy


def test_many_are_told_in_short():
    (claim,) = claims(tuple(RankOnCore(n, "gpu01", "0,8", "0-15") for n in range(4)))
    assert claim.said.endswith("; and 2 more")


def test_a_core_of_another_numa_node_than_the_declared_one():
    far = (*GOOD[:3], RankOnCore(3, "gpu01", "4,12", "4,12"))
    assert [claim.agrees for claim in claims(far)] == [True]
    (claim,) = claims(far, numa_node=0)
    assert claim.said == (
        "rank 3 of gpu01 on CPUs 4,12, which are not those of NUMA node 0 (0-3,8-11)"
    )
    assert claim.asked == "one for each rank, no other rank's, on NUMA node 0"
    assert not claim.agrees
    assert [claim.agrees for claim in claims(GOOD, numa_node=0)] == [True]
    assert [claim.agrees for claim in claims(far, numa_node=0, cpus={})] == [True]


def test_a_launcher_that_was_not_asked_shows_no_cores():
    assert claims((), ("mpirun", "--bind-to", "none", "all_reduce_perf")) == []
    assert claims((), ()) == []


def test_an_output_that_the_suite_did_not_make_need_not_show_it():
    (claim,) = claims(None, is_planned=False)
    assert (claim.said, claim.agrees) == (None, True)
    (claim,) = claims(GOOD[:3], is_planned=False)
    assert not claim.agrees


# --- the commands ---


@pytest.mark.parametrize("cluster", [CLUSTER, BESIDE], ids=["launcher", "beside-gpu"])
@pytest.mark.parametrize("by", ["site", "measurement"])
def test_ranks_that_are_to_be_bound_to_cores_say_so(cluster, by):
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
    told = parse("".join(f"{prefix}{line}\n" for line in lines)).summary["on_core"]
    assert told == (RankOnCore(0, "gpu01", "0,8", "0,8"), RankOnCore(1, "gpu01", "", "0-1"))
