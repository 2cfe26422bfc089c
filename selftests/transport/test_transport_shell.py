"""The shell text and the marker lines, without a session."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from railgauge.core.errors import BadInput
from railgauge.core.model import Command, Node
from railgauge.transport import shell
from railgauge.transport.capture import Capture, Markers
from railgauge.transport.registry import connect
from railgauge.transport.shell import command_line, stop_line

NONCE = "0123456789abcdef"
STREAM = (
    b"motd ::railgauge other pid 5\n"
    b"::railgauge 0123456789abcdef pid 4711\n"
    b"half a li::railgauge 0123456789abcdef ready\n"
    b"ne\n::railgauge 0123456789abcdef exit 3\n::railgauge 0123"
)


def pieces(chunks: list[bytes]) -> tuple[bytes, list[str]]:
    """All output and all markers of a stream that arrives in ``chunks``."""
    markers, output, words = Markers(NONCE), b"", []
    for chunk in chunks:
        for piece in markers.split(chunk):
            if isinstance(piece, str):
                words.append(piece)
            else:
                output += piece
    return output + markers.rest(), words


@pytest.mark.parametrize("size", [1, 2, 3, 7, 19, 20, 33, len(STREAM)])
def test_markers_are_found_wherever_chunks_end(size: int) -> None:
    chunks = [STREAM[n : n + size] for n in range(0, len(STREAM), size)]
    output, words = pieces(chunks)
    assert words == ["pid 4711", "ready", "exit 3"]
    assert output == b"motd ::railgauge other pid 5\nhalf a line\n::railgauge 0123"


def test_markers_split_once_anywhere() -> None:
    whole = pieces([STREAM])
    assert all(pieces([STREAM[:n], STREAM[n:]]) == whole for n in range(len(STREAM)))


def test_early_output_of_the_login_shell_is_dropped() -> None:
    capture = Capture(NONCE)
    capture.take_stdout(STREAM)
    assert capture.text()[0] == "half a line\n"
    assert (capture.pid, capture.ready, capture.exit_code) == (4711, True, 3)


def test_a_line_of_the_login_shell_is_not_the_first_line_of_the_command() -> None:
    """A caller that asks before the command has begun waits for it."""
    capture = Capture(NONCE)
    capture.take_stdout(b"Welcome!\n")
    assert capture.line(0, 0.05) is None
    capture.take_stdout(b"(base)::railgauge 0123456789abcdef pid 4711\nheld\n")
    assert capture.line(0, 0) == "held"


def test_a_login_shell_that_starts_no_command_is_quoted() -> None:
    capture = Capture(NONCE)
    capture.take_stdout(b"This account is locked\n")
    capture._end(1)
    assert capture.line(0, 0) == "This account is locked"


def test_stderr_of_the_login_shell_is_dropped() -> None:
    capture = Capture(NONCE)
    for chunk in (b"motd\nhal", b"f::railgauge 0123456789abcdef pi", b"d\nown\n"):
        capture.take_stderr(chunk)
    assert capture.text()[1] == "own\n"


@pytest.mark.parametrize("name", ["sh", "dash", "bash", "zsh", "ksh", "mksh", "fish", "tcsh"])
def test_line_runs_under_any_login_shell(name: str) -> None:
    program = shutil.which(name)
    if program is None:
        pytest.skip(f"{name} is not installed")
    text = "a'b\"c\\\\d\\' !x !! $HOME `x` %s\n\u00e6\u2713 {a,b} ~ *"
    command = Command("n01", ("printf", "%s", text), {"A": text}, 10.0)
    sent = command_line(command, NONCE)
    done = subprocess.run(
        [program, "-c", sent.line],
        input=sent.script.encode(),
        capture_output=True,
        check=False,
        timeout=20,
    )
    output, words = pieces([done.stdout])
    assert (output.decode(), done.returncode) == (text, 0)
    assert pieces([done.stderr]) == (b"", ["pid"])
    assert [word.split()[0] for word in words] == ["pid", "exit"]


@pytest.mark.parametrize("listens_on", [None, 5201])
def test_a_node_ends_by_itself_what_ignores_term(
    monkeypatch: pytest.MonkeyPatch, listens_on: int | None
) -> None:
    """It ends even if the processes that started it are gone."""
    monkeypatch.setattr(shell, "KILL_AFTER_S", 1)
    argv = ("sh", "-c", "trap '' TERM; sleep 60; sleep 60")
    command = Command("n01", argv, time_limit_s=0.3, listens_on=listens_on)
    sent = command_line(command, NONCE)
    done = subprocess.run(
        ["sh", "-c", sent.line],
        input=sent.script.encode(),
        capture_output=True,
        check=False,
        timeout=30,
        start_new_session=True,
    )
    assert done.returncode == -signal.SIGKILL
    assert [word.split()[0] for word in pieces([done.stdout])[1]] == ["pid"]


@pytest.mark.parametrize("program", ["sh", "bash"])
def test_a_connection_from_the_port_is_no_server(program: str, free_port: int) -> None:
    code = (
        "import socket, sys, time\n"
        "there, here = (('127.0.0.1', int(word)) for word in sys.argv[1:])\n"
        "kept = socket.create_connection(there, source_address=here)\n"
        "time.sleep(0.5)"
    )
    with socket.create_server(("127.0.0.1", 0)) as listener:
        argv = (sys.executable, "-c", code, str(listener.getsockname()[1]), str(free_port))
        sent = command_line(Command("n01", argv, listens_on=free_port), NONCE)
        run, script = [program, "-c", sent.line], sent.script.encode()
        done = subprocess.run(run, input=script, capture_output=True, check=True, timeout=20)
    assert pieces([done.stdout])[1][1:] == ["exit 0"]


@pytest.mark.parametrize("program", ["sh", "bash"])
@pytest.mark.parametrize(
    ("counted", "is_read"),
    [
        ("TCP6: inuse 0\nUDP6: inuse 4\n", False),
        ("TCP6: inuse 10\n", True),
        ("", True),
        (None, True),
    ],
)
def test_the_table_of_ipv6_is_read_unless_the_kernel_says_that_it_is_empty(
    program: str, counted: str | None, is_read: bool, free_port: int, tmp_path: Path
) -> None:
    row = f"  0: {0:032X}:{free_port:04X} {0:032X}:0000 0A 0:0 0:0 0 0 0\n"
    for name, text in {"tcp": "sl\n", "tcp6": f"sl\n{row}", "sockstat6": counted}.items():
        if text is not None:
            (tmp_path / name).write_text(text)
    sent = command_line(Command("n01", ("true",), listens_on=free_port), NONCE)
    script = sent.script.replace("/proc/net/", f"{tmp_path}/")
    done = subprocess.run(
        [program], input=script.encode(), capture_output=True, check=False, timeout=20
    )
    words = [word.split()[0] for word in pieces([done.stdout])[1]]
    assert words == (["pid", "in-use"] if is_read else ["pid", "exit"])


LOGIN = {"LC_ALL": "C.UTF-8", "A": "login"}


@pytest.mark.parametrize("own", [{"LC_ALL": "C"}, {"LC_ALL": "C", "A": ""}, {"A": "own"}])
@pytest.mark.parametrize("setup", [{}, {"LC_ALL": "en_GB.UTF-8", "A": "setup"}])
def test_the_variables_of_a_command_come_last(own: dict[str, str], setup: dict[str, str]) -> None:
    lines = tuple(f"export {name}={value}" for name, value in setup.items())
    command = Command("n01", ("sh", "-c", 'echo "$LC_ALL $A"'), own)
    sent = command_line(command, NONCE, setup=lines)
    login = {**os.environ, **LOGIN}
    run, script = ["sh", "-c", sent.line], sent.script.encode()
    done = subprocess.run(run, input=script, capture_output=True, check=True, env=login)
    wanted = {**LOGIN, **setup, **own}
    assert pieces([done.stdout])[0].decode() == f"{wanted['LC_ALL']} {wanted['A']}\n"


def test_line_has_no_line_end() -> None:
    command = Command("n01", ("printf", "a\nb"), listens_on=5201)
    assert "\n" not in command_line(command, NONCE).line
    assert "\n" not in stop_line(4711, NONCE).line


def test_a_script_that_is_cut_off_runs_nothing() -> None:
    """A connection that ends within it may leave any beginning of it."""
    command = Command("n01", ("printf", "ran"), {"A": "it's"}, 5.0)
    sent = command_line(command, NONCE, setup=("printf setup",))
    whole = sent.script.rstrip()
    for size in (*range(0, len(whole), 7), len(whole) - 1):
        done = subprocess.run(
            ["sh"], input=whole[:size].encode(), capture_output=True, check=False, timeout=20
        )
        assert done.stdout == b"", whole[:size]


def test_the_line_does_not_show_the_command() -> None:
    """Every user of a node sees it."""
    command = Command("n01", ("x", "planted-argument"), {"TOKEN": "planted-value"}, 5.0)
    for become in ((), ("sudo", "-n")):
        sent = command_line(command, NONCE, "planted-tag", ("A=planted-setup",), become)
        assert "planted" not in sent.line
        assert sent.script.count("planted") == 4


@pytest.mark.parametrize("pid", [1, 0, -1, -4711])
def test_stopping_everything_is_refused(pid: int) -> None:
    with pytest.raises(ValueError, match="process group"):
        stop_line(pid, NONCE)


def test_unknown_transport_names_the_known() -> None:
    with pytest.raises(BadInput, match=r"telnet.*local, .*ssh"):
        connect("telnet", Node("n01", "127.0.0.1", "127.0.0.1"))


# --- a line that a person pastes ---


@pytest.mark.parametrize(
    "value", ["x", "a b", "", "'", '"', "$(id)", "`id`", "a;b", "\\", "#", "*"]
)
def test_a_typed_line_gives_a_shell_exactly_the_words(value):
    line = shell.typed_line(("printf", "%s|", value), {"reason": value})
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True)
    assert done.stdout == f"{value}|reason={value}|"


@pytest.mark.parametrize("word", ["a\nb", "a\rb", "a\x1b", "a\u2028b", "a\0"])
def test_a_typed_line_is_one_line(word):
    for given in ((("echo", word), {}), (("echo",), {"x": word}), (("echo",), {word: "x"})):
        with pytest.raises(BadInput, match="cannot be part of one line"):
            shell.typed_line(*given)
