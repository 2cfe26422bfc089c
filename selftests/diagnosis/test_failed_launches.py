"""Collectives that a launcher could not start: the node in its error is the cause."""

import pytest
from testing.diagnose_scenes import broken, causes, collective, named, path, record


def failed(*nodes, kind="launch-failed", where="n2: mpirun"):
    printed = "No ED25519 host key is known for 10.0.0.2 (host-key)"
    return broken(record(4, "pair_all_reduce", *nodes), kind, where, printed)


@pytest.mark.parametrize("kind", ["launch-failed", "rank-died"])
def test_the_node_in_the_launchers_error_is_blamed(kind):
    found = causes(failed("n1", "n2", kind=kind))
    assert named(found) == [("tool-failing", "n2, mpirun")]


def test_the_pattern_decides_if_the_error_names_no_node():
    launches = [failed("n1", "n2", where="mpirun on n1"), failed("n2", "n3", where="mpirun on n2")]
    found = causes(*launches, collective(("n1", "n3"), 390.0))
    assert named(found) == [("tool-failing", "n2, all_reduce_perf")]


def test_a_slow_node_does_not_explain_a_failed_launch():
    slow = [path("n1", other, "mlx5_0", 100.0) for other in ("n2", "n3")]
    fine = path("n2", "n3", "mlx5_0", 390.0)
    found = causes(*slow, fine, failed("n1", "n2"))
    assert ("tool-failing", "n2, mpirun") in named(found)
