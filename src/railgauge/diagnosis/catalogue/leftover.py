"""Causes that say nothing about the hardware: the suite's own, and what no rule explains."""

from __future__ import annotations

from collections.abc import Mapping

from railgauge.diagnosis.catalogue.kind import Kind

KINDS: Mapping[str, Kind] = {
    "port-in-use": Kind(
        "another process listens on the port that a measurement's server needs",
        "find the process with ss -ltnp on that node and end it: a server of an earlier run, or a "
        "service that uses this range of ports",
        "derived: a client that reaches another process measures nothing",
    ),
    "suite-error": Kind(
        "railgauge itself failed while it measured or judged; the hardware was not judged",
        "report the item with its traceback (report.html has it); then measure again with --resume",
        "derived: an error of the suite is not evidence about the cluster",
    ),
    "undiagnosed": Kind(
        "no rule explains these items",
        "read their reasons, the lowest rung first, and run the first one's command by hand",
        "derived: items that no rule explains are shown, not hidden",
    ),
}
