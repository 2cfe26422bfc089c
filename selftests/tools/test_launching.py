"""A launcher gets the arguments and ports of the hostfile, and the nodes, beside the tool."""

from dataclasses import replace

import pytest
from testing.tool_setting import NODES, setting

from railgauge.core.model import Cluster
from railgauge.core.terms import LaunchWay
from railgauge.launchers import Launch
from railgauge.tools.launching import hosts, launched, launcher_options
from railgauge.tools.options import Options


def asked(nodes=("n1", "n2"), **changes):
    made = setting(nodes=nodes)
    made.cluster = replace(Cluster("c", "p", "ssh", NODES, "c.yaml"), **changes)
    return made


def command(made):
    launch = Launch(hosts(made, 8), ("all_reduce_perf",), ports=made.cluster.ports)
    return launched(made, launch, "all_reduce_perf")


@pytest.mark.parametrize(
    ("site", "made"),
    [
        ((), "-mca pml ^ucx --mca btl self,tcp --verbose"),
        (("-mca", "btl", "^openib"), "-mca pml ^ucx --verbose -mca btl ^openib"),
        (("--mca", "osc", "ucx"), "-mca pml ^ucx --mca btl self,tcp --verbose --mca osc ucx"),
        (("--bind-to", "core"), "-mca pml ^ucx --mca btl self,tcp --verbose --bind-to core"),
    ],
)
def test_arguments_of_the_hostfile_follow_and_replace_those_of_a_measurement(site, made):
    own = ("-mca", "pml", "^ucx", "--mca", "btl", "self,tcp", "--verbose")
    options = Options("measured", {"launcher_args": own})
    assert " ".join(launcher_options(asked(launcher_args=site), options)) == made


def test_the_suite_starts_the_daemons_of_several_nodes():
    made = asked(launch=LaunchWay.THROUGH_SUITE)
    assert command(made).daemons_on == {"10.0.0.1": "n1", "10.0.0.2": "n2"}
    assert command(made).environment == {}
    assert command(asked(("n1",), launch=LaunchWay.THROUGH_SUITE)).daemons_on == {}
    for way in (LaunchWay.SSH, LaunchWay.UNSET):
        assert command(asked(launch=way)).daemons_on == {}


def test_the_way_of_the_launch_does_not_change_the_arguments():
    ways = [command(asked(launch=way)).argv for way in LaunchWay]
    assert ways[1:] == ways[:-1]


def test_hydra_gets_the_ports_in_its_environment():
    made = command(asked(ports=(20000, 20099), launcher="mpich"))
    assert made.environment == {"MPIEXEC_PORT_RANGE": "20000:20099"}
