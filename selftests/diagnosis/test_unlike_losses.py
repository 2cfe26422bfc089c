"""A node that comes and goes loses about the same each time; two faults need not."""

from __future__ import annotations

from test_measured_again import FINE, run, slow_of
from testing.diagnose_scenes import blocked, fact, path

from railgauge.diagnosis import diagnose

NICS = ("mlx5_0", "mlx5_1")


def test_a_slow_nic_beside_a_slow_partner_does_not_come_and_go():
    """n3 is slow as a whole, and was measured with n4 alone; n4 lags over one NIC with n5."""
    wrong = fact("n1", "cpu_model")
    pairs = [("n5", "n2"), ("n4", "n3"), ("n4", "n5")]
    slow = {("n4", "n3", nic): 235.0 for nic in NICS} | {("n4", "n5", NICS[1]): 368.0}
    tested = [path(a, b, nic, slow.get((a, b, nic), FINE)) for a, b in pairs for nic in NICS]
    near = (path("n1", other, nic, FINE) for other in ("n3", "n5") for nic in NICS)
    behind = [blocked(one, wrong) for one in near]
    found = run(wrong, *tested, *behind, nodes=5)
    told = [one for one in diagnose(found) if one.cause.startswith("slow-")]
    assert {one.confidence for one in told} == {"open"}
    assert all(one.course is None for one in told)
    assert {node for _, node, _, _ in slow_of(told)} == {"n3", "n3|n4"}
