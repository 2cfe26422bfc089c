"""The only place where shell text is made: pure functions from a ``Command`` to one line.

The line runs under any login shell and needs only ``sh``, ``timeout``, ``env``, ``grep`` and
``sleep`` on the node. What it has to say about itself it prints on stdout as marker lines,
``::railgauge NONCE WORD…``; the nonce, new for each command, keeps output from posing as one.

========== =====================================================================
``pid N``  printed before anything of the command: the leader of its process group
``ready``  the port of ``Command.listens_on`` is open
``in-use`` somebody else listens there; the command was not started
``exit N`` the command has ended: also told where something that it left behind holds
           its output open, and where ssh would say no more than that it crashed
========== =====================================================================
"""

from __future__ import annotations

import math
import re
import shlex

from railgauge.core.errors import BadInput
from railgauge.core.model import Command
from railgauge.transport.tag import VARIABLE

MARKER = "::railgauge"
IN_USE_CODE = 98
TIMEOUT_CODE = 124  # timeout's own for a command whose time was up
KILL_AFTER_S = 5
_TERM_POLLS = 20  # of 0.1 s between TERM and KILL
_KILL_POLLS = 10  # and after it: a zombie that nobody reaps stays for ever
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TOUCHED = re.compile(r"['\\!\n]")  # in single quotes, by one login shell or another
_DECODED = re.compile(r"""['"\\!\n%$`]""")

# What timeout runs. It makes itself the leader of a group before it forks, so its child can name
# the group by its parent, and no moment exists in which the marker is out and the group is not.
# The child lives as long as the command, so that timeout goes on to KILL what ignores TERM.
_BEGIN = 'echo "{marker} pid $PPID"; late=; trap late={late} TERM; '
_RUN = "{command}; code=$?; "
_FINISH = 'echo "{marker} exit ${{late:-$code}}"; exit ${{late:-$code}}'

# A real perftest buffers its banner for as long as stdout is a pipe; the kernel's table of
# sockets (state 0A is LISTEN) is the only sign that it accepts connections.
_SERVE = (
    'listening() {{ grep -qE "^ *[0-9]+: [0-9A-F]+:{port:04X} [0-9A-F]+:[0-9A-F]+ 0A " '
    "/proc/net/tcp /proc/net/tcp6 2>/dev/null; }}; "
    'if listening; then echo "{marker} in-use"; exit {in_use}; fi; '
    "{command} & server=$!; "
    "while kill -s 0 $server 2>/dev/null; do "
    'if listening; then echo "{marker} ready"; break; fi; sleep 0.05; done; '
    "wait $server; code=$?; "
    # A signal interrupts the wait, not the server.
    "while [ $late ] && kill -s 0 $server 2>/dev/null; do wait $server; code=$?; done; "
)

# dash's kill knows "-s TERM -- -PID", not "-TERM -- -PID".
_STOP = """\
kill -s TERM -- -{pid} 2>/dev/null
n=0
while [ $n -lt {last} ] && kill -s 0 -- -{pid} 2>/dev/null; do
  if [ $n -eq {patience} ]; then kill -s KILL -- -{pid} 2>/dev/null; fi
  sleep 0.1
  n=$((n + 1))
done
exit 0"""


def command_line(command: Command, nonce: str, tag: str = "") -> str:
    """One line for any login shell that runs ``command`` under its time limit.

    With ``tag`` everything that it starts carries it in its environment (``transport.tag``).

    Raises ``BadInput`` for what no process can be given: an empty argv, a NUL, a bad name of a
    variable, a time limit that is not a positive number, a port outside 1 to 65535.
    """
    _check(command)
    marker = f"{MARKER} {nonce}"
    words = {"marker": marker, "late": TIMEOUT_CODE, "command": _command(command)}
    if command.listens_on is None:
        run = _RUN.format(**words)
    else:
        run = _SERVE.format(port=command.listens_on, in_use=IN_USE_CODE, **words)
    script = _BEGIN.format(**words) + _tagged(tag) + run + _FINISH.format(**words)
    limit = f"timeout -k {KILL_AFTER_S} {_seconds(command.time_limit_s)}"
    return f"exec {limit} {_for_any_shell(script)}"


def _command(command: Command) -> str:
    """By exec, or a program that is named like a word of the shell would not be found."""
    variables = [f"{name}={value}" for name, value in command.environment.items()]
    # Not by the shell itself: some variables are its own, and not to be written to.
    argv = ["env", *variables, *command.argv] if variables else command.argv
    return f"(exec {shlex.join(argv)}) </dev/null"


def _tagged(tag: str) -> str:
    # The shell itself was started without it, but is never without a child that has it.
    return f"export {VARIABLE}={shlex.quote(tag)}; " if tag else ""


def stop_line(pid: int) -> str:
    """One line that ends the process group ``pid``: TERM, and KILL if it is there 2 s later."""
    if pid <= 1:  # kill -- -1 is every process of the user, -0 our own group
        raise ValueError(f"{pid} is not the process group of a command")
    script = _STOP.format(pid=pid, patience=_TERM_POLLS, last=_TERM_POLLS + _KILL_POLLS)
    return f"exec {_for_any_shell(script)}"


def _seconds(time_s: float) -> str:
    """Decimal, never exponential, never 0, which timeout takes for "no limit"."""
    return f"{max(time_s, 0.001):.3f}".rstrip("0").rstrip(".")


def _for_any_shell(script: str) -> str:
    """``sh`` with ``script``, such that login shells other than sh pass it on unharmed.

    Within single quotes csh still acts on ``!`` and line ends, fish on a doubled backslash;
    as octal escapes, which sh itself decodes, nothing is left that any of them would touch.
    """
    if not _TOUCHED.search(script):
        return f"sh -c '{script}'"
    encoded = _DECODED.sub(lambda found: f"\\{ord(found[0]):03o}", script)
    return f'sh -c \'eval "$(printf "{encoded}")"\''


def _check(command: Command) -> None:
    if not command.argv or not command.argv[0]:
        raise BadInput("a command without a program", where=command.node)
    for name in command.environment:
        if not _NAME.fullmatch(name):
            raise BadInput(
                f"{name!r} cannot be the name of an environment variable",
                where=command.node,
                remedy="use letters, digits and underscores, and no digit in front",
            )
    _check_texts(command)
    _check_numbers(command)


def _check_texts(command: Command) -> None:
    for text in (*command.argv, *command.environment.values()):
        if "\0" in text:
            raise BadInput(f"{text!r} holds a NUL, which no argument can", where=command.node)


def _check_numbers(command: Command) -> None:
    if not (math.isfinite(command.time_limit_s) and command.time_limit_s > 0):
        raise BadInput(
            f"a time limit of {command.time_limit_s} s",
            where=command.node,
            remedy="give a positive number of seconds",
        )
    if command.listens_on is not None and not 0 < command.listens_on < 1 << 16:
        raise BadInput(f"{command.listens_on} is not a TCP port", where=command.node)
