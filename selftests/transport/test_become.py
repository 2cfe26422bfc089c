"""``become:`` of the hostfile: what runs as root, how it ends, and the error without the right.

The contract of the transports (``root-sudo``) covers time limits, stops and servers of root's.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest
from testing.core_values import cluster
from testing.logins import rights, sudoers
from testing.places import ROOT
from testing.programs import node_path
from testing.transport_contract import STUBBORN, is_alive, pids_in, python
from testing.waiting import wait_until

from railgauge.config import thresholds
from railgauge.config.hostfile import cluster_from_json, cluster_to_json, load
from railgauge.core.errors import BecomeRefused, FactMissing, HostfileError
from railgauge.core.model import Cluster, Command, Node, Transcript
from railgauge.facts import NodeFacts, require
from railgauge.planning import forecast, plan, root
from railgauge.run import inputs
from railgauge.run.prepare import Preparer
from railgauge.run.store import Store
from railgauge.run.survey import survey
from railgauge.transport import Session
from railgauge.transport.registry import connect
from railgauge.transport.sessions import Sessions

pytestmark = pytest.mark.usefixtures("impatient")

Without = Callable[[str], NoReturn]


def ran(words: tuple[str, ...], *become: str, **options: object) -> Transcript:
    session = connect("exec", Node("n01", "x", "x", exec=words, become=become))
    try:
        return session.run(Command("n01", ("id", "-u"), **options))  # type: ignore[arg-type]
    finally:
        session.close()


# --- with the right ---


def test_only_what_needs_root_is_run_as_root(cannot_run: Without) -> None:
    with sudoers(cannot_run, rights("ALL")) as words:
        assert ran(words, "sudo", "-n").stdout == "65534\n"
        assert ran(words, "sudo", "-n", as_root=True).stdout == "0\n"
        assert ran(words, as_root=True).stdout == "65534\n"


def test_files_of_root_are_read_and_written(cannot_run: Without, tmp_path: Path) -> None:
    (tmp_path / "setting").write_text("off\n")
    (tmp_path / "setting").chmod(0o600)
    read = Command("n01", ("cat", str(tmp_path / "setting")))
    with sudoers(cannot_run, rights("ALL")) as words:
        session = connect("exec", Node("n01", "x", "x", exec=words, become=("sudo", "-n")))
        assert session.run(read).exit_code == 1
        assert session.run(replace(read, as_root=True)).stdout == "off\n"
        session.close()


def test_setup_runs_as_root_too(cannot_run: Without) -> None:
    with sudoers(cannot_run, rights("ALL")) as words:
        node = Node("n01", "x", "x", exec=words, become=("sudo", "-n"), setup=("W=$(id -u)",))
        session = connect("exec", replace(node, setup=("export W=$(id -u)",)))
        argv = ("sh", "-c", "echo $W")
        assert session.run(Command("n01", argv)).stdout == "65534\n"
        assert session.run(Command("n01", argv, as_root=True)).stdout == "0\n"
        session.close()


# Takes the node's lease, starts a stubborn command of root's, and waits to be killed.
MAIN = """
import json, sys, time
from railgauge.core.model import Command, Node
from railgauge.leases.holder import Holder, hold_command
from railgauge.transport.registry import connect
from railgauge.transport.tag import Tag
run, words, root, *argv = json.loads(sys.argv[1])
node = Node("n01", "x", "x", exec=tuple(words), become=("sudo", "-n"))
session = connect("exec", node, Tag(run, "main"))
holder = Holder("ana", "login", run, "now", run)
lease = session.start(hold_command("n01", root, holder, run, 0.5))
print(lease.first_line(20), flush=True)
session.start(Command("n01", tuple(argv), as_root=True))
time.sleep(60)
"""


def test_nothing_of_root_is_left_after_the_run_was_killed(
    cannot_run: Without, tmp_path: Path
) -> None:
    lock = tmp_path / "tmp"
    lock.mkdir()
    lock.chmod(0o1777)
    pids = tmp_path / "pids"
    command = python(STUBBORN, str(pids)).argv
    with sudoers(cannot_run, rights("ALL")) as words:
        given = json.dumps([f"become-{os.getpid()}", words, str(tmp_path), *command])
        with subprocess.Popen([sys.executable, "-c", MAIN, given], stdout=subprocess.PIPE) as run:
            assert run.stdout
            assert run.stdout.readline().startswith(b"held ")
            left = pids_in(pids)
            run.send_signal(signal.SIGKILL)
        wait_until(lambda: not any(map(is_alive, left)), 20, "the end of root's processes")
        wait_until(lambda: not any(lock.iterdir()), 10, "the end of the lease")


# --- without the right ---

NO_RIGHT = [
    pytest.param("", "a password is required", id="not in sudoers"),
    pytest.param("nobody ALL=(root) ALL\n", "a password is required", id="with a password"),
    pytest.param(rights("/usr/bin/lspci"), "a password is required", id="one program alone"),
    pytest.param(
        f"Defaults requiretty\n{rights('ALL')}", "you must have a tty", id="with a terminal"
    ),
]


@pytest.mark.parametrize(("text", "says"), NO_RIGHT)
def test_a_missing_right_is_reported_at_once(cannot_run: Without, text: str, says: str) -> None:
    with sudoers(cannot_run, text) as words:
        began = time.monotonic()
        done = ran(words, "sudo", "-n", as_root=True)
    assert (done.exit_code, done.error, done.stdout) == (None, "become-refused", "")
    assert done.stderr.startswith("become: sudo -n ended with 1: sudo: ")
    assert says in done.stderr
    assert time.monotonic() - began < 10


def test_a_program_that_asks_for_a_password_never_waits(cannot_run: Without) -> None:
    """``sudo`` without ``-n``, and a program that reads the password from its input."""
    with sudoers(cannot_run, "nobody ALL=(root) ALL\n") as words:
        assert ran(words, "sudo", as_root=True, time_limit_s=30.0).error == "become-refused"
        assert ran(words, "sudo", "-S", as_root=True, time_limit_s=30.0).error == "become-refused"


REFUSING = ("sh", "-c", "echo motd; echo 'no right' >&2; exit 7")


@pytest.fixture
def refusing() -> Session:
    return connect("local", Node("n01", "x", "x", become=REFUSING))


def test_whoever_waits_for_the_command_gets_the_reason(refusing: Session, free_port: int) -> None:
    running = refusing.start(Command("n01", ("sleep", "60"), as_root=True))
    with pytest.raises(BecomeRefused, match=r"ended with 7: no right; .*NOPASSWD"):
        running.first_line(10)
    server = refusing.start(Command("n01", ("true",), listens_on=free_port, as_root=True))
    with pytest.raises(BecomeRefused, match="no right"):
        server.wait_ready(10)
    assert running.stop().error == "become-refused"
    refusing.close()


def test_a_program_that_is_not_there_is_a_missing_right() -> None:
    session = connect("local", Node("n01", "x", "x", become=("no-such-sudo", "-n")))
    done = session.run(Command("n01", ("true",), as_root=True))
    assert done.error == "become-refused"
    assert "no-such-sudo" in done.stderr
    session.close()


def test_a_program_that_runs_nothing_is_no_success() -> None:
    session = connect("local", Node("n01", "x", "x", become=("true",)))
    done = session.run(Command("n01", ("true",), as_root=True))
    assert (done.exit_code, done.error) == (None, "become-refused")
    assert done.stderr.endswith("true ended with 0: it printed nothing")
    session.close()


# --- the survey ---

LSPCI = """#!/bin/sh
echo 00:01.0 PCI bridge
if [ "$ROOT" ]; then echo '  ACSCtl: SrcValid- ReqRedir+'; else echo '  <access denied>'; fi
"""


def surveyed(tmp_path: Path, become: tuple[str, ...]) -> object:
    own = tmp_path / "own"
    own.mkdir()
    (own / "lspci").write_text(LSPCI)
    (own / "lspci").chmod(0o755)
    path = node_path(own, tmp_path / "basic")
    there = replace(
        cluster("n1"), tools={"lspci": str(own)}, nodes=(Node("n1", "x", "x", become=become),)
    )
    words = ("env", f"PATH={path}")
    sessions = Sessions(there, lambda node: connect("exec", replace(node, exec=words)))
    found = survey(there, sessions, None, lambda _: None)
    sessions.close()
    return found["n1"]


def test_root_reads_what_the_login_may_not(tmp_path: Path) -> None:
    facts = surveyed(tmp_path, ("env", "ROOT=1"))
    assert isinstance(facts, NodeFacts)
    assert facts.acs_enabled == ("0000:00:01.0",)
    assert facts.kernel


def test_the_remedy_without_become_names_it(tmp_path: Path) -> None:
    facts = surveyed(tmp_path, ())
    assert isinstance(facts, NodeFacts)
    with pytest.raises(FactMissing, match="become: sudo -n"):
        require(facts, "acs_enabled")


def test_a_node_without_the_right_is_an_error(tmp_path: Path) -> None:
    error = surveyed(tmp_path, REFUSING)
    assert isinstance(error, BecomeRefused)
    assert (error.where, "no right" in error.what) == ("n1", True)


def test_missing_output_of_root_is_not_taken_for_good(tmp_path: Path) -> None:
    cut = tmp_path / "cut"
    cut.write_text('#!/bin/sh\n"$@" | head -n 1\n')  # the probe begins, and prints nothing more
    cut.chmod(0o755)
    facts = surveyed(tmp_path, ("env", "PATH=/nowhere:/usr/bin:/bin", str(cut)))
    assert isinstance(facts, NodeFacts)
    with pytest.raises(FactMissing):
        require(facts, "acs_enabled")


# --- what needs root ---


def test_scans_and_preparations_run_as_root(tmp_path: Path) -> None:
    platform = thresholds.load("h200", ROOT / "thresholds")
    asked: list[Command] = []

    def run(command: Command) -> Transcript:
        asked.append(command)
        return Transcript("n1", command.argv, 0, "", "", 0.0)

    with pytest.raises(Exception, match="is '' after it was set"):
        Preparer(run, Store(tmp_path), "/", platform.preparations).apply(["n1"])
    assert asked
    assert all(command.as_root for command in asked)


def test_the_plan_names_what_needs_root_and_runs_it_so() -> None:
    declared, platform = inputs.site(ROOT / "hostfiles" / "example-metax-c500.yaml", ROOT)
    level = plan.level(platform, declared, "signoff", None)
    named = " ".join(root.needing_root(platform, forecast.work(platform, level)))
    roots = {
        platform.measurements[case.measurement].tool: command.as_root
        for _, case in plan.cases(platform, level)
        for command in plan.commands(case, platform, declared, 18515)
    }
    assert not roots["perftest"]
    for tool, as_root in roots.items():
        assert as_root == (tool in named)


@pytest.mark.parametrize(
    ("become", "user", "way"),
    [(("sudo", "-n"), None, "by sudo -n"), ((), "root", "by login"), ((), None, "")],
)
def test_the_way_to_root_is_printed(become: tuple[str, ...], user: str | None, way: str) -> None:
    plain = cluster("n1")
    node = replace(plain.nodes[0], become=become, ssh=replace(plain.nodes[0].ssh, user=user))
    assert root.way_to_root(replace(plain, nodes=(node,))) == way


# --- the hostfile ---


def loaded(tmp_path: Path, become: object) -> Cluster:
    path = tmp_path / "site.yaml"
    path.write_text(f"cluster: c\nplatform: p\nnodes: n[1-2]\nbecome: {json.dumps(become)}\n")
    found = load(path, schema_file=ROOT / "hostfiles" / "schema.json")
    assert cluster_from_json(json.loads(json.dumps(cluster_to_json(found)))) == found
    return found


def test_the_hostfile_gives_the_words_to_every_node(tmp_path: Path) -> None:
    nodes = loaded(tmp_path, "sudo -n -p 'no one'").nodes
    assert {node.become for node in nodes} == {("sudo", "-n", "-p", "no one")}


@pytest.mark.parametrize("wrong", ["", " ", ["sudo"], "sudo 'n", True])
def test_become_is_a_line(tmp_path: Path, wrong: object) -> None:
    with pytest.raises(HostfileError, match="become"):
        loaded(tmp_path, wrong)
