"""Suspects that have not met are measured with each other, and paths one by one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from testing.core_values import judgement
from testing.diagnose_scenes import asking, broken, findings, path, paths

from railgauge.core.errors import NodeUnreachable
from railgauge.core.model import Outcome
from railgauge.diagnosis import diagnose, elimination
from railgauge.diagnosis.confirm import follow_ups
from railgauge.diagnosis.confirmed import with_confirmation
from railgauge.diagnosis.model import OPEN, Cause, Where
from railgauge.diagnosis.telling_apart import telling_apart
from railgauge.judging.confirmation import Confirmed

SLOW = 200.0


def scene():
    """n4 did not answer; n1 is slow with n2 and with n3, which were not measured together."""
    lost = [
        broken(asking(path(*pair, "mlx5_0", 392.0)), NodeUnreachable.kind, "n4")
        for pair in (("n3", "n4"), ("n4", "n2"))
    ]
    slow = paths([("n2", "n1"), ("n1", "n3")], ["mlx5_0"], {"n1": SLOW})
    return findings([*map(asking, slow), *lost], nodes=("n1", "n2", "n3", "n4"))


def slow_cause(results=()):
    found = scene()
    causes = diagnose(replace(found, confirmed=tuple(results)))
    return next(cause for cause in causes if cause.cause.startswith("slow"))


def requests():
    found = scene()
    return follow_ups(found, diagnose(found))


def result(request, *, slow):
    return Confirmed(request, (judgement(Outcome.FAILED if slow else Outcome.PASSED),))


def test_nodes_that_have_not_met_are_measured_with_each_other():
    assert slow_cause().where.node == "n1|n2|n3"
    (one,) = requests()
    assert set(one.suspects) == set(one.question.case.nodes) == {"n2", "n3"}


def test_two_that_are_fast_together_leave_the_third():
    (one,) = requests()
    cause = slow_cause([result(one, slow=False)])
    assert (cause.cause, cause.where.node, cause.confidence) == ("slow-node", "n1", "likely")
    assert "n2, n3 are fine with each other" in cause.says
    assert cause.would_decide == ""


def test_two_that_are_slow_together_leave_all_three():
    (one,) = requests()
    assert slow_cause([result(one, slow=True)]).where.node == "n1|n2|n3"
    assert slow_cause([Confirmed(one, (), "it timed out")]).confidence == "open"


# --- the paths of a node ---

PATHS = ("gpu0-mlx5_0", "gpu1-mlx5_0", "gpu2-mlx5_1")


def of_paths(*names):
    where = Where("n1", ",".join(names))
    return Cause("slow-pcie-path", where, "slow; one of three", (), (), OPEN, "measure", "", "")


def measured(slow):
    """Each path of n1 measured with n2."""
    passed = asking(path("n1", "n2", "gpu3-mlx5_3", 392.0))
    found = findings([passed])
    requests = elimination.on_parts(of_paths(*PATHS), found.records, found.platform, "n2")
    return [result(one, slow=str(one.question.case.pairing) in slow) for one in requests]


def test_each_path_is_measured_once_with_a_good_node():
    results = measured(())
    assert [str(one.asked.question.case.pairing) for one in results] == list(PATHS)
    assert {one.asked.question.case.nodes for one in results} == {("n1", "n2")}


@pytest.mark.parametrize("slow", [PATHS[1:], PATHS])
def test_the_slow_paths_are_what_is_left(slow):
    names = [str(one.asked.question.case.pairing) for one in measured(slow)]
    cause = elimination.decided(of_paths(*names), measured(slow))
    assert cause.where.device == ",".join(name for name in names if name in slow)
    assert cause.confidence == "likely"


def test_one_slow_path_may_be_its_gpu_that_is_slow_at_times():
    cause = elimination.decided(of_paths(*PATHS), measured(PATHS[:1]))
    assert (cause.where.device, cause.confidence) == ("gpu0,gpu0-mlx5_0", "open")
    assert cause.would_decide == "measure gpu0 over another NIC"


def test_one_slow_path_of_two_of_a_gpu_is_that_path():
    names = ("gpu0-mlx5_0", "gpu0-mlx5_1")
    results = []
    for one, name in zip(measured(PATHS[:1]), names, strict=False):
        case = one.asked.question.case
        pairing = replace(case.pairing, gpu=0, nic=name.partition("-")[2])
        question = replace(one.asked.question, case=replace(case, pairing=pairing))
        results.append(replace(one, asked=replace(one.asked, question=question)))
    cause = elimination.decided(of_paths(*names), results)
    assert (cause.where.device, cause.confidence) == ("gpu0-mlx5_0", "likely")


def reached(request, value, floor):
    outcome = Outcome.PASSED if value >= floor else Outcome.FAILED
    return Confirmed(request, (judgement(outcome, unit="Gb/s", worst=value, floor=floor),))


FAR = 284.0
"""What a good node reaches over the next NIC of gpu0."""


@pytest.mark.parametrize(
    ("over_another", "cause"),
    [(FAR, ("slow-pcie-path", "gpu0-mlx5_0")), (150.0, ("slow-gpu", "gpu0"))],
)
def test_the_gpu_of_the_path_that_is_left_is_measured_over_another_nic(over_another, cause):
    """Collectives of n1 are slow; over mlx5_0, gpu0 alone is. The first round asks for each GPU."""
    suspected = of_paths(*PATHS)
    pairs = [("n1", "n2"), ("n2", "n3"), ("n3", "n1")]
    found = findings(list(map(asking, paths(pairs, ["gpu3-mlx5_3"], {}))), nodes=("n1", "n2", "n3"))
    first = tuple(
        reached(one, SLOW if str(one.question.case.pairing) == PATHS[0] else 392.0, 372.4)
        for one in telling_apart(found, [], suspected, ("n2", "n3"))
    )
    narrowed = with_confirmation(suspected, first)
    assert (narrowed.where.device, narrowed.confidence) == ("gpu0,gpu0-mlx5_0", "open")
    later = replace(found, confirmed=first)
    asked = list(telling_apart(later, [], narrowed, ("n2", "n3")))
    over = [(str(one.question.case.pairing), one.question.case.nodes[0]) for one in asked]
    assert over[1:3] == [("gpu0-mlx5_1", "n1"), ("gpu0-mlx5_1", "n3")]
    values = zip(asked[1:3], (over_another, FAR), strict=True)
    second = [reached(one, value, 100.0) for one, value in values]
    told = with_confirmation(suspected, (*first, *second))
    assert (told.cause, told.where.device, told.confidence) == (*cause, "likely")


# --- all paths of a NIC, and host memory over it ---

OF_NICS = ("gpu0-mlx5_0", "gpu5-mlx5_1", "gpu6-mlx5_1")


def over_nics():
    """Requests for the paths; host memory of n1 over mlx5_1 was fine before."""
    host = [asking(path("n1", "n2", "mlx5_1", 392.0)), asking(path("n2", "n3", "mlx5_1", 392.0))]
    found = findings([asking(path("n1", "n2", "gpu3-mlx5_3", 392.0)), *host])
    return tuple(telling_apart(found, [], of_paths(*OF_NICS), ("n2",)))


def decided(slow, requests):
    """``slow`` are the places ``SENDER PATH`` that are slow again."""

    def place(one):
        return f"{one.question.case.nodes[0]} {one.question.case.pairing}"

    results = [result(one, slow=place(one) in slow) for one in requests]
    return elimination.decided(of_paths(*OF_NICS), results)


SLOW_PATHS = {f"n1 {path}" for path in OF_NICS[1:]}


@pytest.mark.parametrize(
    ("more", "name"),
    [({"n1 mlx5_1", "n2 mlx5_1"}, "slow-nic"), ({"n1 mlx5_1"}, "slow-direction")],
)
def test_a_nic_that_became_slow_is_not_several_paths(more, name):
    cause = decided(SLOW_PATHS | more, over_nics())
    assert (cause.cause, cause.where.device, cause.confidence) == (name, "mlx5_1", "likely")
    assert "was fine before, and is slow now" in cause.says


def test_slow_paths_of_a_nic_that_is_fine_now_are_paths():
    cause = decided(SLOW_PATHS, over_nics())
    assert (cause.cause, cause.confidence) == ("slow-pcie-path", "likely")
    assert cause.where.device == ",".join(OF_NICS[1:])


def test_one_of_two_paths_of_a_nic_is_no_nic():
    cause = decided({"n1 gpu5-mlx5_1"}, over_nics())
    assert (cause.cause, cause.where.device) == ("slow-pcie-path", "gpu5,gpu5-mlx5_1")


def test_without_host_memory_it_may_be_the_nic():
    of_gpus = [one for one in over_nics() if one.question.case.pairing.gpu is not None]
    assert len(of_gpus) == len(over_nics()) - 2
    cause = decided(SLOW_PATHS, of_gpus)
    assert (cause.cause, cause.confidence) == ("slow-pcie-path", "open")
    assert "host memory over mlx5_1 of n1" in cause.would_decide


def test_paths_that_are_fine_by_themselves_leave_it_undecided():
    cause = elimination.decided(of_paths(*PATHS), measured(()))
    assert (cause.cause, cause.confidence) == ("slow-node", "open"), "something else was slow then"
    assert (cause.where.node, cause.where.device) == ("n1", "")
    assert cause.would_decide.startswith("measure the other paths of n1 again")
    assert "each of gpu0-mlx5_0, gpu1-mlx5_0, gpu2-mlx5_1 is fine by itself" in cause.says


def test_a_path_within_its_limit_that_is_behind_the_others_is_named():
    results = [
        Confirmed(one.asked, (judgement(Outcome.PASSED, worst=value),))
        for one, value in zip(measured(()), (392.0, 380.0, 391.0), strict=True)
    ]
    cause = elimination.decided(of_paths(*PATHS), results)
    assert (cause.where.device, cause.confidence) == (PATHS[1], "likely")
    assert "is behind the others" in cause.says


def test_a_path_that_was_not_measured_leaves_it_undecided():
    assert elimination.decided(of_paths(*PATHS), measured(PATHS)[:-1]) is None


def test_gpus_that_nothing_measured_are_measured_over_a_near_nic():
    cause = replace(of_paths("gpu0", "gpu2"), cause="slow-gpu")
    found = findings([asking(path("n1", "n2", "gpu3-mlx5_3", 392.0))])
    requests = list(elimination.on_parts(cause, found.records, found.platform, "n2"))
    assert [one.question.case.pairing.gpu for one in requests] == [0, 2]
    assert {one.question.case.pairing.distance for one in requests} == {"near"}
    results = [result(one, slow=one.question.case.pairing.gpu == 2) for one in requests]
    assert elimination.decided(cause, results).where.device == "gpu2"
    both = elimination.decided(cause, [result(one, slow=True) for one in requests])
    assert (both.where.device, both.confidence) == ("gpu0,gpu2", "open"), "one may have a slow path"


def test_one_and_very_many_suspects_are_left_to_others():
    assert elimination.suspects(of_paths(*PATHS[:1])) == ()
    assert elimination.suspects(of_paths(*(f"gpu{i}-mlx5_0" for i in range(9)))) == ()
    assert elimination.suspects(replace(of_paths(*PATHS), confidence="likely")) == ()
    assert elimination.suspects(of_paths("gpu0", "gpu0-mlx5_0")) == ()
