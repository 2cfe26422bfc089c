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

from railgauge.errors import BadInput
from railgauge.model import Command
from railgauge.tag import VARIABLE

MARKER = "::railgauge"
IN_USE_CODE = 98
KILL_AFTER_S = 5
_TERM_POLLS = 20  # of 0.1 s between TERM and KILL
_KILL_POLLS = 10  # and after it: a zombie that nobody reaps stays for ever
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

# timeout makes itself the leader of a group before it forks, so its child can name the group
# by its parent, and no moment exists in which the marker is out and the group is not.
_ANNOUNCE = f'printf "{MARKER} %s pid %s\\n" "$1" "$PPID"; shift; exec "$@"'

# A real perftest buffers its banner for as long as stdout is a pipe; the kernel's table of
# sockets (state 0A is LISTEN) is the only sign that it accepts connections.
_SERVE = """\
listening() {{
  grep -qE '^ *[0-9]+: [0-9A-F]+:{port:04X} [0-9A-F]+:[0-9A-F]+ 0A ' \
/proc/net/tcp /proc/net/tcp6 2>/dev/null
}}
if listening; then printf '{marker} in-use\\n'; exit {in_use}; fi
{server} &
server=$!
while kill -s 0 "$server" 2>/dev/null; do
  if listening; then printf '{marker} ready\\n'; break; fi
  sleep 0.05
done
wait $server"""

# A line after the command also keeps the shell from handing itself over to it.
_FINISH = """
code=$?
printf '{marker} exit %s\\n' "$code"
exit $code"""

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

    With ``tag`` everything that it starts carries it in its environment (``railgauge.tag``).

    Raises ``BadInput`` for what no process can be given: an empty argv, a NUL, a bad name of a
    variable, a time limit that is not a positive number, a port outside 1 to 65535.
    """
    _check(command)
    script, marker = _limited(command, nonce), f"{MARKER} {nonce}"
    if command.listens_on is not None:
        script = _SERVE.format(
            port=command.listens_on, marker=marker, in_use=IN_USE_CODE, server=script
        )
    return _for_any_shell(_tagged(tag) + script + _FINISH.format(marker=marker))


def _tagged(tag: str) -> str:
    # The shell itself was started without it, but is never without a child that has it.
    return f"export {VARIABLE}={shlex.quote(tag)}\n" if tag else ""


def stop_line(pid: int) -> str:
    """One line that ends the process group ``pid``: TERM, and KILL if it is there 2 s later."""
    if pid <= 1:  # kill -- -1 is every process of the user, -0 our own group
        raise ValueError(f"{pid} is not the process group of a command")
    return _for_any_shell(
        _STOP.format(pid=pid, patience=_TERM_POLLS, last=_TERM_POLLS + _KILL_POLLS)
    )


def _limited(command: Command, nonce: str) -> str:
    announce = ["sh", "-c", _ANNOUNCE, "railgauge", nonce]
    limit = ["timeout", "-k", str(KILL_AFTER_S), _seconds(command.time_limit_s)]
    variables = [f"{name}={value}" for name, value in command.environment.items()]
    return shlex.join([*limit, *announce, "env", *variables, *command.argv]) + " </dev/null"


def _seconds(time_s: float) -> str:
    """Decimal, never exponential, never 0, which timeout takes for "no limit"."""
    return f"{max(time_s, 0.001):.3f}".rstrip("0").rstrip(".")


def _for_any_shell(script: str) -> str:
    """Wrap ``script`` so that login shells other than sh pass it on unharmed.

    Within single quotes csh still acts on ``!`` and line ends, fish on a doubled backslash;
    as octal escapes, which sh itself decodes, nothing is left that any of them would touch.
    """
    encoded = re.sub(r"""['"\\!\n%$`]""", lambda found: f"\\{ord(found[0]):03o}", script)
    return f'exec sh -c \'eval "$(printf "{encoded}")"\''


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
