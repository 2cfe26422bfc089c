"""Every line that something holds: a healthy input passes, and a broken one does not."""

from __future__ import annotations

from collections.abc import Mapping

import document_examples
import pytest
from document_holders import Unheld, is_run, platform
from document_lines import Line, documents
from document_page import page
from example_facts import Surveyed, surveyed
from example_limits import Figure, figures
from example_plans import denied
from testing.core_values import TRANSCRIPTS, needs_transcripts

LINES = [
    pytest.param(one.platform, line, id=f"{line.document}-{line.number}")
    for one in documents()
    for line in one.lines
    if any(map(is_run, line.held))
]


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Surveyed]:
    """The healthy nodes of each lab, surveyed once."""
    return {
        one.platform: surveyed(platform(one.platform), tmp_path_factory.mktemp(one.number))
        for one in documents()
    }


@pytest.mark.parametrize(("on", "line"), LINES)
def test_a_healthy_input_passes_and_a_broken_one_does_not(
    healthy: Mapping[str, Surveyed], on: str, line: Line
) -> None:
    wrong = []
    for reference in filter(is_run, line.held):
        try:
            document_examples.run(line, reference, on, healthy[on])
        except Unheld as error:
            wrong.append(str(error))
    assert wrong == []


def test_most_lines_are_run() -> None:
    every = [line for one in documents() for line in one.lines if line.held]
    assert len(LINES) > 0.8 * len(every)


# What a line could claim wrongly: its reference, its figures, and what must be found.
_FALSE = [
    ("metax-c500", Line("000", 1, "1.", "bad, called healthy", "7.76 GB/s at 1 GiB"),
     "limit pair_all_reduce busbw 1GiB", "failed busbw 7.76 GB/s"),
    ("metax-c500", Line("000", 1, "1.", "healthy, called bad", bad="73.24 GB/s at 1 GiB"),
     "limit pair_all_reduce busbw 1GiB", r"\[73.24\] GB/s: passed"),
    ("h200", Line("001", 1, "1.", "one bad of many", "390 to 30 GB/s"),
     "limit pair_all_reduce busbw", "failed busbw 30 GB/s"),
    ("mi300x", Line("002", 1, "1.", "no option of the command"),
     "option gpu_link_bandwidth iterations", "KeyError"),
    ("metax-c500", Line("000", 1, "1.", "run without it"),
     "environment host_write_bandwidth MCCL_CROSS_NIC", "is run without MCCL_CROSS_NIC=1"),
    ("metax-c500", Line("000", 1, "1.", "no one uses it"), "hardware name", "nothing changes"),
    ("metax-c500", Line("000", 1, "1.", "no fact"), "fact colour", "known without a probe"),
    ("metax-c500", Line("000", 1, "1.", "not measured"),
     "measured pair_all_reduce link", "no level asks for it"),
    ("metax-c500", Line("000", 1, "1.", "another cause", held=("cause acs-enabled",)),
     "fault mtu", "the cause mtu-mismatch, not acs-enabled"),
    ("metax-c500", Line("000", 1, "1.", "no fault"), "fault nothing", "not in the fault matrix"),
    ("h200", Line("001", 1, "1.", "no result"), "result pair_all_reduce EUD", "AssertionError"),
]  # fmt: skip


@pytest.mark.parametrize(("on", "line", "reference", "says"), _FALSE)
def test_a_claim_that_is_not_true_is_found(
    healthy: Mapping[str, Surveyed], on: str, line: Line, reference: str, says: str
) -> None:
    with pytest.raises(Unheld, match=says):
        document_examples.run(line, reference, on, healthy[on])


# Options that the documents' own outputs print: the transcript, and what denies another value.
_PRINTED = [
    ("metax-c500", "node_all_reduce", "dtype", "metax-mccl-allreduce-1node-8gpu-healthy",
     "data type"),
    ("metax-c500", "node_all_reduce", "iterations", "metax-mccl-allreduce-1node-8gpu-healthy",
     "iterations"),
    ("metax-c500", "pair_all_reduce", "dtype", "metax-mccl-allreduce-2node-16gpu-healthy",
     "data type"),
    ("metax-c500", "pair_all_reduce", "iterations", "metax-mccl-allreduce-2node-16gpu-healthy",
     "iterations"),
    ("metax-c500", "pair_all_reduce_one_gpu", "gpus_per_node",
     "metax-mccl-allreduce-2node-2gpu-no-gdr", "ranks"),
    ("mi300x", "gpu_link_bandwidth", "preset", "mi300x-transferbench-a2a", "preset"),
    ("mi300x", "gpu_link_bandwidth", "subexecutors", "mi300x-transferbench-a2a", "compute units"),
    ("mi300x", "gpu_link_bandwidth", "unroll", "mi300x-transferbench-a2a", "GFX_UNROLL"),
    ("mi300x", "gpu_link_bandwidth", "executor", "mi300x-transferbench-a2a",
     "executor of the transfers"),
    ("mi300x", "gpu_link_bandwidth", "memory", "mi300x-transferbench-a2a",
     "memory of the transfers"),
    ("mi300x", "node_all_reduce", "iterations", "mi300x-rccl-allreduce-8gpu", "iterations"),
]  # fmt: skip


@needs_transcripts
@pytest.mark.parametrize(("on", "name", "key", "file", "item"), _PRINTED)
def test_a_document_s_output_denies_another_option(
    on: str, name: str, key: str, file: str, item: str
) -> None:
    text = (TRANSCRIPTS / f"{file}.txt").read_text(encoding="utf-8", errors="replace")
    assert item in denied(platform(on), name, key, text)


def test_the_figures_of_a_line_are_read_with_their_units_and_sizes() -> None:
    kib, mib = 1024, 1024**2
    assert list(figures("390.66 Gb/s at 256 KiB, 392.25 at 8 MiB")) == [
        Figure(390.66, "Gb/s", 256 * kib),
        Figure(392.25, "Gb/s", 8 * mib),
    ]
    assert [one.value for one in figures("45 to 48 GB/s")] == [45, 48]
    assert [one.value for one in figures("350 to 390 and 30 to 90 GB/s")] == [350, 390, 30, 90]
    assert [one.value for one in figures("45.21 x 7 = 316.47 GB/s (lower 41.79)")] == [316.47]
    assert list(figures("8 GPUs, 10 %, at 1 GiB")) == []


def test_the_page_says_of_each_line_whether_it_is_run() -> None:
    rows = [line.split(" | ") for line in page().splitlines() if line.startswith("| ")]
    printed = [row[3] for row in rows if row[0] != "| section"]
    assert len(printed) == sum(len(one.lines) for one in documents())
    assert set(printed) == {"run", "named", "not held"}
