"""What a soak proves, as figures and in words."""

from __future__ import annotations

from railgauge.planning.soak import planned
from railgauge.run.soak.proof import Soaked, in_words, proof

DAY_S = 86400.0
# Pairs of nodes, one after the other: each of 32 nodes is measured for a sixteenth of the time.
ONE_BY_ONE = Soaked(DAY_S, 32, 2 * DAY_S)
ALL_AT_ONCE = Soaked(DAY_S, 32, 32 * DAY_S)


def test_a_day_without_an_event():
    found = proof(planned("24h", 1, "1/1000h"), ALL_AT_ONCE)
    assert (found["hours"], found["node_hours"]) == (24.0, 768.0)
    assert (found["events"], found["allowed_events"]) == (0, 0)
    assert (found["hours_an_event"], found["node_hours_an_event"]) == (8.0114, 256.3647)
    assert found["stated_confidence"] == 0.53606  # 1 - exp(-0.768)


def test_the_time_in_which_a_node_waits_for_others_proves_nothing_of_it():
    found = proof(planned("24h", 1, "1/1000h"), ONE_BY_ONE)
    assert (found["hours"], found["node_hours"]) == (24.0, 48.0)
    assert (found["hours_an_event"], found["node_hours_an_event"]) == (8.0114, 16.0228)
    assert found["stated_confidence"] == 0.046866  # 1 - exp(-0.048)


def test_the_proof_is_written_in_words():
    one, stated = in_words(planned("24h", 1, "1/168h"), ONE_BY_ONE, 1)
    assert one == (
        "1 event in 24 h, in which each of 32 nodes was measured for 1.5 h on average: with 95%"
        " confidence fewer than one in 5.06 h of the cluster, or in 10.1 h of a node under load"
        " (exact Poisson)"
    )
    assert stated == "fewer than one event in 168 h of a node under load: 3.38% confidence"


def test_no_confidence_is_given_without_a_stated_rate():
    (line,) = in_words(planned("3m", 1), Soaked(180.0, 4, 360.0))
    assert "no event in 3 min, in which each of 4 nodes was measured for 1.5 min" in line
