"""Counters that nobody could read, because the part or the node is gone."""

from __future__ import annotations

import pytest
from testing.diagnose_scenes import broken, causes, fact, named, path, record

from railgauge.core.errors import CountersUnread, FactMissing, NodeUnreachable


@pytest.mark.parametrize(
    ("gone", "cause", "part"),
    [
        (fact("n1", "gpu_count", measured="7"), "gpu-missing", ""),
        (fact("n1", "nic_present", "mlx5_0"), "nic-missing", "mlx5_0"),
    ],
)
def test_the_counters_of_a_part_that_is_gone_have_no_cause_of_their_own(gone, cause, part):
    item = record(0, "growth", "n1")
    unread = broken(item, CountersUnread.kind, "n1", "no counter of the part was read")
    (one,) = causes(gone, unread)
    assert (one.cause, one.where.device) == (cause, part)
    assert unread.id in one.explains
    elsewhere = broken(record(0, "growth", "n2"), CountersUnread.kind, "n2", "nothing was read")
    assert ("counters-unread", "n2") in named(causes(gone, elsewhere))


def test_a_node_that_stopped_before_its_counters_were_read_is_the_cause():
    item = path("n1", "n2", "mlx5_0", 392.0)
    unread = broken(item, FactMissing.kind, "n1", "the counters of mlx5_0 could not be read")
    lost = broken(path("n1", "n2", "mlx5_1", 392.0), NodeUnreachable.kind, "n1")
    assert named(causes(unread, lost)) == [("node-unreachable", "n1")]
    other = broken(item, FactMissing.kind, "n2", "the counters of mlx5_0 could not be read")
    assert len(causes(other, lost)) == 2, "n2 answers"
