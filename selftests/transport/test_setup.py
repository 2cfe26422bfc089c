"""``setup:`` of the hostfile: what runs before every command, and the error if it fails."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest
from testing.core_values import cluster
from testing.noisy_shells import installed, noisy, start_file
from testing.places import ROOT
from testing.programs import node_path
from testing.throwaway_sshd import start_server

from railgauge.config.hostfile import cluster_from_json, cluster_to_json, load
from railgauge.core.errors import HostfileError, SetupFailed
from railgauge.core.model import Command, Node, Transcript
from railgauge.run.survey import survey
from railgauge.transport.registry import connect
from railgauge.transport.sessions import Sessions


def ran(*setup: str, argv: tuple[str, ...] = ("env",), **options: object) -> Transcript:
    session = connect("local", Node("n01", "x", "x", setup=setup))
    try:
        return session.run(Command("n01", argv, **options))  # type: ignore[arg-type]
    finally:
        session.close()


def failure(*setup: str) -> str:
    done = ran(*setup, argv=("echo", "the tool ran"))
    assert (done.exit_code, done.error, done.stdout) == (None, "setup-failed", "")
    return done.stderr


def test_lines_run_in_one_bash_before_the_command(tmp_path: Path) -> None:
    (tmp_path / "init.sh").write_text("init() { export LOADED=yes$#; }\n")
    done = ran(f"source {tmp_path}/init.sh", "init", "[[ $LOADED ]] && export TWICE=$LOADED")
    assert done.exit_code == 0
    assert {"LOADED=yes0", "TWICE=yes0"} <= set(done.stdout.splitlines())


def test_the_path_of_setup_finds_the_tool(tmp_path: Path) -> None:
    (tmp_path / "my-tool").write_text("#!/bin/sh\necho mine\n")
    (tmp_path / "my-tool").chmod(0o755)
    assert ran(f"PATH={tmp_path}:$PATH", argv=("my-tool",)).stdout == "mine\n"


def test_variables_of_the_command_come_last() -> None:
    done = ran("export A=setup B=setup", environment={"A": "tool"})
    assert {"A=tool", "B=setup"} <= set(done.stdout.splitlines())


def test_arguments_stay_verbatim_and_sourced_files_see_none(tmp_path: Path) -> None:
    (tmp_path / "init.sh").write_text('[ $# -eq 0 ] || exit 9\nset -- x "y z"\n')
    words = ("printf", "%s|", "a b", "$HOME", "'", "")
    assert ran(f". {tmp_path}/init.sh", argv=words).stdout == "a b|$HOME|'||"


def test_nothing_that_setup_prints_reaches_the_transcript() -> None:
    done = ran("echo out; echo err >&2; (sleep 0.2; echo late) &", argv=("sleep", "0.5"))
    assert (done.stdout, done.stderr) == ("", "")


@pytest.fixture
def noisy_bash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bash of ``setup`` reads a file that prints, as ``.bashrc`` is read under sshd."""
    text, banner = start_file(shlex.quote(str(tmp_path)))
    (tmp_path / "start").write_text(text)
    (tmp_path / "banner").write_text(banner)
    monkeypatch.setenv("BASH_ENV", str(tmp_path / "start"))


@pytest.mark.usefixtures("noisy_bash")
def test_nothing_that_its_start_up_files_print_reaches_the_transcript() -> None:
    script = "echo; echo out; echo err >&2; exit 3"
    done = ran("export A=1", "true", argv=("sh", "-c", script))
    assert (done.exit_code, done.stdout, done.stderr) == (3, "\nout\n", "err\n")
    message = failure("true", "ls /no/such/file")
    assert message.startswith("setup: line 2 ended with 2")
    assert "No such file" in message


@pytest.mark.usefixtures("noisy_bash")
def test_the_first_line_is_the_command_s_and_not_of_start_up_files() -> None:
    session = connect("local", Node("n01", "x", "x", setup=("sleep 0.05",)))
    command = Command("n01", ("sh", "-c", "echo first; sleep 60"))
    running = session.start(command)
    assert running.first_line(10) == "first"
    assert running.stop().stdout == "first\n"
    session.close()
    session = connect("local", Node("n01", "x", "x", setup=("false",)))
    with pytest.raises(SetupFailed, match="line 1 ended with 1"):
        session.start(command).first_line(10)
    session.close()


def test_start_up_files_that_the_bash_of_setup_reads_again_under_sshd_are_dropped(
    tmp_path: Path, cannot_run: Callable[[str], NoReturn]
) -> None:
    if installed("bash") is None:
        cannot_run("bash is not installed")
    server = start_server(tmp_path, *noisy("bash", tmp_path))
    session = connect("ssh", replace(server.node(), setup=("export A=1",)))
    done = session.run(Command("n01", ("sh", "-c", "echo $A; echo err >&2")))
    session.close()
    server.vanish()
    server.stop()
    assert (done.stdout, done.stderr) == ("1\n", "err\n")


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("module load nope", 127, "module: command not found"),
        ("false", 1, "it printed nothing"),
        ("exit 3", 3, "it printed nothing"),
        ("source /no/such/file", 1, "No such file"),
        ("if", 1, "syntax error"),
        ("exec true", 0, "it printed nothing"),
        ("set -u; echo $no_such_variable", 127, "it printed nothing"),
    ],
)
def test_the_line_that_fails_is_quoted(line: str, code: int, words: str) -> None:
    message = failure("true", line, "touch /no/such/file")
    assert message.startswith("setup: line 2 ended with")
    assert repr(line) in message
    assert words in message
    assert "\n" not in message
    assert f"with {code}:" in message or line == "if"


def test_a_node_without_bash_is_reported() -> None:
    session = connect("local", Node("n01", "x", "x", setup=("true",)))
    script = "echo never"
    command = Command("n01", ("sh", "-c", script))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("railgauge.transport.shell._SETUP", "exit 126")
        done = session.run(command)
    assert done.stderr.startswith("setup: its lines could not be run (126)")
    session.close()


def test_a_server_whose_setup_fails_is_reported(free_port: int) -> None:
    session = connect("local", Node("n01", "x", "x", setup=("false",)))
    server = session.start(Command("n01", ("sleep", "60"), listens_on=free_port))
    with pytest.raises(SetupFailed, match="line 1 ended with 1: 'false'"):
        server.wait_ready(10)
    session.close()


def test_commands_of_the_suite_itself_run_without_it() -> None:
    assert ran("false", argv=("echo", "held"), plain=True).stdout == "held\n"


def test_the_survey_names_the_line_once_for_each_node(tmp_path: Path) -> None:
    nodes = cluster("n1", "n2")
    path = node_path(tmp_path / "own", tmp_path / "basic")
    setup = {"n1": (f"PATH={path}",), "n2": ("true", "module load nccl-tests")}
    sessions = Sessions(
        nodes, lambda node: connect("local", Node(node.name, "x", "x", setup=setup[node.name]))
    )
    found = survey(nodes, sessions, None, lambda _: None)
    sessions.close()
    error = found["n2"]
    assert isinstance(error, SetupFailed)
    assert error.where == "n2"
    assert "line 2 ended with 127: 'module load nccl-tests': " in error.what
    assert not isinstance(found["n1"], SetupFailed)


def loaded(tmp_path: Path, setup: object) -> tuple[str, ...]:
    path = tmp_path / "site.yaml"
    path.write_text(f"cluster: c\nplatform: p\nnodes: n[1-2]\nsetup: {json.dumps(setup)}\n")
    found = load(path, schema_file=ROOT / "hostfiles" / "schema.json")
    assert cluster_from_json(json.loads(json.dumps(cluster_to_json(found)))) == found
    return found.nodes[1].setup


def test_the_hostfile_gives_the_lines_to_every_node(tmp_path: Path) -> None:
    lines = ["source /etc/profile.d/modules.sh", "module load hpcx"]
    assert loaded(tmp_path, lines) == tuple(lines)


@pytest.mark.parametrize("wrong", ["module load hpcx", [], [""], [7]])
def test_setup_is_a_list_of_lines(tmp_path: Path, wrong: object) -> None:
    with pytest.raises(HostfileError, match="setup"):
        loaded(tmp_path, wrong)
