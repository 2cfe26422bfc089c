"""A tool that did something else than it was asked to is an error, and the error says both."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from testing.lab_bench import Bench
from testing.saying import Said, play

from railgauge.core.errors import OtherThanAsked
from railgauge.core.model import Pairing

GPU3 = Pairing("mlx5_0", 3, "near")


@pytest.fixture(scope="module")
def runs(metax: Bench, homelab: Bench, h200: Bench, mi300x: Bench, tcpx: Bench) -> dict[str, Said]:
    """One healthy run of each tool, on each vendor's GPUs."""
    nic, pair = Pairing("mlx5_0"), ("h200-01", "h200-02")
    return {
        "maca": play(metax, "gpu_write_bandwidth", ("mx01", "mx02"), GPU3),
        "mccl": play(metax, "pair_all_reduce", ("mx01", "mx02")),
        "mccl node": play(metax, "node_all_reduce", ("mx01",)),
        "one gpu": play(metax, "pair_all_reduce_one_gpu", ("mx01", "mx02")),
        "vllm": play(metax, "node_serving", ("mx01",)),
        "send 4": play(homelab, "host_send_bandwidth_4qp", ("viper", "columbia"), nic),
        "read": play(homelab, "host_read_bandwidth", ("viper", "columbia"), nic),
        "latency": play(homelab, "host_send_latency", ("viper", "columbia"), nic),
        "cuda": play(h200, "gpu_write_bandwidth", pair, GPU3),
        "both ways": play(h200, "host_write_bandwidth_bidirectional", pair, nic),
        "nccl": play(h200, "pair_all_reduce", pair),
        "alltoall": play(h200, "pair_alltoall", pair),
        "nvbandwidth": play(h200, "gpu_host_bandwidth", ("h200-01",)),
        "rocm": play(mi300x, "gpu_write_bandwidth", ("mi01", "mi02"), GPU3),
        "rccl": play(mi300x, "node_all_reduce", ("mi01",)),
        "graph": play(mi300x, "node_all_reduce_graph", ("mi01",)),
        "transferbench": play(mi300x, "gpu_link_bandwidth", ("mi01",)),
        "iperf3": play(tcpx, "host_tcp_bandwidth", ("tcpx01", "tcpx02"), Pairing("eth1")),
    }


def test_what_was_asked_for_is_what_is_said(runs: dict[str, Said]) -> None:
    shown = {name: said.read().runs[0].not_shown for name, said in runs.items()}
    assert {name: items for name, items in shown.items() if items} == {
        "vllm": ("request rate", "model"),  # no limit of the rate is not printed
        "nccl": ("GPUs of the nodes",),
        "alltoall": ("GPUs of the nodes",),
    }


# Run, what is changed in the client's output, what the error must say.
LIES = [
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
    ("maca", r"\A(?s:(.*))\Z", r"\1\n\1", "tables: asked for 1, the tool says 2"),
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


@pytest.mark.parametrize(("name", "pattern", "by", "says"), LIES)
def test_what_the_output_says_and_was_not_asked_for(
    runs: dict[str, Said], name: str, pattern: str, by: str, says: str
) -> None:
    said = runs[name].edited(pattern, by)
    with pytest.raises(OtherThanAsked, match=re.escape(says)) as caught:
        said.read()
    assert caught.value.kind == "other-than-asked"
    assert caught.value.where.startswith(f"{said.run[0].node}: ")


# The same of the server's output, which is the second one.
SERVERS = [
    ("maca", r"Device  ( *): mlx5_0", r"Device  \1: mlx5_1", "device of the server: asked for"),
    ("maca", r"MACA memory : ON", "MACA memory : OFF", "memory of the server: asked for maca"),
    ("maca", r"Device with ID: 3", "Device with ID: 0", "GPU of the server: asked for 3"),
    ("maca", r"RDMA_Write", "Send", "operation of the server: asked for ib_write_bw, the tool"),
    ("maca", r"Mtu  .*", "Mtu             : 1024[B]", "MTU of the server: asked for 4096"),
    ("both ways", r"Bidirectional ", "", "operation of the server: asked for ib_write_bw both"),
    ("send 4", r"qps   : 4", "qps   : 1", "queue pairs of the server: asked for 4"),
]


@pytest.mark.parametrize(("name", "pattern", "by", "says"), SERVERS)
def test_what_the_server_says_counts_too(
    runs: dict[str, Said], name: str, pattern: str, by: str, says: str
) -> None:
    said = runs[name].edited(pattern, by, at=1)
    with pytest.raises(OtherThanAsked, match=re.escape(says)) as caught:
        said.read()
    assert caught.value.where.startswith(f"{said.run[1].node}: ")


def halved(match: re.Match[str]) -> str:
    """A row of bandwidths, as a link of half the speed would give it."""
    figures = [f"{float(word) / 2:.{len(word.partition('.')[2])}f}" for word in match[2].split()]
    return f"{match[1]}{'   '.join(figures)}"


@pytest.mark.parametrize("name", ["maca", "send 4", "read"])
def test_a_table_of_the_server_that_contradicts_the_clients(
    runs: dict[str, Said], name: str
) -> None:
    said = runs[name]
    server = said.run[1]
    text = re.sub(
        r"^( \d+ +\d+ +)([\d.]+\s+[\d.]+\s+[\d.]+)\s*$", halved, server.stdout, flags=re.M
    )
    assert text != server.stdout
    lied = replace(said, run=(said.run[0], replace(server, stdout=text)))
    with pytest.raises(OtherThanAsked, match="of the server: asked for the client's value at "):
        lied.read()


def test_streams_that_nobody_asked_for(runs: dict[str, Said]) -> None:
    """Fewer streams carry less: a start that announces eight is not what was asked for."""
    said = runs["iperf3"].edited(r'"num_streams":\t16', '"num_streams":\t8')
    with pytest.raises(OtherThanAsked, match="streams: asked for 16, the tool says 8"):
        said.read()


def test_streams_that_share_one_thread(runs: dict[str, Said]) -> None:
    said = runs["iperf3"].edited(r"iperf 3\.17\.1", "iperf 3.15")
    said_so = re.escape("threads: asked for 16, the tool says 1 (iperf 3.15; install 3.16)")
    with pytest.raises(OtherThanAsked, match=said_so):
        said.read()


@pytest.mark.parametrize("name", ["maca", "send 4"])
def test_a_server_that_says_nothing_denies_nothing(runs: dict[str, Said], name: str) -> None:
    said = runs[name]
    silent = replace(said, run=(said.run[0], replace(said.run[1], stdout="")))
    assert silent.read().runs[0].not_shown == ()


def test_what_is_not_printed_is_named_and_not_assumed(runs: dict[str, Said]) -> None:
    said = runs["maca"].edited(r"^ (Mtu|Link type) .*\n", "")
    assert said.read().runs[0].not_shown == ("link layer", "MTU")


def test_a_table_alone_does_not_say_where_the_payload_lay(runs: dict[str, Said]) -> None:
    with pytest.raises(OtherThanAsked, match="memory: asked for maca, the tool says nothing about"):
        runs["maca"].edited(r"\A(?s:.*?)(?= #bytes)", "").read()


def test_the_smaller_port_decides_the_mtu(runs: dict[str, Said]) -> None:
    """A port that was found with another MTU is preflight's to judge, and no lie of the tool."""
    said = runs["maca"]
    for side in (0, 1):
        said = said.edited(r"Mtu  .*", "Mtu             : 2048[B]", at=side)
    found = dict(said.found)
    nics = tuple(replace(nic, active_mtu_bytes=2048) for nic in found["mx02"].nics)
    replace(said, found={**found, "mx02": replace(found["mx02"], nics=nics)}).read()
    with pytest.raises(OtherThanAsked, match="MTU: asked for 4096, the tool says 2048"):
        replace(said, found={}).read()


def test_hosts_are_compared_with_the_names_that_the_survey_found(runs: dict[str, Said]) -> None:
    said = runs["mccl"]
    renamed = {node: replace(facts, hostname=f"gpu-{node}") for node, facts in said.found.items()}
    with pytest.raises(OtherThanAsked, match="asked for gpu-mx01, gpu-mx02, the tool says mx01"):
        replace(said, found=renamed).read()
    assert replace(said, found={}).read().runs[0].not_shown == ("hosts of the ranks",)


def test_one_gpu_a_process_may_have_the_number_0_in_each(runs: dict[str, Said]) -> None:
    """A launcher that shows each process its own GPU: the addresses tell them apart."""
    said = runs["mccl"].edited(r"device +\d+ \[", "device  0 [")
    assert said.read().runs[0].not_shown == ()


def test_short_addresses_of_several_domains_tell_nothing(runs: dict[str, Said]) -> None:
    """Each GPU is 00 in a PCI domain of its own, and each process calls its own one 0."""
    said = runs["mccl"].edited(r"device +\d+ \[0x..\]", "device  0 [0x00]")
    gpus = {
        node: tuple(replace(gpu, bus_id=f"{gpu.index + 1:04x}:00:00.0") for gpu in facts.gpus)
        for node, facts in said.found.items()
    }
    found = {node: replace(facts, gpus=gpus[node]) for node, facts in said.found.items()}
    assert replace(said, found=found).read().runs[0].not_shown == ("GPU of each rank",)
