"""AMD: amd-smi and rocm-smi against recorded outputs, and the facts from both."""

from __future__ import annotations

import json

import pytest
from testing.places import SHARED

from railgauge.stacks import Section, stack
from railgauge.stacks import amd_smi as amd
from railgauge.stacks import rocm_smi as rocm

CORPUS = SHARED / "corpus"
AMD = stack("amd")
BUSES = ("0000:05:00.0", "0000:26:00.0")


def recorded(name):
    if not CORPUS.is_dir():
        pytest.skip("the recorded outputs are not beside this project (../shared)")
    return (CORPUS / name).read_text()


def value(number, unit):
    return {"value": number, "unit": unit}


def static(gpu):
    return {
        "gpu": gpu,
        "asic": {"market_name": "AMD Instinct MI300X"},
        "bus": {"bdf": BUSES[gpu], "max_pcie_width": 16, "max_pcie_speed": value(32, "GT/s")},
        "limit": {"max_power": value(750, "W"), "socket_power": value(750, "W")},
        "driver": {"name": "amdgpu", "version": "6.10.5"},
        "ras": {"ecc_block_state": {"UMC": "ENABLED", "SDMA": "ENABLED"}},
        "partition": {"compute_partition": "SPX", "memory_partition": "NPS1"},
        "numa": {"node": gpu, "affinity": gpu},
        "vbios": {"part_number": "113-M3000100-102", "version": "022.040.003.042.000001"},
        "vram": {"type": "HBM3", "size": value(196592, "MB")},
    }


def metric(gpu):
    return {
        "gpu": gpu,
        "clock": {"gfx_0": {"clk": value(132, "MHz"), "max_clk": value(2100, "MHz")}},
        "pcie": {"width": 16, "speed": value(32, "GT/s"), "bandwidth": "N/A"},
        "ecc": {"total_correctable_count": 2, "total_uncorrectable_count": gpu},
    }


def pages(gpu):
    none = "No bad pages found."
    bad = [{"page_address": "0x1", "page_size": "4096", "status": "RETIRED"}] * 3
    return {"gpu": gpu, "retired": bad if gpu else none, "pending": none, "un_res": none}


XGMI = """\
LINK METRIC TABLE:
       bdf          bit_rate max_bandwidth link_type 05:00.0 26:00.0
GPU0   05:00.0      32 Gb/s  512 Gb/s      XGMI
 Read                                                N/A     1259 KB
GPU1   26:00.0      32 Gb/s  512 Gb/s      XGMI
 Read                                                0 KB     N/A

XGMI LINK STATUS:
    bdf           link_status
GPU0   0000:05:00.0  U  U  U  U  U  U  U  X
GPU1   0000:26:00.0  U  U  U  U  D  U  U  X

* U:Up D:Down X:Disabled
"""
ROCM = {
    "card0": {
        "Device Name": "AMD Instinct MI300X",
        "PCI Bus": BUSES[0],
        "VRAM Total Memory (B)": "206141652992",
        "Max Graphics Package Power (W)": "750.0",
        "pcie clock level": "0 (8.0GT/s x16)",
        "(Topology) Numa Node": "0",
    },
    "card1": {"Card Series:": "AMD Instinct MI300X", "PCI Bus": BUSES[1]},
    "system": {
        "Driver version": "6.10.5",
        "PID104225": "python3, 1, 1073741824, 0, 0",
        "PID99": "exporter, 0, 0, 0, 0",
        "(Topology) Link type between DRM devices 0 and 1": "XGMI",
    },
}
SETTINGS = "CONFIG_DMABUF_MOVE_NOTIFY=y\nCONFIG_PCI_P2PDMA=y\n"
VERSION = "AMDSMI Tool: 24.6.2+2b02a07 | AMDSMI Library version: 24.6.2.0 | ROCm version: 6.2.0\n"
WHOLE = {
    "amd-smi-static": json.dumps([static(0), static(1)]),
    "amd-smi-metric": json.dumps({"gpu_data": [metric(0), metric(1)]}, indent=4),
    "amd-smi-bad-pages": json.dumps([pages(0), pages(1)]),
    "amd-smi-xgmi": XGMI,
    "amd-smi-version": VERSION,
    "rocm-smi": "\nWARNING: AMD GPU device(s) is/are in a low-power state.\n" + json.dumps(ROCM),
    "amd-dma-buf": SETTINGS,
}


def parse(changes=None, absent=()):
    texts = WHOLE | (changes or {})
    sections = {name: Section(name, text) for name, text in texts.items()}
    sections |= {n: Section(n, "sh: 1: amd-smi: not found\n", 127) for n in absent}
    return AMD.parse(sections)


def test_names():
    assert (AMD.collective_prefix, AMD.peer_memory) == ("NCCL", "amdkfd")
    assert AMD.perftest_memory_flags(3) == ("--use_rocm=3",)


def test_both_tools_make_one_gpu():
    facts = parse()
    first, second = facts.gpus
    assert (first.index, first.model, first.bus_id) == (0, "AMD Instinct MI300X", BUSES[0])
    assert (first.memory_mib, first.power_limit_w, second.numa_node) == (196592, 750.0, 1)
    assert (first.clock_max_mhz, first.vbios) == (2100, "022.040.003.042.000001")
    assert (first.ecc_enabled, first.ecc_uncorrected, second.ecc_uncorrected) == (True, 0, 1)
    assert (first.retired_pages, second.retired_pages) == (0, 3)
    assert (first.remap_pending, first.remap_failed) == (False, False)
    assert (first.pcie_gen, first.pcie_width, first.pcie_max_gen) == (5, 16, 5)
    assert (first.links_up, first.links_total, first.link_rate_gbps) == (7, 7, 512.0)
    assert (second.links_up, second.links_total) == (6, 7)
    assert (first.compute_partition, first.memory_partition) == ("SPX", "NPS1")
    assert (facts.driver, facts.software) == (
        "6.10.5",
        {"runtime": "6.2.0"},
    )
    assert facts.topology == {"gpu0": {"gpu1": "XGMI"}, "gpu1": {"gpu0": "XGMI"}}
    assert facts.processes == ("python3 (pid 104225, 1024 MiB)",)
    assert facts.peer_memory == ("dma-buf",)
    lacking = ("persistence_mode", "power_default_w", "remapped_rows", "mig_enabled", "fabric",
               "clock_mhz", "device_id")  # fmt: skip
    assert set(facts.missing) == {f"gpus.*.{name}" for name in lacking} | {
        "gpu_software.collective_library"
    }


def test_text_says_what_json_says():
    text = "GPU: 0\n    ECC:\n        TOTAL_UNCORRECTABLE_COUNT: 4\n    PCIE:\n        WIDTH: 8\n"
    assert amd.parse_gpus(text) == {0: {"ecc/total_uncorrectable_count": "4", "pcie/width": "8"}}
    assert parse({"amd-smi-metric": text}).gpus[0].ecc_uncorrected == 4


def test_the_older_tool_alone_gives_the_inventory():
    facts = parse(absent=[name for name in WHOLE if name.startswith("amd-smi")])
    first = facts.gpus[0]
    assert (first.model, first.bus_id, first.memory_mib) == (
        "AMD Instinct MI300X",
        BUSES[0],
        196592,
    )
    assert (first.power_limit_w, first.pcie_gen, first.pcie_width) == (750.0, 3, 16)
    assert "gpus" not in facts.missing
    assert facts.missing["gpus.*.ecc_uncorrected"] == "amd-smi: command not found (exit 127)"


def test_the_newer_tool_alone_does_not_show_who_uses_the_gpus():
    facts = parse(absent=["rocm-smi"])
    assert (len(facts.gpus), facts.driver) == (2, "6.10.5")
    assert {"gpu_processes", "topology"} <= set(facts.missing)


def test_a_node_without_both_tools_is_not_one_without_gpus():
    facts = parse(absent=WHOLE)
    assert facts.gpus == ()
    assert facts.missing["gpus"] == "amd-smi: command not found (exit 127)"


def test_lists_that_differ_are_a_problem():
    facts = parse({"amd-smi-static": json.dumps([static(0)])})
    assert facts.missing["gpus"] == "amd-smi and rocm-smi do not list the same GPUs"


def test_torn_json_is_no_json():
    assert amd.parse_gpus(WHOLE["amd-smi-metric"][:-30]) == {}
    torn = rocm.parse_json(WHOLE["rocm-smi"][:-30])
    assert (dict(torn.cards), torn.problem[:21]) == ({}, "the JSON is malformed")
    assert rocm.parse_json("[" * 100_000).problem == "prints no JSON"
    assert amd.parse_gpus("[{" * 100_000) == {}


@pytest.mark.parametrize("settings", ["", "CONFIG_PCI_P2PDMA=y\n", SETTINGS.replace("=y", "=m")])
def test_dma_buf_needs_both_settings_of_the_kernel(settings):
    assert parse({"amd-dma-buf": settings}).peer_memory == ()


# --- recorded outputs ---


def test_static():
    found = amd.parse_gpus(recorded("amd-smi/001-static-text.txt"))
    first = found[0]
    assert (len(found), first["asic/market_name"], first["bus/bdf"]) == (
        4,
        "MI300A",
        "0000:01:00.0",
    )
    assert (first["bus/max_pcie_width"], first["limit/max_power"]) == ("16", "550 W")
    assert first["vram/size"] == "64289 MB"
    nested = amd.parse_gpus(recorded("amd-smi/005-static-nested-text.txt"))[0]
    assert (nested["asic/market_name"], nested["asic/oam_id"]) == ("MI300X-O", "7")
    assert nested["bus/max_pcie_speed"] == "32 GT/s"


def test_list_and_metric():
    listed = amd.parse_gpus(recorded("amd-smi/004-list-text.txt"))
    assert (listed[0]["bdf"], listed[2]["bdf"]) == ("0000:05:00.0", "0000:46:00.0")
    measured = amd.parse_gpus(recorded("amd-smi/006-metric-text.txt"))[0]
    assert (measured["power/socket_power"], measured["usage/gfx_activity"]) == ("234 W", "100 %")
    assert measured["clock/gfx_0/clk"] == "2102 MHz"


def test_versions():
    versions = amd.parse_versions(recorded("amd-smi/002-default-mi300x-vf-7.2.1.txt"))
    assert (versions["rocm"], versions["amdgpu"]) == ("7.2.1", "6.16.13")


def test_bad_pages_and_links():
    gpu = amd.parse_gpus(recorded("amd-smi/011-bad-pages-none.txt"))[0]
    assert amd.bad_pages(gpu, "retired") == 0
    assert amd.bad_pages({}, "retired") is None
    links = amd.parse_xgmi(recorded("amd-smi/013-xgmi-link-metric.txt"))
    assert links[0] == amd.Xgmi(None, None, 512.0)


def test_json_of_rocm_5():
    log = rocm.parse_json(recorded("rocm-smi/003-json-mi100-rocm571.txt"))
    assert (log.problem, log.driver, log.processes) == ("", "6.2.4", ())
    assert (len(log.cards), log.cards[0]["bus_id"]) == (6, "0000:1E:00.0")
    assert log.links[(0, 1)] == "PCIE"
