"""The two commands of a perftest measurement."""

from dataclasses import replace

import pytest

from railgauge.core.errors import BadInput
from railgauge.tools.perftest.plan import COMMANDS, Request, plan

REQUEST = Request(
    command="ib_write_bw",
    source="n1",
    target="n2",
    target_address="10.0.0.2",
    source_device="mlx5_0",
    target_device="mlx5_4",
    sizes=(65536,),
)


def argvs(**changes):
    return [list(command.argv) for command in plan(replace(REQUEST, **changes), 18515)]


def test_server_first_then_client():
    server, client = plan(replace(REQUEST, time_limit_s=30.0, environment={"A": "b"}), 18600)
    assert (server.node, server.listens_on) == ("n2", 18600)
    assert (client.node, client.listens_on) == ("n1", None)
    assert server.time_limit_s == client.time_limit_s == 30.0
    assert server.environment == client.environment == {"A": "b"}


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
    server, client = argvs(
        memory_flags_source=("--use_maca=0",), memory_flags_target=("--use_maca=4",)
    )
    assert "--use_maca=4" in server
    assert "--use_maca=0" in client
    assert "--use_maca=0" not in server
    assert client[-1] == "10.0.0.2"


def test_latency_has_no_bandwidth_unit():
    assert all("--report_gbits" not in argv for argv in argvs(command="ib_send_lat"))


@pytest.mark.parametrize(
    ("directory", "path"),
    [
        ("", "ib_read_bw"),
        ("/opt/perf", "/opt/perf/ib_read_bw"),
        ("/opt/perf/", "/opt/perf/ib_read_bw"),
        ("/opt/perf/ib_write_bw", "/opt/perf/ib_read_bw"),
    ],
)
def test_program_path(directory, path):
    assert all(argv[0] == path for argv in argvs(command="ib_read_bw", directory=directory))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_plans(command):
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
        {"source_device": ""},
        {"target_device": ""},
        {"target_address": ""},
        {"ib_port": 0},
        {"qps": 0},
        {"iterations": 4},
        {"command": "ib_send_lat", "qps": 2},
        {"command": "ib_send_lat", "bidirectional": True},
    ],
)
def test_what_perftest_would_refuse_is_bad_input(changes):
    with pytest.raises(BadInput):
        plan(replace(REQUEST, **changes), 18515)


@pytest.mark.parametrize("port", [0, -1, 65536])
def test_port_out_of_range(port):
    with pytest.raises(BadInput):
        plan(REQUEST, port)
