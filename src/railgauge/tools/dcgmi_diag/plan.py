"""The command for a level or a single test, and the check that the output is of that run."""

from __future__ import annotations

import re

from railgauge.core.model import Command
from railgauge.tools import Setting
from railgauge.tools.options import on_its_node, program, read_options
from railgauge.tools.output_checks import OutputCheck, SideOutput, ToolRequest, equal

_RUN = re.compile(r"[1-4]|[a-z_]{1,40}")
_IDS = "GPU Device IDs Detected"
_DRIVER, _EUD = "Driver Version Detected", "EUD Test Version"
_EUD_RELEASE = re.compile(r"eud\.(\d{1,4})\..{1,40}")


def commands(setting: Setting, port: int) -> tuple[Command, ...]:  # noqa: ARG001 - no server
    """Return one run on the case's node. Option ``run``: a level, 1 to 4, or a test (``eud``).

    The command does not get the collectives' environment: one of the tests warns about such
    variables. Raises ``BadInput`` for other options.
    """
    options = read_options(setting, frozenset({"run"}))
    run = options.text("run")
    if not _RUN.fullmatch(run):
        options.refuse(f"run is {run!r}", "give a level, 1 to 4, or the name of one test")
    return on_its_node(setting, (program(setting, "dcgmi"), "diag", "-r", run), {"LC_ALL": "C"})


def output_checks(asked: ToolRequest, sides: tuple[SideOutput, ...]) -> tuple[OutputCheck, ...]:
    """Compare the level that ran, the number of GPUs, the driver, and the release of EUD with it.

    A diagnostic of fewer GPUs is no pass. EUD is made for the driver of its own release (document
    001: eud.550.26 with driver 550.90.07).
    """
    summary = sides[0].parsed.summary
    printed = summary.get("details")
    details = printed if isinstance(printed, dict) else {}
    found = [equal("run level", asked.option("run"), summary.get("run"))]
    if gpus := asked.platform.gpus:
        found.append(equal("GPUs", gpus.count, _detected(details.get(_IDS))))
    facts, driver = asked.facts(asked.case.nodes[0]), details.get(_DRIVER)
    if driver and facts and facts.gpu_driver:
        found.append(equal("driver", facts.gpu_driver, driver))
    if driver and (eud := _EUD_RELEASE.fullmatch(details.get(_EUD, ""))):
        found.append(equal("release of EUD", driver.partition(".")[0], eud[1]))
    return tuple(found)


def _detected(ids: str | None) -> int | None:
    return len([word for word in ids.split(",") if word.strip()]) if ids else None
