"""The nodes belong to one run at a time, from before its survey to its end; and none of its
processes outlives it there."""

from __future__ import annotations

import contextlib
import ctypes
import getpass
import os
import re
import resource
import secrets
import signal
import socket
import time
from datetime import datetime, timezone
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from railgauge.leases.holder import Holder
from railgauge.leases.nodes import NamedTwice, NodeLeases, NodeTaken, Terms
from railgauge.plugin import distinct
from railgauge.transport.registry import allots_nodes
from railgauge.transport.tag import Tag

if TYPE_CHECKING:
    from railgauge.plugin.context import Context

_NAME = "railgauge-holding"
_WORKER_INPUT = "railgauge_controller"
_LOOK_S = 5.0  # between two looks whether a lease was lost
_PR_SET_PDEATHSIG = 1


def register(context: Context) -> None:
    """Make this part of a session that reaches nodes."""
    if context.is_worker:
        die_with(context.config.workerinput[_WORKER_INPUT])  # type: ignore[attr-defined]
    elif context.folder is not None:
        _write_tag(context.folder)
        context.config.pluginmanager.register(Holding(context), _NAME)


def take(context: Context) -> None:
    """Hold every node that can be reached; ends the session if somebody else has one."""
    holding: Holding | None = context.config.pluginmanager.getplugin(_NAME)
    if holding and not context.recording and not allots_nodes(context.cluster.transport):
        holding.take()


def tag(context: Context) -> Tag:
    """The name of this process's part of the run; no other run has it, on whatever machine."""
    worker: str = getattr(context.config, "workerinput", {}).get("workerid", "main")
    assert context.folder is not None
    return Tag(_tag_file(context.folder).read_text(encoding="utf-8"), worker)


def _write_tag(folder: Path) -> None:
    readable = re.sub(r"[^A-Za-z0-9_-]", "-", folder.name)
    _tag_file(folder).write_text(f"{readable}-{secrets.token_hex(6)}", encoding="utf-8")


def _tag_file(folder: Path) -> Path:
    return folder / "leases" / ".run"  # no name of a node, and gone when the run is over


def die_with(controller: int) -> None:
    """Have the kernel end this process when its controller dies, however it dies.

    A worker that goes on alone would start further commands on nodes that are free for others.
    """
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != controller:
        os._exit(1)


def allow_many_files() -> None:
    """Three open files for each node that is held: 1,250 nodes need more than the usual 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _holder(run: str, tag: str) -> Holder:
    """This run, in words for whoever finds a node taken."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a user without a name
        user = str(os.getuid())
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return Holder(user, socket.gethostname(), run, now, tag)


class Holding:
    """Plugin of the controller."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._leases: NodeLeases | None = None
        self._looked_at = 0.0
        self._renewing: Thread | None = None
        self._trouble: NodeTaken | None = None

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[_WORKER_INPUT] = os.getpid()

    def take(self) -> None:
        context = self._context
        allow_many_files()
        holder = _holder(context.store.folder.name, context.tag.run)
        terms = Terms(holder, context.cluster.rootfs)
        self._leases = NodeLeases(context.sessions, terms, self._tell)
        names = [node.name for node in context.cluster.nodes]
        try:
            self._leases.take(names, context.config.getoption("--wait"))
        except NodeTaken as error:
            if isinstance(error, NamedTwice):
                distinct.look(context)  # which can say the other name too
            pytest.exit(f"railgauge: {error}", pytest.ExitCode.USAGE_ERROR)

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """A worker that died leaves what it was running."""
        if error and self._leases:
            self._leases.sweep(node.gateway.id)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Now and then: a node that booted, or was cut off for long, has forgotten its holder."""
        if self._trouble:
            pytest.exit(f"railgauge: {self._trouble}", pytest.ExitCode.INTERRUPTED)
        if report.when != "teardown" or time.monotonic() - self._looked_at < _LOOK_S:
            return
        self._looked_at = time.monotonic()
        if not hasattr(report, "node"):
            self._renew()
        elif self._renewing is None or not self._renewing.is_alive():
            # Workers must not wait for a node that somebody else's items are about.
            self._renewing = Thread(target=self._renew, daemon=True)
            self._renewing.start()

    def _renew(self) -> None:
        try:
            if self._leases:
                self._leases.renew()
        except NodeTaken as error:
            self._trouble = error

    @pytest.hookimpl(tryfirst=True)
    def pytest_unconfigure(self) -> None:
        """Before the connections are closed, and before a lab is."""
        if self._leases:
            self._leases.tell = self._context.ending.trouble
            with self._context.ending.step("the leases on the nodes could not be let go"):
                self._leases.release()

    def _tell(self, line: str) -> None:
        out = self._context.config.pluginmanager.getplugin("terminalreporter")
        if out is not None:
            out.ensure_newline()
            out.write_line(line, yellow=True)
