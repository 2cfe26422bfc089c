"""A name that nodes do not resolve: whose name it is, or who resolves none."""

from testing.diagnose_scenes import broken, causes, named, path, record

MESSAGE = "Name or service not known for {}:18515 (name-not-resolved)"


def unknown(asker, other, says=""):
    """An RDMA test of ``asker``, which is the client."""
    printed = says or MESSAGE.format(other)
    failed = path(asker, other, "mlx5_0", 1)
    return broken(failed, "name-not-resolved", f"ib_write_bw on {asker}", printed)


def fine(client, server):
    return path(client, server, "mlx5_0", 390.0)


def test_a_node_whose_name_nobody_resolves_is_the_cause():
    """It reaches the others itself, which clears it of nothing."""
    found = causes(unknown("n1", "n2"), unknown("n3", "n2"), fine("n2", "n3"), fine("n3", "n1"))
    assert named(found) == [("name-not-resolved", "n2")]
    assert "data_address: ADDRESS" in found[0].remedy


def test_a_node_that_resolves_no_name_which_others_resolve_is_the_cause():
    found = causes(unknown("n1", "n2"), unknown("n1", "n3"), fine("n3", "n2"), fine("n2", "n3"))
    assert named(found) == [("name-not-resolved", "n1")]


def test_a_name_that_only_one_node_asked_for_is_the_nodes_that_has_it():
    assert named(causes(unknown("n1", "n2"), fine("n2", "n1"))) == [("name-not-resolved", "n2")]


def test_names_that_nobody_resolves_are_one_cause():
    found = causes(unknown("n1", "n2"), unknown("n2", "n3"), unknown("n3", "n1"))
    assert named(found) == [("name-not-resolved", "n[1-3]")]


def test_a_tool_that_does_not_say_the_name_asked_for_the_other_node():
    """iperf3 names no host."""
    printed = "unable to connect to server: Name or service not known (name-not-resolved)"
    found = causes(unknown("n1", "n2", printed), fine("n2", "n1"))
    assert named(found) == [("name-not-resolved", "n2")]


def test_a_launcher_names_the_node():
    printed = "ssh: Could not resolve hostname n3: Name or service not known (name-not-resolved)"
    launch = record(4, "group_all_reduce", "n1", "n2", "n3")
    for where in ("n3: mpirun", "n1: mpirun"):
        found = causes(broken(launch, "name-not-resolved", where, printed))
        assert named(found) == [("name-not-resolved", "n3")]
