"""The two commands of a perftest measurement."""

from dataclasses import replace

import pytest
from testing.tool_setting import setting

from railgauge.core.errors import BadInput
from railgauge.core.model import Pairing
from railgauge.stacks import stack
from railgauge.tools.perftest.plan import COMMANDS, commands

ACROSS = Pairing("mlx5_0", peer=Pairing("mlx5_4"))


def given(
    command="ib_write_bw", sizes=(65536,), pairing=ACROSS, nodes=("n1", "n2"), tools=None, **options
):
    made = setting(
        "perftest",
        nodes=nodes,
        sizes=sizes,
        options={"report_gbits": True, **options},
        tools=tools,
        environment={"A": "b"},
        pairing=pairing,
    )
    made.measurement.command = command
    made.stack = stack("metax")
    return made


def argvs(**changes):
    return [list(command.argv) for command in commands(given(**changes), 18515)]


def test_server_first_then_client():
    server, client = commands(given(), 18600)
    assert (server.node, server.listens_on) == ("n2", 18600)
    assert (client.node, client.listens_on) == ("n1", None)
    assert server.time_limit_s == client.time_limit_s == 90.0
    assert server.environment == client.environment == {}


def test_each_side_names_its_own_device_and_the_client_the_address():
    server, client = argvs()
    flags = ["-i", "1", "-p", "18515", "-F", "-s", "65536", "--report_gbits"]
    assert server == ["ib_write_bw", "-d", "mlx5_4", *flags]
    assert client == ["ib_write_bw", "-d", "mlx5_0", *flags, "10.0.0.2"]


def test_several_sizes_are_one_sweep_on_both_sides():
    for argv in argvs(sizes=(2, 65536, 8388608)):
        assert "-a" in argv
        assert "-s" not in argv


def test_one_size_given_twice_is_one_size():
    assert all("-s" in argv for argv in argvs(sizes=(4096, 4096)))


def test_options_reach_both_sides():
    for argv in argvs(
        qps=4, iterations=1000, gid_index=3, bidirectional=True, disable_pcie_relaxed=True
    ):
        joined = " ".join(argv)
        for flag in ("-q 4", "-n 1000", "-x 3", " -b", "--disable_pcie_relaxed"):
            assert flag in joined


def test_defaults_leave_options_out():
    for argv in argvs(report_gbits=False):
        assert not {"-q", "-n", "-x", "-b", "--report_gbits", "--disable_pcie_relaxed"} & set(argv)


def test_memory_flags_are_per_side():
    server, client = argvs(pairing=Pairing("mlx5_0", 0, "near", Pairing("mlx5_4", 4, "near")))
    assert "--use_maca=4" in server
    assert "--use_maca=0" in client
    assert "--use_maca=0" not in server
    assert client[-1] == "10.0.0.2"


def test_latency_has_no_bandwidth_unit():
    assert all("--report_gbits" not in argv for argv in argvs(command="ib_send_lat"))


@pytest.mark.parametrize(
    ("tool", "path"),
    [
        (None, "ib_read_bw"),
        ("/opt/perf", "/opt/perf/ib_read_bw"),
        ("/opt/perf/", "/opt/perf/ib_read_bw"),
        ("/opt/perf/ib_write_bw", "/opt/perf/ib_read_bw"),
    ],
)
def test_the_path_of_the_program_is_that_of_the_hostfile(tool, path):
    tools = {"perftest": tool} if tool else {}
    assert all(argv[0] == path for argv in argvs(command="ib_read_bw", tools=tools))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_planned(command):
    assert all(argv[0] == command for argv in argvs(command=command))


@pytest.mark.parametrize(
    "changes",
    [
        {"command": "ib_write_bandwidth"},
        {"command": "rm"},
        {"sizes": ()},
        {"sizes": (0,)},
        {"sizes": (2, 3)},
        {"sizes": (1, 2)},
        {"sizes": (2, 16777216)},
        {"pairing": None},
        {"pairing": Pairing("", peer=Pairing("mlx5_4"))},
        {"pairing": Pairing("mlx5_0", peer=Pairing(""))},
        {"nodes": ("n1",)},
        {"qps": 0},
        {"qps": None},
        {"iterations": 4},
        {"iterations": 100_000_001},
        {"gid_index": 256},
        {"mtu": 9000},
        {"mtu": 1000},
        {"bogus": 1},
        {"command": "ib_send_lat", "qps": 2},
        {"command": "ib_send_lat", "bidirectional": True},
    ],
)
def test_what_perftest_would_refuse_is_bad_input(changes):
    with pytest.raises(BadInput):
        commands(given(**changes), 18515)


def test_a_server_without_an_address_is_bad_input():
    made = given()
    nodes = tuple(replace(node, data_address="") for node in made.cluster.nodes)
    made.cluster = replace(made.cluster, nodes=nodes)
    with pytest.raises(BadInput, match="no address"):
        commands(made, 18515)


@pytest.mark.parametrize("port", [0, -1, 65536])
def test_a_port_out_of_range_is_refused(port):
    with pytest.raises(BadInput):
        commands(given(), port)
