"""Everything that TransferBench prints, to samples and typed problems."""

from __future__ import annotations

from railgauge.core.model import Parsed
from railgauge.tools.findings import Findings, missing_program, plain
from railgauge.tools.transferbench.all_to_all import collect_all_to_all
from railgauge.tools.transferbench.peers import collect_peers
from railgauge.tools.transferbench.reading import Matrix, Reading, Transfer, read


def parse(text: str) -> Parsed:
    """Read the output of the presets a2a and p2p and of configuration files.

    Never raises and takes time linear in the text. All figures are decimal GB/s as printed;
    ``size_bytes`` is the bytes per transfer, ``None`` where the text does not say it.

    a2a: ``link_bw`` (``gpu0>gpu7``), ``gpu_sum`` (STotal) and ``gpu_actual`` (Actual, both
    ``gpu0``), ``slowest_link`` (``gpu0`` and ``all``), ``derived_aggregate`` (links of the GPU
    times its slowest one), ``links`` (how many were measured), ``average_bw``, ``aggregate_bw``
    and ``cpu_aggregate_bw`` (``all``). Sums, totals and averages are checked against the cells;
    an Actual that is not the derived aggregate is the executor's bandwidth of older versions, a
    warning. A GPU pair without a figure is the error ``missing-link``.

    p2p: see ``collect_peers``. Configuration files: ``executor_bw`` (``test4/gpu0``),
    ``transfer_bw`` (``test3/transfer1``) and ``test_cpu_bw`` (``test1``), each with its own size.
    """
    text = plain(text)
    reading = read(text)
    findings = Findings(reading.size_bytes)
    _collect_complaints(text, reading, findings)
    _collect_matrices(reading, findings)
    if not reading.matrices:
        _collect_transfers(reading.transfers, findings)
    _collect_nothing(text, reading, findings)
    return findings.parsed("transferbench", reading.version, _summary(reading))


def _summary(reading: Reading) -> dict[str, object]:
    """What is no sample; what the text does not say is absent."""
    gpus = {device for matrix in reading.matrices for device in matrix.devices}
    gpus = {device for device in gpus if device.startswith("gpu")}
    found: dict[str, object] = {
        "presets": tuple("a2a" if one.is_all_to_all else "p2p" for one in reading.matrices),
        "bytes_per_transfer": reading.size_bytes,
        "subexecutors": reading.subexecutors,
        "gpus": len(gpus),
    }
    counts = {"matrices": len(reading.matrices), "warnings": len(reading.warnings)}
    return counts | {name: value for name, value in found.items() if value}


def _collect_complaints(text: str, reading: Reading, findings: Findings) -> None:
    if missing := missing_program(text, ("TransferBench",)):
        findings.problems.append(missing)
    for line in reading.errors:
        findings.complain(_kind(line), line)
    for line in reading.warnings:
        findings.warn("tool-warning", line)
    for heading in reading.broken_headings:
        findings.complain("truncated", f"heading cut off or unknown: {heading[:160]!r}")


def _kind(line: str) -> str:
    if "mismatch" in line.lower():
        return "data-corruption"
    return "hip-error" if "HIP" in line else "tool-failed"


def _collect_matrices(reading: Reading, findings: Findings) -> None:
    all_to_all = [matrix for matrix in reading.matrices if matrix.is_all_to_all]
    peers = [matrix for matrix in reading.matrices if not matrix.is_all_to_all]
    for matrix in reading.matrices:
        _collect_shape(matrix, findings)
    if len(all_to_all) > 1 or _has_twins(peers):
        findings.complain("several-tables", "the output of several runs: which one is meant?")
    if reading.directions > len(peers):
        findings.complain("truncated", "a matrix is announced and not printed")
    for matrix in all_to_all:
        collect_all_to_all(matrix, reading, findings)
    for matrix in peers:
        collect_peers(matrix, reading, findings)
    if not all_to_all:
        _collect_closings(reading, findings)


def _has_twins(peers: list[Matrix]) -> bool:
    return len({matrix.is_bidirectional for matrix in peers}) < len(peers)


def _collect_shape(matrix: Matrix, findings: Findings) -> None:
    for kind, message in matrix.complaints:
        findings.complain(kind, message)
    seen = [(row.label, row.arrow) for row in matrix.rows]
    if len(set(seen)) < len(seen):
        findings.complain("unparsable", "one row of a matrix is printed twice")


def _collect_closings(reading: Reading, findings: Findings) -> None:
    for metric, value, unit in reading.closings:
        findings.add(metric, unit, value, "all")


def _collect_transfers(transfers: list[Transfer], findings: Findings) -> None:
    common = findings.size_bytes
    for transfer in transfers:
        findings.size_bytes = transfer.size_bytes
        findings.add(transfer.metric, transfer.unit, transfer.value, transfer.placement)
    findings.size_bytes = common


def _collect_nothing(text: str, reading: Reading, findings: Findings) -> None:
    """A text without a matrix says first what kind of nothing it is."""
    if reading.matrices or findings.has_errors:
        return
    if not text.strip():
        findings.complain("no-output", "nothing was printed")
    elif reading.is_announced or reading.closings:
        kind = "no-table" if reading.closings else "truncated"
        findings.complain(kind, "the matrix of the links is not in this text")
    elif not reading.transfers:
        findings.complain("no-table", "no figures of TransferBench in this text")
