"""``dcgmi diag``: NVIDIA's own tests of a node's GPUs; ``facts.diagnostics`` reads it.

It takes the GPUs for itself: two of them, or one beside a collective, measure each other. What
keeps them apart is the lease of the node, which a measurement holds from its start to its end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict

from railgauge.core.model import Command, Parsed
from railgauge.core.problems import ProblemKind
from railgauge.facts.diagnostics import DiagReport, DiagResult, parse_dcgmi_diag
from railgauge.tools import NOT_LIMITED as METRICS
from railgauge.tools import Setting
from railgauge.tools import sends_nothing as payload_bytes
from railgauge.tools.claims import Asked, Claim, Heard, equal
from railgauge.tools.collector import OutputCollector
from railgauge.tools.options import program, read_options
from railgauge.tools.text import clean

__all__ = ["METRICS", "claims", "commands", "parse", "payload_bytes"]

_WARNINGS = {"fail": ProblemKind.TEST_FAILED, "warn": ProblemKind.TEST_WARNED}
_STATUSES = ("pass", "fail", "warn", "skip", "not run")
_RUN = re.compile(r"[1-4]|[a-z_]{1,40}")
_IDS = "GPU Device IDs Detected"

DEPLOYMENT = (
    "Denylist",
    "NVML Library",
    "CUDA Main Library",
    "Permissions and OS Blocks",
    "Persistence Mode",
    "Environment Variables",
    "Page Retirement/Row Remap",
    "Graphics Processes",
    "Inforom",
)
EUD = "EUD Test"
# Which tests a level has that those below it have not (DCGM's user guide, run levels and tests).
_ADDED = {
    "4": ("Memtest", "Pulse Test"),
    "3": ("Diagnostic", "Memory Bandwidth", "Targeted Stress", "Targeted Power"),
    "2": ("GPU Memory", "PCIe"),
    "eud": (EUD,),
    "1": DEPLOYMENT,
}
# What other releases call the tests of 3.3: 2 has two older words, 4 names them as ``-r`` takes
# them, and all of the deployment checks are one.
_CALLED = {
    "Blacklist": ("Denylist",),
    "Page Retirement": ("Page Retirement/Row Remap",),
    "software": DEPLOYMENT,
    "memory": ("GPU Memory",),
    "pcie": ("PCIe",),
    "diagnostic": ("Diagnostic",),
    "memory_bandwidth": ("Memory Bandwidth",),
    "targeted_stress": ("Targeted Stress",),
    "targeted_power": ("Targeted Power",),
    "memtest": ("Memtest",),
    "pulse_test": ("Pulse Test",),
    "eud": (EUD,),
}


def commands(setting: Setting, port: int) -> tuple[Command, ...]:  # noqa: ARG001 - no server
    """One run on the case's node. Option ``run``: a level, 1 to 4, or one test (``eud``).

    Without the collectives' environment: one of its tests complains of variables. Raises
    ``BadInput``.
    """
    options = read_options(setting, frozenset({"run"}))
    run = options.text("run")
    if not _RUN.fullmatch(run):
        options.refuse(f"run is {run!r}", "give a level, 1 to 4, or the name of one test")
    argv = (program(setting, "dcgmi"), "diag", "-r", run)
    limit_s = setting.measurement.time_limit_s
    return (Command(setting.case.nodes[0], argv, {"LC_ALL": "C"}, limit_s),)


def parse(text: str) -> Parsed:
    """Count the results by status; never raises.

    ``tests_pass``, ``tests_fail``, ``tests_warn``, ``tests_skip`` and ``tests_not_run`` are counts;
    ``summary.results`` holds each result as printed, ``summary.tests`` by the names of DCGM 3.3,
    ``summary.run`` the level that has these tests, ``summary.details`` versions and device ids. A
    test that failed or warned is a measured value and the warning ``test-failed`` or
    ``test-warned``; what is no whole report is an error, as ``parse_dcgmi_diag`` names it.
    """
    text = clean(text)
    report = parse_dcgmi_diag(text)
    collector = OutputCollector()
    if collector.check_started(text, "dcgmi"):
        collector.problems.extend(report.problems)
    if report.results:
        _collect_counts(report, collector)
    for result in report.results:
        if kind := _WARNINGS.get(result.status):
            collector.warn(kind, _said(result))
    details = dict(report.details)
    tests = list(_tests(report))
    summary = {
        "has_passed": report.has_passed,
        "results": [asdict(result) for result in report.results],
        "tests": tests,
        "run": _run_of({str(test["name"]) for test in tests}),
        "details": details,
    }
    version = details.get("DCGM Version") or details.get("version")
    return collector.parsed("dcgmi-diag", version, summary)


def _collect_counts(report: DiagReport, collector: OutputCollector) -> None:
    statuses = [result.status for result in report.results]
    for status in _STATUSES:
        metric = f"tests_{status.replace(' ', '_')}"
        collector.add(metric, "count", statuses.count(status), may_be_zero=True)


def _said(result: DiagResult) -> str:
    return f"{result.name}: {result.printed} {' '.join(result.warnings)}"


def _tests(report: DiagReport) -> Iterator[dict[str, object]]:
    """Each result under the name that DCGM 3.3 has for it, as ``results.NamedResult``."""
    for result in report.results:
        for name in _CALLED.get(result.name, (result.name,)):
            yield {
                "name": name,
                "status": result.status,
                "printed": result.printed,
                "gpus": result.gpus,
                "says": " ".join(result.warnings),
            }


def _run_of(names: set[str]) -> str | None:
    """What ``-r`` must have been for these tests to be there."""
    return next((run for run, added in _ADDED.items() if names.intersection(added)), None)


def claims(asked: Asked, heard: tuple[Heard, ...]) -> tuple[Claim, ...]:
    """The level that was run, and how many GPUs were there: all of fewer are not all."""
    summary = heard[0].parsed.summary
    run = equal("run level", asked.option("run"), summary.get("run"))
    gpus = asked.platform.gpus
    return (run, equal("GPUs", gpus.count, _detected(summary.get("details")))) if gpus else (run,)


def _detected(details: object) -> int | None:
    ids = details.get(_IDS) if isinstance(details, dict) else None
    return len([word for word in ids.split(",") if word.strip()]) if ids else None
