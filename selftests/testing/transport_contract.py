"""The contract of all transports; each test runs over each of them."""

from __future__ import annotations

import os
import shlex
import signal
import socket
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from railgauge.core.errors import BadInput, CommandTimedOut, ConnectionLost, PortInUse, ToolFailed
from railgauge.core.model import Command
from railgauge.transport import Session, capture, job, shell
from testing.waiting import pass_time, wait_until

AWKWARD = (
    "two words",
    "it's",
    'say "hi"',
    "$(echo x) `echo y` ${HOME} $$",
    "a\nb\n",
    "tab\tand\\backslash\\\\n \\047",
    "!history !! %s %% 100%",
    "æøå 日本 ✓",
    "-n",
    "--",
    "",
    "*?[a-z]{1,2}~;&|<>()#",
)
SERVER = """
import os, signal, socket, sys, time
print("up", flush=True)  # before it listens: a test may stop it as soon as it does
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
time.sleep(60)
"""
SLOW_SERVER = "import time; time.sleep(0.4)\n" + SERVER
# A parent and a child that both ignore TERM; both pids go into a file.
STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = os.fork()
if child:
    open(sys.argv[1], "w").write(f"{os.getpid()} {child}")
time.sleep(60)
"""
# The parent ends at TERM; the child ignores it and holds no output open.
DETACHED = """
import os, signal, sys, time
child = os.fork()
if child:
    open(sys.argv[1], "w").write(f"{os.getpid()} {child}")
else:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(1, 2)
time.sleep(60)
"""


def command(*argv: str, **options: object) -> Command:
    return Command("n01", argv, **options)  # type: ignore[arg-type]


def python(code: str, *argv: str, **options: object) -> Command:
    return command(sys.executable, "-c", code, *argv, **options)


def is_alive(pid: int) -> bool:
    """A zombie counts as ended."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


# Other workers of pytest-xdist carry out the contract at the same time, each with a run of its own.
RUN = f"r {os.getpid()}'"
TAG = f"RAILGAUGE_RUN={RUN}/n01/gw0/"


def environment_of(process: Path) -> bytes:
    try:
        return (process / "environ").read_bytes()
    except OSError:
        return b""


def group_of_timeout(process: Path) -> int:
    """The process group of the process, whose leader is its ``timeout``."""
    group = os.getpgid(int(process.name))
    assert Path(f"/proc/{group}/cmdline").read_bytes().startswith(b"timeout\0")
    return group


def interrupt_when_there(path: Path) -> None:
    """Interrupt this process when the file has two process IDs; also when it never has."""
    try:
        pids_in(path)
        pass_time(0.1, "the other thread is waiting for the command by then")
    finally:
        os.kill(os.getpid(), signal.SIGINT)


def pids_in(path: Path) -> list[int]:
    wait_until(lambda: path.exists() and len(path.read_text().split()) == 2, 5, f"pids in {path}")
    return [int(word) for word in path.read_text().split()]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Less patience with processes that ignore TERM, and with zombies that init reaps late."""
    monkeypatch.setattr(shell, "KILL_AFTER_S", 0.4)
    monkeypatch.setattr(shell, "_TERM_POLLS", 2)
    monkeypatch.setattr(shell, "_KILL_POLLS", 5)
    monkeypatch.setattr(job, "_QUIET_S", 0.3)


# Each way to a node waits these times out in a third of the tests.
pytestmark = pytest.mark.usefixtures("impatient")


# --- run ---


@pytest.mark.parametrize("code", [0, 1, 3, 98, 124, 127, 255])
def test_exit_code_comes_back(session: Session, code: int) -> None:
    transcript = session.run(command("sh", "-c", f"exit {code}"))
    assert (transcript.exit_code, transcript.error) == (code, "")


def test_stdout_and_stderr_stay_apart(session: Session) -> None:
    transcript = session.run(command("sh", "-c", "echo out; echo err >&2; printf end"))
    assert (transcript.stdout, transcript.stderr) == ("out\nend", "err\n")


def test_transcript_says_what_ran_and_when(session: Session) -> None:
    transcript = session.run(command("sleep", "0.2", environment={"A": "1"}))
    assert transcript.node == "n01"
    assert transcript.argv == ("sleep", "0.2")
    assert transcript.environment == {"A": "1"}
    assert transcript.role == "client"
    assert 0.2 <= transcript.duration_s < 5
    assert transcript.started_at.endswith("+00:00")


def test_bytes_that_are_not_utf8_are_replaced(session: Session) -> None:
    assert session.run(command("printf", "a\\377b")).stdout == "a\ufffdb"


def test_megabytes_arrive_whole_on_both_streams(session: Session) -> None:
    code = "import sys; sys.stdout.write('o' * 6_000_000); sys.stderr.write('e' * 5_000_000)"
    transcript = session.run(python(code))
    assert transcript.stdout == "o" * 6_000_000
    assert transcript.stderr == "e" * 5_000_000


def test_arguments_arrive_verbatim(session: Session) -> None:
    transcript = session.run(python("import sys; print(ascii(sys.argv[1:]))", *AWKWARD))
    assert transcript.stdout == ascii(list(AWKWARD)) + "\n"


def test_environment_arrives_verbatim(session: Session) -> None:
    values = {f"V_{n}": text for n, text in enumerate(AWKWARD)}
    code = "import os, sys; print(ascii([os.environ[name] for name in sys.argv[1:]]))"
    transcript = session.run(python(code, *values, environment=values))
    assert transcript.stdout == ascii(list(AWKWARD)) + "\n"


def test_program_is_found_on_the_path_it_is_given(session: Session, tmp_path: Path) -> None:
    program = tmp_path / "my-tool"
    program.write_text("#!/bin/sh\necho mine\n")
    program.chmod(0o755)
    assert session.run(command("my-tool", environment={"PATH": str(tmp_path)})).stdout == "mine\n"


def test_standard_input_is_empty(session: Session) -> None:
    assert session.run(command("cat", time_limit_s=5.0)).exit_code == 0


def test_missing_program_is_a_transcript(session: Session) -> None:
    transcript = session.run(command("no-such-program"))
    assert (transcript.exit_code, transcript.error) == (127, "")
    assert "no-such-program" in transcript.stderr


def test_crash_is_128_and_the_signal(session: Session) -> None:
    transcript = session.run(python("import os; os.kill(os.getpid(), 11)"))
    assert (transcript.exit_code, transcript.error) == (128 + signal.SIGSEGV, "")


def test_output_cannot_pose_as_a_marker(session: Session) -> None:
    printed = "::railgauge 0123456789abcdef pid 1\n::railgauge"
    assert session.run(command("printf", "%s", printed)).stdout == printed


@pytest.mark.parametrize(
    "unusable",
    [
        command(),
        command("true", environment={"A B": "1"}),
        command("true", environment={"A;reboot": "1"}),
        command("true", "nul\0"),
        command("true", time_limit_s=0.0),
        command("true", time_limit_s=float("inf")),
        command("true", listens_on=0),
    ],
    ids=lambda unusable: repr(unusable.argv) + repr(dict(unusable.environment)),
)
def test_unusable_commands_are_bad_input(session: Session, unusable: Command) -> None:
    with pytest.raises(BadInput):
        session.run(unusable)


def test_commands_run_side_by_side(session: Session, tmp_path: Path) -> None:
    results: dict[int, str] = {}
    here = f"cd {shlex.quote(str(tmp_path))}"

    def work(n: int) -> None:
        all_here = f"touch {n}; until [ -e 0 -a -e 1 -a -e 2 -a -e 3 -a -e 4 -a -e 5 ]"
        wait = command("sh", "-c", f"{here}; {all_here}; do sleep 0.1; done; echo {n}")
        results[n] = session.run(replace(wait, time_limit_s=30.0)).stdout

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {n: f"{n}\n" for n in range(6)}  # one after the other, none would end


# --- cut off ---


def test_time_limit_ends_the_remote_process(session: Session) -> None:
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    transcript = session.run(python(code, time_limit_s=1.0))
    assert (transcript.exit_code, transcript.error) == (None, "command-timed-out")
    assert 1.0 <= transcript.duration_s < 5
    assert not is_alive(int(transcript.stdout))


def test_time_limit_ends_what_ignores_term(session: Session, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    transcript = session.run(python(STUBBORN, str(pids), time_limit_s=0.5))
    assert (transcript.exit_code, transcript.error) == (None, "command-timed-out")
    assert not any(map(is_alive, pids_in(pids)))


def test_time_limit_ends_silent_grandchildren(session: Session, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    running = session.start(python(DETACHED, str(pids), time_limit_s=1.0))
    wait_until(lambda: running.has_ended, 10, "the time limit")  # before somebody waits for it
    transcript = running.wait(10)
    assert (transcript.exit_code, transcript.error) == (None, "command-timed-out")
    assert not any(map(is_alive, pids_in(pids)))


def test_too_much_output_stops_the_command(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capture, "OUTPUT_LIMIT_BYTES", 100_000)
    transcript = session.run(command("yes", time_limit_s=30.0))
    assert (transcript.exit_code, transcript.error) == (None, "output-too-large")
    assert len(transcript.stdout) == 100_000
    assert transcript.duration_s < 10


def test_output_that_was_cut_is_never_taken_for_all(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capture, "OUTPUT_LIMIT_BYTES", 10)
    running = session.start(command("printf", "12345678901"))
    pass_time(0.3, "it has ended by itself when it is asked")
    assert running.wait(10).error == "output-too-large"


def test_what_a_command_leaves_running_is_ended(session: Session) -> None:
    transcript = session.run(command("sh", "-c", "sleep 60 & echo $!"))
    assert transcript.exit_code == 0
    assert transcript.duration_s < 10
    pid = int(transcript.stdout)
    wait_until(lambda: not is_alive(pid), 5, f"the end of {pid}")


# --- servers ---


def test_server_gets_ready_and_stops(session: Session, free_port: int) -> None:
    server = session.start(python(SLOW_SERVER, str(free_port), listens_on=free_port))
    server.wait_ready(10)
    socket.create_connection(("127.0.0.1", free_port), timeout=2).close()
    transcript = server.stop()
    assert (transcript.stdout, transcript.role) == ("up\n", "server")
    assert (transcript.exit_code, transcript.error) == (None, "")
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", free_port), timeout=2)
    assert server.stop() == transcript


def test_server_on_ipv6_gets_ready(session: Session, free_port: int) -> None:
    code = (
        "import socket, sys, time\n"
        "kept = socket.create_server(('::', int(sys.argv[1])), family=socket.AF_INET6)\n"
        "time.sleep(60)"
    )
    server = session.start(python(code, str(free_port), listens_on=free_port))
    server.wait_ready(10)
    server.stop()


def test_server_that_ends_by_itself_gives_its_exit_code(session: Session, free_port: int) -> None:
    code = SERVER.replace("time.sleep(60)", "listener.accept(); print('done'); sys.exit(7)")
    server = session.start(python(code, str(free_port), listens_on=free_port))
    server.wait_ready(10)
    socket.create_connection(("127.0.0.1", free_port), timeout=2).close()
    transcript = server.wait(10)
    assert (transcript.exit_code, transcript.stdout) == (7, "up\ndone\n")


def test_wait_stops_at_the_time_limit(session: Session, free_port: int) -> None:
    server = session.start(python(SERVER, str(free_port), listens_on=free_port))
    server.wait_ready(10)
    transcript = server.wait(0.2)
    assert (transcript.exit_code, transcript.error) == (None, "command-timed-out")
    assert transcript.stdout == "up\n"


def test_taken_port_is_told_apart(session: Session, free_port: int, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", free_port)):
        server = session.start(command("touch", str(tmp_path / "ran"), listens_on=free_port))
        with pytest.raises(PortInUse, match=str(free_port)):
            server.wait_ready(10)
    assert not (tmp_path / "ran").exists()
    assert session.run(command("true")).exit_code == 0


def test_server_that_dies_first_is_tool_failed(session: Session, free_port: int) -> None:
    code = "import sys; print('banner'); sys.exit('Unable to find the device')"
    server = session.start(python(code, listens_on=free_port))
    with pytest.raises(ToolFailed, match=r"ended with 1.*Unable to find the device"):
        server.wait_ready(10)
    transcript = server.wait(10)
    assert (transcript.exit_code, transcript.stdout) == (1, "banner\n")
    assert transcript.stderr == "Unable to find the device\n"


def test_server_that_never_listens_times_out(session: Session, free_port: int) -> None:
    server = session.start(command("sleep", "60", listens_on=free_port))
    with pytest.raises(CommandTimedOut, match=str(free_port)):
        server.wait_ready(0.5)
    assert server.stop().exit_code is None


def test_readiness_of_a_client_is_a_mistake(session: Session) -> None:
    with pytest.raises(ValueError, match="port"):
        session.start(command("true")).wait_ready(1)


# --- a word from a command that goes on ---


def test_first_line_comes_before_the_end(session: Session) -> None:
    started = time.monotonic()
    running = session.start(command("sh", "-c", "printf 'held by\tme\n.'; sleep 60"))
    assert running.first_line(10) == "held by\tme"
    assert time.monotonic() - started < 30
    assert not running.has_ended
    assert running.first_line(0) == "held by\tme"
    running.stop()


def test_what_was_printed_so_far_is_no_end(session: Session) -> None:
    running = session.start(command("sh", "-c", "echo one; echo two >&2; sleep 60"))
    running.first_line(10)
    printed = running.so_far()
    assert (printed.stdout, printed.exit_code, printed.error) == ("one\n", None, "")
    assert printed.duration_s > 0
    assert not running.has_ended
    assert running.stop().stdout == "one\n"
    assert running.so_far().exit_code is None


def test_after_the_end_it_is_the_whole_transcript(session: Session) -> None:
    running = session.start(command("sh", "-c", "echo one; exit 3"))
    assert running.wait(10) == running.so_far()
    assert running.so_far().exit_code == 3


def test_first_line_is_there_after_the_end(session: Session) -> None:
    running = session.start(command("sh", "-c", "echo one; echo two; exit 3"))
    assert running.wait(10).exit_code == 3
    assert running.has_ended
    assert running.first_line(1) == "one"


def test_a_line_without_an_end_is_none_before_the_end(session: Session) -> None:
    running = session.start(command("sh", "-c", "printf half; sleep 1; printf ' a line'"))
    with pytest.raises(CommandTimedOut, match="print a line"):
        running.first_line(0.2)
    assert running.first_line(10) == "half a line"


def test_a_command_without_a_word_is_tool_failed(session: Session) -> None:
    running = session.start(command("sh", "-c", "echo nothing here >&2; exit 7"))
    with pytest.raises(ToolFailed, match=r"ended with 7.*nothing here"):
        running.first_line(10)


# --- the run's name ---


def test_processes_carry_the_tag_and_transcripts_do_not(tagged: Session) -> None:
    transcript = tagged.run(command("sh", "-c", "env | grep RAILGAUGE_RUN"))
    assert transcript.stdout == f"{TAG}\n"
    assert transcript.environment == {}
    assert transcript.argv == ("sh", "-c", "env | grep RAILGAUGE_RUN")


def test_every_process_of_a_server_carries_the_tag(tagged: Session, free_port: int) -> None:
    server = tagged.start(python(SERVER, str(free_port), listens_on=free_port))
    server.wait_ready(10)
    found = [path for path in Path("/proc").glob("[0-9]*") if TAG.encode() in environment_of(path)]
    names = {(path / "cmdline").read_bytes().split(b"\0")[0] for path in found}
    assert sys.executable.encode() in names
    assert {os.getpgid(int(path.name)) for path in found} == {group_of_timeout(found[0])}
    server.stop()
    assert not any(TAG.encode() in environment_of(path) for path in Path("/proc").glob("[0-9]*"))


def test_a_command_may_carry_another_tag(tagged: Session) -> None:
    own = command("sh", "-c", "echo $RAILGAUGE_RUN", environment={"RAILGAUGE_RUN": "x/y/z/"})
    assert tagged.run(own).stdout == "x/y/z/\n"


def test_without_a_tag_nothing_is_said(session: Session) -> None:
    assert session.run(command("sh", "-c", "echo ${RAILGAUGE_RUN-none}")).stdout == "none\n"


# --- stopping ---


def test_stop_ends_grandchildren(session: Session, tmp_path: Path) -> None:
    running = session.start(python(STUBBORN, str(tmp_path / "pids")))
    pids = pids_in(tmp_path / "pids")
    assert all(map(is_alive, pids))
    transcript = running.stop()
    assert (transcript.exit_code, transcript.error) == (None, "")
    assert not any(map(is_alive, pids))


def test_stop_right_after_start(session: Session) -> None:
    started = time.monotonic()
    transcript = session.start(command("sleep", "60")).stop()
    assert (transcript.exit_code, transcript.error) == (None, "")
    assert time.monotonic() - started < 60


def test_stop_after_the_end_changes_nothing(session: Session) -> None:
    running = session.start(command("sh", "-c", "echo x; exit 5"))
    transcript = running.wait(10)
    assert transcript.exit_code == 5
    assert running.stop() == transcript


def test_close_leaves_no_process(session: Session, tmp_path: Path, free_port: int) -> None:
    session.start(python(STUBBORN, str(tmp_path / "pids")))
    server = session.start(python(SERVER, str(free_port), listens_on=free_port))
    server.wait_ready(10)
    pids = pids_in(tmp_path / "pids")
    session.close()
    assert not any(map(is_alive, pids))
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", free_port), timeout=2)
    session.close()
    with pytest.raises(ConnectionLost):
        session.run(command("true"))


def test_interrupt_during_a_wait_leaves_the_command_in_hand(
    session: Session, tmp_path: Path
) -> None:
    running = session.start(python(STUBBORN, str(tmp_path / "pids")))
    pids = pids_in(tmp_path / "pids")
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        running.wait(30)
    assert all(map(is_alive, pids))
    assert running.stop().exit_code is None
    assert not any(map(is_alive, pids))


def test_interrupt_during_run_ends_the_command(session: Session, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    interrupter = threading.Thread(target=interrupt_when_there, args=(pids,))
    interrupter.start()
    with pytest.raises(KeyboardInterrupt):
        session.run(python(STUBBORN, str(pids)))
    interrupter.join()
    assert not any(map(is_alive, pids_in(pids)))
