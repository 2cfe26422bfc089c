"""What a transport needs for a whole run, from before the survey until all sessions are closed."""

from __future__ import annotations

from contextlib import ExitStack

from railgauge.core.model import Cluster
from railgauge.plugin.context import Context
from railgauge.transport.registry import opened


def reached(context: Context) -> Cluster:
    """The cluster of this run as sessions need it; let go of when pytest has unconfigured itself.

    Raises ``BadInput`` or ``TransportError`` if it cannot be had.
    """
    if context.recording:
        return context.declared
    stack = ExitStack()
    context.config.add_cleanup(stack.close)
    return stack.enter_context(opened(context.declared, lambda line: _tell(context, line)))


def _tell(context: Context, line: str) -> None:
    if out := context.config.pluginmanager.getplugin("terminalreporter"):
        out.ensure_newline()
        out.write_line(line, yellow=True)
