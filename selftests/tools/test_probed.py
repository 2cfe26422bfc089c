"""``railgauge parse`` for outputs of the survey's programs; ``parse auto`` finds the tool."""

import json

import pytest
from testing.parsed_outputs import errors, values
from testing.recorded_outputs import recorded

from railgauge import tools
from railgauge.cli import main
from railgauge.core.errors import BadInput
from railgauge.tools.finding import failure, find

IBSTAT = """\
CA 'mlx5_0'
\tCA type: MT4129
\tNumber of ports: 1
\tPort 1:
\t\tState: Active
\t\tPhysical state: LinkUp
\t\tRate: 400
\t\tLink layer: InfiniBand
CA 'mlx5_1'
\tCA type: MT4129
\tPort 1:
\t\tState: Down
\t\tPhysical state: Disabled
\t\tRate: 10
\t\tLink layer: InfiniBand
"""
DEVINFO = """\
hca_id: mlx5_0
\ttransport:\t\t\tInfiniBand (0)
\tfw_ver:\t\t\t\t28.39.1002
\tphys_port_cnt:\t\t\t1
\t\tport:\t1
\t\t\tstate:\t\t\tPORT_ACTIVE (4)
\t\t\tactive_mtu:\t\t4096 (5)
\t\t\tlink_layer:\t\tInfiniBand
"""
RDMA = """\
link mlx5_0/1 subnet_prefix fe80:0000:0000:0000 lid 3 sm_lid 1 lmc 0 state ACTIVE physical_state LINK_UP
link rocep1/1 state DOWN physical_state DISABLED netdev enp1s0
"""  # noqa: E501
ETHTOOL = """\
NIC statistics:
     rx_packets: 10
     rx_discards_phy: 58591428329
     [0] tx_bytes: 0
"""
LSPCI = """\
17:00.0 PCI bridge: Broadcom / LSI PEX890xx PCIe Gen 5 Switch (rev b0)
\tCapabilities: [100 v1] Access Control Services
\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-
18:00.0 Infiniband controller: Mellanox Technologies MT2910 Family [ConnectX-7]
\t\t[PN] Part number: MCX750500B-0D0K
"""
QUERY = """\
index, name, pci.bus_id, memory.total [MiB], driver_version
0, NVIDIA H200, 00000000:0F:00.0, 143771 MiB, 570.86.15
1, NVIDIA H200, 00000000:2D:00.0, 143771 MiB, 570.86.15
"""
NVLINK = """\
GPU 0: NVIDIA H200 (UUID: GPU-1)
\t Link 0: 26.562 GB/s
\t Link 1: <inactive>
"""
TOPOLOGY = "\tGPU0\tGPU1\nGPU0\t X \tNV18\nGPU1\tNV18\t X \n"
ROCM = json.dumps({"card0": {"Device ID": "0x74a1"}, "card1": {"Device ID": "0x74a1"}}, indent=4)
AMD = "GPU: 0\n    ASIC:\n        MARKET_NAME: MI300X\nGPU: 1\n    ASIC:\n        MARKET_NAME: X\n"
OUTPUTS = {
    "ibstat": (IBSTAT, {("ports_active", None): 1, ("rate", "mlx5_0/1"): 400}),
    "ibv_devinfo": (DEVINFO, {("ports_active", None): 1, ("ports_not_active", None): 0}),
    "rdma-link": (RDMA, {("ports_active", None): 1, ("ports_not_active", None): 1}),
    "ethtool": (ETHTOOL, {("rx_discards_phy", None): 58591428329, ("[0] tx_bytes", None): 0}),
    "lspci": (LSPCI, {("devices", None): 2, ("redirecting", None): 1}),
    "nvidia-smi": (QUERY, {("gpus", None): 2}),
    "rocm-smi": (ROCM, {("gpus", None): 2}),
    "amd-smi": (AMD, {("gpus", None): 2}),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_outputs_of_the_survey_are_read_from_a_file(name):
    text, expected = OUTPUTS[name]
    parsed = tools.tool(name).parse(text)
    assert not parsed.errors
    assert expected.items() <= values(parsed).items()


@pytest.mark.parametrize("name", OUTPUTS)
def test_each_output_is_found_by_its_tool_alone(name):
    text, _ = OUTPUTS[name]
    assert find(text, "x").tool == name


@pytest.mark.parametrize("text", [NVLINK, TOPOLOGY, "No devices were found\n"])
def test_other_outputs_of_nvidia_smi_are_read(text):
    assert find(text, "x").tool == "nvidia-smi"


def test_a_gpu_or_port_that_is_printed_twice_is_no_second_one():
    for name in ("ibstat", "ibv_devinfo", "rdma-link", "ethtool", "amd-smi"):
        text, _ = OUTPUTS[name]
        assert "several-tables" in errors(tools.tool(name).parse(text + text)), name


@pytest.mark.parametrize("name", [name for name in OUTPUTS if name != "rocm-smi"])
def test_an_incomplete_last_line_is_reported(name):
    text, _ = OUTPUTS[name]
    assert tools.tool(name).parse(text[:-4]).errors


def test_tables_for_people_give_a_remedy():
    table = "+-----+\n| NVIDIA-SMI 570.86.15    Driver Version: 570.86.15 |\n+-----+\n"
    (problem,) = tools.tool("nvidia-smi").parse(table).errors
    assert "nvidia-smi -q" in problem.message


def test_a_port_without_its_state_is_an_error():
    text = IBSTAT.replace("\t\tState: Active\n", "")
    assert "truncated" in errors(tools.tool("ibstat").parse(text))


# --- finding the tool ---


def answer(text):
    """The tool that is found, or the reason why none is."""
    try:
        return find(text, "x"), ""
    except BadInput as error:
        return None, str(error)


@pytest.mark.parametrize(("name", "path"), recorded())
def test_the_tool_of_every_recorded_output_is_found(name, path):
    text = path.read_text(encoding="utf-8", errors="replace")
    expected = tools.tool(name).parse(text)
    own, (found, refused) = failure(expected), answer(text)
    assert found == expected or not (found or expected.samples)
    assert found or own is None or f"{name} ({own.kind}: {own.message[:40]}" in refused


@pytest.mark.parametrize("text", ["", "hello\n", "0 1 2 3\n", "a: 1\nb: 2\n", "{}", '{"a": 1}'])
def test_nothing_is_found_in_another_text(text):
    with pytest.raises(BadInput, match="no tool's output is in this text"):
        find(text, "x")


def test_two_outputs_in_one_text_are_not_decided(tmp_path, capsys):
    path = tmp_path / "both.log"
    path.write_text(IBSTAT + RDMA)
    assert main(["parse", "auto", str(path)]) == 2
    err = capsys.readouterr().err
    assert "ibstat" in err
    assert "rdma-link" in err
    assert len(err.strip().splitlines()) <= 2


def test_the_command_finds_the_tool_behind_a_prefix(tmp_path, capsys):
    path = tmp_path / "one.log"
    path.write_text("".join(f"node003: {line}\n" for line in IBSTAT.splitlines()))
    assert main(["parse", "auto", str(path)]) == 0
    assert json.loads(capsys.readouterr().out)["tool"] == "ibstat"


def test_a_file_of_powershell_is_read(tmp_path, capsys):
    path = tmp_path / "utf16.log"
    path.write_bytes(IBSTAT.encode("utf-16"))
    assert main(["parse", "ibstat", str(path)]) == 0
    assert json.loads(capsys.readouterr().out)["samples"]
