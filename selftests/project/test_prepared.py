"""A run in a fork of the prepared interpreter is as one in a fresh interpreter."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from testing import prepared
from testing.acceptance import ONE_PAIR, environment, make_project
from testing.places import ROOT
from testing.waiting import wait_until

Run = Callable[[prepared.Request], "subprocess.CompletedProcess[str]"]

WITH_STATE = ("-p", "interpreter_state", *ONE_PAIR, "-k", "test_cpu_governor")
LEAVES = "import os, sys; os.write(2, b'\\xff\\r\\n'); os._exit(77)"
HANGS = (
    "import os, pathlib, time; pathlib.Path('pid').write_text(str(os.getpid())); time.sleep(600)"
)


def request(folder: Path, *arguments: str, time_limit_s: float = 300.0) -> prepared.Request:
    return prepared.Request(arguments, folder, environment(), time_limit_s)


def state(run: Run, folder: Path) -> tuple[dict[str, Any], list[str]]:
    """What a run of the ladder sees, and the lines that it prints, without times and folders."""
    project = make_project(folder / "project")
    shutil.copy(ROOT / "selftests" / "testing" / "interpreter_state.py", project.folder)
    done = run(request(project.folder, *WITH_STATE))
    assert done.returncode == 10, done.stdout + done.stderr
    seen = json.loads((project.folder / "state.json").read_text(encoding="utf-8"))
    text = (done.stdout + done.stderr).replace(str(folder), "FOLDER")
    lines = re.sub(r"\d{8}-\d{6}|\d+\.\d+s|in \d+ s", "TIME", text).splitlines()
    return json.loads(json.dumps(seen).replace(str(folder), "FOLDER")), lines


def test_a_run_sees_and_prints_the_same(tmp_path: Path) -> None:
    expected, printed = state(prepared.fresh, tmp_path / "one")
    seen, also_printed = state(prepared.run, tmp_path / "two")
    assert [line.strip("= ") for line in also_printed] == [line.strip("= ") for line in printed]
    loaded, also_loaded = expected.pop("modules"), seen.pop("modules")
    assert expected.pop("random") != seen.pop("random")
    assert seen == expected
    # pytest rewrites the asserts of an installed plugin's package, unless it was imported earlier.
    own = {name for name in loaded if name.startswith("railgauge")}
    assert own <= set(also_loaded)
    assert {name: also_loaded.get(name) for name in set(loaded) - own} == {
        name: loader for name, loader in loaded.items() if name not in own
    }


def conftest(folder: Path, text: str) -> Path:
    folder.mkdir()
    (folder / "conftest.py").write_text(text, encoding="utf-8")
    return folder


def test_runs_have_other_random_numbers(tmp_path: Path) -> None:
    text = "import os, random, uuid; print(random.random(), uuid.uuid4(), flush=True); os._exit(0)"
    folder = conftest(tmp_path / "one", text)
    one, other = (set(prepared.run(request(folder, "-s")).stdout.split()) for _ in range(2))
    assert len(one | other) == 4


@pytest.mark.parametrize("run", [prepared.run, prepared.fresh])
def test_exit_codes_and_signals_are_told(run: Run, tmp_path: Path) -> None:
    killed = conftest(tmp_path / "killed", "import os; os.kill(os.getpid(), 9)")
    left = conftest(tmp_path / "left", LEAVES)
    assert run(request(killed)).returncode == -9
    done = run(request(left, "-s"))
    assert (done.returncode, done.stderr) == (77, "\ufffd\n")


def test_a_run_over_its_time_limit_is_killed(tmp_path: Path) -> None:
    folder = conftest(tmp_path / "hangs", HANGS)
    prepared.run(request(conftest(tmp_path / "empty", "")))  # so that the server is there
    with pytest.raises(subprocess.TimeoutExpired):
        prepared.run(request(folder, time_limit_s=5))
    pid = int((folder / "pid").read_text(encoding="utf-8"))
    wait_until(lambda: not Path(f"/proc/{pid}").exists(), 30, "the run is gone")


def test_runs_at_once_keep_their_folders_and_output(tmp_path: Path) -> None:
    text = "import os; print(os.getcwd(), flush=True); os._exit(int(os.path.basename(os.getcwd())))"
    folders = [conftest(tmp_path / str(number), text) for number in range(8)]
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda folder: prepared.run(request(folder, "-s")), folders))
    assert [one.stdout for one in done] == [f"{folder}\n" for folder in folders]
    assert [one.returncode for one in done] == list(range(8))


def test_another_environment_has_another_interpreter(tmp_path: Path) -> None:
    text = "import os, sys; print(sys.flags.hash_randomization, flush=True); os._exit(0)"
    folder = conftest(tmp_path / "one", text)
    unset = {name: value for name, value in environment().items() if name != "PYTHONHASHSEED"}
    outputs = [
        prepared.run(prepared.Request(("-s",), folder, {**unset, **more}, 300.0)).stdout
        for more in ({}, {"PYTHONHASHSEED": "0"})
    ]
    assert outputs == ["1\n", "0\n"]


def test_nothing_is_left_when_the_tests_are_over(tmp_path: Path) -> None:
    program = """
import os, sys
from pathlib import Path
from testing import prepared
prepared.run(prepared.Request((), Path(sys.argv[1]), dict(os.environ), 300.0))
(server,) = prepared._servers.values()
print(server.process.pid, flush=True)
os._exit(0)
"""
    folder = conftest(tmp_path / "one", "import os; os._exit(0)")
    command = [sys.executable, "-c", program, str(folder)]
    path = os.pathsep.join(word for word in sys.path if word)
    own = {**environment(), "PYTHONPATH": path}
    done = subprocess.run(command, env=own, capture_output=True, text=True, check=True)
    server = Path(f"/proc/{int(done.stdout)}")
    wait_until(lambda: not server.exists() or _is_over(server), 30, "the server is gone")


def _is_over(process: Path) -> bool:
    """A zombie that is nobody's child in a container without an init process."""
    return " Z " in (process / "stat").read_text(encoding="ascii")


BACKGROUND = """
import os, signal, sys, tempfile, time
print(os.getsid(0) == os.getpid(), tempfile.gettempdir(), flush=True)
print(signal.getsignal(signal.SIGINT).__name__, flush=True)
print("also", file=sys.stderr, flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_run_in_the_background_gets_signals(tmp_path: Path, number: signal.Signals) -> None:
    folder, output = conftest(tmp_path / "one", BACKGROUND), tmp_path / "output"
    (tmp_path / "own").mkdir()
    more = {"TMPDIR": str(tmp_path / "own")}
    asked = prepared.Request(("-s",), folder, environment(), 300.0, True, more)
    with output.open("wb") as file:
        run = prepared.start(asked, file)
    wait_until(lambda: "also" in output.read_text(encoding="utf-8"), 30, "the run has begun")
    assert run.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        run.wait(0.01)
    expected = f"True {tmp_path / 'own'}\ndefault_int_handler\nalso\n"
    assert output.read_text(encoding="utf-8").startswith(expected)
    run.send_signal(number)
    assert (run.wait(30), run.poll()) == (-number, -number)
    assert not Path(f"/proc/{run.pid}").exists()
    run.kill()  # of a process that has ended: nobody gets the signal


WORKER = """
import json, os, signal, sys, threading
from pathlib import Path

def pytest_configure_node(node):
    node.workerinput["controller"] = os.getpid()

def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        return
    parent, number = config.workerinput["controller"], config.workerinput["workerid"]
    seen = {
        "parent": os.getppid() == parent,
        "group": os.getpgrp() == os.getpgid(parent),
        "session": os.getsid(0) == os.getsid(parent),
        "folder": os.getcwd(),
        # Readline gives its children these; os.environ does not have them.
        "environment": {n: v for n, v in os.environ.items() if n not in ("COLUMNS", "LINES")},
        "path": sys.path,
        "errors": os.path.samefile("/proc/self/fd/2", f"/proc/{parent}/fd/2"),
        "signals": {int(n): str(signal.getsignal(n)).split(" at ")[0] for n in signal.Signals},
        "files": sorted(os.listdir("/proc/self/fd")),
        "main": sys.modules["__main__"].__name__,
    }
    Path(f"{number}.json").write_text(json.dumps(seen))
"""


def test_a_worker_sees_the_same(tmp_path: Path) -> None:
    def of(run: Run, folder: Path) -> list[dict[str, Any]]:
        project = conftest(folder, WORKER)
        (project / "test_one.py").write_text("def test_one():\n    pass\n", encoding="utf-8")
        done = run(request(project, "-n", "2", "-p", "no:cacheprovider"))
        assert "1 passed" in done.stdout, done.stdout + done.stderr
        texts = [(project / f"gw{number}.json").read_text(encoding="utf-8") for number in (0, 1)]
        ids = re.compile(r'("PYTEST_XDIST_TESTRUNUID": ")\w+')
        return [json.loads(ids.sub(r"\1", t.replace(str(folder), "FOLDER"))) for t in texts]

    expected = of(prepared.fresh, tmp_path / "one")
    assert of(prepared.run, tmp_path / "two") == expected
    assert [seen["parent"] for seen in expected] == [True, True]
