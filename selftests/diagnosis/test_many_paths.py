"""Many slow paths of one node, each slow at times only, are a node that comes and goes."""

from __future__ import annotations

from dataclasses import replace

from testing.core_values import judgement
from testing.diagnose_scenes import causes, names, path

from railgauge.core.model import Outcome

NICS = [f"mlx5_{number}" for number in range(8)]
TESTS = ("host_write_bandwidth", "host_write_bandwidth_bidirectional")
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
