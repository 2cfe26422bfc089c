"""Starting one of the programs on the node that scans the subnet."""

from __future__ import annotations

import re

from railgauge.core.errors import BadInput
from railgauge.core.model import Command
from railgauge.core.problems import ProblemKind
from railgauge.tools import Setting
from railgauge.tools.collector import OutputCollector
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


def complain_of_start(text: str, name: str, collector: OutputCollector) -> None:
    """The program is not there, or it found no adapter that it may ask through."""
    if collector.check_started(text, name) and (refused := _NO_PORT.search(text)):
        collector.error(ProblemKind.DEVICE_NOT_FOUND, refused[0])


def complain_of_nothing(text: str, collector: OutputCollector) -> None:
    if collector.is_empty:
        collector.nothing(text, "this is not what the program prints")
