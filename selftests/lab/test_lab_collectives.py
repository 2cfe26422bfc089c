"""The simulated collectives agree with the documents' tables and are consistent."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

import pytest
from testing.lab_bench import Bench, StartLab, transcript

TUNED = (
    "-x", "NCCL_MIN_NCHANNELS=32", "-x", "NCCL_IB_QPS_PER_CONNECTION=4",
    "-x", "NCCL_P2P_NET_CHUNKSIZE=524288", "-x", "NCCL_IGNORE_CPU_AFFINITY=1",
)  # fmt: skip
BOUND = (
    "-x", "NCCL_GPUDIRECTTCPX_TX_BINDINGS=eth1:8-21,112-125;eth2:8-21,112-125;"
    "eth3:60-73,164-177;eth4:60-73,164-177",
    "-x", "NCCL_GPUDIRECTTCPX_RX_BINDINGS=eth1:22-35,126-139;eth2:22-35,126-139;"
    "eth3:74-87,178-191;eth4:74-87,178-191",
)  # fmt: skip
FACTORS = {
    "all_reduce": lambda n: 2 * (n - 1) / n,
    "all_gather": lambda n: (n - 1) / n,
    "reduce_scatter": lambda n: (n - 1) / n,
    "alltoall": lambda n: (n - 1) / n,
    "sendrecv": lambda n: 1.0,
    "broadcast": lambda n: 1.0,
    "reduce": lambda n: 1.0,
}
WITHIN = 0.02
LAST_DIGIT = 0.0101


@dataclass(frozen=True)
class Row:
    size: int
    sides: tuple[tuple[float, float, float], tuple[float, float, float]]


def table(text: str) -> list[Row]:
    """Rows with or without ``root``, ``redop`` and ``#wrong``; columns are counted from the end."""
    found = []
    for line in text.splitlines():
        words = line.lstrip("#").split()
        if len(words) < 9 or not words[0].isdigit() or not words[1].isdigit():
            continue
        each = 4 if words[-1] in ("0", "N/A") and len(words) > 10 else 3
        first, second = words[-2 * each :][:3], words[-each:][:3]
        found.append(Row(int(words[0]), (_numbers(first), _numbers(second))))
    return found


def _numbers(words: list[str]) -> tuple[float, float, float]:
    time_us, algbw, busbw = map(float, words)
    return time_us, algbw, busbw


def over(bench: Bench, nodes: int, each: int, *more: str) -> tuple[str, ...]:
    hosts = ",".join(f"{node.name}:{each}" for node in bench.nodes[:nodes])
    return ("mpirun", "-np", str(nodes * each), "--host", hosts, *more)


def sweep(bench: Bench, argv: tuple[str, ...], words: str) -> str:
    ran = bench.run(0, *argv, *words.split())
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def assert_alike(printed: str, document: str) -> None:
    """Compares each row of the document, in its order: both times and both bandwidths."""
    mine, real = table(printed), table(document)
    assert [row.size for row in mine][: len(real)] == [row.size for row in real]
    # shown with -s or after a failure: lab against document
    print(f"{'size':>12} {'time':>10} {'document':>10} {'busbw':>8} {'document':>8}")  # noqa: T201
    for ours, theirs in zip(mine, real, strict=False):
        for side in (0, 1):
            a, b = ours.sides[side], theirs.sides[side]
            print(f"{ours.size:>12} {a[0]:>10.2f} {b[0]:>10.2f} {a[2]:>8.2f} {b[2]:>8.2f}")  # noqa: T201
            assert a[0] == pytest.approx(b[0], rel=WITHIN)
            assert a[1:] == pytest.approx(b[1:], rel=WITHIN, abs=LAST_DIGIT)


def average(text: str) -> float:
    match = re.search(r"Avg bus bandwidth +: ([\d.]+)", text)
    assert match
    return float(match[1])


MCCL_ARGS = "all_reduce_perf -b 1K -e 1G -f 2 -g 1 -n 10"


@pytest.mark.parametrize(
    ("name", "nodes", "each"),
    [
        ("metax-mccl-allreduce-1node-8gpu-healthy.txt", 1, 8),
        ("metax-mccl-allreduce-2node-16gpu-healthy.txt", 2, 8),
        ("metax-mccl-allreduce-2node-16gpu-no-gdr.txt", 2, 8),
        ("metax-mccl-allreduce-2node-2gpu-no-gdr.txt", 2, 1),
    ],
)
def test_tables_of_metax_agree_with_the_document(
    start_lab: StartLab, name: str, nodes: int, each: int
) -> None:
    bench = start_lab("metax-c500", *(["gdr-disabled"] if "no-gdr" in name else []))
    dtype = "bfloat16" if nodes == 1 else "float"
    printed = sweep(bench, over(bench, nodes, each), f"{MCCL_ARGS} -d {dtype}")
    real = transcript(name)
    assert_alike(printed, real)
    assert average(printed) == pytest.approx(average(real), rel=1e-4)
    headings = [line for line in real.splitlines() if line.startswith("#  ") and "Rank" not in line]
    for line in headings[:3]:
        assert line.rstrip() in [mine.rstrip() for mine in printed.splitlines()]
    rows = [re.sub(r"\d", "9", x) for x in printed.splitlines() if re.match(r"# +\d", x)]
    theirs = [re.sub(r"\d", "9", x) for x in real.splitlines() if re.match(r"# +\d", x)]
    misprinted = 1 if "16gpu-no-gdr" in name else 0
    assert sum(a != b for a, b in zip(rows, theirs, strict=True)) == misprinted


@pytest.mark.parametrize(
    ("name", "graph"),
    [
        ("mi300x-rccl-allreduce-8gpu.txt", ""),
        ("mi300x-rccl-allreduce-8gpu-graph.txt", "-G 1"),
    ],
)
def test_tables_of_mi300x_agree_with_the_document(mi300x: Bench, name: str, graph: str) -> None:
    words = f"all_reduce_perf -b 8 -e 16G -f 2 -g 1 {graph}"
    printed = sweep(mi300x, over(mi300x, 1, 8), words)
    real = transcript(name)
    assert_alike(printed, real)
    assert average(printed) == pytest.approx(average(real), rel=1e-3)
    layout = [re.sub(r"[\d.]", "9", x).strip() for x in printed.splitlines() if "float" in x]
    expected = [re.sub(r"[\d.]", "9", x).strip() for x in real.splitlines() if "float" in x]
    assert layout == expected


@pytest.mark.parametrize(
    ("name", "nodes", "tuned"),
    [
        ("h200-nccl-allreduce-8g-baseline.txt", 4, TUNED),
        ("h200-nccl-allreduce-8g-tuned.txt", 2, TUNED),
        ("h200-nccl-allreduce-8g-untuned.txt", 4, ()),
    ],
)
def test_rows_of_h200_agree_with_the_document(
    h200: Bench, name: str, nodes: int, tuned: tuple[str, ...]
) -> None:
    """The document's rows in order; with fewer nodes the busbw agrees, the times do not."""
    printed = sweep(h200, over(h200, nodes, 8, *tuned), "all_reduce_perf -b 8G -e 8G -N 5")
    mine, real = table(printed), table(transcript(name))
    usual = [row for row in real if row.sides[0][2] > 300]
    for ours, theirs in zip(mine, usual, strict=False):
        for side in (0, 1):
            assert ours.sides[side][2] == pytest.approx(theirs.sides[side][2], rel=WITHIN)
            if nodes == 4:
                assert ours.sides[side] == pytest.approx(theirs.sides[side], rel=WITHIN)
    assert len(mine) == 5


def test_the_health_check_of_h200_agrees_with_the_document(h200: Bench) -> None:
    printed = sweep(h200, over(h200, 1, 8), "all_reduce_perf -b 8G -e 8G -g 1")
    assert table(printed)[0].sides[0][2] == pytest.approx(482.559, rel=1e-4)


def test_rows_with_background_diagnostics_agree_with_the_document(start_lab: StartLab) -> None:
    bench = start_lab("h200", "background-diagnostics", nodes=4)
    words = "all_reduce_perf -b 8G -e 8G -n 1 -N 4"
    real = transcript("h200-nccl-allreduce-8g-eud.txt").splitlines()[:7]
    assert_alike(sweep(bench, over(bench, 4, 8, *TUNED), words), "\n".join(real))


def test_a_mean_of_many_iterations_hides_the_swing_of_single_ones(start_lab: StartLab) -> None:
    """Document 001: 170 GB/s with ``-i 1000``, and 33 to 390 GB/s for single iterations."""
    bench = start_lab("h200", "background-diagnostics", nodes=4)
    single = sweep(bench, over(bench, 4, 8, *TUNED), "all_reduce_perf -b 8G -e 8G -n 1 -N 20")
    busbw = [side[2] for each in table(single) for side in each.sides]
    assert min(busbw) == pytest.approx(33, rel=WITHIN)
    assert max(busbw) == pytest.approx(390, rel=WITHIN)
    (row,) = table(sweep(bench, over(bench, 4, 8, *TUNED), "all_reduce_perf -b 8G -e 8G -n 1000"))
    assert [side[2] for side in row.sides] == pytest.approx([170, 170], rel=WITHIN)


def test_average_and_peak_of_tcpx_agree_with_the_document(tcpx: Bench) -> None:
    printed = sweep(tcpx, over(tcpx, 2, 8, *BOUND), "all_reduce_perf -b 8 -e 1G -f 2")
    time_us, algbw, busbw = table(printed)[-1].sides[0]
    assert average(printed) == pytest.approx(19.176, rel=1e-4)
    assert (algbw, busbw) == (41.79, 78.35)
    assert time_us == pytest.approx(2**30 / 41.79e3, rel=1e-3)


def test_traffic_of_tcpx_agrees_with_the_document(tcpx: Bench) -> None:
    """Document 003 gives no number of iterations; 61 of them move its 128.9 GB per NIC."""

    def counted(key: str) -> list[int]:
        text = [tcpx.run(1, "ethtool", "-S", f"eth{i}").stdout for i in range(1, 5)]
        return [int(re.findall(rf" {key}: (\d+)", one)[0]) for one in text]

    before, packets = counted("rx_bytes"), counted("rx_devmem_pkts")
    sweep(tcpx, over(tcpx, 2, 8, *BOUND), "all_reduce_perf -b 8 -e 1G -f 2 -n 61 -w 5")
    moved = [b - a for a, b in zip(before, counted("rx_bytes"), strict=True)]
    into_gpus = [b - a for a, b in zip(packets, counted("rx_devmem_pkts"), strict=True)]
    assert len(set(moved)) == 1
    assert moved[0] == pytest.approx(128.9e9, rel=WITHIN)
    assert into_gpus[0] == pytest.approx(15_608_838, rel=WITHIN)
    assert counted("rx_devmem_dropped") == [0] * 4


def test_traffic_is_spread_over_the_hcas(mi300x: Bench) -> None:
    def words() -> list[int]:
        folder = "sys/class/infiniband/mlx5_{}/ports/1/counters/port_{}_data"
        return [int(mi300x.read(1, folder.format(i, d))) for i in range(8) for d in ("xmit", "rcv")]

    before = words()
    sweep(mi300x, over(mi300x, 2, 8), "all_reduce_perf -b 1G -e 1G -n 20")
    moved = [4 * (b - a) for a, b in zip(before, words(), strict=True)]
    payload = 2 * 20 * 2**30 * FACTORS["all_reduce"](16) / 8
    assert min(moved) == max(moved)
    assert payload <= moved[0] <= 1.4 * payload


def test_one_gpu_per_node_uses_the_nearest_nic(metax: Bench) -> None:
    path = "sys/class/infiniband/{}/ports/1/counters/port_rcv_data"
    before = [int(metax.read(1, path.format(nic))) for nic in ("mlx5_0", "mlx5_1")]
    sweep(metax, over(metax, 2, 1, "-x", "MACA_VISIBLE_DEVICES=5"), MCCL_ARGS)
    after = [int(metax.read(1, path.format(nic))) for nic in ("mlx5_0", "mlx5_1")]
    assert after[0] == before[0]
    assert after[1] > before[1]


@pytest.mark.parametrize("op", FACTORS)
@pytest.mark.parametrize("platform", ["metax", "mi300x", "h200", "tcpx"])
@pytest.mark.parametrize("nodes", [1, 2])
def test_each_rows_time_size_and_bandwidths_agree(
    request: pytest.FixtureRequest, platform: str, op: str, nodes: int
) -> None:
    bench: Bench = request.getfixturevalue(platform)
    words = f"{op}_perf -b 1M -e 1G -f 4 -g 1"
    printed = sweep(bench, over(bench, nodes, 8), words)
    rows = table(printed)
    assert len(rows) == 6
    for row in rows:
        for time_us, algbw, busbw in row.sides:
            assert algbw == pytest.approx(row.size / time_us / 1e3, rel=0.005, abs=0.006)
            assert busbw == pytest.approx(algbw * FACTORS[op](8 * nodes), rel=0.003, abs=0.011)
    bandwidths = [busbw for row in rows for _, _, busbw in row.sides]
    assert average(printed) == pytest.approx(sum(bandwidths) / len(bandwidths), rel=1e-3)


def test_repeats_differ_and_labs_with_the_same_seed_agree(noisy_twin: tuple[Bench, Bench]) -> None:
    runs = [[sweep(bench, over(bench, 2, 8), MCCL_ARGS) for _ in range(2)] for bench in noisy_twin]
    assert table(runs[0][0]) == table(runs[1][0]) != table(runs[0][1]) == table(runs[1][1])


def test_the_json_file_agrees_with_the_printed_rows(h200: Bench) -> None:
    words = "all_reduce_perf -b 1M -e 4M -f 2 -g 1 -J out.json"
    first = sweep(h200, over(h200, 2, 8, *TUNED), words)
    second = sweep(h200, over(h200, 2, 8, *TUNED), words)
    assert first.startswith("# Writing JSON output to out.json\n")
    assert second.startswith("# Writing JSON output to out.json.0\n"), (
        "the first file is not overwritten"
    )
    document = json.loads((h200.home(0) / "out.json").read_text())
    printed = [row.sides[0][2] for row in table(first)]
    assert [one["out_of_place"]["bus_bw"] for one in document["results"]] == pytest.approx(
        printed, abs=0.006
    )
    assert document["out_of_bounds"] == {"count": 0, "okay": "true"}
    assert document["config"]["step_factor"] == 2
    assert len(document["devices"]) == 16


LOGS = {
    "h200": ("NCCL_DEBUG=INFO", "via NET/IB/0/GDRDMA", "via P2P/CUMEM", "NVLS tree"),
    "mi300x": ("NCCL_DEBUG=INFO", "via NET/IB/7/GDRDMA", "via P2P/IPC", "Using network IB"),
    "metax": ("MCCL_DEBUG=INFO", "via NET/IB/1/GDRDMA", "via P2P/IPC", "via SHM/"),
    "tcpx": ("NCCL_DEBUG=INFO", "via NET/GPUDirectTCPX_v7/0/GDRDMA", "via P2P", "Using network"),
}


@pytest.mark.parametrize("platform", LOGS)
def test_the_log_names_the_transport(request: pytest.FixtureRequest, platform: str) -> None:
    bench: Bench = request.getfixturevalue(platform)
    debug, *signs = LOGS[platform]
    argv = over(bench, 2, 8, "-x", debug)
    printed = sweep(bench, argv, "all_reduce_perf -b 1M -e 1M")
    for sign in signs:
        if sign != "via NET/IB/7/GDRDMA":
            assert sign in printed
    assert "INFO" not in sweep(bench, over(bench, 2, 8), "all_reduce_perf -b 1M -e 1M")


def test_sizes_that_do_not_fit_are_left_out(tcpx: Bench) -> None:
    printed = sweep(tcpx, over(tcpx, 1, 8), "all_reduce_perf -b 16G -e 64G -f 2")
    assert "Reducing maxBytes to 28" in printed
    assert [row.size for row in table(printed)] == [2**34]


def test_missing_checks_and_in_place_results_are_printed_as_n_a(h200: Bench) -> None:
    rows = sweep(h200, over(h200, 1, 8), "alltoall_perf -b 1M -e 1M").splitlines()
    row = next(line for line in rows if line.lstrip().startswith("1048576"))
    assert row.split()[-1] == "N/A"
    assert row.split()[8] == "0"
    rows = sweep(h200, over(h200, 1, 8), "all_reduce_perf -b 1M -e 1M -c 0").splitlines()
    row = next(line for line in rows if line.lstrip().startswith("1048576"))
    assert row.split()[8] == row.split()[-1] == "N/A"


@pytest.mark.parametrize(("nodes", "each", "nics"), [(2, 8, 400.0), (3, 8, 400.0), (2, 1, 50.0)])
def test_an_alltoall_uses_all_nics(h200: Bench, nodes: int, each: int, nics: float) -> None:
    """With n ranks, g per node, each GPU sends 1/n of its message to each of n - g remote GPUs."""
    tuned = over(h200, nodes, each, *TUNED)
    row = table(sweep(h200, tuned, "alltoall_perf -b 8G -e 8G"))[0]
    ranks = nodes * each
    ideal = nics * (ranks - 1) / (each * (ranks - each))
    for _, algbw, busbw in row.sides:
        assert 0.92 * ideal < busbw < ideal
        assert busbw == pytest.approx(algbw * (ranks - 1) / ranks, abs=LAST_DIGIT)
