"""Parsers: long output of each tool, in MB/s."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from statistics import median

from measuring import Row, cpu_s

from railgauge.tools import tool

TITLE = "Parsers"
ABOUT = """Text of the form that each tool prints, with as many rows as fill the size; CPU seconds
in this process, median of three. A nightly run reads some kilobytes a measurement. The last
line is a log of the collectives' library at its most talkative: one table row in 200 lines."""

SIZES_MB = (0.125, 0.25, 0.5)
_MB = 1_000_000
Text = Callable[[int], str]


def _rows(row: Callable[[int], str], most_bytes: int) -> str:
    return "\n".join(row(n) for n in range(most_bytes // len(row(0)))) + "\n"


def perftest(most_bytes: int) -> str:
    head = (
        "                    RDMA_Write BW Test\n Link type       : IB\n"
        " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
    )
    row = " 8388608    5000             392.25              392.25              0.005845"
    return head + _rows(lambda _: row, most_bytes)


_CCL_HEAD = """\
#   size      count   type redop root    time  algbw  busbw #wrong    time  algbw  busbw #wrong
#    (B) (elements)                      (us) (GB/s) (GB/s)           (us) (GB/s) (GB/s)
"""


def _ccl_row(n: int) -> str:
    half = "42392.9  202.63  392.59      0"
    return f"  8589934592    2147483648     float     sum      -1   {half}   {half}"


def ccl(most_bytes: int) -> str:
    return _CCL_HEAD + _rows(_ccl_row, most_bytes)


def talkative(most_bytes: int) -> str:
    log = "node01:4242:4301 [3] NCCL INFO Channel {:02}/0 : 3[3] -> 4[4] [send] via NET/IB/3/GDRDMA"
    return _CCL_HEAD + _rows(lambda n: log.format(n % 32) if n % 200 else _ccl_row(n), most_bytes)


def transferbench(most_bytes: int) -> str:
    """Whole tests of 8 GPUs: for each an executor's line, those of its transfers, and the total."""
    count = max(1, most_bytes // len(_transfer_test(1)))
    return "TransferBench v1.60.00\n" + "".join(_transfer_test(n) for n in range(1, count + 1))


def _transfer_test(number: int) -> str:
    executor = "|  329.392 GB/s |    1.426 ms |    469762048 bytes | 329.392 GB/s (sum)"
    transfer = "|   47.056 GB/s |    1.426 ms |     67108864 bytes |"
    lines = [f"Test {number}:"]
    for gpu in range(8):
        lines.append(f" Executor: GPU {gpu:02} {executor}")
        through = f"F{gpu} -> G{gpu:03}:008 ->"
        lines += (
            f"     Transfer {7 * gpu + n:02}  {transfer} {through} F{(gpu + n) % 8}"
            for n in range(1, 8)
        )
    total = "| 2635.136 GB/s |    1.426 ms |   3758096384 bytes | Overhead: 0.101 ms"
    return "\n".join([*lines, f" Aggregate (CPU)  {total}", ""])


def nvbandwidth(most_bytes: int) -> str:
    """One matrix with enough GPUs to fill the size; the format sets no limit."""
    gpus = int((most_bytes / 10) ** 0.5)
    numbers = "".join(f"{n:>10}" for n in range(gpus))
    cells = "".join(f"{390.5:>10.2f}" for _ in range(gpus - 1))
    rows = [f"{n:>2}{cells[: 10 * n]}{'N/A':>10}{cells[10 * n :]}" for n in range(gpus)]
    name = "device_to_device_memcpy_read_ce"
    return "\n".join(
        ["nvbandwidth Version: v0.8\n", f"Running {name}.",
         "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)", f"  {numbers}", *rows, ""]
    )  # fmt: skip


def iperf3(most_bytes: int) -> str:
    """A test with a report every second."""

    def total(seconds: int) -> dict[str, float]:
        rate = {"bytes": 11.75e9 * seconds, "bits_per_second": 94e9}
        return {"start": 0, "end": seconds, "seconds": seconds, **rate}

    interval = {"streams": [], "sum": {**total(1), "omitted": False}}
    count = most_bytes // len(json.dumps(interval))
    test = {"protocol": "TCP", "num_streams": 1, "blksize": 131072, "duration": count, "reverse": 0}
    ends = {"sum_sent": total(count), "sum_received": total(count)}
    return json.dumps(
        {
            "start": {"version": "iperf 3.16", "test_start": test},
            "intervals": [interval] * count,
            "end": {"streams": [{"sender": {}}], **ends},
        }
    )


def vllm(most_bytes: int) -> str:
    """A saved result with the time of every token, which the tool writes if asked to."""
    saved = {"num_prompts": 200, "completed": 200, "failed": 0, "duration": 100.0}
    rates = {"request_throughput": 2.0, "output_throughput": 256.0, "mean_ttft_ms": 215.5}
    return json.dumps({**saved, **rates, "ttfts": [0.0123456] * (most_bytes // 11)})


TEXTS: dict[str, tuple[str, Text]] = {
    "perftest": ("perftest", perftest),
    "ccl-tests": ("ccl-tests", ccl),
    "transferbench": ("transferbench", transferbench),
    "nvbandwidth": ("nvbandwidth", nvbandwidth),
    "iperf3": ("iperf3", iperf3),
    "vllm-bench": ("vllm-bench", vllm),
    "ccl-tests, debug log": ("ccl-tests", talkative),
}


def rows() -> Iterator[Row]:
    for what, (name, text) in TEXTS.items():
        for size in SIZES_MB:
            yield parsed(what, name, text(int(size * _MB)))


def parsed(what: str, name: str, text: str) -> Row:
    found = tool(name).parse(text)
    assert found.samples, f"{what}: nothing was read"
    assert not found.errors, f"{what}: {found.errors[0]}"
    took = median(cpu_s(lambda: tool(name).parse(text)) for _ in range(3))
    size = len(text) / _MB
    samples = f"{size / took:.1f} MB/s, {len(found.samples):,} samples"
    return Row(what, round(size, 3), "MB", took, "s", shown=samples)
