"""Many slow paths of one node, each slow at times only, are a node that comes and goes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from testing.core_values import judgement
from testing.diagnose_scenes import causes, findings, names, path

from railgauge.core.model import Outcome
from railgauge.diagnosis.doubts import paths_that_meet
from railgauge.diagnosis.model import Cause, Where

NICS = [f"mlx5_{number}" for number in range(8)]
TESTS = ("host_write_bandwidth", "host_write_bandwidth_bidirectional")
SENDS = "host_send_bandwidth"
# Of the paths of n1, by partner and NIC, which of the two tests are slow.
AT_TIMES = {
    ("n2", 1): (0,), ("n2", 4): (1,), ("n2", 5): (0,), ("n3", 0): (1,), ("n3", 1): (0,),
    ("n3", 3): (1,), ("n3", 7): (0,), ("n4", 3): (1,), ("n4", 5): (0,),
}  # fmt: skip
EACH_TIME = {("n3", 6): (0, 1), ("n4", 7): (0, 1)}


def found(slow, more=lambda item: ()):
    made = []
    for one, other in [("n1", "n2"), ("n1", "n3"), ("n4", "n1"), ("n2", "n3"), ("n3", "n4")]:
        for number, nic in enumerate(NICS):
            place = (other if one == "n1" else one, number) if "n1" in (one, other) else None
            lame = slow.get(place, ())
            made += [path(one, other, nic, 329.0 if turn in lame else 392.0, test)
                     for turn, test in enumerate(TESTS)]  # fmt: skip
    made += [other for item in made for other in more(item)]
    told = causes(*made, nodes=names(4))
    return [one for one in told if one.cause.startswith("slow-")]


def test_a_few_paths_that_are_slow_each_time_do_not_hide_the_node():
    (cause,) = found({**AT_TIMES, **EACH_TIME})
    assert (cause.cause, cause.where.node, cause.where.device) == ("slow-node", "n1", "")
    assert "it comes and goes: 13 of 48 measurements are slow" in cause.says


def test_paths_that_are_slow_each_time_are_paths():
    told = found(EACH_TIME)
    assert [(one.cause, one.confidence) for one in told] == [("slow-path", "likely")] * 2


@pytest.mark.parametrize(
    ("confidence", "lost", "expected"),
    [("open", 329.0, "open"), ("open", 349.0, "likely"), ("likely", 329.0, "likely")],
)
def test_a_path_that_loses_as_much_as_an_undecided_one_of_its_end_is_undecided(
    confidence, lost, expected
):
    """n1 may be slow at times. Their measurements may be different ones: shares are compared."""
    items = [
        path("n1", "n2", NICS[0], 329.0),
        path("n3", "n1", NICS[0], lost, SENDS),
        *(path(*pair, NICS[0], 392.0) for pair in (("n2", "n3"), ("n3", "n4"), ("n1", "n4"))),
        *(path(*pair, NICS[0], 392.0, SENDS) for pair in (("n2", "n3"), ("n3", "n4"))),
    ]
    results = findings(items)

    def cause(ends, item, sure):
        where = Where(ends[0], "", ends[1])
        return Cause("slow-path", where, "slow", (item.id,), (), sure, "", "", "")

    here = cause(("n1", "n2"), items[0], "likely")
    other = cause(("n1", "n3"), items[1], confidence)
    told = paths_that_meet(results, [here, other])[0]
    assert told.confidence == expected
    assert ("n1 may be slow at times" in told.says) is (expected == "open")


def test_the_traffic_of_nics_that_are_slow_each_time_does_not_make_them_slow_at_times():
    """A traffic check passes at any speed."""
    told = replace(judgement(Outcome.PASSED), metric="traffic", unit="")
    passed = {"outcome": Outcome.PASSED, "judgements": (told,)}
    slow = {(name, number): (0, 1) for name in ("n2", "n3", "n4") for number in (0, 1, 2, 3)}
    with_traffic = found(slow, lambda item: [replace(item, id=f"{item.id} traffic", **passed)])
    assert [(one.cause, one.where) for one in with_traffic] == [
        (one.cause, one.where) for one in found(slow)
    ]
    assert not any("comes and goes" in one.says for one in with_traffic)
