"""``hostfiles/localhost-gpu.yaml``: one GPU of any model, as its driver's tools report it.

There need be no GPU here: the tools on the PATH are made for the test, and all else is real. What
this machine has itself is not on the PATH.
"""

import shutil

import pytest
from testing import prepared, programs
from testing.acceptance import BARE, TIME_LIMIT_S, Run, environment, make_project
from testing.places import SHARED

RECORDED = SHARED / "corpus" / "nvidia-smi"
# Runs on this machine exclude each other, so another test's run may have to end first.
OPTIONS = ("--hostfile", "hostfiles/localhost-gpu.yaml", "--level", "smoke", "--wait", "300", *BARE)
QUERY = {
    "index": "0", "name": "NVIDIA X1", "pci.bus_id": "00000000:8F:00.0",
    "memory.total [MiB]": "81920 MiB", "driver_version": "595.71.05",
    "persistence_mode": "Enabled", "power.limit [W]": "700.00 W",
    "clocks.max.sm [MHz]": "1980 MHz",
    "ecc.mode.current": "Enabled", "ecc.errors.uncorrected.volatile.total": "0",
    "pcie.link.gen.current": "1", "pcie.link.gen.max": "5", "pcie.link.width.current": "16",
    "pcie.link.width.max": "16", "mig.mode.current": "Disabled",
}  # fmt: skip
LOG = """<?xml version="1.0" ?>
<nvidia_smi_log>
  <driver_version>595.71.05</driver_version>
  <cuda_version>13.2</cuda_version>
  <attached_gpus>1</attached_gpus>
  <gpu id="00000000:8F:00.0">
    <product_name>NVIDIA X1</product_name>
    <remapped_rows>
      <remapped_row_corr>0</remapped_row_corr>
      <remapped_row_unc>0</remapped_row_unc>
      <remapped_row_pending>No</remapped_row_pending>
      <remapped_row_failure>No</remapped_row_failure>
    </remapped_rows>
    <gpu_power_readings><default_power_limit>700.00 W</default_power_limit></gpu_power_readings>
    <pci><pci_bus_id>00000000:8F:00.0</pci_bus_id></pci>
    <processes></processes>
  </gpu>
</nvidia_smi_log>
"""
SMI = """#!/bin/sh
here=$(dirname "$0")
case "$*" in
--query-gpu=*) cat "$here/query.txt" ;;
-q*) cat "$here/log.txt" ;;
--query-compute-apps=*) echo 'gpu_bus_id, pid, process_name, used_gpu_memory [MiB]' ;;
topo*) printf '\\tGPU0\\tCPU Affinity\\tNUMA Affinity\\nGPU0\\t X \\t0-15\\t0\\n' ;;
nvlink*) : ;;
*) exit 2 ;;
esac
"""
BANDWIDTH = """#!/bin/sh
cat <<'END'
{{"nvbandwidth": {{"CUDA Runtime Version": 13020, "Driver Version": "595.71.05",
 "GPU Device list": ["0: NVIDIA X1 (00000000:8f:00)"], "git_version": "v0.8",
 "testcases": [
  {{"name": "host_to_device_memcpy_ce", "status": "Passed", "sum": {0},
   "bandwidth_description": "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)",
   "bandwidth_matrix": [["{0}"]]}},
  {{"name": "device_to_host_memcpy_ce", "status": "Passed", "sum": {0},
   "bandwidth_description": "memcpy CE CPU(row) <- GPU(column) bandwidth (GB/s)",
   "bandwidth_matrix": [["{0}"]]}}]}}}}
END
"""


def tools(folder, gb_per_s=55.4, **query):
    """A folder with a driver's tools; ``gb_per_s`` 0 leaves nvbandwidth out."""
    folder.mkdir()
    values = {**QUERY, **query}
    table = f"{', '.join(values)}\n{', '.join(values.values())}\n"
    (folder / "query.txt").write_text(table, encoding="utf-8")
    (folder / "log.txt").write_text(LOG, encoding="utf-8")
    programs = {"nvidia-smi": SMI}
    if gb_per_s:
        programs["nvbandwidth"] = BANDWIDTH.format(gb_per_s)
    for name, text in programs.items():
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return make_project(tmp_path_factory.mktemp("gpu") / "project")


@pytest.fixture(scope="module")
def accept(project, tmp_path_factory):
    """``accept(folder)`` runs on a node whose only tools are those in ``folder``."""
    basic = tmp_path_factory.mktemp("node") / "basic"

    def accept(folder):
        path = programs.node_path(folder, basic)
        words = (*OPTIONS, "-p", "no:cacheprovider")
        done = prepared.run(
            prepared.Request(
                words, project.folder, environment(), TIME_LIMIT_S, more={"PATH": path}
            )
        )
        return Run(project, done.returncode, done.stdout, done.stderr, 0.0)

    return accept


def causes(run):
    return {(c["cause"], c["where"]["device"]) for c in run.verdict["causes"]}


def test_a_sound_gpu_is_accepted(accept, tmp_path):
    """An idle GPU reports PCIe generation 1; under load it reports 5."""
    run = accept(tools(tmp_path / "bin"))
    assert run.code == 0, run.output
    assert run.verdict["verdict"] == "accepted"
    assert run.verdict["evidence"] == "hardware"


def test_bandwidth_is_held_to_the_slot(accept, tmp_path):
    """The bandwidth of a generation 3 slot is too low for one of generation 5."""
    run = accept(tools(tmp_path / "bin", gb_per_s=12.3))
    assert run.code == 1, run.output
    limits = {line["limit"] for line in run.measurements if line["unit"] == "GB/s"}
    assert limits == {">= 47.26 GB/s"}


def test_a_sick_gpu_is_rejected_by_name(accept, tmp_path):
    sick = {
        "ecc.errors.uncorrected.volatile.total": "3",
        "pcie.link.width.current": "8",
        "power.limit [W]": "350.00 W",
        "mig.mode.current": "Enabled",
    }
    run = accept(tools(tmp_path / "bin", **sick))
    assert run.code == 1, run.output
    assert causes(run) == {
        ("gpu-memory-errors", "gpu0"),
        ("gpu-pcie-degraded", "gpu0"),
        ("gpu-power-capped", "gpu0"),
        ("gpu-partitioned", "gpu0"),
    }


def test_without_the_driver_s_tool_there_is_no_verdict(accept, tmp_path):
    (tmp_path / "bin").mkdir()
    run = accept(tmp_path / "bin")
    assert run.code == 10, run.output
    assert run.verdict["verdict"] == "incomplete"
    assert causes(run) == {("tool-missing", "nvidia-smi")}


def test_without_the_bandwidth_test_there_is_no_verdict(accept, tmp_path):
    run = accept(tools(tmp_path / "bin", gb_per_s=0))
    assert run.code == 10, run.output
    assert causes(run) == {("tool-missing", "nvbandwidth")}


def test_a_machine_with_more_gpus_is_not_this_platform(accept, tmp_path):
    """As eight H200 were recorded."""
    recorded = SHARED / "019-q-x-xml-h200-8gpu-v13.txt"
    if not recorded.exists():
        pytest.skip("the recorded outputs are not beside this repository")
    folder = tools(tmp_path / "bin")
    shutil.copy(recorded, folder / "log.txt")
    (folder / "query.txt").write_text("Unable to determine the device handle\n", encoding="utf-8")
    run = accept(folder)
    assert run.code == 1, run.output
    assert "gpu_count is 8, should be declared: 1" in run.words
