"""The probe on nodes with NVIDIA and AMD GPUs: diagnostics, peer memory, netdevs, interrupts."""

from __future__ import annotations

import shutil

import pytest

from railgauge.core.errors import FactMissing
from railgauge.facts import require
from railgauge.facts.model import IrqFacts, NetdevFacts
from railgauge.stacks import stack

NVIDIA, AMD, METAX = stack("nvidia"), stack("amd"), stack("metax")
QUERY = """\
index, name, pci.bus_id, memory.total [MiB], driver_version, persistence_mode, power.limit [W]
0, NVIDIA H100 80GB HBM3, 00000000:04:00.0, 81559 MiB, 535.129.03, Enabled, 700.00 W
"""
NVIDIA_SMI = """\
case "$*" in
  --query-gpu=*) exec smi-query ;;
  --query-compute-apps=*) echo 'gpu_bus_id, pid, process_name, used_gpu_memory [MiB]' ;;
  'topo -m') printf '\\tGPU0\\tCPU Affinity\\tNUMA Affinity\\nGPU0\\t X \\t0-51,104-155\\t0\\n' ;;
  'nvlink -s') printf 'GPU 0: x\\n\\t Link 0: 26.562 GB/s\\n' ;;
  *) echo 'Invalid combination of input arguments.'; exit 2 ;;
esac
"""


@pytest.fixture
def gpus(node):
    """The healthy node with one more NVIDIA GPU."""
    node.script("nvidia-smi", NVIDIA_SMI)
    node.tool("smi-query", QUERY)
    node.write({"proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module"})
    return node


def process(node, pid, comm, arguments=""):
    node.write({f"proc/{pid}/comm": comm})
    cmdline = node.root / f"proc/{pid}/cmdline"
    cmdline.write_text(arguments.replace(" ", "\0") + ("\0" if arguments else ""))


def test_the_gpus_are_read_from_the_query(gpus):
    facts = gpus.facts(NVIDIA)
    assert require(facts, "gpus.0.model") == "NVIDIA H100 80GB HBM3"
    assert require(facts, "gpus.0.bus_id") == "0000:04:00.0"
    assert require(facts, "gpus.0.persistence_mode") is True
    assert (require(facts, "gpus.0.links_up"), require(facts, "gpus.0.numa_node")) == (1, 0)
    assert require(facts, "gpu_processes") == ()
    with pytest.raises(FactMissing, match="Invalid combination"):
        require(facts, "gpus.0.remapped_rows")
    assert facts.gpu_software == {"kernel_module": "proprietary"}


def test_diagnostics_are_foreign_processes(gpus):
    process(gpus, 4711, "nvvs", "/usr/libexec/nvvs --configless")
    process(gpus, 4712, "dcgmi", "dcgmi diag -r eud")
    process(gpus, 4713, "dcgmi", "dcgmi dmon -e 203")
    process(gpus, 4714, "nvvs-not")
    process(gpus, 4715, "specializediag")
    assert sorted(require(gpus.facts(NVIDIA), "gpu_processes")) == [
        "/usr/libexec/nvvs --configless (pid 4711): a GPU diagnostic",
        "dcgmi diag -r eud (pid 4712): a GPU diagnostic",
        "specializediag (pid 4715): a GPU diagnostic",
    ]


def test_diagnostics_are_found_without_their_arguments(gpus):
    gpus.write({"proc/4711/comm": "dcgmi"})
    assert gpus.facts(NVIDIA).gpu_processes == ("dcgmi (pid 4711): a GPU diagnostic",)


def test_arguments_with_line_ends_stay_one_process(gpus):
    process(gpus, 4711, "nvvs", "nvvs -j {\n  4712/comm:nvvs\n}")
    assert len(gpus.facts(NVIDIA).gpu_processes) == 1


def test_processes_without_proc_are_unknown(gpus):
    shutil.rmtree(gpus.root / "proc")
    assert gpus.facts(NVIDIA).missing["gpu_processes"] == "/proc: no such file"


def test_other_vendors_look_for_no_diagnostic_of_nvidia(node):
    process(node, 4711, "nvvs")
    assert node.facts(METAX).gpu_processes == ()
    process(node, 4712, "rvs", "rvs -c gst_single.conf")
    assert node.facts(AMD).gpu_processes == ("rvs -c gst_single.conf (pid 4712): a GPU diagnostic",)


def test_module_is_evidence_of_peer_memory(gpus):
    assert require(gpus.facts(NVIDIA), "peer_memory") == ("mxcd",)
    gpus.write({"proc/modules": "nvidia_peermem 16384 0 - Live 0x0000000000000000"})
    assert NVIDIA.peer_memory in require(gpus.facts(NVIDIA), "peer_memory")
    assert require(gpus.facts(METAX), "peer_memory") == ("mxcd",)
    gpus.write({"proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX Open Kernel Module for x"})
    assert "dma-buf" in require(gpus.facts(NVIDIA), "peer_memory")


def test_kernel_settings_are_evidence_of_dma_buf(node):
    settings = "CONFIG_DMABUF_MOVE_NOTIFY=y\nCONFIG_X=y\nCONFIG_PCI_P2PDMA=y"
    node.write({"boot/config-5.15.0-119-generic": settings})
    assert require(node.facts(AMD), "peer_memory") == ("dma-buf", "mxcd")


def test_a_tool_that_hangs_is_not_run_again(gpus):
    gpus.script("timeout", 'shift 3\nexec /usr/bin/timeout -k 1 0.3 "$@"\n')
    gpus.script("nvidia-smi", 'echo "$*" >>asked.txt\nsleep 30\n')
    facts = gpus.facts(NVIDIA)
    assert len((gpus.root.parent / "asked.txt").read_text().splitlines()) == 1
    assert "no answer within its time limit" in facts.missing["gpus"]
    assert "not run: nvidia-smi-query did not answer" in facts.missing["topology"]


def test_hanging_lspci_does_not_silence_the_gpu_tools(gpus):
    gpus.script("timeout", 'shift 3\nexec /usr/bin/timeout -k 1 1 "$@"\n')
    gpus.script("lspci", "sleep 30\n")
    assert "gpus" not in gpus.facts(NVIDIA).missing


# --- gVNICs of document 003 ---


def gvnic(node, name, pci, numa, irqs, **changes):
    device = node.root / "sys/devices/pci0000:00" / pci
    (device / "msi_irqs").mkdir(parents=True)
    link = node.root / "sys/class/net" / name
    link.mkdir(parents=True)
    (link / "device").symlink_to(f"../../../devices/pci0000:00/{pci}")
    (device / "driver").symlink_to("../../../bus/pci/drivers/gve")
    (node.root / "sys/bus/pci/drivers/gve").mkdir(parents=True, exist_ok=True)
    files = {"operstate": "up", "speed": "200000", "mtu": "8244", "device/numa_node": str(numa)}
    node.write({f"sys/class/net/{name}/{path}": text for path, text in (files | changes).items()})
    for irq, cpu in irqs.items():
        (device / "msi_irqs" / str(irq)).touch()
        node.write({f"proc/irq/{irq}/smp_affinity_list": str(cpu)})


def test_netdevs_without_rdma_are_read(bare):
    gvnic(bare, "eth1", "0000:06:00.0", 0, {})
    gvnic(bare, "eth10", "0000:86:00.0", 1, {}, speed="-1")
    bare.write({"sys/class/net/lo/mtu": "65536", "sys/class/net/lo/operstate": "unknown"})
    facts = bare.facts(None)
    assert facts.netdevs[0] == NetdevFacts("eth1", "0000:06:00.0", "gve", 0, "up", 200.0, 8244)
    assert [netdev.name for netdev in facts.netdevs] == ["eth1", "eth10"]
    assert facts.missing["netdevs.eth10.rate_gbps"] == "/sys/class/net/eth10/speed: reads '-1'"
    with pytest.raises(FactMissing, match="reads '-1'"):
        require(facts, "netdevs.eth10.rate_gbps")


def test_netdev_without_links_is_read_from_its_uevent(bare):
    device = "sys/class/net/eth1/device"
    bare.write({f"{device}/uevent": "DRIVER=gve\nPCI_SLOT_NAME=0000:06:00.0"})
    netdev = bare.facts(None).netdevs[0]
    assert (netdev.driver, netdev.pci_address) == ("gve", "0000:06:00.0")
    assert (netdev.state, netdev.mtu_bytes) == (None, None)


def test_interrupts_of_document_003_are_read(bare):
    gvnic(bare, "eth1", "0000:06:00.0", 0, {79 + i: 1 + i for i in range(16)})
    gvnic(bare, "eth3", "0000:86:00.0", 1, {145 + i: 33 + i for i in range(16)})
    assert bare.facts(None).irqs == (IrqFacts("eth1", 16, "1-16"), IrqFacts("eth3", 16, "33-48"))


def test_the_effective_affinity_counts_if_the_kernel_reports_it(bare):
    gvnic(bare, "eth1", "0000:06:00.0", 0, {79: "0-207", 80: "0-207"})
    bare.write({"proc/irq/79/effective_affinity_list": "5"})
    bare.write({"proc/irq/80/effective_affinity_list": "7"})
    assert require(bare.facts(None), "irqs.eth1.cpus") == "5,7"


def test_no_interrupts_and_no_netdevs_are_facts(node):
    facts = node.facts(None)
    assert (require(facts, "irqs"), require(facts, "netdevs")) == ((), ())


def test_cpus_of_the_numa_nodes_are_read(bare):
    folder = "sys/devices/system/node"
    bare.write({f"{folder}/node0/cpulist": "0-51,104-155", f"{folder}/node1/cpulist": ""})
    assert require(bare.facts(None), "numa_cpus") == {"0": "0-51,104-155", "1": ""}
