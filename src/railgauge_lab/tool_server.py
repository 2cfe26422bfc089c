"""Runs a lab's simulated tools in forks of one interpreter: ``python -SE tool_server.py FOLDER``.

An interpreter takes three quarters of a tool's CPU time to start. This one has started, and imports
what the tools import once. The shell that the script of a tool begins with starts another, which
writes the process IDs of both into the named pipe ``FOLDER/ask`` and waits. The fork has the
arguments, the environment, the folder and the streams of the first, and ends when it does. The exit
code goes where the other one would print it. The script becomes the tool itself if there is no such
pipe, or nobody forks. Of the signals only SIGINT, which the suite sends to no node, waits for
the end of the tool: a shell handles it when what it waits for has ended.

It is started as a file for the same reason as ``launch.py``, and ends with its standard input.
"""

import contextlib
import gc
import os
import select
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

ASK = "ask"
ANSWER = 3  # where the waiting shell has the pipe for the exit code
# Before the exit code: a tool whose fork was killed with this process does not begin anew.
TAKEN = b"+"
NEVER = "never"  # a pipe that nobody writes to: a shell waits there until it is ended
# The modules of sim whose tools are forked; the tools of the others start programs or are rare.
FORKED = frozenset((
    "amd", "collective", "dcgmi", "ethtool", "gemm", "host", "iperf", "kernel_log", "metax", "mpi",
    "nvbandwidth", "nvidia", "ofed", "perftest", "slurm", "train", "transferbench", "verbs", "vllm",
))  # fmt: skip
_READ_BYTES = 1 << 16
_STREAMS = 3


class Unfit(Exception):
    """A shell whose tool cannot be forked: it has ended, or has a stream that is no pipe."""


class ToolServer:
    """Forks for each shell that asks, and tells it the exit code."""

    def __init__(self, ask: int) -> None:
        self._ask = ask
        self._poll = select.poll()
        for descriptor in (0, ask):
            self._poll.register(descriptor, select.POLLIN)
        # By the descriptors of a fork and of its shell: the fork, these two, and the answer's.
        self._jobs: dict[int, tuple[int, int, int, int]] = {}
        self._imported: set[str] = set()
        self._rest = b""

    def serve(self) -> None:
        """Return when standard input ends; the forks do not return."""
        while True:
            for descriptor, _ in self._poll.poll():
                if descriptor == 0:
                    return
                if descriptor == self._ask:
                    self._hear()
                elif descriptor in self._jobs:
                    self._end(descriptor)

    def end(self) -> None:
        """Kill what still runs."""
        for fork, *_ in set(self._jobs.values()):
            _kill(fork)

    def _hear(self) -> None:
        *shells, self._rest = (self._rest + os.read(self._ask, _READ_BYTES)).split(b"\n")
        for shell in shells:
            opened: list[int] = []
            try:
                first, asking = shell.split()
                self._fork_for(int(first), int(asking), opened)
            except (OSError, ValueError, Unfit):
                for descriptor in opened:  # without an answer the script becomes the tool
                    os.close(descriptor)

    def _fork_for(self, shell: int, asking: int, opened: list[int]) -> None:
        """Add to ``opened`` what is open if this fails. Raises ``OSError`` and ``Unfit``.

        ``asking`` is the shell in that shell that asked, and waits.
        """
        opened.append(os.open(f"/proc/{asking}/fd/{ANSWER}", os.O_WRONLY))
        os.kill(asking, signal.SIGPIPE)  # shells tell of other signals
        words, environment = _words(shell, "cmdline"), _words(shell, "environ")
        opened.append(os.pidfd_open(shell))
        for number in range(_STREAMS):
            opened.append(_stream(shell, number))
        self._import(words[1])
        fork = os.fork()
        if not fork:
            _become(shell, opened[2:], environment)
            _run(words[1], words[2:])
        while len(opened) > 2:  # noqa: PLR2004 - the streams
            os.close(opened.pop())
        own, watched = os.pidfd_open(fork), opened[1]
        self._jobs[own] = self._jobs[watched] = fork, own, watched, opened[0]
        for descriptor in (own, watched):
            self._poll.register(descriptor, select.POLLIN)
        _tell(opened[0], TAKEN)

    def _import(self, tool: str) -> None:
        """Import what the tool needs, so that the forks find it."""
        if tool not in self._imported:
            self._imported.add(tool)
            with contextlib.suppress(Exception):  # the fork shows it
                node = sys.modules["sim.stored"].read(_node_of(tool))
                sys.modules["sim.main"].module(node["tools"][tool.rpartition("/")[2]])
            gc.freeze()

    def _end(self, descriptor: int) -> None:
        fork, own, watched, answer = self._jobs[descriptor]
        if descriptor == watched:
            _kill(fork)
        _, status = os.waitpid(fork, 0)
        for one in (own, watched):
            self._poll.unregister(one)
            del self._jobs[one]
        _tell(answer, b"%d" % os.waitstatus_to_exitcode(status))
        for one in (own, watched, answer):
            os.close(one)


def _tell(answer: int, what: bytes) -> None:
    with contextlib.suppress(BrokenPipeError):  # the shell has ended
        os.write(answer, what)


def _node_of(tool: str) -> str:
    return f"{tool.rpartition('/')[0]}/../node"


def _words(shell: int, name: str) -> "list[str]":
    with open(f"/proc/{shell}/{name}", "rb") as file:  # noqa: PTH123 - see sim/stored.py
        found = file.read()
    if not found:
        raise Unfit
    return [os.fsdecode(word) for word in found.split(b"\0")[:-1]]


def _stream(shell: int, number: int) -> int:
    """Open a stream of the shell. A file would be opened at its beginning, a socket not at all."""
    path = f"/proc/{shell}/fd/{number}"
    if not os.readlink(path).startswith(("pipe:", "/dev/null")):  # noqa: PTH115 - see sim/stored.py
        raise Unfit
    return os.open(path, os.O_WRONLY if number else os.O_RDONLY)


def _become(shell: int, streams: "list[int]", environment: "list[str]") -> None:
    os.setsid()
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
    os.closerange(_STREAMS, os.sysconf("SC_OPEN_MAX"))
    os.chdir(f"/proc/{shell}/cwd")
    os.environ.clear()
    for name, _, value in (one.partition("=") for one in environment):
        os.environ[name] = value


def _run(tool: str, arguments: "list[str]") -> "NoReturn":
    """Do what ``launch.py`` does."""
    code = 1
    try:
        name, node = tool.rpartition("/")[2], _node_of(tool)
        sys.argv = [sys.argv[0], name, node, *arguments]
        code = sys.modules["sim.main"].main(name, node, arguments)
        sys.stdout.flush()
        sys.stderr.flush()
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 1
    except BaseException:  # shown as the interpreter shows it
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(code)


def _kill(fork: int) -> None:
    for kill in (os.killpg, os.kill):  # it may not have a group of its own yet
        with contextlib.suppress(ProcessLookupError):
            kill(fork, signal.SIGKILL)


def main(folder: str) -> None:
    """Serve the shells of the lab whose tools' scripts are in ``folder``."""
    __import__("sim.main")
    for name in (f".{ASK}", NEVER):
        os.mkfifo(f"{folder}/{name}", 0o600)
    server = ToolServer(os.open(f"{folder}/.{ASK}", os.O_RDWR | os.O_CLOEXEC))
    gc.disable()
    # A shell that asks where nobody listens would wait for ever.
    os.rename(f"{folder}/.{ASK}", f"{folder}/{ASK}")  # noqa: PTH104 - see sim/stored.py
    try:
        server.serve()
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{folder}/{ASK}")  # noqa: PTH108 - see sim/stored.py
        server.end()


if __name__ == "__main__":
    main(sys.argv[1])
