"""The command that starts one of the programs on the node that scans the subnet."""

from __future__ import annotations

import re

from railgauge.core.errors import BadInput
from railgauge.core.model import Command
from railgauge.core.problems import ProblemKind
from railgauge.tools import Setting
from railgauge.tools.collector import OutputCollector
from railgauge.tools.options import program, read_options

# ``$1`` is an exit code that is a result and not a failure: ibqueryerrors ends with 1 if it found
# errors, sminfo with 255 if no subnet manager answered. The output shows which case it is.
_SCRIPT = 'answer=$1; shift; "$0" "$@"; code=$?; [ "$code" = "$answer" ] || exit "$code"'
_NO_PORT = re.compile(
    r"^[^\n]{0,80}(?:Failed to open|can't open (?:UMAD|MAD) port|discover failed)[^\n]{0,120}",
    re.MULTILINE,
)


def asks(setting: Setting, name: str, *arguments: str, answer: int = 0) -> tuple[Command, ...]:
    """Return the command. Raises ``BadInput`` if the hostfile names no subnet."""
    read_options(setting, frozenset())
    fabric = setting.cluster.fabric
    if fabric is None:
        raise BadInput(
            f"{setting.measurement.name} needs a subnet",
            where=setting.cluster.source,
            remedy="name the node that scans it under 'fabric' in the hostfile",
        )
    hca = setting.platform.devices.on(fabric.node, fabric.hca)
    adapter = ("-C", hca) if hca else ()
    path = program(setting, name)
    argv = ("sh", "-c", _SCRIPT, path, str(answer), *adapter, *arguments)
    return (Command(fabric.node, argv, {"LC_ALL": "C"}, setting.measurement.time_limit_s),)


def complain_of_start(text: str, name: str, collector: OutputCollector) -> None:
    """Report a program that is missing, or one that could not open an HCA."""
    if collector.check_started(text, name) and (refused := _NO_PORT.search(text)):
        collector.error(ProblemKind.DEVICE_NOT_FOUND, refused[0])


def complain_of_nothing(text: str, collector: OutputCollector) -> None:
    if collector.is_empty:
        collector.nothing(text, "this text is not the program's output")
