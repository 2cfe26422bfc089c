"""The probe, run by sh on small trees, and the facts from its output."""

from __future__ import annotations

import shutil
import subprocess
import time

import pytest
from testing import programs

from railgauge.core.errors import FactMissing
from railgauge.facts import probe_script, require
from railgauge.facts.host import parse_machine_id
from railgauge.facts.model import GidFacts, GpuFacts, NicFacts
from railgauge.facts.probe import PROGRAMS, split_sections
from railgauge.stacks import stack

METAX = stack("metax")


def missing(facts):
    """The facts that could not be read, without those that mx-smi shows for no GPU."""
    return {path: why for path, why in facts.missing.items() if not path.startswith("gpus.*.")}


BIOS = "1.26.1.0"


def test_healthy_node_has_every_fact(node):
    facts = node.facts(METAX)
    assert missing(facts) == {}
    assert (facts.node, facts.hostname, facts.kernel) == (
        "mx01",
        "mx-sh-demo",
        "5.15.0-119-generic",
    )
    assert (facts.os, facts.cpus, facts.numa_nodes) == ("Ubuntu 22.04.4 LTS", 4, 2)
    assert facts.ofed == "24.10-1.1.4"
    assert (facts.cpus_present, facts.memory_mib, facts.bios) == (4, 1031875, "2.1.8")
    assert facts.cpu_model == "Intel(R) Xeon(R) Platinum 8480+"
    assert facts.clock_offset_s == 0
    assert facts.kernel_log == "41"
    assert facts.machine_id == parse_machine_id("4d3e0f6a9b1c4f7e8a2d5c6b7e8f9a0b\n")
    assert "4d3e0f6a9b1c4f7e8a2d5c6b7e8f9a0b" not in str(facts)
    assert (facts.governors, facts.cpu_boost) == (("performance",), True)
    assert facts.numa_balancing == 0
    assert facts.nvmes == ("nvme0n1", "nvme1n1")
    assert (facts.memlock, facts.modules) == ("unlimited", ("ib_core", "metax"))
    assert facts.memlock_config == ("hard unlimited", "soft unlimited")
    assert (facts.acs_enabled, facts.peer_memory) == ((), ("mxcd",))
    assert facts.gpus == (
        GpuFacts(0, "MetaX C500", "0000:08:00.0", 65536, 0, vbios=BIOS, power_limit_w=350.0),
        GpuFacts(1, "MetaX C500", "0000:09:00.0", 65536, 0, vbios=BIOS, power_limit_w=350.0),
    )
    assert facts.gpu_driver == "3.5.0"
    assert facts.gpu_software == {
        "runtime": "2.32.0.6", "collective_library": "libmccl.so of 4 bytes", "mm_kobj": "exported",
    }  # fmt: skip
    assert facts.topology["gpu0"] == {"gpu1": "MX", "mlx5_0": "PXB"}
    assert facts.gpu_topology == {"0": "X MX", "1": "MX X"}
    assert facts.gpu_processes == ()


def test_nic_comes_from_sysfs_and_tools(node):
    assert node.facts(METAX).nics == (
        NicFacts(
            name="mlx5_0",
            pci_address="0000:12:00.0",
            hca_type="MT4129",
            part_number="MCX75310AAS-NEAT",
            firmware="28.43.3608",
            numa_node=0,
            netdev="ib0",
            port_state="ACTIVE",
            physical_state="LinkUp",
            rate_gbps=400.0,
            link_layer="InfiniBand",
            active_mtu_bytes=4096,
            lid=954,
            sm_lid=1,
            pcie_speed_gts=32.0,
            pcie_width=16,
            gids=(GidFacts(0, "fe80:0000:0000:0000:a088:c203:005a:ab6c", None, "v1"),),
            node_guid="0xa088c203005aab6c",
        ),
    )


def test_nothing_is_read_outside_the_root(bare):
    facts = bare.facts(None)
    assert facts.hostname is None
    assert facts.missing["hostname"] == "/proc/sys/kernel/hostname: no such file"
    assert facts.missing["memlock"] == "/proc/self/limits: no such file"
    assert facts.missing["nics"] == "/sys/class: no such file"
    assert facts.missing["peer_memory"] == "/sys: no such file"
    assert facts.missing["cpus"] == "/sys/devices/system/cpu: no such file"
    assert facts.missing["gpus"] == "the platform declares no GPU stack"


@pytest.mark.parametrize("name", ["ro ot", "it's $(touch pwned) `x` *", "-n"])
def test_root_may_have_any_name(node, name):
    node.root.rename(node.root.parent / name)
    for rootfs in (name, f"{node.root.parent}/{name}/"):
        facts = node.facts(METAX, rootfs)
        assert (missing(facts), len(facts.nics)) == ({}, 1)
    assert not list(node.root.parent.glob("pwned"))


def test_slash_reads_the_real_host():
    assert probe_script("/", None, "n").startswith("R=''; N=n\n")


def test_no_hca_and_no_peer_memory_are_facts(node):
    shutil.rmtree(node.root / "sys/class/infiniband")
    shutil.rmtree(node.root / "sys/kernel/mm/memory_peers")
    facts = node.facts(METAX)
    assert (require(facts, "nics"), require(facts, "peer_memory")) == ((), ())


def test_peer_memory_without_version_file_does_not_count(node):
    (node.root / "sys/kernel/mm/memory_peers/mxcd/version").unlink()
    assert require(node.facts(METAX), "peer_memory") == ()


def test_missing_tools_are_named(node):
    for tool in ("mx-smi", "ibv_devinfo", "ibv_devices", "ibdev2netdev", "lspci"):
        (node.bin / tool).unlink()
    why = node.facts(METAX).missing
    assert why["gpus"] == why["topology"] == "mx-smi: command not found (exit 127)"
    assert why["acs_enabled"] == "lspci: command not found (exit 127)"
    assert why["nics.mlx5_0.active_mtu_bytes"] == "ibv_devinfo: command not found (exit 127)"
    assert why["nics.mlx5_0.part_number"] == "ibdev2netdev: command not found (exit 127)"
    assert why["nics.mlx5_0.node_guid"] == "ibv_devices: command not found (exit 127)"
    assert len(why) == 9


def test_a_program_in_a_folder_of_its_own_is_found(node, tmp_path):
    """What the login's PATH has under the same name comes second."""
    own = tmp_path / "it's own"
    own.mkdir()
    (own / "mx-smi").write_text("#!/bin/sh\necho from its folder\n")
    (own / "mx-smi").chmod(0o755)
    text = probe_script("root", METAX, "ab12", (str(own),))
    done = subprocess.run(
        ["sh", "-c", text],
        cwd=node.root.parent,
        env={"PATH": programs.node_path(node.bin, tmp_path / "basic")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert split_sections(done.stdout, "ab12")["mx-smi"].text == "from its folder"


def test_the_programs_that_tools_may_locate_are_those_of_the_probe():
    stacks = [stack(name) for name in ("nvidia", "amd", "metax")]
    text = "".join(probe_script("/", one, "ab12") for one in stacks)
    assert [name for name in PROGRAMS if f"{name} " not in text and f"{name}\n" not in text] == []


def test_a_failing_tool_gives_its_last_line(node):
    node.tool("mx-table", "| 0 MetaX C500 | 0000:08:00.0 | 0% |\nError: no driver is loaded\n", 9)
    facts = node.facts(METAX)
    assert facts.gpus == ()
    assert facts.missing["gpus"] == "mx-smi: Error: no driver is loaded (exit 9)"


def test_tool_that_hangs_is_cut_off_and_the_rest_goes_on(node):
    # The time limit is real; this test shortens it to save time.
    node.script("timeout", 'shift 3\nexec /usr/bin/timeout -k 1 0.3 "$@"\n')
    node.script("lspci", "sleep 30\n")
    facts = node.facts(METAX)
    assert missing(facts) == {"acs_enabled": "lspci: no answer within its time limit (exit 124)"}


def test_tools_are_limited_to_20_seconds(node):
    node.script("timeout", 'echo "$*" >>limits.txt\nshift 3\nexec "$@"\n')
    node.facts(METAX)
    limits = (node.root.parent / "limits.txt").read_text().splitlines()
    assert len(limits) == 9
    assert {line.split(" sh ")[0] for line in limits} == {"-k 5 20"}


def test_tool_that_reads_its_input_gets_none(node):
    node.script("ibdev2netdev", "echo end of input >&2; cat; exit 3\n")
    facts = node.facts(METAX)
    assert missing(facts) == {
        "nics.mlx5_0.part_number": "ibdev2netdev: end of input (exit 3)",
    }


@pytest.mark.parametrize(
    "text", ["odd name\n", "  odd name", "odd name  \n", "odd \\n name\n", "-n odd\n", "%s odd\n"]
)
def test_a_file_of_one_line_is_read_as_cat_reads_it(node, text):
    (node.root / "sys/class/dmi/id/bios_version").write_text(text)
    assert node.facts(METAX).bios == text.strip()


def test_a_file_of_one_line_that_is_empty_is_no_value(node):
    (node.root / "sys/class/dmi/id/bios_version").write_text("")
    facts = node.facts(METAX)
    assert facts.bios is None
    assert "bios" in facts.missing


def test_an_unreadable_file_of_one_line_gives_the_reason(node):
    path = node.root / "proc/sys/kernel/hostname"
    path.unlink()
    path.mkdir()
    facts = node.facts(METAX)
    assert facts.hostname is None
    assert "cat: " in facts.missing["hostname"]
    assert "Is a directory" in facts.missing["hostname"]


@pytest.mark.parametrize(
    ("file", "value", "boost"),
    [("intel_pstate/no_turbo", "1", False), ("cpufreq/boost", "0", False),
     ("cpufreq/boost", "1", True), ("cpufreq/boost", "yes", None), ("", "", None)],
)  # fmt: skip
def test_boost_is_read_from_the_driver_that_has_it(node, file, value, boost):
    cpu = node.root / "sys/devices/system/cpu"
    shutil.rmtree(cpu / "intel_pstate")
    if file:
        (cpu / file).parent.mkdir(exist_ok=True)
        (cpu / file).write_text(f"{value}\n")
    assert node.facts(METAX).cpu_boost is boost


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("* - memlock unlimited", ("hard unlimited", "soft unlimited")),
        ("*\thard\tmemlock\t64 # less", ("hard 64",)),
        ("@hpc soft memlock unlimited", ()),
        ("#* - memlock unlimited", ()),
        ("* soft\n* memlock", ()),
    ],
)
def test_limits_of_every_login_are_read_from_files(node, line, found):
    (node.root / "etc/security/limits.conf").unlink()
    (node.root / "etc/security/limits.d/99-hpc.conf").write_text(f"{line}\n")
    assert node.facts(METAX).memlock_config == found


def test_symbols_are_read_of_the_kernels_build_where_the_kernel_lists_none(node):
    (node.root / "proc/kallsyms").write_text("0000000000000000 T _text\n")
    assert "mm_kobj" not in node.facts(METAX).gpu_software
    release = (node.root / "proc/sys/kernel/osrelease").read_text().strip()
    built = node.root / "usr/src/kernels" / release / "Module.symvers"
    built.parent.mkdir(parents=True)
    built.write_text("0x037a0cba\tkfree\tvmlinux\tEXPORT_SYMBOL\n")
    assert node.facts(METAX).gpu_software["mm_kobj"] == "not exported"


def test_governors_are_distinct_and_sorted(node):
    node.write({"sys/devices/system/cpu/cpu2/cpufreq/scaling_governor": "powersave"})
    assert node.facts(METAX).governors == ("performance", "powersave")


def test_unreadable_governor_spoils_the_fact(node):
    path = node.root / "sys/devices/system/cpu/cpu2/cpufreq/scaling_governor"
    path.unlink()
    path.mkdir()
    facts = node.facts(METAX)
    assert facts.governors == ()
    assert "Is a directory" in facts.missing["governors"]


def test_cpus_are_counted_where_there_is_no_list(node):
    (node.root / "sys/devices/system/cpu/online").unlink()
    assert node.facts(METAX).cpus == 4


def test_access_denied_is_missing_with_the_remedy(node):
    node.tool("lspci", "11:00.0 PCI bridge: Broadcom\n\tCapabilities: <access denied>\n")
    with pytest.raises(FactMissing, match=r"mx01: .*access denied.*; log in as root"):
        require(node.facts(METAX), "acs_enabled")


def test_acs_names_the_bridge_even_if_others_are_off(node):
    node.tool("lspci", LSPCI_ON)
    assert require(node.facts(METAX), "acs_enabled") == ("0000:17:01.0",)


LSPCI_ON = """\
17:00.0 PCI bridge: Broadcom / LSI PEX890xx
\t\tACSCtl:\tSrcValid- TransBlk- ReqRedir-
17:01.0 PCI bridge: Broadcom / LSI PEX890xx
\t\tACSCap:\tSrcValid+ TransBlk+ ReqRedir+
\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+
"""


def test_part_number_from_the_product_data_where_ofed_is_absent(node):
    (node.bin / "ibdev2netdev").unlink()
    node.tool("lspci", "12:00.0 Infiniband: x\n\t\t\t[PN] Part number: MCX75310AAS-NEAT   \n")
    assert node.facts(METAX).nics[0].part_number == "MCX75310AAS-NEAT"


@pytest.mark.parametrize(
    ("file", "text", "fact", "reason"),
    [
        ("device__numa_node", "-1", "numa_node", "reads '-1'"),
        ("device__current_link_speed", "Unknown", "pcie_speed_gts", "reads 'Unknown'"),
        ("ports__1__rate", "", "rate_gbps", "no such file"),
        ("fw_ver", "N/A", "firmware", "reads 'N/A'"),
        ("fw_ver", "0.0.0", "firmware", "reads '0.0.0'"),
    ],
)
def test_an_odd_value_in_one_file_loses_one_fact(bare, file, text, fact, reason):
    bare.hca("mlx5_0", "0000:12:00.0", **{file: text})
    facts = bare.facts(None)
    path = f"nics.mlx5_0.{fact}"
    assert reason in facts.missing[path]
    with pytest.raises(FactMissing, match="mlx5_0"):
        require(facts, path)
    assert require(facts, "nics.mlx5_0.hca_type") == "MT4129"


def test_a_placeholder_version_is_none(bare):
    """All nodes of a series have the same such text, and would be alike."""
    bare.write({"sys/class/dmi/id/bios_version": "To be filled by O.E.M."})
    facts = bare.facts(None)
    assert facts.bios is None
    assert "To be filled" in facts.missing["bios"]


def test_lids_come_from_ibv_devinfo_where_sysfs_has_none(node):
    for name in ("lid", "sm_lid"):
        (node.root / f"sys/class/infiniband/mlx5_0/ports/1/{name}").unlink()
    nic = node.facts(METAX).nics[0]
    assert (nic.lid, nic.sm_lid) == (954, 1)


def test_show_gids_is_run_only_if_sysfs_has_no_table(node):
    node.tool(
        "show_gids", "mlx5_0\t1\t3\t0000:0000:0000:0000:0000:ffff:0a07:6011\t10.7.96.17\tv2\n"
    )
    assert [gid.index for gid in node.facts(METAX).nics[0].gids] == [0]
    shutil.rmtree(node.root / "sys/class/infiniband/mlx5_0/ports/1/gids")
    gid = GidFacts(3, "0000:0000:0000:0000:0000:ffff:0a07:6011", "10.7.96.17", "v2")
    assert node.facts(METAX).nics[0].gids == (gid,)


def test_roce_gids_have_addresses_and_versions(bare):
    mapped = "0000:0000:0000:0000:0000:ffff:0a07:6011"
    bare.hca("mlx5_2", "0000:57:00.0", "net1", ports__1__gids__3=mapped)
    bare.write({"sys/class/infiniband/mlx5_2/ports/1/gid_attrs/types/3": "RoCE v2"})
    gids = bare.facts(None).nics[0].gids
    assert gids[1:] == (GidFacts(3, mapped, "10.7.96.17", "v2"),)


def test_several_netdevs_are_left_to_ibdev2netdev(node):
    (node.root / "sys/class/infiniband/mlx5_0/device/net/ib0.8001").mkdir()
    assert node.facts(METAX).nics[0].netdev == "ib0"
    (node.bin / "ibdev2netdev").unlink()
    facts = node.facts(METAX)
    assert facts.nics[0].netdev is None
    assert "several: ib0, ib0.8001" in facts.missing["nics.mlx5_0.netdev"]


def test_hcas_keep_their_natural_order(bare):
    for i in (10, 2, 0):
        bare.hca(f"mlx5_{i}", f"0000:{i:02x}:00.0")
    assert [nic.name for nic in bare.facts(None).nics] == ["mlx5_0", "mlx5_2", "mlx5_10"]


def test_large_node_takes_well_under_a_second(node):
    files = {
        f"sys/devices/system/cpu/cpu{i}/cpufreq/scaling_governor": "performance" for i in range(224)
    }
    node.write(files | {"sys/devices/system/cpu/online": "0-223"})
    unset = {
        f"ports__1__gids__{i}": "0000:0000:0000:0000:0000:0000:0000:0000" for i in range(2, 256)
    }
    for i in range(1, 10):
        node.hca(f"mlx5_{i}", f"0000:{i + 32:02x}:00.0", **unset)
    durations_s = []
    for _ in range(3):
        started = time.perf_counter()
        output = node.run(METAX)
        durations_s.append(time.perf_counter() - started)
    assert len(output) < 32_000
    assert min(durations_s) < 10
    facts = node.facts(METAX)
    assert (facts.cpus, len(facts.nics)) == (224, 10)
