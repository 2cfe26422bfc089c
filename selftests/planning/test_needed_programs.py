"""The programs that ``railgauge check`` looks for on the nodes: all that the commands start."""

from __future__ import annotations

from dataclasses import replace

import pytest
from testing.core_values import ROOT, cluster

from railgauge.config import thresholds
from railgauge.core.devices import DeviceNames
from railgauge.core.storage import StorageMount
from railgauge.planning.programs import programs

NODES = [f"n{number}" for number in range(1, 7)]
POOL = StorageMount(
    "/pool",
    "a contract",
    shared=True,
    least={"write_mb_per_s": 1.0},
    gds={"read": 1.0},
)


def needed(name, **changes):
    site = cluster(*NODES, **changes)
    platform = thresholds.load(name, ROOT / "thresholds")
    return set(programs(thresholds.on_site(platform, site, "bench.yaml"), site))


@pytest.mark.parametrize("name", thresholds.available(ROOT / "thresholds"))
def test_no_shell_hides_the_program_that_it_starts(name):
    found = needed(name)
    assert found
    assert not {"sh", "env"} & found


def test_a_collective_and_a_pair_under_load_start_their_programs():
    assert {"mpirun", "all_reduce_perf", "ib_write_bw", "ib_write_lat"} <= needed("h200")


def test_declared_storage_needs_its_tools_at_their_paths():
    found = needed("h200", storage={"pool": POOL}, tools={"gdsio": "/usr/local/gds/tools"})
    assert {"fio", "/usr/local/gds/tools/gdsio"} <= found


def test_the_paths_of_the_launcher_and_its_program_are_those_of_the_hostfile():
    found = needed("h200", tools={"mpirun": "/opt/ompi/bin", "ccl_tests": "/opt/nccl-tests"})
    assert {"/opt/ompi/bin/mpirun", "/opt/nccl-tests/all_reduce_perf"} <= found
    assert not {"mpirun", "all_reduce_perf"} & found


def test_nodes_whose_interfaces_have_other_names_need_the_same_programs():
    c500 = thresholds.load("metax-c500", ROOT / "thresholds")
    over = {"launcher_args": ["-mca", "btl_tcp_if_include", "eth0"]}
    one = c500.measurements["pair_all_reduce"]
    one = replace(one, options={**one.options, **over})
    platform = replace(c500, measurements={one.name: one})
    others = {node: {"eth0": "ens5"} for node in NODES[1:]}
    names = replace(platform, devices=DeviceNames(others))
    site = cluster(*NODES)
    assert programs(names, site) == programs(platform, site) == ("mpirun", "all_reduce_perf")
