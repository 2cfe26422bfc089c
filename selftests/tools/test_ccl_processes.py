"""The GPUs of each process of a collective test: header and process numbers must agree."""

from dataclasses import replace

import pytest
from testing.core_values import ROOT

from railgauge.config import thresholds
from railgauge.core.model import Case
from railgauge.tools import tool
from railgauge.tools.output_checks import SideOutput, ToolRequest

MI300X = thresholds.load("mi300x", ROOT / "thresholds")
HEADER = (
    "# nThread {threads} nGpus {gpus} minBytes 1024 maxBytes 1024 step: 2(factor) warmup iters: 5"
    " iters: 20 agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n"
)
RANK = (
    "#  Rank {rank} Group  0 Pid {pid} on node0 device {rank} [0000:0c:00.0] AMD Instinct MI300X\n"
)


def output(pids, gpus=1, threads=1):
    ranks = "".join(RANK.format(rank=rank, pid=pid) for rank, pid in enumerate(pids))
    return tool("ccl-tests").parse(HEADER.format(gpus=gpus, threads=threads) + ranks)


def agrees(parsed, **options):
    measurement = replace(MI300X.measurements["node_all_reduce"], options=options)
    asked = ToolRequest(Case("node_all_reduce", ("n1",), None, (1024,)), measurement, MI300X)
    checks = tool("ccl-tests").output_checks(asked, (SideOutput("n1", "client", parsed),))
    (one,) = [check for check in checks if check.item == "GPUs of each process"]
    return one.agrees


EACH_OWN, ONE, TWO = range(100, 108), [100] * 8, [100] * 4 + [200] * 4


@pytest.mark.parametrize(
    ("pids", "gpus", "threads", "asked", "fits"),
    [
        (EACH_OWN, 1, 1, 1, True),
        (ONE, 8, 1, 8, True),
        (TWO, 4, 1, 4, True),
        (ONE, 1, 8, 8, True),
        (ONE, 8, 1, 1, False),  # document 002: one process a GPU
        (EACH_OWN, 1, 1, 8, False),  # document 003: one process a node
        (ONE, 1, 8, 1, False),  # threads of one process
        (ONE, 1, 1, 1, False),  # the header says one, the process numbers say eight
        (TWO, 8, 1, 8, False),
        ((), 1, 1, 1, True),
        ((), 8, 1, 1, False),
    ],
)
def test_a_process_has_as_many_gpus_as_asked_for(pids, gpus, threads, asked, fits):
    options = {"gpus_per_process": asked} if asked > 1 else {}
    assert agrees(output(pids, gpus, threads), **options) is fits
