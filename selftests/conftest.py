"""What all selftests share."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import settings
from xdist.scheduler import LoadFileScheduling

pytest.register_assert_rewrite("testing")

from testing import costs, places, prepared, programs  # noqa: E402 - its asserts are to tell what they saw

# What a selftest starts finds compiled what it imports, as it does at a user's.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Properties are judged by what they show, not by how fast a busy machine shows it. In CI the inputs
# are the same each time: what is found there must be due to the change.
settings.register_profile("unhurried", deadline=None)
settings.register_profile("same", deadline=None, derandomize=True)
settings.load_profile("same" if os.environ.get("RAILGAUGE_CI") == "1" else "unhurried")

# Started with nohup or in the background of a script, this process ignores Ctrl-C, and so would
# every run that a test starts and interrupts.
signal.signal(signal.SIGINT, signal.default_int_handler)

# What runs the ladder or real programs takes minutes in few tests: begun last, it would be all that
# one worker does at the end while the others have nothing.
_LONG = ["endtoend", "netlab", "launchers", "leases", "slurm", "subnet", "bundle", "transport"]
_LONG += ["report", "jenkins", "site", "trend", "matrix"]  # matrix fills what the others leave
# All files of these look at the same runs: on one worker they are made once.
_SHARED_RUNS = frozenset({"bundle", "report", "trend"})
# Each test of these is a unit of its own: together they would keep one worker for minutes.
_ALONE = ("matrix/test_fault_matrix.py", "transport/test_transport_contract.py")
# These wait for processes, daemons and links far longer than they use a CPU: two workers begin with
# them, so that the others have the CPUs meanwhile. They are as long for one as all the others.
_WAITING = frozenset({"launchers", "leases", "netlab", "slurm", "subnet", "transport"})
_BEGIN_WITH_WAITING = slice(3, 5)  # of the workers


Railgauge = Callable[..., tuple[object, str, str]]


class LongFirst(LoadFileScheduling):
    """A file stays with one worker, so that what its tests share is made once.

    So does a folder whose files share their runs. Each test of the fault matrix and of the
    transports' contract is a unit of its own: they share nothing. The fourth and the fifth worker
    take what waits before anything else, the others after everything else.
    """

    def __init__(self, config: pytest.Config, log: Any) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False  # xdist's own order goes by the number of tests
        self._places: dict[str, int] = {}

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        if file.endswith(_ALONE):
            return nodeid
        folder = file.rpartition("/")[0]
        return folder if folder.rpartition("/")[2] in _SHARED_RUNS else file

    def _assign_work_unit(self, node: Any) -> None:
        """As xdist does, which looks for the place of each test in the list of all."""
        if not self._places:
            self._places = {nodeid: at for at, nodeid in enumerate(self.collection or ())}
        scope = self._next_for(node)
        unit = self.workqueue.pop(scope)
        mine = self.assigned_work.setdefault(node, {})
        for ended in [name for name, tests in mine.items() if all(tests.values())]:
            del mine[ended]
        mine[scope] = unit
        node.send_runtest_some(
            [self._places[test] for test, is_done in unit.items() if not is_done]
        )

    def _next_for(self, node: Any) -> str:
        waits = node in self.nodes[_BEGIN_WITH_WAITING]
        found = (scope for scope in self.workqueue if _waits(scope) == waits)
        return next(found, next(iter(self.workqueue)))


def _waits(scope: str) -> bool:
    return not _WAITING.isdisjoint(scope.split("/"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--costs", help="append the CPU seconds of each test to this file")


def pytest_configure(config: pytest.Config) -> None:
    """Workers have the environment of the process that started them."""
    if file := config.getoption("costs"):
        is_worker = hasattr(config, "workerinput")
        config.pluginmanager.register(costs.Costs(Path(file).absolute(), is_worker=is_worker))
    if worker := getattr(config, "workerinput", None):
        number = int(worker["workerid"].removeprefix("gw"))
        config.args = begun_elsewhere(config.args, number / worker["workercount"])
    if memory := places.memory():
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(memory))
    if os.environ.get("RAILGAUGE_CI") == "1" and not hasattr(config, "workerinput"):
        folder = Path(tempfile.mkdtemp(prefix="railgauge-stand-ins-"))
        config.add_cleanup(lambda: shutil.rmtree(folder))
        programs.stand_in(folder / "bin")


def begun_elsewhere(asked: list[str], share: float) -> list[str]:
    """All folders, from the one on at this share of them.

    All workers collect all tests, and the first that imports a file compiles it, which takes most
    of that time in a new checkout. So each compiles a part of the files and finds the rest.
    """
    here = Path(__file__).parent
    if asked != [here.name]:
        return asked
    folders = sorted({path.parent.name for path in here.glob("*/test_*.py")})
    first = int(share * len(folders))
    return [f"{here.name}/{name}" for name in (*folders[first:], *folders[:first])]


def pytest_unconfigure() -> None:
    prepared.end()


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput") and programs.asked_for():
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if asked := programs.asked_for():
        terminalreporter.section("programs of this machine that no selftest may see", red=True)
        for line in sorted(set(asked)):
            terminalreporter.write_line(line)
    keep_failed(
        terminalreporter.config.rootpath / FAILED, () if asked else _failed(terminalreporter)
    )


FAILED = Path(".cache", "failed-selftests")


def keep_failed(path: Path, tests: Iterable[str]) -> None:
    """Write the ids of tests, one a line: ``make test`` runs them once more, ``pytest @FILE``."""
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{test}\n" for test in sorted(set(tests))), encoding="utf-8")


def _failed(reporter: Any) -> Iterator[str]:
    for kind in ("failed", "error"):
        yield from (report.nodeid for report in reporter.getreports(kind))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LongFirst:
    return LongFirst(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[object]:
    """What is collected stays: garbage collection need not look at it, now or in a test."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: (_turn(item), item.path))


def _turn(item: pytest.Item) -> int:
    folder = Path(item.nodeid).parts[1]
    return _LONG.index(folder) if folder in _LONG else len(_LONG)


@pytest.fixture(scope="session")
def cannot_run() -> Callable[[str], NoReturn]:
    """``cannot_run(reason)``: ends a test for something that this machine lacks."""
    return programs.cannot_run


@pytest.fixture
def railgauge(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Railgauge:
    """``railgauge(*argv)``: exit code, standard output, standard error."""
    from railgauge.cli import main  # noqa: PLC0415 - compiled only where a test asks for it
    from railgauge.run.progress import screen  # noqa: PLC0415

    # A busy machine would make quick commands show how far they are.
    monkeypatch.setattr(screen, "FIRST_S", 3600.0)

    def run(*argv: object) -> tuple[object, str, str]:
        try:
            code: object = main([str(word) for word in argv])
        except SystemExit as left:
            code = left.code
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        return code, out, err

    return run


@pytest.fixture
def log(tmp_path: Path) -> Callable[..., Path]:
    """``log(text)``: a file with that in it."""

    def write(text: str | bytes, name: str = "x.log") -> Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write
