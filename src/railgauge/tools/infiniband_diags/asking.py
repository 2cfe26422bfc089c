"""Starting one of the programs on the node that scans the subnet."""

from __future__ import annotations

import re

from railgauge.core.errors import BadInput
from railgauge.core.model import Command
from railgauge.tools import Setting
from railgauge.tools.findings import Findings, missing_program
from railgauge.tools.options import program, read_options

# ``$1`` is an exit code that is an answer: of ibqueryerrors 1 means that it found errors, of sminfo
# 255 that nobody answered. Which of both it was is for the output to show.
_SCRIPT = 'answer=$1; shift; "$0" "$@"; code=$?; [ "$code" = "$answer" ] || exit "$code"'
_NO_PORT = re.compile(
    r"^[^\n]{0,80}(?:Failed to open|can't open (?:UMAD|MAD) port|discover failed)[^\n]{0,120}",
    re.MULTILINE,
)


def asks(setting: Setting, name: str, *arguments: str, answer: int = 0) -> tuple[Command, ...]:
    """The one command. Raises ``BadInput`` where the hostfile names no subnet."""
    read_options(setting, frozenset())
    fabric = setting.cluster.fabric
    if fabric is None:
        raise BadInput(
            f"{setting.measurement.name} needs a subnet",
            where=setting.cluster.source,
            remedy="name the node that scans it under 'fabric'",
        )
    adapter = ("-C", fabric.hca) if fabric.hca else ()
    path = program(setting, name)
    argv = ("sh", "-c", _SCRIPT, path, str(answer), *adapter, *arguments)
    return (Command(fabric.node, argv, {"LC_ALL": "C"}, setting.measurement.time_limit_s),)


def complain_of_start(text: str, name: str, findings: Findings) -> None:
    """The program is not there, or it found no adapter that it may ask through."""
    if missing := missing_program(text, (name,)):
        findings.problems.append(missing)
    elif refused := _NO_PORT.search(text):
        findings.complain("device-not-found", refused[0])


def complain_of_nothing(text: str, findings: Findings) -> None:
    if findings.samples or findings.has_errors:
        return
    if not text.strip():
        findings.complain("no-output", "nothing was printed")
    else:
        findings.complain("no-table", "this is not what the program prints")
