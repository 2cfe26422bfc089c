"""A decided slow part is compared by chance with the others that hold the same slow repeats."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest
from testing.diagnose_scenes import asking, causes, collective, findings, measured, path

from railgauge.diagnosis.model import Cause, Course, Where
from railgauge.diagnosis.paths_seen import repeats_of_paths
from railgauge.diagnosis.rivals import with_rivals
from railgauge.diagnosis.unexplained import not_held
from railgauge.judging.confirmation import Confirmed, Remeasurement

FINE, SLOW, SLOWER = 392.0, 314.0, 250.0
NIC, OTHER = "mlx5_0", "mlx5_1"
ELSEWHERE = [path("n5", "n6", nic, FINE) for nic in (NIC, OTHER)]
(TEMPLATE,) = causes(*(path("n1", n, NIC, SLOW) for n in ("n2", "n3")), *ELSEWHERE)[:1]


def scene(*items):
    return findings([asking(item) for item in (*items, *ELSEWHERE)])


def named(results, kind, node, device="", *, peer="", shown=lambda record: True) -> Cause:
    """A decided cause of the slow items of its node, or of those that are ``shown``."""
    slow = (r for r in results.records.values() if r.judgements[0].worst < 370)
    ids = tuple(r.id for r in slow if node in r.nodes and shown(r))
    place = Where(node, device, peer)
    return replace(
        TEMPLATE, cause=kind, where=place, evidence=ids, confidence="likely", course=None
    )


def compared(results, *found):
    return [(c.cause, str(c.where), c.confidence) for c in with_rivals(results, found)]


def test_what_was_slow_each_time_stays_decided():
    found = scene(
        *(path("n1", n, NIC, SLOW) for n in ("n2", "n3", "n4")),
        *(path("n1", n, OTHER, FINE) for n in ("n2", "n3")),
    )
    cause = named(found, "slow-nic", "n1", NIC)
    assert with_rivals(found, [cause]) == [cause]


def test_a_node_of_which_one_nic_was_slow_each_time_is_that_nic():
    found = scene(
        *(path("n1", n, NIC, SLOW) for n in ("n2", "n3", "n4")),
        *(path(n, "n1", NIC, SLOW) for n in ("n2", "n3")),
        *(path("n1", n, OTHER, FINE) for n in ("n2", "n3")),
        *(path(n, "n1", OTHER, FINE) for n in ("n2", "n3")),
    )
    assert compared(found, named(found, "slow-node", "n1")) == [
        ("slow-nic", "n1, mlx5_0", "likely")
    ]


def test_a_node_that_was_slow_in_what_it_sends_alone_is_that_direction():
    found = scene(
        *(path("n1", n, NIC, SLOW) for n in ("n2", "n3", "n4")),
        *(path(n, "n1", NIC, FINE) for n in ("n2", "n3", "n4")),
    )
    assert compared(found, named(found, "slow-node", "n1")) == [("slow-direction", "n1", "likely")]


def test_a_path_of_which_an_end_was_fine_too_few_times_is_undecided():
    """n2 may receive slowly at times: it was fine once, and slow twice."""
    found = scene(
        path("n1", "n2", NIC, SLOW), path("n1", "n2", OTHER, FINE), path("n3", "n2", NIC, FINE),
        path("n1", "n3", NIC, FINE),
    )  # fmt: skip
    path_ = named(found, "slow-path", "n1", peer="n2")
    ((_, _, confidence),) = compared(found, path_)
    assert confidence == "open"
    (told,) = with_rivals(found, [path_])
    assert "the evidence fits each of n1:n2" in told.says


def test_collectives_alone_name_no_direction():
    found = scene(
        collective(("n1", "n2"), 200.0), collective(("n5", "n6"), 350.0),
        path("n1", "n2", NIC, SLOW), path("n2", "n1", NIC, FINE),
    )  # fmt: skip
    cause = named(found, "slow-node", "n1")
    assert all(kind == "slow-node" for kind, *_ in compared(found, cause))


def test_a_loss_of_noise_tells_nothing():
    found = scene(path("n1", "n2", NIC, 0.999 * FINE), path("n1", "n3", NIC, FINE))
    cause = replace(named(found, "slow-node", "n1"), evidence=tuple(found.records)[:1])
    assert with_rivals(found, [cause]) == [cause]


INSIDE = [path("n2", "n1", NIC, SLOWER), path("n3", "n1", NIC, SLOWER)]
WHOLE = [path("n1", n, nic, SLOW) for n in ("n2", "n3") for nic in (NIC, OTHER)]
WHOLE += [path(n, "n1", OTHER, SLOW) for n in ("n2", "n3")]


@pytest.mark.parametrize(("last", "confidence"), [(SLOWER, "likely"), (SLOW, "open")])
def test_a_part_of_a_slow_part_is_slower_each_time(last, confidence):
    """A repeat that lost no more than the slow node costs shows it as fine."""
    found = scene(*WHOLE, *INSIDE, path("n4", "n1", NIC, last), path("n1", "n4", OTHER, SLOW))
    node = named(found, "slow-node", "n1")
    inside = {asking(item).id for item in (*INSIDE, path("n4", "n1", NIC, last))}
    nic = named(found, "slow-direction", "n1", NIC, shown=lambda record: record.id in inside)
    told = compared(found, node, nic)
    assert told[0] == ("slow-node", "n1", "likely")
    assert told[1] == ("slow-direction", "n1, mlx5_0", confidence)


def test_the_slower_end_of_a_path_hides_the_other():
    """n1 sends at 0.8 of the others; with n4, which is slower, that does not show."""
    found = scene(
        *(path("n1", n, NIC, SLOW) for n in ("n2", "n3")),
        *(path(n, "n4", NIC, SLOWER) for n in ("n1", "n2", "n3")),
        *(path("n4", n, NIC, SLOWER) for n in ("n2", "n3")),
        *(path(n, "n1", NIC, FINE) for n in ("n2", "n3")),
    )
    sends = named(found, "slow-direction", "n1", shown=lambda r: r.nodes[1] in ("n2", "n3"))
    other = named(found, "slow-node", "n4")
    assert compared(found, sends, other)[0] == ("slow-direction", "n1", "likely")


@pytest.mark.parametrize(("with_others", "found_as"), [(FINE, "slow-path"), (SLOW, "slow-node")])
def test_a_nic_that_is_slow_since_a_moment_does_not_hide_a_slow_path(with_others, found_as):
    """All over n1:n2 was slow, and when it was measured again, n1 was slow with others too."""
    nics = [f"mlx5_{number}" for number in range(8)]
    results = scene(
        *(path("n1", "n2", nic, SLOW) for nic in nics),
        *(path("n1", "n3", nic, with_others) for nic in nics),
    )
    again = [
        Confirmed(
            Remeasurement("slow-node", "n1", "", "", ("n1",), question),
            measured(path("n1", name, NIC, SLOWER), SLOWER).judgements,
        )
        for name in ("n4", "n3")
        for question in asking(path("n1", name, NIC, SLOWER)).questions
    ]
    results = replace(results, confirmed=tuple(again))
    node = named(results, "slow-node", "n1")
    ((kind, *_),) = compared(results, node)
    assert kind == found_as


def test_items_of_one_other_partner_do_not_make_a_slow_direction_the_whole_node():
    """n1 receives slowly each time; what it sent to n4 alone was slow as well, once."""
    results = scene(
        *(path(n, "n1", nic, SLOW) for n in ("n2", "n3") for nic in (NIC, OTHER)),
        *(path("n1", n, nic, FINE) for n in ("n2", "n3", "n4") for nic in (NIC, OTHER)),
        path("n1", "n4", "mlx5_2", SLOW),
    )
    cause = named(results, "slow-node", "n1")
    assert compared(results, cause) == [("slow-node", "n1", "open")]
    (told,) = with_rivals(results, [cause])
    assert "fits each of n1, n1 receiving" in told.says


@pytest.mark.parametrize(("other", "confidence"), [(SLOW, "likely"), (SLOWER, "open")])
def test_one_part_that_comes_and_goes_costs_each_partner_the_same(other, confidence):
    slow = {("n1", "n2", NIC): SLOW, ("n3", "n1", OTHER): other, ("n1", "n3", NIC): other}
    pairs = [*permutations(("n1", "n2"), 2), *permutations(("n1", "n3"), 2)]
    results = scene(
        *(path(*p, nic, slow.get((*p, nic), FINE)) for p in pairs for nic in (NIC, OTHER))
    )
    cause = replace(named(results, "slow-node", "n1"), course=Course(3, 8))
    (told,) = with_rivals(results, [cause])
    assert told.confidence == confidence
    assert ("fits each of n1, n1:n2, n1:n3" in told.says) is (confidence == "open")


def test_items_that_no_decided_part_holds_are_listed():
    found = scene(
        *(path("n1", n, NIC, SLOW) for n in ("n2", "n3")),
        path("n2", "n1", NIC, SLOW), path("n3", "n1", NIC, FINE),
    )  # fmt: skip
    sends = named(found, "slow-direction", "n1")
    (left,) = not_held(found, [sends])
    assert (left.where.node, left.confidence) == ("n1|n2", "open")
    assert "no part of slow-direction (n1) explains" in left.says
    assert list(not_held(found, [replace(sends, cause="slow-node")])) == []


def test_each_repeat_has_its_own_share():
    item = path("n1", "n2", NIC, SLOW)
    (judged,) = item.judgements
    item = replace(item, judgements=(replace(judged, values=(SLOW, FINE), worst=SLOW),))
    asked = asking(item)
    twice = tuple(replace(q, case=replace(q.case, repeats=2)) for q in asked.questions)
    found = findings([replace(asked, questions=twice), *map(asking, ELSEWHERE)])
    mine = repeats_of_paths(found, {"n1"})
    assert [(one.slow, round(one.share, 2)) for one in mine] == [(True, 0.8), (False, 1.0)]
