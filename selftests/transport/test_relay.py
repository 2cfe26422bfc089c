"""The relay: what a launcher hands to its remote agent runs on the node, and ends with the launch.

The launchers are stand-ins that call the agent as mpirun and mpiexec do; the real ones are in
``selftests/launchers/test_through_suite.py``.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from testing.core_values import cluster
from testing.waiting import wait_until

from railgauge.core.errors import NodeUnreachable, ToolFailed
from railgauge.core.model import Cluster, Command, Node, Transcript
from railgauge.transport import Session, relay
from railgauge.transport.registry import connect
from railgauge.transport.relay import DaemonRequest, request
from railgauge.transport.sessions import Sessions
from railgauge.transport.tag import Tag

pytestmark = pytest.mark.usefixtures("impatient")

ADDRESSES = {"10.0.0.1": "n1", "10.0.0.2": "n2", "n3.site.example": "n3"}
TAG = Tag("r42", "main")
AGENT = '"$HYDRA_LAUNCHER_EXEC"'

Launch = Callable[..., Transcript]


def here(nodes: Cluster, kind: str = "local", lost: str = "") -> Sessions:
    def reach(node: Node) -> Session:
        if node.name == lost:
            raise NodeUnreachable("no route", where=node.name)
        return connect(kind, node, TAG)

    return Sessions(nodes, reach)


@pytest.fixture(params=["local", "exec"])
def launch(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Launch]:
    """Run a script on n1 as a launcher; every node is this machine."""
    (tmp_path / "scratch").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    nodes = cluster("n1", "n2", "n3")
    words = {"exec": ("env", "VIA=exec")} if request.param == "exec" else {}
    nodes = replace(
        nodes, nodes=tuple(replace(node, **words, setup=("export SET=up",)) for node in nodes.nodes)
    )
    sessions = here(nodes, request.param)

    def run(script: str, limit_s: float = 20.0, **environment: str) -> Transcript:
        argv = ("sh", "-c", script)
        return relay.run(sessions, Command("n1", argv, environment, limit_s, daemons_on=ADDRESSES))

    yield run
    sessions.close()
    assert list((tmp_path / "scratch").iterdir()) == []  # the agent's folder is gone


def test_output_and_exit_code_of_the_daemon_come_back(launch: Launch) -> None:
    script = f"{AGENT} 10.0.0.2 'echo said; echo complaint >&2; exit 3'; echo code $?"
    done = launch(script)
    assert (done.exit_code, done.error) == (0, "")
    assert (done.stdout, done.stderr) == ("said\ncode 3\n", "complaint\n")


def test_the_command_arrives_as_it_was_written(launch: Launch) -> None:
    script = f"{AGENT} -x 10.0.0.2 printf '%s' \"'a  \\$HOME; \nb é\"\"'\""
    assert launch(script).stdout == "a  $HOME; \nb é"


def test_daemons_run_at_the_same_time_each_on_its_node(launch: Launch) -> None:
    tagged = "echo $RAILGAUGE_RUN $SET; sleep 1"
    script = f"for h in 10.0.0.1 10.0.0.2 n3; do {AGENT} $h '{tagged}' & done; wait"
    began = time.monotonic()
    done = launch(script)
    assert sorted(done.stdout.splitlines()) == [f"r42/n{n}/main/ up" for n in (1, 2, 3)]
    assert time.monotonic() - began < 3


def test_twenty_daemons_that_end_at_once_are_all_answered(launch: Launch) -> None:
    script = f'for n in $(seq 20); do {AGENT} 10.0.0.2 "exit $n" & done; wait; echo all'
    assert launch(script).stdout == "all\n"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("10.0.0.9 true", "10.0.0.9 is not a node of this launch"),
        ("n1 true", "n1 is not a node of this launch"),
        ("-p 2222 10.0.0.2 true", "takes no option of ssh: -p"),
    ],
)
def test_a_failure_of_the_agent_is_reported_as_ssh_does(
    launch: Launch, words: str, why: str
) -> None:
    done = launch(f"{AGENT} {words}; echo $?")
    assert done.stdout == "255\n"
    assert why in done.stderr


@pytest.mark.skipif(shutil.which("tcsh") is None, reason="there is no tcsh")
def test_a_daemon_is_started_in_the_language_of_the_login_shell(
    launch: Launch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Open MPI writes csh for users of csh, and sh for all others."""
    by_csh = f"{AGENT} 10.0.0.2 'set path = ( /x $path ) ; echo $path[1]'"
    by_sh = f"{AGENT} 10.0.0.2 'PATH=/x:$PATH ; export PATH ; echo $PATH'"
    monkeypatch.setenv("SHELL", str(shutil.which("tcsh")))
    assert launch(by_csh).stdout == "/x\n"
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    assert launch(by_sh).stdout.startswith("/x:")


def test_the_planned_environment_is_that_of_the_transcript(launch: Launch) -> None:
    done = launch("echo $HYDRA_LAUNCHER $OMPI_MCA_plm_rsh_no_tree_spawn", HYDRA_LAUNCHER="mine")
    assert done.stdout == "mine 1\n"
    assert done.environment == {"HYDRA_LAUNCHER": "mine"}


# --- nothing outlives the launch ---


def lives(pid: int) -> bool:
    with suppress(ProcessLookupError):
        os.kill(pid, 0)
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return False


def stubborn(folder: Path) -> str:
    return f"echo $$ >{folder}/daemon; trap '' TERM HUP; while :; do sleep 0.1; done"


def started(folder: Path) -> int:
    wait_until(
        lambda: (folder / "daemon").exists() and bool((folder / "daemon").read_text()),
        10,
        "a daemon",
    )
    return int((folder / "daemon").read_text())


def test_a_daemon_that_stays_is_ended_with_its_launcher(
    launch: Launch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay, "_LEAVE_S", 0.3)
    wait = f"while [ ! -s {tmp_path}/daemon ]; do sleep 0.1; done"
    script = f'{AGENT} 10.0.0.2 "{stubborn(tmp_path)}" & {wait}'
    done = launch(script)
    assert done.exit_code == 0
    assert not lives(started(tmp_path))


def test_a_daemon_ends_at_the_time_limit_of_its_launcher(launch: Launch, tmp_path: Path) -> None:
    done = launch(f'{AGENT} 10.0.0.2 "{stubborn(tmp_path)}"', limit_s=2)
    assert (done.exit_code, done.error) == (None, "command-timed-out")
    assert not lives(started(tmp_path))


def test_a_daemon_ends_when_the_suite_is_interrupted(
    launch: Launch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(daemons: relay._Daemons) -> dict[str, tuple[int, str, str]]:
        if daemons._running:
            started(tmp_path)
            raise KeyboardInterrupt
        return {}

    monkeypatch.setattr(relay._Daemons, "_ended", interrupt)
    with pytest.raises(KeyboardInterrupt):
        launch(f'{AGENT} 10.0.0.2 "{stubborn(tmp_path)}"')
    assert not lives(started(tmp_path))


def test_a_node_that_is_out_of_reach_is_named_before_anything_starts(tmp_path: Path) -> None:
    sessions = here(cluster("n1", "n2", "n3"), lost="n2")
    command = Command("n1", ("touch", str(tmp_path / "ran")), daemons_on=ADDRESSES)
    with pytest.raises(NodeUnreachable, match="n2"):
        relay.run(sessions, command)
    sessions.close()
    assert not (tmp_path / "ran").exists()


def test_a_first_node_without_room_for_the_agent_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay, "_text", lambda name: "echo cannot make a folder")
    sessions = here(cluster("n1", "n2", "n3"))
    with pytest.raises(ToolFailed, match="n1: launch: through-suite: cannot make a folder"):
        relay.run(sessions, Command("n1", ("true",), daemons_on=ADDRESSES))
    sessions.close()


# --- what the desk prints is not trusted ---


def test_a_request_is_parsed() -> None:
    assert request("start 4711 10.0.0.2 6f72746564") == DaemonRequest("4711", "10.0.0.2", "orted")


@pytest.mark.parametrize(
    "line",
    [
        "", "ready /tmp/x", "start", "start 1 n2", "start 1 n2 ", "start x n2 6f",
        "start 1 n2 6", "start 1 n2 6g", "start 1 n2 6f 6f", "start 1 n2 00",
        f"start {'1' * 11} n2 6f", f"start 1 {'n' * 256} 6f", "start ١ n2 6f",
    ],
)  # fmt: skip
def test_other_lines_are_no_requests(line: str) -> None:
    assert request(line) is None
