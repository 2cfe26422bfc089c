"""What a soak proves, as figures and in words."""

from __future__ import annotations

from railgauge.planning.soak import planned
from railgauge.run.soak.proof import in_words, proof


def test_a_day_without_an_event():
    found = proof(planned("24h", 1, "1/1000h"), 86400.0, 32)
    assert (found["hours"], found["node_hours"]) == (24.0, 768.0)
    assert (found["events"], found["allowed_events"]) == (0, 0)
    assert (found["hours_an_event"], found["node_hours_an_event"]) == (8.0114, 256.3647)
    assert found["stated_confidence"] == 0.53606  # 1 - exp(-0.768)


def test_in_words():
    one, stated = in_words(planned("24h", 1, "1/168h"), 86400.0, 32, 1)
    assert one == (
        "1 event in 24 h of 32 nodes: with 95% confidence fewer than one in 5.06 h of the cluster,"
        " or in 162 h of a node (exact Poisson)"
    )
    assert stated == "fewer than one event in 168 h of a node: 94.24% confidence"


def test_no_rate_was_stated():
    (line,) = in_words(planned("3m", 1), 180.0, 4)
    assert "no event in 3 min of 4 nodes" in line
