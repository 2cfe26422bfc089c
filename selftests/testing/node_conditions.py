"""The conditions that ``railgauge triage --format npd`` gives nodes, read as a shell would."""

from __future__ import annotations

import json
import shlex

from railgauge.report.triage import commands
from railgauge.report.triage.sheet import TriageSheet


def conditions(made: TriageSheet) -> dict[str, dict[str, str]]:
    """The condition that each line of ``npd`` gives its node, as a shell would read the lines."""
    found = {}
    for line in (line for line in commands.npd(made) if not line.startswith("#")):
        assert line.isprintable()
        *words, node, status, kind, patch = shlex.split(line)
        assert words == ["kubectl", "patch", "node"]
        assert (status, kind) == ("--subresource=status", "--type=strategic")
        (condition,) = json.loads(patch.removeprefix("--patch="))["status"]["conditions"]
        assert node not in found
        found[node] = condition
    return found
