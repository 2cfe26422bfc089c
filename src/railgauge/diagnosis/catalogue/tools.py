"""Causes of programs that are missing or do not work."""

from __future__ import annotations

from collections.abc import Mapping

from railgauge.diagnosis.catalogue.kind import Kind

KINDS: Mapping[str, Kind] = {
    "tool-missing": Kind(
        "a program that the measurement needs is not installed on the node",
        "install it, or give its path under 'tools' in the hostfile",
        "derived: without the program there is no measurement",
        folds=True,
    ),
    "tool-failing": Kind(
        "a tool hangs, ends early or prints output that cannot be parsed",
        "run the command of the transcript by hand on that node",
        "derived: no verdict without a printed figure",
    ),
}
