"""GPU stacks: the contract, and mx-smi against recorded outputs."""

from __future__ import annotations

import subprocess
import sys

import pytest
from testing.places import SHARED
from testing.printed_tables import MX_228

from railgauge.core.errors import BadInput
from railgauge.stacks import GpuFacts, Section, stack
from railgauge.stacks.metax import parse_gpus, parse_mm_kobj, parse_processes
from railgauge.stacks.readings import value
from railgauge.stacks.topology import parse_topology

TABLE_223 = "transcripts/metax-mx-smi.txt"
TABLE_229 = "corpus/mx-smi/001-plain-c500-8gpu-2.2.9.txt"
TOPO = "transcripts/metax-mx-smi-topo.txt"


def text(name):
    path = SHARED / name
    if not path.is_file():
        pytest.skip("the recorded outputs are not beside this project (../shared)")
    return path.read_text()


def metax(table, topo="", code=0):
    mccl = Section("metax-mccl", "libmccl.so 41230336\n")
    symbols = Section("mm-kobj", "__ksymtab_kfree\n__ksymtab_mm_kobj\n")
    sections = {
        "mx-smi": Section("mx-smi", table, code), "metax-mccl": mccl, "mm-kobj": symbols,
    }  # fmt: skip
    return stack("metax").parse(sections | {"mx-smi-topo": Section("mx-smi-topo", topo)})


def missing(facts):
    """The facts that could not be read, without those that mx-smi shows for no GPU."""
    return {path: why for path, why in facts.missing.items() if not path.startswith("gpus.*.")}


def test_unknown_vendor_names_the_known_ones():
    with pytest.raises(BadInput, match=r"unknown GPU vendor 'voodoo'; known vendors: .*metax"):
        stack("voodoo")


def test_vendors_are_imported_late():
    code = "import sys, railgauge.stacks; print('railgauge.stacks.metax' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_metax_names():
    metax = stack("metax")
    assert (metax.name, metax.collective_prefix, metax.peer_memory) == ("metax", "MCCL", "mxcd")
    assert metax.perftest_memory_flags(4) == ("--use_maca=4",)
    assert all(" " not in name for name in metax.probe_commands)


def c500(index, bus_id, **values):
    return GpuFacts(index, "MetaX C500", bus_id, 65536, 0, power_limit_w=350.0, **values)


def test_table_of_2_2_3():
    facts = metax(text(TABLE_223), text(TOPO))
    assert missing(facts) == {}
    assert len(facts.gpus) == 8
    assert facts.gpus[0] == c500(0, "0000:08:00.0", vbios="1.26.1.0")
    assert facts.gpus[7] == c500(7, "0000:3c:00.0", vbios="1.26.1.0")
    assert facts.driver == "3.5.0"
    assert facts.software == {
        "runtime": "2.32.0.6", "collective_library": "libmccl.so of 41230336 bytes",
        "mm_kobj": "exported",
    }  # fmt: skip
    assert facts.processes == ()


@pytest.mark.parametrize(
    ("printed", "exported"),
    [
        ("__ksymtab_kfree\n__ksymtab_mm_kobj\n", "exported"),
        ("__ksymtab_kfree\n", "not exported"),
        ("0x4b1c5d2a\tmm_kobj\tvmlinux\tEXPORT_SYMBOL_GPL\n0x037a0cba\tkfree\tvmlinux\tEXPORT_SYMBOL\n",
         "exported"),
        ("0x037a0cba\tkfree\tvmlinux\tEXPORT_SYMBOL\t\n", "not exported"),
        ("", None),
        ("grep: Module.symvers: No such file or directory\n", None),
    ],
)  # fmt: skip
def test_whether_the_kernel_exports_mm_kobj(printed, exported):
    """Document 000, 5.2: RHEL 9.4 lists the symbol, 9.6 does not."""
    assert parse_mm_kobj(printed) == exported


def test_table_of_2_2_9():
    facts = metax(text(TABLE_229), text(TOPO))
    assert missing(facts) == {}
    assert [gpu.index for gpu in facts.gpus] == list(range(8))
    assert facts.gpus[3] == c500(
        3, "0000:12:00.0", vbios="1.30.0.0", persistence_mode=False, mig_enabled=False
    )
    assert (facts.driver, facts.software["runtime"]) == ("3.4.4", "3.3.0.15")


def test_two_gpus_on_one_board_keep_their_own_numbers():
    table = text(TABLE_229).replace("| 1     MetaX C500 | 1 ", "| 0     MetaX C500 | 1 ")
    assert [gpu.index for gpu in parse_gpus(table)] == list(range(8))


def without(table, bus_id, lines=2):
    every = table.splitlines(keepends=True)
    at = next(at for at, line in enumerate(every) if bus_id in line)
    return "".join(every[:at] + every[at + lines :])


def test_a_lost_gpu_is_not_a_smaller_node():
    facts = metax(without(text(TABLE_223), "0000:11:00.0"))
    assert len(facts.gpus) == 7
    assert facts.missing["gpus"] == "mx-smi: reports 8 attached GPUs but lists 7"


def test_a_lost_row_gives_no_gpu_the_values_of_another():
    facts = metax(without(text(TABLE_223), "0000:11:00.0", lines=1))
    assert facts.gpus == ()
    assert "lists 0: a GPU has other lines than the heading" in facts.missing["gpus"]


def test_node_that_reports_seven_gpus_has_seven():
    lost = without(text(TABLE_223), "0000:11:00.0")
    facts = metax(
        lost.replace("Attached GPUs                                     : 8", "Attached GPUs : 7")
    )
    assert "gpus" not in facts.missing
    assert 3 not in [gpu.index for gpu in facts.gpus]


def test_a_gpu_that_cannot_be_used_is_an_error_of_its_node():
    assert "gpus" not in metax(MX_228).missing
    (gpu,) = metax(MX_228).gpus
    assert (gpu.model, gpu.power_limit_w, gpu.persistence_mode) == ("MetaX C500", 350.0, True)
    bad = metax(MX_228.replace("Available  ", "Unavailable"))
    assert bad.missing["gpus"] == "mx-smi: GPU 0 is Unavailable"


def test_processes():
    rows = (
        "| Process:                                                      |\n"
        "|  GPU                    PID         Process Name     GPU Memory |\n"
        "|                                                    Usage(MiB)  |\n"
        "|  0                   4711         python3.10 -m x    63000      |\n"
        "|  7                   4712         ib_write_bw        858        |\n"
    )
    assert parse_processes(rows) == (
        "GPU 0: python3.10 -m x (pid 4711, 63000 MiB)",
        "GPU 7: ib_write_bw (pid 4712, 858 MiB)",
    )
    assert parse_processes(rows.partition("|  0 ")[0]) is None
    assert parse_processes("") is None


def test_failed_tool_gives_no_facts_at_all():
    facts = metax(text(TABLE_223), code=1)
    assert (facts.gpus, facts.driver) == ((), None)
    assert set(facts.software) == {"collective_library", "mm_kobj"}  # mx-smi shows neither
    assert {"gpus", "gpu_driver", "gpu_software.runtime", "gpu_processes"} <= set(facts.missing)


def test_topology_of_document_000():
    found = parse_topology(text(TOPO))
    assert found.problem == ""
    assert [found.distances[f"gpu{i}"]["mlx5_0"] for i in range(5)] == [
        "PXB",
        "PXB",
        "PXB",
        "PIX",
        "NODE",
    ]
    assert found.distances["gpu4"]["mlx5_1"] == "PIX"
    assert found.distances["gpu0"]["gpu1"] == "MX"
    assert "gpu0" not in found.distances["gpu0"]


def test_topology_of_six_nics():
    found = parse_topology(text("corpus/mx-smi/003-topo-n-8gpu-6nic.txt"))
    assert (found.problem, found.distances["gpu0"]["mlx5_0"]) == ("", "PIX")
    assert found.distances["gpu0"]["mlx5_4"] == "SYS"


def test_topology_without_nics():
    found = parse_topology(text("corpus/mx-smi/002-topo-m-8gpu.txt"))
    assert (found.problem, found.distances["gpu0"]["gpu4"]) == ("", "NODE")


def test_topology_of_one_gpu():
    found = parse_topology("\tGPU0\tCPU Affinity\nGPU0\t X \t0-3\n")
    assert (found.problem, found.distances) == ("", {"gpu0": {}})


@pytest.mark.parametrize(
    ("whole", "torn", "problem"),
    [
        ("  NIC1: mlx5_1\n", "", "the legend does not name NIC1"),
        ("GPU5    NODE", "GPU5", "no complete row for GPU5"),
        ("GPU6    NODE ", "GPU6 X ", "no complete row for GPU6"),
        (
            "MX      NODE    PXB     NODE    0   ",
            "MX      NODE    0   ",
            "no complete row for GPU5",
        ),
        ("Device link type matrix\n        GPU0", "Device", "no matrix of devices was printed"),
    ],
)
def test_torn_topology_says_so(whole, torn, problem):
    assert whole in text(TOPO)
    found = parse_topology(text(TOPO).replace(whole, torn, 1))
    assert found.problem == problem


@pytest.mark.parametrize(
    "text",
    [
        *("", "N/A", "[N/A]", "None", "unknown", "ERR!", "Not Supported", "[Not Supported]"),
        *("[Unknown Error]", "[GPU requires reset]", "[Insufficient Permissions]", "[Not Found]"),
    ],
)
def test_a_text_that_says_that_there_is_no_value_is_none(text):
    """Nodes that all print it would be alike."""
    assert value(text) is None
    assert value(f"{text}1.26") == f"{text}1.26"
