"""Everything that nvbandwidth prints, to samples and typed problems."""

from __future__ import annotations

import re

from railgauge.core.model import Parsed
from railgauge.tools.documents import Document, read_document
from railgauge.tools.findings import Findings, missing_program, plain
from railgauge.tools.nvbandwidth.json_output import read_json
from railgauge.tools.nvbandwidth.text import read_text

_VERSION = re.compile(r"^nvbandwidth Version: v?([0-9][\w.]{0,20})", re.MULTILINE)
_DEVICE = re.compile(r"^Device ([0-9]{1,4}: [^\n]{1,120})$", re.MULTILINE)
_ERRORS = {
    "data-corruption": re.compile(r"Invalid value when checking the pattern[^\n]{0,120}"),
    "tool-failed": re.compile(
        r"^(?:ERROR: |\[CUDA_ERROR_\w{1,60}\]|\[NVML_ERROR_\w{1,60}\]|\s{0,4}ASSERT in expression"
        r"|terminate called|unrecognised option|Segmentation fault)[^\n]{0,200}",
        re.MULTILINE,
    ),
}


def parse(text: str) -> Parsed:
    """Read the text or the JSON (``-j``) of a run.

    Never raises and takes time linear in the text. Each test case gives samples of the metric with
    its own name (``device_to_device_memcpy_read_ce``), in decimal GB/s, or ns for latencies;
    ``<name>_sum`` as printed and ``<name>_cells``, how many were measured (both ``all``). In a
    bidirectional case the name alone is the total of both directions, ``<name>_read1`` and so on
    its parts.

    Placements: ``gpu0>gpu1`` is the matrix's row, then its column, whatever arrow the description
    shows between them; ``gpu1`` is the column of a matrix with one row; ``cpu1>gpu0`` stands in
    matrices with a row for each NUMA node. The buffer's size is not printed: ``size_bytes`` is
    ``None``. A pair without peer access is ``N/A``, the warning ``missing-cell``: assert the number
    of cells where every pair must be linked. Text about a wrong pattern is ``data-corruption``,
    whatever figures follow it.
    """
    text = plain(text)
    findings = Findings()
    _collect_complaints(text, findings)
    version = _VERSION.search(text)
    if not _is_json(text):
        summary = read_text(text, findings)
        if summary and (devices := _DEVICE.findall(text)):
            summary["devices"] = tuple(devices)
        _collect_nothing(text, bool(summary), findings)
        return findings.parsed("nvbandwidth", version[1] if version else None, summary)
    return _parse_json(text, findings)


def _is_json(text: str) -> bool:
    return text.lstrip().startswith("{") or ('"nvbandwidth"' in text and "Running " not in text)


def _parse_json(text: str, findings: Findings) -> Parsed:
    document = read_document(text)
    if not isinstance(document, Document):
        findings.problems.append(document)
        return findings.parsed("nvbandwidth")
    if document.behind.lstrip().startswith("{"):
        findings.complain("several-tables", "several JSON documents: which one is meant?")
    version, summary = read_json(document, findings)
    return findings.parsed("nvbandwidth", version.lstrip("v") if version else None, summary)


def _collect_complaints(text: str, findings: Findings) -> None:
    if missing := missing_program(text, ("nvbandwidth",)):
        findings.problems.append(missing)
    for kind, pattern in _ERRORS.items():
        if match := pattern.search(text):
            findings.complain(kind, match[0])


def _collect_nothing(text: str, has_cases: bool, findings: Findings) -> None:
    if has_cases or findings.has_errors:
        return
    if not text.strip():
        findings.complain("no-output", "nothing was printed")
    elif text.startswith("nvbandwidth Version:"):
        findings.complain("truncated", "the output ends before the first test case")
    else:
        findings.complain("no-table", "no test case of nvbandwidth in this text")
