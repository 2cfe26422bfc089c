"""NVIDIA: nvidia-smi in all its forms against recorded outputs, and the facts from them."""

from __future__ import annotations

import re

import pytest
from testing.places import SHARED

from railgauge.stacks import Section, stack
from railgauge.stacks.nvidia_smi import QUERY, parse_compute_apps, parse_log, parse_query
from railgauge.stacks.nvlink import Links, parse_nvlink
from railgauge.stacks.topology import parse_topology

CORPUS = SHARED / "corpus/nvidia-smi"
NVIDIA = stack("nvidia")
H200 = "019-q-x-xml-h200-8gpu-v13.txt"

HEADING = (
    "index, name, pci.bus_id, memory.total [MiB], driver_version, persistence_mode, "
    "power.limit [W], clocks.max.sm [MHz], clocks.current.sm [MHz], ecc.mode.current, "
    "ecc.errors.uncorrected.volatile.total, pcie.link.gen.current, pcie.link.gen.max, "
    "pcie.link.width.current, pcie.link.width.max, mig.mode.current\n"
)
ROW = (
    "{index}, NVIDIA H200, 00000000:{bus}:00.0, 143771 MiB, 550.90.07, Enabled, 700.00 W, "
    "1980 MHz, 1980 MHz, Enabled, 0, 5, 5, 16, 16, Disabled\n"
)
QUERY_TEXT = HEADING + ROW.format(index=0, bus="8F") + ROW.format(index=1, bus="90")
XML = """<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
<driver_version>550.90.07</driver_version><cuda_version>12.4</cuda_version>
<attached_gpus>2</attached_gpus>
<gpu id="00000000:8F:00.0"><remapped_rows><remapped_row_corr>1</remapped_row_corr>
<remapped_row_unc>2</remapped_row_unc><remapped_row_pending>Yes</remapped_row_pending>
<remapped_row_failure>No</remapped_row_failure></remapped_rows><fabric><state>Completed</state>
</fabric><processes><process_info><pid>7</pid><type>C</type><process_name>python3</process_name>
<used_memory>64 MiB</used_memory></process_info></processes></gpu>
<gpu id="00000000:90:00.0"><fabric><state>Completed</state></fabric></gpu>
</nvidia_smi_log>
"""
APPS = "gpu_bus_id, pid, process_name, used_gpu_memory [MiB]\n"
NVLINK = """GPU 0: NVIDIA H200 (UUID: GPU-0)
\t Link 0: 26.562 GB/s
\t Link 1: 25.781 GB/s
GPU 1: NVIDIA H200 (UUID: GPU-1)
\t Link 0: 26.562 GB/s
\t Link 1: <inactive>
"""
TOPO = """\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID
GPU0\t X \tNV18\tPIX\t0-47\t0\t\tN/A
GPU1\tNV18\t X \tSYS\t48-95\t1\t\tN/A
NIC0\tPIX\tSYS\t X \t\t\t\t

NIC Legend:

  NIC0: mlx5_0
"""
OPEN = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.90.07  Release Build\n"
WHOLE = {
    "nvidia-smi-query": QUERY_TEXT,
    "nvidia-smi-q": XML,
    "nvidia-smi-apps": APPS,
    "nvidia-smi-topo": TOPO,
    "nvidia-smi-nvlink": NVLINK,
    "nvidia-module": OPEN,
    "kernel": "5.15.0-1064-azure",
}


def recorded(name):
    if not CORPUS.is_dir():
        pytest.skip("the recorded outputs are not beside this project (../shared)")
    # The probe removes colours before a parser sees the text.
    return re.sub(r"\x1b\[[0-9;]*m", "", (CORPUS / name).read_text())


def parse(changes=None, codes=None):
    texts = WHOLE | (changes or {})
    codes = codes or {}
    return NVIDIA.parse({n: Section(n, text, codes.get(n, 0)) for n, text in texts.items()})


def test_names():
    assert (NVIDIA.collective_prefix, NVIDIA.peer_memory) == ("NCCL", "nvidia_peermem")
    assert NVIDIA.perftest_memory_flags(3) == ("--use_cuda=3",)
    asked = NVIDIA.probe_commands["nvidia-smi-query"]
    assert all(name in asked for name in QUERY)


def test_two_outputs_make_one_gpu():
    facts = parse()
    first, second = facts.gpus
    assert (first.index, first.model, first.bus_id) == (0, "NVIDIA H200", "0000:8f:00.0")
    assert (first.memory_mib, first.power_limit_w, first.numa_node) == (143771, 700.0, 0)
    assert (first.persistence_mode, first.clock_max_mhz) == (True, 1980)
    assert (first.ecc_enabled, first.ecc_uncorrected, first.fabric) == (True, 0, "Completed")
    assert (first.remapped_rows, first.remap_pending, first.remap_failed) == (3, True, False)
    assert (first.pcie_gen, first.pcie_width, first.pcie_max_gen, first.pcie_max_width) == (
        5,
        16,
        5,
        16,
    )
    assert (first.links_up, first.links_total, first.link_rate_gbps) == (2, 2, 206.248)
    assert (second.links_up, second.links_total, second.numa_node) == (1, 2, 1)
    assert facts.topology["gpu0"] == {"gpu1": "NV18", "mlx5_0": "PIX"}
    assert (facts.driver, facts.processes) == ("550.90.07", ())
    assert facts.software == {"runtime": "12.4", "kernel_module": "open"}


def test_a_value_that_a_gpu_does_not_report_is_missing_with_the_reason():
    missing = parse().missing
    assert missing["gpus.1.remapped_rows"] == "nvidia-smi: shows no remapped.correctable"
    assert "gpus.0.remapped_rows" not in missing
    assert missing["gpus.*.compute_partition"] == "nvidia-smi: has no such value"
    refused = parse({"nvidia-smi-query": QUERY_TEXT.replace("Enabled, 0, 5", "[N/A], [N/A], 5")})
    assert refused.missing["gpus.*.ecc_uncorrected"] == (
        "nvidia-smi: ecc.errors.uncorrected.volatile.total reads '[N/A]'"
    )


def test_one_of_the_two_outputs_is_enough():
    refused = {"nvidia-smi-query": 'Field "mig.mode.current" is not a valid field to query.\n'}
    facts = parse(refused, {"nvidia-smi-query": 2})
    assert ("gpus" in facts.missing, len(facts.gpus), facts.driver) == (False, 2, "550.90.07")
    facts = parse({"nvidia-smi-q": XML[:400]})
    assert ("gpus" in facts.missing, len(facts.gpus)) == (False, 2)
    assert "the XML is malformed" in facts.missing["gpus.*.fabric"]
    facts = parse(refused | {"nvidia-smi-q": ""}, {"nvidia-smi-query": 2, "nvidia-smi-q": 9})
    assert facts.missing["gpus"].startswith("nvidia-smi-query: Field")


def test_a_gpu_that_is_in_one_output_only_is_a_problem_and_no_smaller_node():
    lost = QUERY_TEXT.replace(ROW.format(index=1, bus="90"), "")
    assert parse({"nvidia-smi-query": lost}).missing["gpus"].endswith("list the same GPUs")
    torn = parse({"nvidia-smi-query": QUERY_TEXT[:-40], "nvidia-smi-q": ""})
    assert "the table of GPUs is missing or incomplete" in torn.missing["gpus"]


def test_no_devices_is_a_valid_output():
    text = recorded("024-no-devices-found.txt")
    changes = {"nvidia-smi-query": text, "nvidia-smi-q": text}
    facts = parse(changes, dict.fromkeys(changes, 6))
    assert (facts.gpus, "gpus" in facts.missing) == ((), False)
    broken = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"
    changes = dict.fromkeys(changes, broken)
    facts = parse(changes, dict.fromkeys(changes, 9))
    assert "couldn't communicate" in facts.missing["gpus"]
    assert "couldn't communicate" in facts.missing["gpu_driver"]


def test_foreign_processes():
    row = "00000000:90:00.0, 4711, /opt/run python3, 63000 MiB\n"
    assert parse({"nvidia-smi-apps": APPS + row}).processes == (
        "GPU 1: /opt/run python3 (pid 4711, 63000 MiB)",
    )
    refused = parse({"nvidia-smi-apps": "refused"}, {"nvidia-smi-apps": 2})
    assert refused.processes == ("GPU 0: python3 (pid 7, 64 MiB)",)
    assert parse_compute_apps("") is None
    assert parse_compute_apps(APPS + "00000000:90:00.0, 4711\n") is None


@pytest.mark.parametrize(
    ("changes", "evidence"),
    [
        ({}, ("dma-buf",)),
        ({"kernel": "5.11.22"}, ()),
        ({"nvidia-module": OPEN.replace("Open Kernel", "x86_64 Kernel")}, ()),
        ({"kernel": "unknown"}, ()),
    ],
)
def test_dma_buf_needs_the_open_module_and_a_recent_kernel(changes, evidence):
    assert parse(changes).peer_memory == evidence


# --- recorded outputs ---


def test_xml_of_eight_h200():
    log = parse_log(recorded(H200))
    assert (log.driver, log.cuda, log.problem, log.processes) == ("595.71.05", "13.2", "", ())
    assert len(log.gpus) == 8
    facts = NVIDIA.parse({"nvidia-smi-q": Section("nvidia-smi-q", recorded(H200))})
    assert [gpu.memory_mib for gpu in facts.gpus] == [143771] * 8
    gpu = facts.gpus[0]
    assert (gpu.model, gpu.bus_id, gpu.power_limit_w) == ("NVIDIA H200", "0000:8f:00.0", 700.0)
    assert (gpu.remapped_rows, gpu.remap_pending, gpu.remap_failed) == (0, False, False)
    assert (gpu.clock_max_mhz, gpu.mig_enabled, gpu.pcie_gen) == (1980, False, 5)
    assert (gpu.fabric, gpu.vbios, gpu.power_default_w) == (
        "Completed, Success",
        "96.00.D9.00.02",
        700.0,
    )


def test_xml_with_a_history_of_errors():
    log = parse_log(recorded("021-q-x-xml-a100-2gpu-ecc-history.txt"))
    first, second = log.gpus
    assert (first["dram.corrected.aggregate"], first["remapped.correctable"]) == ("0", "0")
    assert (second["dram.corrected.aggregate"], second["remapped.correctable"]) == ("1529", "1")


@pytest.mark.parametrize(
    ("name", "driver", "gpus", "product", "memory"),
    [
        ("022-q-x-xml-m60-v12.txt", "535.183.01", 2, "Tesla M60", "7680 MiB"),
        ("023-q-x-xml-vgpu-a10-8q-v11.txt", "470.256.03", 1, "NVIDIA A10-8Q", "8020 MiB"),
    ],
)
def test_xml_of_other_generations(name, driver, gpus, product, memory):
    log = parse_log(recorded(name))
    assert (log.driver, log.problem, len(log.gpus)) == (driver, "", gpus)
    assert (log.gpus[0]["name"], log.gpus[0]["memory.total"]) == (product, memory)


def test_document_that_was_cut_to_one_of_four_gpus_says_so():
    log = parse_log(recorded("016-q-x-xml-a100-v12.txt"))
    assert (log.driver, log.gpus[0]["name"]) == ("535.54.03", "NVIDIA A100-SXM4-80GB")
    assert log.problem == "reports 4 attached GPUs but lists 1"


def test_text_with_remapped_rows():
    log = parse_log(recorded("013-q-ecc-remap-fragment-a100.txt"))
    gpu = log.gpus[0]
    assert (gpu["dram.corrected.aggregate"], gpu["remapped.correctable"]) == ("177", "1")
    assert (gpu["remapped.pending"], gpu["remapped.failure"]) == ("Yes", "No")
    assert log.problem == "reports 8 attached GPUs but lists 1"


def test_text_of_page_retirement():
    log = parse_log(recorded("014-q-page-retirement-ok.txt"))
    assert (log.problem, len(log.gpus)) == ("", 8)
    assert {gpu["retired.pending"] for gpu in log.gpus} == {"No"}


def test_nvlinks():
    assert parse_nvlink(recorded("006-nvlink-s-h100.txt")).links == {0: Links(18, 18, 212.496)}
    eight = parse_nvlink(recorded("009-nvlink-s-a100-8gpu.txt")).links
    assert eight == dict.fromkeys(range(8), Links(12, 12, 200.0))
    down = "GPU 0: x\nNVML: Unable to retrieve NVLink information as all links are inActive\n"
    assert parse_nvlink(down).links == {0: Links(0, None, None)}


@pytest.mark.parametrize("line", ["Link 0: Data Tx: 9 KiB", "Link 0, P2P is supported: true"])
def test_the_output_of_another_option_is_no_link_that_is_down(line):
    found = parse_nvlink(f"GPU 0: x\n\t {line}\n")
    assert (found.links, found.gpus) == ({}, ())
    assert line in found.problem
    errors = parse_nvlink("GPU 0: x\n\t Link 0: CRC Errors: 7\n")
    assert (errors.links, errors.errors) == ({}, {0: {"link0_crc_errors": 7}})


def test_topologies():
    one = parse_topology(recorded("005-topo-m-1gpu-ansi-escapes.txt"))
    assert (one.problem, one.cpus, one.numa_nodes) == ("", {"gpu0": "0-19"}, {"gpu0": 0})
    eight = parse_topology(recorded("010-topo-m-b200-8gpu-8nic.txt"))
    assert eight.problem == ""
    assert (eight.distances["gpu0"]["gpu1"], eight.distances["gpu0"]["mlx5_0"]) == ("NV18", "PIX")
    assert (eight.cpus["gpu0"], eight.numa_nodes["gpu7"]) == ("0-55,112-167", 1)
    bare = parse_topology(recorded("011-topo-m-a100-8gpu-no-nic.txt"))
    assert (bare.distances["gpu0"]["gpu1"], bare.cpus["gpu0"]) == ("NV12", "0-23")
    assert (bare.numa_nodes["gpu0"], bare.numa_nodes["gpu7"]) == (0, 1)


def test_query_keeps_every_column():
    log = parse_query(QUERY_TEXT)
    assert (log.problem, len(log.gpus), log.driver) == ("", 2, "550.90.07")
    assert set(log.gpus[0]) == {*QUERY, "clocks.sm"} - {"clocks.current.sm"}
