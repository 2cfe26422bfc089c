"""A tool that did something other than planned is an error that names both."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from testing.lab_bench import Bench
from testing.saying import ToolRun, run_tools

from railgauge.core.errors import OtherThanAsked, Unparsable
from railgauge.core.model import Pairing

GPU3 = Pairing("mlx5_0", 3, "near")


@pytest.fixture(scope="module")
def runs(
    metax: Bench, homelab: Bench, h200: Bench, mi300x: Bench, tcpx: Bench
) -> dict[str, ToolRun]:
    """One healthy run of each tool with the GPUs of each vendor."""
    nic, pair = Pairing("mlx5_0"), ("h200-01", "h200-02")
    return {
        "maca": run_tools(metax, "gpu_write_bandwidth", ("mx01", "mx02"), GPU3),
        "mccl": run_tools(metax, "pair_all_reduce", ("mx01", "mx02")),
        "mccl node": run_tools(metax, "node_all_reduce", ("mx01",)),
        "one gpu": run_tools(metax, "pair_all_reduce_one_gpu", ("mx01", "mx02")),
        "vllm": run_tools(metax, "node_serving", ("mx01",)),
        "send 4": run_tools(homelab, "host_send_bandwidth_4qp", ("viper", "columbia"), nic),
        "read": run_tools(homelab, "host_read_bandwidth", ("viper", "columbia"), nic),
        "latency": run_tools(homelab, "host_send_latency", ("viper", "columbia"), nic),
        "cuda": run_tools(h200, "gpu_write_bandwidth", pair, GPU3),
        "both ways": run_tools(h200, "host_write_bandwidth_bidirectional", pair, nic),
        "nccl": run_tools(h200, "pair_all_reduce", pair),
        "alltoall": run_tools(h200, "pair_alltoall", pair),
        "nvbandwidth": run_tools(h200, "gpu_host_bandwidth", ("h200-01",)),
        "rocm": run_tools(mi300x, "gpu_write_bandwidth", ("mi01", "mi02"), GPU3),
        "rccl": run_tools(mi300x, "node_all_reduce", ("mi01",)),
        "graph": run_tools(mi300x, "node_all_reduce_graph", ("mi01",)),
        "transferbench": run_tools(mi300x, "gpu_link_bandwidth", ("mi01",)),
        "iperf3": run_tools(tcpx, "host_tcp_bandwidth", ("tcpx01", "tcpx02"), Pairing("eth1")),
    }


def test_healthy_runs_agree_with_what_was_planned(runs: dict[str, ToolRun]) -> None:
    shown = {name: run.read().runs[0].not_shown for name, run in runs.items()}
    assert {name: items for name, items in shown.items() if items} == {
        "vllm": ("request rate", "model"),  # an unlimited rate is not printed
        "nccl": ("GPUs of the nodes",),
        "alltoall": ("GPUs of the nodes",),
    }


# Run, pattern and replacement in the client's output, text of the error.
CLIENT_CHANGES = [
    # perftest
    ("maca", r"Device  ( *): mlx5_0", r"Device  \1: mlx5_1", "device: asked for mlx5_0, the tool"),
    ("maca", r"RDMA_Write BW", "RDMA_Read BW", "asked for ib_write_bw, the tool says ib_read_bw"),
    ("maca", r"Write BW", "Write Bidirectional BW", "the tool says ib_write_bw both ways"),
    ("both ways", r"Bidirectional ", "", "asked for ib_write_bw both ways, the tool says ib_write"),
    ("maca", r"qps   : 1 ", "qps   : 16", "queue pairs: asked for 1, the tool says 16"),
    ("send 4", r"qps   : 4", "qps   : 1", "queue pairs: asked for 4, the tool says 1"),
    ("maca", r"type : RC", "type : UD", "connection: asked for RC, the tool says UD"),
    ("maca", r"Mtu  .*", "Mtu             : 256[B]", "MTU: asked for 4096, the tool says 256"),
    ("maca", r"Link type  .*", "Link type       : Ethernet", "asked for IB, the tool says Ether"),
    ("maca", r"MACA memory : ON", "MACA memory : OFF", "asked for maca, the tool says host"),
    ("maca", r"Device with ID: 3", "Device with ID: 0", "GPU: asked for 3, the tool says 0"),
    ("maca", r"Name: MetaX C500", "Name: MetaX C280", "GPU model: asked for MetaX C500, the tool"),
    ("maca", r"PCI Bus ID: 0x11", "PCI Bus ID: 0x8", "PCI bus of the GPU: asked for 0x11,"),
    ("cuda", r"Picking device No\. 3|dev = 3", "dev = 0", "GPU: asked for 3, the tool says 0"),
    ("cuda", r"^(?:.*CUDA|Picking|\[pid|cuMemAlloc|allocated).*$", "", "asked for cuda, the tool"),
    ("rocm", r"Device with ID: 3", "Device with ID: 0", "GPU: asked for 3, the tool says 0"),
    ("rocm", r"ROCm memory : ON", "ROCm memory : OFF", "asked for rocm, the tool says host"),
    ("read", r"\A", "initializing CUDA\n", "memory: asked for host, the tool says cuda"),
    ("maca", r" 5000 ", " 5    ", "iterations: asked for 5000, the tool says 5"),
    ("latency", r" 1000 ", " 10 ", "iterations: asked for 1000, the tool says 10"),
    ("send 4", r"relax order: OFF", "relax order: ON", "ordering: asked for False, the tool says"),
    # No line names a queue pair, so that the second table may be the other side's.
    ("maca", r"(?s:(\A.*?)local address.*?( #bytes.*))\Z", r"\1\n\2\n\2", "tables: asked for 1"),
    ("maca", r"^( 8388608 .*)$", r"\1\n\1", "asked for one for each size, the tool says 2 of 8MiB"),
    # collective tests
    ("mccl", r"  float  ", "   int8  ", "data type: asked for float, the tool says int8"),
    ("mccl node", r"bfloat16", "    int8", "data type: asked for bfloat16, the tool says int8"),
    ("nccl", r" sum ", " max ", "reduction: asked for sum, the tool says max"),
    ("mccl", r"warmup iters: 5", "warmup iters: 0", "asked for 1 or more, the tool says 0"),
    ("nccl", r"warmup iters: 5", "warmup iters: 1", "warm-up iterations: asked for 5, the tool"),
    ("mccl", r" iters: 10", " iters: 1", "iterations: asked for 10, the tool says 1"),
    ("mccl", r"agg iters: 1", "agg iters: 8", "aggregated iterations: asked for 1, the tool"),
    ("nccl", r"graph: 0", "graph: 1", "graph: asked for off, the tool says on"),
    ("nccl", r"validation: 1", "validation: 0", "validation: asked for on, the tool says off"),
    ("nccl", r" 0( +[0-9.]+ +[0-9.]+ +[0-9.]+) +0$", r" N/A\1 N/A", "the tool says 0 of"),
    ("alltoall", r"alltoall_perf", "all_gather_perf", "collective: asked for alltoall, the tool"),
    ("mccl", r"device +\d+ \[0x..\]", "device  0 [0x08]", "8 ranks on the GPU at 0x08"),
    ("nccl", r"device +\d+ \[.*?\]", "device  0 [0000:08:00]", "8 ranks on the GPU at 0000:08:00"),
    ("mccl", r"\[0x..\]", "[0x08]", "the tool says 8 ranks on the GPU at 0x08"),
    ("mccl", r"\[0x08\]", "[0x99]", "the tool says 0x99"),
    ("one gpu", r"\[0x08\]", "[0x99]", "the tool says 0x99"),
    ("one gpu", r"CPUs 0,112", "CPUs 0-223", "cores of the ranks: asked for one for each rank"),
    ("one gpu", r"core 0,112", "core none", "whose core the node does not show"),
    ("one gpu", r"railgauge: rank 0 of mx02.*\n", "", "1 of 2 ranks print where they run"),
    ("one gpu", r"railgauge: rank.*\n", "", "the tool says no rank prints where it runs"),
    ("one gpu", r"0,112", "56,168", "which are not those of NUMA node 0 (0-55,112-167)"),
    ("mccl", r"MetaX C500", "MetaX C280", "GPU model: asked for MetaX C500, the tool says MetaX"),
    ("rccl", r"MI300X", "MI210", "GPU model: asked for AMD Instinct MI300X, the tool says AMD"),
    ("mccl", r"on mx02 ", "on mx09 ", "asked for mx01, mx02, the tool says mx01, mx09"),
    ("mccl node", r"on mx01 ", "on mx02 ", "ranks: asked for mx01, the tool says mx02"),
    ("mccl", r"on mx02 ", "on mx01 ", "asked for 16 GPUs (8 on each of 2 nodes)"),
    # the other tools
    ("nvbandwidth", r"NVIDIA H200", "NVIDIA H20", "asked for NVIDIA H200, the tool says"),
    ("nvbandwidth", r"device_to_host_memcpy_ce", "host_to_host_memcpy_ce", "test cases: asked for"),
    ("nvbandwidth", r',\n.*"7: NVIDIA.*', "", "GPUs: asked for 8, the tool says 7"),
    ("nvbandwidth", r"\(h200-01\)", "(h200-02)", "host: asked for h200-01, the tool says h200-02"),
    ("transferbench", r"67108864", "33554432", "bytes per transfer: asked for 67108864, the tool"),
    ("transferbench", r"using 8 CUs", "using 4 CUs", "compute units: asked for 8, the tool says"),
    ("iperf3", r'"protocol":\t"TCP"', '"protocol":\t"UDP"', "protocol: asked for TCP, the tool"),
    ("iperf3", r'"reverse":\t0', '"reverse":\t1', "asked for the client, the tool says the server"),
    ("iperf3", r'"duration":\t10', '"duration":\t1', "seconds: asked for 10, the tool says 1"),
    ("iperf3", r'"omit":\t0', '"omit":\t5', "omitted seconds: asked for 0, the tool says 5"),
    ("vllm", r"^(Maximum request concurrency:.*)$", r"\1\nRequest rate configured (RPS):   8.00",
     "request rate: asked for inf, the tool says 8.00"),
    ("vllm", r"(concurrency: +)32", r"\g<1>64", "concurrency: asked for 32, the tool says 64"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "pattern", "by", "says"), CLIENT_CHANGES)
def test_a_client_output_that_differs_from_the_plan_is_an_error(
    runs: dict[str, ToolRun], name: str, pattern: str, by: str, says: str
) -> None:
    run = runs[name].edited(pattern, by)
    with pytest.raises(OtherThanAsked, match=re.escape(says)) as caught:
        run.read()
    assert caught.value.kind == "other-than-asked"
    assert caught.value.where.startswith(f"{run.outputs[0].node}: ")


def test_a_client_output_that_is_there_twice_is_of_two_runs(runs: dict[str, ToolRun]) -> None:
    with pytest.raises(Unparsable, match="several runs in one output"):
        runs["maca"].edited(r"\A(?s:(.*))\Z", r"\1\n\1").read()


# The same for the server's output, which is the second one.
SERVER_CHANGES = [
    ("maca", r"Device  ( *): mlx5_0", r"Device  \1: mlx5_1", "device of the server: asked for"),
    ("maca", r"MACA memory : ON", "MACA memory : OFF", "memory of the server: asked for maca"),
    ("maca", r"Device with ID: 3", "Device with ID: 0", "GPU of the server: asked for 3"),
    ("maca", r"RDMA_Write", "Send", "operation of the server: asked for ib_write_bw, the tool"),
    ("maca", r"Mtu  .*", "Mtu             : 1024[B]", "MTU of the server: asked for 4096"),
    ("both ways", r"Bidirectional ", "", "operation of the server: asked for ib_write_bw both"),
    ("send 4", r"qps   : 4", "qps   : 1", "queue pairs of the server: asked for 4"),
]


@pytest.mark.parametrize(("name", "pattern", "by", "says"), SERVER_CHANGES)
def test_a_server_output_that_differs_from_the_plan_is_an_error(
    runs: dict[str, ToolRun], name: str, pattern: str, by: str, says: str
) -> None:
    run = runs[name].edited(pattern, by, at=1)
    with pytest.raises(OtherThanAsked, match=re.escape(says)) as caught:
        run.read()
    assert caught.value.where.startswith(f"{run.outputs[1].node}: ")


def halved(match: re.Match[str]) -> str:
    """The row with all bandwidths halved."""
    figures = [f"{float(word) / 2:.{len(word.partition('.')[2])}f}" for word in match[2].split()]
    return f"{match[1]}{'   '.join(figures)}"


@pytest.mark.parametrize("name", ["maca", "send 4", "read"])
def test_a_server_table_that_contradicts_the_clients_is_an_error(
    runs: dict[str, ToolRun], name: str
) -> None:
    run = runs[name]
    server = run.outputs[1]
    text = re.sub(
        r"^( \d+ +\d+ +)([\d.]+\s+[\d.]+\s+[\d.]+)\s*$", halved, server.stdout, flags=re.M
    )
    assert text != server.stdout
    changed = replace(run, outputs=(run.outputs[0], replace(server, stdout=text)))
    with pytest.raises(OtherThanAsked, match="of the server: asked for the client's value at "):
        changed.read()


def test_another_number_of_streams_is_an_error(runs: dict[str, ToolRun]) -> None:
    """Fewer streams carry less payload."""
    run = runs["iperf3"].edited(r'"num_streams":\t16', '"num_streams":\t8')
    with pytest.raises(OtherThanAsked, match="streams: asked for 16, the tool says 8"):
        run.read()


def test_streams_that_share_one_thread_are_an_error(runs: dict[str, ToolRun]) -> None:
    run = runs["iperf3"].edited(r"iperf 3\.17\.1", "iperf 3.15")
    says = re.escape("threads: asked for 16, the tool says 1 (iperf 3.15; install 3.16)")
    with pytest.raises(OtherThanAsked, match=says):
        run.read()


@pytest.mark.parametrize("name", ["maca", "send 4"])
def test_an_empty_server_output_is_no_error(runs: dict[str, ToolRun], name: str) -> None:
    run = runs[name]
    silent = replace(run, outputs=(run.outputs[0], replace(run.outputs[1], stdout="")))
    assert silent.read().runs[0].not_shown == ()


def test_values_that_are_not_printed_are_listed_as_not_shown(runs: dict[str, ToolRun]) -> None:
    run = runs["maca"].edited(r"^ (Mtu|Link type) .*\n", "")
    assert run.read().runs[0].not_shown == ("link layer", "MTU")


def test_a_table_without_its_header_does_not_prove_gpu_memory(runs: dict[str, ToolRun]) -> None:
    with pytest.raises(OtherThanAsked, match="memory: asked for maca, the tool says nothing about"):
        runs["maca"].edited(r"\A(?s:.*?)(?= #bytes)", "").read()


def test_the_smaller_port_decides_the_mtu(runs: dict[str, ToolRun]) -> None:
    """A wrong MTU of a port is judged in preflight and is no error of the tool."""
    run = runs["maca"]
    for side in (0, 1):
        run = run.edited(r"Mtu  .*", "Mtu             : 2048[B]", at=side)
    found = dict(run.found)
    nics = tuple(replace(nic, active_mtu_bytes=2048) for nic in found["mx02"].nics)
    replace(run, found={**found, "mx02": replace(found["mx02"], nics=nics)}).read()
    with pytest.raises(OtherThanAsked, match="MTU: asked for 4096, the tool says 2048"):
        replace(run, found={}).read()


def test_hosts_are_compared_with_the_surveyed_host_names(runs: dict[str, ToolRun]) -> None:
    run = runs["mccl"]
    renamed = {node: replace(facts, hostname=f"gpu-{node}") for node, facts in run.found.items()}
    with pytest.raises(OtherThanAsked, match="asked for gpu-mx01, gpu-mx02, the tool says mx01"):
        replace(run, found=renamed).read()
    nameless = {node: replace(facts, hostname=None) for node, facts in run.found.items()}
    assert replace(run, found=nameless).read().runs[0].not_shown == ("hosts of the ranks",)


def test_each_process_may_number_its_only_gpu_0(runs: dict[str, ToolRun]) -> None:
    """A launcher may show each process its own GPU only; the PCI addresses tell them apart."""
    run = runs["mccl"].edited(r"device +\d+ \[", "device  0 [")
    assert run.read().runs[0].not_shown == ()


def test_short_addresses_that_are_all_alike_do_not_identify_gpus(runs: dict[str, ToolRun]) -> None:
    """Each GPU has the bus 00 in its own PCI domain, and each process numbers its GPU 0."""
    run = runs["mccl"].edited(r"device +\d+ \[0x..\]", "device  0 [0x00]")
    gpus = {
        node: tuple(replace(gpu, bus_id=f"{gpu.index + 1:04x}:00:00.0") for gpu in facts.gpus)
        for node, facts in run.found.items()
    }
    found = {node: replace(facts, gpus=gpus[node]) for node, facts in run.found.items()}
    assert replace(run, found=found).read().runs[0].not_shown == ("GPU of each rank",)
