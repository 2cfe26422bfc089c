"""An interpreter that has imported what a run of the ladder imports, and forks for each run.

``python prepared_server.py FD`` reads requests from the socket ``FD`` until its other end closes. A
request is one message: JSON as ``prepared._send`` makes it, and four descriptors, which are the
run's standard input, output and error, and a socket. Through this socket the server says the
process ID and, at the end, the exit code and the CPU seconds. The fork goes on as ``python -m
pytest ARGUMENTS``, or as ``railgauge ARGUMENTS``.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import prepared_children

_MOST_BYTES = 1 << 18
_DESCRIPTORS = 4
# What a run of the ladder imports. Its pytest rewrites no asserts (testing/acceptance.py), or it
# would warn of plugins that are already there.
_MODULES = (
    "pytest",
    "_pytest._argcomplete",
    "_pytest.faulthandler",
    "_pytest.helpconfig",
    "_pytest.junitxml",
    "_pytest.pastebin",
    "_pytest.setuponly",
    "_pytest.setupplan",
    "_pytest.skipping",
    "_pytest.stepwise",
    "_pytest.threadexception",
    "_pytest.unittest",
    "_pytest.unraisableexception",
    "_pytest.warnings",
    "pytest_html.hooks",
    "pytest_html.plugin",
    "pytest_metadata.hooks",
    "pytest_metadata.plugin",
    "allure_pytest.plugin",
    "xdist.plugin",
    "xdist.looponfail",
    "xdist.newhooks",
    "xdist.dsession",
    "xdist.remote",
    "railgauge.site.entry",
    "railgauge.plugin.fixtures",
    "railgauge.transport.ssh",
    "railgauge.cli.lab",
    "railgauge_lab.cluster",
    "railgauge_lab.server",
    "jsonschema",
    "ClusterShell.NodeSet",
    "email.parser",
    "encodings.ascii",
    "encodings.idna",
    "packaging.requirements",
    "sysconfig",
)
_ROOT = Path(__file__).resolve().parents[2]


class _Server:
    """Starts the runs and reports their ends."""

    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._ready = select.poll()
        self._ready.register(requests, select.POLLIN)
        self._running: dict[int, tuple[int, socket.socket]] = {}  # by descriptor of the process

    def serve(self) -> Callable[[], object] | None:
        """Return what a run's fork does; return ``None`` in the server when it ends."""
        while True:
            for descriptor, _ in self._ready.poll():
                if descriptor in self._running:
                    self._say_end(descriptor)
                    continue
                message, given, _, _ = socket.recv_fds(self._requests, _MOST_BYTES, _DESCRIPTORS)
                if not message:
                    return None
                if self._is_fork(given):
                    asked = json.loads(message)
                    if asked["new_session"]:
                        os.setsid()
                    os.chdir(asked["folder"])
                    os.environ.update(asked["more"])
                    tempfile.tempdir = None  # one of the variables may name another
                    return partial(_PROGRAMS[asked["program"]], asked["arguments"])

    def _is_fork(self, given: list[int]) -> bool:
        child = os.fork()
        if not child:
            self._become_run(given)
            return True
        *streams, answer = given
        for stream in streams:
            os.close(stream)
        descriptor = os.pidfd_open(child)
        self._running[descriptor] = child, socket.socket(fileno=answer)
        self._ready.register(descriptor, select.POLLIN)
        self._say(descriptor, child)
        return False

    def _become_run(self, given: list[int]) -> None:
        self._requests.close()
        for descriptor, (_, answer) in self._running.items():
            os.close(descriptor)
            answer.close()
        for number, stream in enumerate(given[:-1]):
            os.dup2(stream, number)
        for descriptor in given:
            os.close(descriptor)

    def _say_end(self, descriptor: int) -> None:
        child, answer = self._running[descriptor]
        _, status, used = os.wait4(child, 0)
        self._ready.unregister(descriptor)
        os.close(descriptor)
        self._say(descriptor, os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime)
        del self._running[descriptor]
        answer.close()

    def _say(self, descriptor: int, *numbers: float) -> None:
        # If the run's time limit is over, the other end is closed.
        with contextlib.suppress(ConnectionError):
            self._running[descriptor][1].sendall(f"{' '.join(map(str, numbers))}\n".encode())


def _prepare() -> None:
    for name in _MODULES:
        importlib.import_module(name)
    _fill_caches()
    assert threading.active_count() == 1, "a fork would have none of the other threads"
    gc.collect()
    gc.freeze()  # garbage collection in a run does not copy these objects


def _fill_caches() -> None:
    """Do once what each run does with the same texts; these caches go by the text, not the path."""
    from railgauge.config import hostfile, thresholds  # noqa: PLC0415 - see _MODULES
    from railgauge.core import pages  # noqa: PLC0415
    from railgauge.planning import marks  # noqa: PLC0415

    for path in (_ROOT / "hostfiles").glob("lab-*.yaml"):
        cluster = hostfile.load(path, schema_file=path.with_name("schema.json"))
        thresholds.load(cluster.platform, _ROOT / "thresholds")
    marks.marked_tests(_ROOT)
    _load_named()
    _fill_codec()
    _fill_codec()  # making some of the code makes cattrs forget what it made before
    package = _ROOT / "src" / "railgauge"
    for path in package.rglob("*.html.j2"):
        pages._environment().get_template(path.relative_to(package).as_posix())


def _load_named() -> None:
    """Import what a run imports once it knows its cluster."""
    from railgauge import launchers, stacks, tools  # noqa: PLC0415 - see _MODULES
    from railgauge.tools import prefixes  # noqa: PLC0415

    for named, names in (
        (tools.tool, tools.NAMES),
        (stacks.stack, stacks.vendors()),
        (launchers.launcher, launchers.NAMES),
    ):
        for name in names:
            named(name)
    for is_log in (True, False):
        prefixes.without_prefixes("", is_log=is_log)


def _fill_codec() -> None:
    """Have cattrs make the code that reads and writes the files of a run."""
    from railgauge.core import codec, model, question  # noqa: PLC0415
    from railgauge.facts import NodeFacts  # noqa: PLC0415
    from railgauge.judging.record import ItemRecord  # noqa: PLC0415
    from railgauge.run import (  # noqa: PLC0415 - see _MODULES
        invocation,
        store,
        untrusted,
    )
    from railgauge.verdict.decision import RunPlan  # noqa: PLC0415

    surveyed = (NodeFacts, untrusted.SurveyedNode, untrusted.SurveyHeader)
    kept = (model.Cluster, store.Kept, ItemRecord, RunPlan, invocation.Invocation)
    asked = (model.Case, model.Pairing, question.FactAt)
    codec.to_plain(())
    for kind in (*surveyed, *kept, *asked):
        codec._CONVERTER.get_structure_hook(kind)
        codec._CONVERTER.get_unstructure_hook(kind)
    codec._OF_ANY_NUMBER.get_structure_hook(NodeFacts)


def main() -> None:
    requests = socket.socket(fileno=int(sys.argv[1]))
    requests.set_inheritable(False)
    del sys.path[0]  # the folder of this file
    _prepare()
    interrupted = signal.signal(signal.SIGINT, signal.SIG_IGN)  # signals are for the runs
    run = _Server(requests).serve()
    if run is not None:
        signal.signal(signal.SIGINT, interrupted)
        process = prepared_children.prepare()
        _carry_out(process.run if process else run)


def _pytest(arguments: list[str]) -> None:
    sys.path.insert(0, str(Path.cwd()))
    sys.argv = ["-m", *arguments]
    runpy.run_module("pytest", run_name="__main__", alter_sys=True)


def _railgauge(arguments: list[str]) -> None:
    sys.path.insert(0, "")
    sys.argv = ["-c", *arguments]
    # A busy machine would make quick commands show how far they are.
    importlib.import_module("railgauge.run.progress.screen").FIRST_S = 3600.0
    sys.exit(importlib.import_module("railgauge.cli").main())


_PROGRAMS = {"pytest": _pytest, "railgauge": _railgauge}


def _carry_out(act: Callable[[], object]) -> None:
    """Do it and end as an interpreter does, but do not tear down what was imported.

    In a fork the kernel copies all memory in which something is freed: that takes as long as a
    third of a short run.
    """
    code: object = None
    try:
        act()
    except SystemExit as left:
        code = left.code
        if not isinstance(code, int | None):
            raise
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        sys.exit(code)  # tells it, with an exit code of its own
    os._exit(int(code or 0))


if __name__ == "__main__":
    main()
