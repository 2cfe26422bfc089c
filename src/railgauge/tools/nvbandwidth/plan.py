"""What to run: some or all test cases on one node."""

from __future__ import annotations

import re

from railgauge.core.model import Command
from railgauge.tools import Setting
from railgauge.tools.options import Options, program, read_options

_OPTIONS = frozenset({"testcases", "json", "buffer_mib", "samples"})
_NAME = re.compile(r"[a-z0-9_]{1,80}")


def commands(setting: Setting, port: int) -> tuple[Command, ...]:  # noqa: ARG001 - no server
    """One run on the case's first node.

    Options: ``testcases`` (names; all of them without it), ``json`` (default true),
    ``buffer_mib`` and ``samples`` (the tool's own choice without them). The tool does not print
    its buffer's size, so the case's sizes have no meaning here. Raises ``BadInput``.
    """
    options = read_options(setting, _OPTIONS)
    command = Command(
        node=setting.case.nodes[0],
        argv=(program(setting, "nvbandwidth", "nvbandwidth"), *_flags(options)),
        environment=dict(setting.environment),
        time_limit_s=setting.measurement.time_limit_s,
    )
    return (command,)


def _flags(options: Options) -> tuple[str, ...]:
    names = options.words("testcases")
    for name in names:
        if not _NAME.fullmatch(name):
            options.refuse(f"{name!r} is no test case", "see nvbandwidth --list")
    flags = ["-t", *names] if names else []
    for flag, option in (("-b", "buffer_mib"), ("-i", "samples")):
        if (value := options.count(option, None)) is not None:
            flags += [flag, str(value)]
    return (*flags, *(("-j",) if options.flag("json", True) else ()))
