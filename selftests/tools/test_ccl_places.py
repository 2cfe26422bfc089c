"""The CPUs that the ranks of a collective name are compared with those beside their GPUs."""

from types import SimpleNamespace

import pytest

from railgauge.launchers.beside_gpu import PlacedRank
from railgauge.tools.ccl_tests import parse
from railgauge.tools.ccl_tests.facts import RankDevice
from railgauge.tools.ccl_tests.places import checks_of_places

CPUS = {"0": "0-51,104-155", "1": "52-103,156-207"}
BUSES = ["0000:1b:00.0", "0000:5d:00.0", "0000:9b:00.0", "0000:dd:00.0"]


def survey(host="gpu01", **changes):
    gpus = [SimpleNamespace(bus_id=bus, numa_node=n // 2) for n, bus in enumerate(BUSES)]
    return SimpleNamespace(
        **{"hostname": f"{host}.site", "gpus": gpus, "numa_cpus": CPUS, **changes}
    )


def ranks(*cpus, host="gpu01"):
    named = zip(BUSES, cpus, strict=True)
    return tuple(PlacedRank(n, host, bus, on) for n, (bus, on) in enumerate(named))


GOOD = ranks("0-51,104-155", "0-51", "52-103", "156-207")


def checks(placed, nranks=4, facts=None, *, is_placed=True, devices=()):
    asked = SimpleNamespace(
        case=SimpleNamespace(nodes=("n1",)),
        facts=lambda _node: survey() if facts is None else facts,
    )
    summary = {"placed": placed, "nranks": nranks, "devices": devices}
    return list(checks_of_places(asked, summary, is_placed=is_placed))


def test_ranks_beside_their_gpus_agree():
    (check,) = checks(GOOD)
    assert (check.shown, check.agrees) == ("4 ranks on them", True)


@pytest.mark.parametrize("silent", [None, ()])
def test_placed_ranks_that_do_not_print_where_they_run_are_denied(silent):
    (check,) = checks(silent)
    assert (check.shown, check.agrees) == ("no rank prints where it runs", False)
    assert "by hand" in check.remedy


@pytest.mark.parametrize("silent", [None, ()])
def test_ranks_that_were_not_placed_and_print_nothing_give_no_check(silent):
    assert checks(silent, is_placed=False) == []


def used(*buses, host="gpu01.site"):
    """The GPUs that the test names, by the rank in the job."""
    return tuple(RankDevice(n, host, n, bus, "GPU") for n, bus in enumerate(buses))


@pytest.mark.parametrize(
    "devices",
    [
        used("0x1b", "0x5d", "0x9b", "0xdd"),
        used(*BUSES),
        used("0x5d", "0x1b", "0xdd", "0x9b"),  # the other GPU of the same socket
        used("", "", "", ""),
        used("0x9b", "0xdd", "0x1b"),  # not all ranks are listed
        used("0x9b", "0xdd", "0x1b", "0x5d", host="gpu02"),
    ],
    ids=["bus", "address", "same socket", "no address", "elided", "another host"],
)
def test_ranks_beside_the_gpus_that_the_test_names_agree(devices):
    (check,) = checks(GOOD, devices=devices)
    assert check.agrees


@pytest.mark.parametrize(
    "devices",
    [
        used("0x9b", "0x5d", "0x1b", "0xdd"),
        tuple(reversed(used(BUSES[2], *BUSES[1::-1], BUSES[3]))),
    ],
    ids=["bus", "address, listed backwards"],
)
def test_a_test_that_numbers_gpus_otherwise_runs_far_from_them(devices):
    (check,) = checks(GOOD, devices=devices)
    assert not check.agrees
    first = check.shown.split("; ")[0]
    assert first.startswith("rank 0 of gpu01 for GPU 0000:1b:00.0 on CPUs 0-51,104-155, while the")


def test_an_address_that_two_gpus_share_names_neither():
    """Buses of two PCI domains look alike when the test prints the bus alone."""
    shared = ["0000:1b:00.0", "0001:1b:00.0"]
    gpus = [SimpleNamespace(bus_id=bus, numa_node=n) for n, bus in enumerate(shared)]
    placed = tuple(PlacedRank(n, "gpu01", bus, CPUS[str(n)]) for n, bus in enumerate(shared))
    (check,) = checks(placed, 2, survey(gpus=gpus), devices=used("0x1b", "0x1b"))
    assert check.agrees


@pytest.mark.parametrize(
    ("placed", "shown"),
    [
        (ranks("0-51", "52-103", "52-103", "156-207"),
         "rank 1 of gpu01 for GPU 0000:5d:00.0 on CPUs 52-103"),
        (ranks("0-51", "0-51", "0-207", "156-207"),
         "rank 2 of gpu01 for GPU 0000:9b:00.0 on CPUs 0-207"),
        (GOOD[:3], "3 of 4 ranks print where they run"),
        ((*GOOD[:3], GOOD[2]), "3 of 4 ranks print where they run"),
        ((*GOOD[:3], PlacedRank(3, "gpu01", "0000:ff:00.0", "156-207")),
         "rank 3 of gpu01 for GPU 0000:ff:00.0 on CPUs 156-207"),
        ((*GOOD[:3], PlacedRank(3, "gpu01", BUSES[3], "7-")),
         "rank 3 of gpu01 for GPU 0000:dd:00.0 on CPUs 7-"),
    ],
    ids=["far socket", "not bound", "one is silent", "one speaks twice", "another GPU", "no list"],
)  # fmt: skip
def test_a_rank_elsewhere_disagrees(placed, shown):
    (check,) = checks(placed)
    assert (check.shown, check.agrees) == (shown, False)
    assert "ranks: launcher" in check.remedy


def test_a_list_of_many_ranks_is_shortened():
    (check,) = checks(ranks(*["208"] * 4))
    assert check.shown.endswith("; and 1 more")


@pytest.mark.parametrize(
    "facts",
    [survey("other"), survey(numa_cpus={}), survey(gpus=[]), survey(hostname=None),
     survey(gpus=[SimpleNamespace(bus_id=bus, numa_node=-1) for bus in BUSES])],
)  # fmt: skip
def test_what_the_survey_does_not_know_is_not_compared(facts):
    (check,) = checks(GOOD, facts=facts)
    assert (check.shown, check.agrees) == (None, True)


def test_a_rank_that_found_no_gpu_proves_nothing():
    (check,) = checks(tuple(PlacedRank(n, "gpu01", "", "0-207") for n in range(4)))
    assert (check.shown, check.agrees) == (None, True)


@pytest.mark.parametrize("prefixes", [("", "", ""), ("[1,0]<stdout>: ", "[1,1]<stdout>: ") * 2])
def test_the_lines_are_read_from_between_those_of_the_tool(prefixes):
    lines = (
        "railgauge: rank 0 of gpu01: GPU 0000:1b:00.0, CPUs 0-51\n",
        "railgauge: rank 1 of gpu01: GPU none, CPUs 0-207\n",
        "# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 1 iters: 5\n",
    )
    placed = parse("".join(map(str.__add__, prefixes, lines))).summary["placed"]
    assert [(one.rank, one.gpu) for one in placed] == [(0, "0000:1b:00.0"), (1, "")]
