"""The simulated perftest fails with the messages and exit codes of the real one."""

from __future__ import annotations

import socket
import time

import pytest
from testing.lab_bench import Bench, StartLab, wait_for_listener

BAD_COMMAND_LINES = {
    ("-d", "mlx5_9"): "IB device mlx5_9 not found\n Unable to find the Infiniband/RoCE device\n",
    ("--frobnicate",): "ib_write_bw: unrecognized option '--frobnicate'\n",
    ("-Z",): "ib_write_bw: invalid option -- 'Z'\n",
    ("-s",): "ib_write_bw: option requires an argument -- 's'\n",
    ("-s", "0"): "ib_write_bw: invalid message size '0'\n",
    ("--use_cuda=0",): "ib_write_bw: unrecognized option '--use_cuda'\n",
    ("--use_maca=8",): "Requested maca device 8 but found only 8 device(s)\n",
    ("-i", "2"): " Invalid port number 2",
}


@pytest.mark.parametrize("words", BAD_COMMAND_LINES, ids=" ".join)
def test_bad_command_lines_have_the_real_messages(metax: Bench, words: tuple[str, ...]) -> None:
    ran = metax.run(0, "ib_write_bw", *words)
    assert ran.returncode == 1
    assert ran.stderr.startswith(BAD_COMMAND_LINES[words])


def test_a_client_without_a_server_fails(metax: Bench) -> None:
    address = metax.nodes[1].data_address
    ran = metax.run(0, "ib_write_bw", "-p", "18999", address)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == (
        f"Couldn't connect to {address}:18999\n"
        "Unable to open file descriptor for socket connection"
        " Unable to init the socket connection\n"
    )


def test_a_port_in_use_is_reported(metax: Bench) -> None:
    first = metax.start(1, "ib_write_bw", "-p", "18700")
    wait_for_listener(metax.nodes[1].data_address, 18700)
    second = metax.run(1, "ib_write_bw", "-p", "18700")
    elsewhere = metax.start(2, "ib_write_bw", "-p", "18700")
    wait_for_listener(metax.nodes[2].data_address, 18700)
    for child in (first, elsewhere):
        child.kill()
        assert child.communicate()[0] == "", "a killed server prints nothing"
    assert second.returncode == 1
    assert "Couldn't listen to port 18700\n" in second.stderr


def test_different_tools_on_the_two_sides_fail(metax: Bench) -> None:
    ran, server = metax.pair(("ib_send_bw", "-F"), ("ib_write_bw", "-F"))
    assert (ran.returncode, server.returncode) == (1, 1)
    assert (
        " Completion with error at client\n Failed status 9: wr_id 0 syndrom 0x8a\n" in ran.stderr
    )
    assert "Couldn't read remote address" in server.stderr


def test_a_sweep_fails_if_the_server_makes_none(metax: Bench) -> None:
    ran, _ = metax.pair(("ib_write_bw", "-F", "-a"), ("ib_write_bw", "-F"))
    assert ran.returncode == 1
    assert "Failed status 10: wr_id 0 syndrom 0x88\n" in ran.stderr
    assert " 65536 " in ran.stdout
    assert " 131072 " not in ran.stdout


def test_a_server_reports_a_client_that_disconnects(metax: Bench) -> None:
    server = metax.start(1, "ib_write_bw", "-p", "18701")
    address = metax.nodes[1].data_address
    wait_for_listener(address, 18701)
    socket.create_connection((address, 18701)).close()
    _, err = server.communicate(timeout=10)
    assert server.returncode == 1
    assert "Unable to read to socket/rdma_cm" in err


def test_tools_without_any_device_behave_as_the_real_ones(start_lab: StartLab) -> None:
    bench = start_lab("connectx4-homelab", "nic-missing")
    assert bench.run(1, "ibstat").returncode == 0
    assert bench.run(1, "ibstat").stdout == bench.run(1, "ibstat", "-l").stdout == ""
    assert bench.run(1, "ibv_devinfo").returncode == 255
    ran = bench.run(1, "ib_write_bw")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "Unable to find the Infiniband/RoCE device" in ran.stderr


def test_tools_start_fast(metax: Bench) -> None:
    """The best of many runs, because other processes load the machine too."""
    durations = []
    for _ in range(15):
        begun = time.perf_counter()
        metax.run(0, "ibstat", "-l")
        durations.append(time.perf_counter() - begun)
    assert min(durations) < 2
