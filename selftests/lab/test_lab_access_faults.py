"""Faults of a login: what it may do as root, where it may log in, and which GPUs its variables
leave to the programs."""

from __future__ import annotations

import pytest
from testing.fault_bench import over_both
from testing.lab_bench import StartLab, ssh

from railgauge.core.errors import BadInput
from railgauge_lab import faults, platforms

COLLECTIVE = ("all_reduce_perf", "-b", "1G", "-e", "1G", "-g", "1")


def test_sudo_becomes_the_command_and_asks_where_it_may_not(start_lab: StartLab) -> None:
    bench = start_lab("metax-c500", "become-refused@mx02", nodes=2)
    healthy = bench.run(0, "sudo", "-n", "printf", "%s|", "a b", "$HOME")
    assert (healthy.returncode, healthy.stdout) == (0, "a b|$HOME|")
    assert bench.run(0, "sudo", "-n", "sh", "-c", "exit 7").returncode == 7
    assert bench.run(0, "sudo", "-n", "no-such-program").returncode == 127
    refused = bench.run(1, "sudo", "-n", "true")
    assert (refused.returncode, refused.stderr) == (1, "sudo: a password is required\n")


def test_a_node_that_cannot_log_in_starts_no_ranks_elsewhere(start_lab: StartLab) -> None:
    bench = start_lab("metax-c500", "node-login@mx01", nodes=2)
    assert "Permission denied" in bench.run(0, "ssh", "-o", "BatchMode=yes", "mx02", "true").stderr
    assert bench.run(1, "ssh", "-o", "BatchMode=yes", "mx01", "true").returncode == 0
    assert bench.run(0, *over_both(bench), *COLLECTIVE).returncode != 0


def test_a_name_that_the_other_nodes_do_not_resolve(start_lab: StartLab) -> None:
    bench = start_lab("metax-c500", "name-unresolved@mx02", nodes=3)
    write = ("ib_write_bw", "-d", "mlx5_0")
    ran = bench.run(0, *write, bench.nodes[1].data_address)
    assert ran.stderr.startswith("Name or service not known for mx02:")
    assert bench.pair(write, server_index=2)[0].returncode == 0
    login = bench.run(0, "ssh", "-o", "BatchMode=yes", "mx02", "true")
    assert "Could not resolve hostname mx02" in login.stderr


def test_a_variable_of_the_login_hides_a_gpu(start_lab: StartLab) -> None:
    bench = start_lab("metax-c500", "gpu-hidden@mx02", served=True)
    seen = ssh(bench.nodes[1], "env | grep _VISIBLE_DEVICES").stdout
    assert seen == b"MACA_VISIBLE_DEVICES=0,1,2,3,4,5,6\n"
    assert ssh(bench.nodes[0], "env | grep _VISIBLE_DEVICES").stdout == b""
    ran = bench.run(0, *over_both(bench), *COLLECTIVE)
    assert "Invalid number of GPUs: 8 requested but only 7 were found" in ran.stdout + ran.stderr
    assert bench.run(0, "mpirun", "-np", "8", "--host", "mx01:8", *COLLECTIVE).returncode == 0


@pytest.mark.parametrize("name", ["gpu-hidden", "node-login"])
def test_a_platform_without_gpus_has_no_such_fault(name: str) -> None:
    data = platforms.load("connectx4-homelab")
    node = platforms.describe(data, "columbia", 1, seed=1)
    with pytest.raises(BadInput, match="not applicable"):
        faults.apply(faults.parse(name, ["viper", "columbia"]), node, data)
