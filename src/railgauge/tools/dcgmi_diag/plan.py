"""The command for a level or a single test, and the check that the output is of that run."""

from __future__ import annotations

import re

from railgauge.core.model import Command
from railgauge.tools import Setting
from railgauge.tools.claims import Claim, SideOutput, ToolRequest, equal
from railgauge.tools.options import program, read_options

_RUN = re.compile(r"[1-4]|[a-z_]{1,40}")
_IDS = "GPU Device IDs Detected"


def commands(setting: Setting, port: int) -> tuple[Command, ...]:  # noqa: ARG001 - no server
    """Return one run on the case's node. Option ``run``: a level, 1 to 4, or a test (``eud``).

    The command does not get the collectives' environment: one of the tests warns about such
    variables. Raises ``BadInput`` for other options.
    """
    options = read_options(setting, frozenset({"run"}))
    run = options.text("run")
    if not _RUN.fullmatch(run):
        options.refuse(f"run is {run!r}", "give a level, 1 to 4, or the name of one test")
    argv = (program(setting, "dcgmi"), "diag", "-r", run)
    limit_s = setting.measurement.time_limit_s
    return (Command(setting.case.nodes[0], argv, {"LC_ALL": "C"}, limit_s),)


def claims(asked: ToolRequest, sides: tuple[SideOutput, ...]) -> tuple[Claim, ...]:
    """Compare the level that ran and the number of GPUs: a pass of fewer GPUs is not enough."""
    summary = sides[0].parsed.summary
    run = equal("run level", asked.option("run"), summary.get("run"))
    gpus = asked.platform.gpus
    return (run, equal("GPUs", gpus.count, _detected(summary.get("details")))) if gpus else (run,)


def _detected(details: object) -> int | None:
    ids = details.get(_IDS) if isinstance(details, dict) else None
    return len([word for word in ids.split(",") if word.strip()]) if ids else None
