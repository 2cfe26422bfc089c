"""The node GUID of an HCA, which sysfs and ibv_devices must give alike."""

import pytest

from railgauge.facts import require
from railgauge.stacks import stack

METAX = stack("metax")


@pytest.mark.parametrize(
    ("listed", "why"),
    [
        ("    mlx5_0          \ta088c203005aab6d\n",
         "ibv_devices shows 0xa088c203005aab6d, but /sys/class/infiniband/mlx5_0/node_guid is "
         "0xa088c203005aab6c"),
        ("    mlx5_1          \ta088c203005aab6c\n", "ibv_devices: does not list mlx5_0"),
        ("    mlx5_0          \ta088c203005aab\n", "ibv_devices: does not list mlx5_0"),
        ("", "ibv_devices: does not list mlx5_0"),
    ],
)  # fmt: skip
def test_a_guid_that_two_sources_do_not_agree_on_is_unknown(node, listed, why):
    node.tool("ibv_devices", listed)
    facts = node.facts(METAX)
    assert facts.missing["nics.mlx5_0.node_guid"] == why
    assert facts.nics[0].node_guid is None


@pytest.mark.parametrize("own", ["", "a088:c203:005a", "guid"])
def test_a_guid_that_sysfs_does_not_show_is_unknown(node, own):
    node.write({"sys/class/infiniband/mlx5_0/node_guid": own})
    assert "node_guid" in node.facts(METAX).missing["nics.mlx5_0.node_guid"]


def test_a_guid_of_zeros_is_read_as_such(node):
    node.write({"sys/class/infiniband/mlx5_0/node_guid": "0000:0000:0000:0000"})
    node.tool("ibv_devices", "    mlx5_0          \t0000000000000000\n")
    assert require(node.facts(METAX), "nics.mlx5_0.node_guid") == f"0x{0:016x}"
