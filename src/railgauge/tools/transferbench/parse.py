"""The parser of TransferBench: from its output to samples and problems."""

from __future__ import annotations

from collections import Counter
from itertools import groupby

from railgauge.core.model import Parsed
from railgauge.core.problems import ProblemKind
from railgauge.tools.collector import OutputCollector
from railgauge.tools.text import clean
from railgauge.tools.transferbench.all_to_all import collect_all_to_all
from railgauge.tools.transferbench.peers import collect_peers
from railgauge.tools.transferbench.reading import PeerMatrix, Reading, Transfer, read


def parse(text: str) -> Parsed:
    """Read the output of the presets a2a and p2p and of configuration files.

    Never raises and takes time linear in the text. All values are decimal GB/s as printed;
    ``size_bytes`` is the bytes per transfer, ``None`` if the text does not show it.

    a2a: ``link_bw`` (placement ``gpu0>gpu7``), ``gpu_sum`` (STotal) and ``gpu_actual`` (Actual,
    both ``gpu0``), ``slowest_link`` (``gpu0`` and ``all``), ``derived_aggregate`` (number of the
    GPU's links times its slowest one), ``links`` (number of measured links), ``average_bw``,
    ``aggregate_bw`` and ``cpu_aggregate_bw`` (``all``). Sums, totals and averages are checked
    against the cells. An Actual that is not the derived aggregate is a warning: older versions
    print the executor's bandwidth there. A GPU pair without a value is the error ``missing-link``.

    p2p: see ``collect_peers``. Configuration files: ``executor_bw`` (``test4/gpu0``),
    ``transfer_bw`` (``test3/transfer1``) and ``test_cpu_bw`` (``test1``), each with its own size.
    """
    text = clean(text)
    reading = read(text)
    collector = OutputCollector(reading.size_bytes)
    _collect_complaints(text, reading, collector)
    if reading.version is None and (reading.matrices or reading.transfers):
        message = "no version: the output begins before this text"
        collector.warn(ProblemKind.NO_OPENING_LINE, message)
    _collect_matrices(reading, collector)
    if not reading.matrices:
        _collect_transfers(reading.transfers, collector)
    _collect_nothing(text, reading, collector)
    return collector.parsed("transferbench", reading.version, _summary(reading))


def _summary(reading: Reading) -> dict[str, object]:
    """Return the values that are no samples; one that the text does not show has no key."""
    gpus = {device for matrix in reading.matrices for device in matrix.devices}
    gpus = {device for device in gpus if device.startswith("gpu")}
    found: dict[str, object] = {
        "presets": tuple("a2a" if one.is_all_to_all else "p2p" for one in reading.matrices),
        "bytes_per_transfer": reading.size_bytes,
        "subexecutors": reading.subexecutors,
        "settings": reading.settings,
        "routes": tuple(sorted(reading.routes)),
        "gpus": len(gpus),
    }
    counts = {"matrices": len(reading.matrices), "warnings": len(reading.warnings)}
    return counts | {name: value for name, value in found.items() if value}


def _collect_complaints(text: str, reading: Reading, collector: OutputCollector) -> None:
    collector.check_started(text, "TransferBench")
    for line in reading.errors:
        collector.error(_kind(line), line)
    for line in reading.warnings:
        collector.warn(ProblemKind.TOOL_WARNING, line)
    if reading.size_bytes is None and ("Summary: [" in text or "per Transfer]" in text):
        collector.error(ProblemKind.UNPARSABLE, "another text stands in the size of the transfers")
    for heading in reading.broken_headings:
        collector.error(ProblemKind.TRUNCATED, f"heading cut off or unknown: {heading[:160]!r}")


def _kind(line: str) -> ProblemKind:
    if "mismatch" in line.lower():
        return ProblemKind.DATA_CORRUPTION
    return ProblemKind.HIP_ERROR if "HIP" in line else ProblemKind.TOOL_FAILED


def _collect_matrices(reading: Reading, collector: OutputCollector) -> None:
    all_to_all = [matrix for matrix in reading.matrices if matrix.is_all_to_all]
    peers = [matrix for matrix in reading.matrices if not matrix.is_all_to_all]
    for matrix in reading.matrices:
        _collect_shape(matrix, collector)
    if len(all_to_all) > 1 or _has_twins(peers):
        collector.several_runs()
    if reading.directions > len(peers):
        collector.error(ProblemKind.TRUNCATED, "a matrix is announced but not printed")
    for matrix in all_to_all:
        collect_all_to_all(matrix, reading, collector)
    for matrix in peers:
        collect_peers(matrix, reading, collector)
    if not all_to_all:
        _collect_closings(reading, collector)


def _has_twins(peers: list[PeerMatrix]) -> bool:
    return len({matrix.is_bidirectional for matrix in peers}) < len(peers)


def _collect_shape(matrix: PeerMatrix, collector: OutputCollector) -> None:
    for kind, message in matrix.complaints:
        collector.error(kind, message)
    seen = [(row.label, row.arrow) for row in matrix.rows]
    if len(set(seen)) < len(seen):
        collector.error(ProblemKind.UNPARSABLE, "one row of a matrix is printed twice")


def _collect_closings(reading: Reading, collector: OutputCollector) -> None:
    for metric, value, unit in reading.closings:
        collector.add(metric, unit, value, "all")


def _collect_transfers(transfers: list[Transfer], collector: OutputCollector) -> None:
    if transfers:
        _check_tests(transfers, collector)
    common = collector.size_bytes
    for transfer in transfers:
        collector.size_bytes = transfer.size_bytes
        collector.add(transfer.metric, transfer.unit, transfer.value, transfer.placement)
    collector.size_bytes = common


def _check_tests(transfers: list[Transfer], collector: OutputCollector) -> None:
    """Report tests that are missing, printed twice, or of which a line is missing.

    The bytes of a test must be those of its executors, and of its transfers. The output does not
    show how many tests the configuration file has.
    """
    numbers = [number for number, _ in groupby(transfers, lambda transfer: transfer.test)]
    seen = {(transfer.metric, transfer.placement) for transfer in transfers}
    if len(set(numbers)) < len(numbers) or len(seen) < len(transfers):
        message = "a test is printed twice; give the output of one run"
        collector.error(ProblemKind.SEVERAL_TABLES, message)
    elif numbers != list(range(1, len(numbers) + 1)):
        message = f"tests {', '.join(map(str, numbers[:9]))} where 1, 2, … are expected"
        collector.error(ProblemKind.TRUNCATED, message)
    for number, test in groupby(transfers, lambda transfer: transfer.test):
        sizes: Counter[str] = Counter()
        for transfer in test:
            sizes[transfer.metric] += transfer.size_bytes
        if len(sizes) != len(_PARTS) or len(set(sizes.values())) > 1:
            message = f"test {number}: executors, transfers and total are not of the same bytes"
            collector.error(ProblemKind.TRUNCATED, message)
    message = "the number of tests is not printed: the last ones may be missing"
    collector.warn(ProblemKind.NO_CLOSING_LINE, message)


_PARTS = ("executor_bw", "transfer_bw", "test_cpu_bw")


def _collect_nothing(text: str, reading: Reading, collector: OutputCollector) -> None:
    """Report why a text without a matrix has no values."""
    if reading.matrices or collector.has_errors:
        return
    if reading.is_announced or reading.closings:
        kind = ProblemKind.NO_TABLE if reading.closings else ProblemKind.TRUNCATED
        collector.error(kind, "the matrix of the links is not in this text")
    elif not reading.transfers:
        collector.nothing(text, "no output of TransferBench in this text")
