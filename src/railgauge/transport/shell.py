"""The only place that builds shell text: pure functions from a ``Command`` to a ``Sent``.

The line runs under any login shell and needs only ``sh``, ``timeout``, ``env`` and ``sleep``
on the node. Every user of a node reads the arguments of all processes there, so the line does not
show the command: the script comes by standard input, and with it the lines of ``setup`` and the
values of variables.

The script reports its own state on stdout in marker lines, ``::railgauge NONCE WORD…``. The nonce
is new for each command, so that no output can pass for a marker.

========== =====================================================================
``pid N``  the leader of the process group; printed before any output of the command, on stderr
           too: what comes before it is of the login shell's start-up files
``ready``  the port of ``Command.listens_on`` is open
``in-use`` another process listens there; the command was not started
``setup``  its number follows: line N of ``setup`` begins; 0: all of them have succeeded,
           printed on stderr too: what comes before it is of the bash's start-up files
``exit N`` the command has ended; printed even if a process that it left behind holds its
           output open, and for a crash, of which ssh does not report the exit code
``runs``   the command has not ended; every 15 s, where nothing else shows that the node is there
``over N`` the program that becomes root has ended; without a ``pid`` before it has refused
========== =====================================================================

``sleep 3`` with a time limit of 5 s and the nonce ``ab12`` becomes the line and the script
(shortened)::

    exec timeout -k 5 5 sh
    { echo "::railgauge ab12 pid $PPID"; …; (exec sleep 3) </dev/null; …; }
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from railgauge import containers
from railgauge.core.errors import BadInput
from railgauge.core.model import Command
from railgauge.launchers.model import is_of_programs
from railgauge.transport import silence
from railgauge.transport.tag import VARIABLE

MARKER = "::railgauge"
IN_USE_CODE = 98
TIMEOUT_CODE = 124  # the exit code of timeout for a command that hit the limit
KILL_AFTER_S = 5
_CONTAINER_SPARE_S = 15  # its own limit is the last resort
_TERM_POLLS = 20  # of 0.1 s each, between TERM and KILL
_KILL_POLLS = 10  # after KILL; bounded, because a zombie that is never reaped stays forever
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TOUCHED = re.compile(r"['\\!\n]")  # what some login shell changes within single quotes
_DECODED = re.compile(r"""['"\\!\n%$`]""")

# What timeout runs. timeout becomes leader of a process group before it forks. Its child therefore
# knows the group by its parent's pid, and the group exists before the marker is printed.
# The child lives as long as the command, so that timeout goes on to KILL a command that ignores
# TERM.
_BEGIN = 'echo "{marker} pid $PPID"; echo "{marker} pid" >&2; late=; trap late={late} TERM; '
_RUN = "{command}; code=$?; "
# A shell of its own prints the marker. Each waits for the end of its child: where the first process
# of a container collects none, what a shell leaves behind stays a zombie.
_BEATS = (
    "(trap 'kill $!; wait $!; exit' TERM; while sleep {beat_s:g} >/dev/null & wait $!; do "
    'echo "{marker} runs"; done) 2>/dev/null & beat=$!; '
    "trap '{{ kill $beat; wait $beat; }} 2>/dev/null' EXIT; "
)
# The time limit of a command from which on it has to show that it runs. One that is shorter ends a
# command, and is reported, before its silence is too long.
_BEATS_FROM_S = 30.0
# Root's processes cannot be signalled by the login user, so that timeout has to run as root too.
# SUDO_COMMAND holds the whole line, and with it a tag that may belong to another command.
_AS_ROOT = '{become} env -u SUDO_COMMAND {line}; code=$?; echo "{marker} over $code"; exit $code'
_FINISH = 'echo "{marker} exit ${{late:-$code}}"; exit ${{late:-$code}}'

# perftest buffers its banner while stdout is a pipe; the kernel's socket table (state 0A is
# LISTEN) is the only sign that it accepts connections. Linux lists the listening sockets first.
# What reads on, as grep does, makes the kernel walk its table of connections, which takes
# milliseconds of a CPU of the node. So does the table of IPv6 of a node that is reached by IPv4
# alone, each time, unless the kernel's count of the sockets in it says first that it is empty.
# ``set`` changes the arguments of the function only.
_SERVE = (
    "listening() {{ railgauge_row=; {{ read -r railgauge_row; }} 2>/dev/null </proc/net/sockstat6; "
    'railgauge_tables=/proc/net/tcp; [ "$railgauge_row" = "TCP6: inuse 0" ] || '
    'railgauge_tables="$railgauge_tables /proc/net/tcp6"; '
    "for railgauge_table in $railgauge_tables; do "
    "{{ read -r railgauge_row; while read -r railgauge_row; do set -- $railgauge_row; "
    '[ "$4" = 0A ] || break; case $2 in *:{port:04X}) return 0;; esac; done; }} '
    "2>/dev/null <$railgauge_table; done; return 1; }}; "
    'if listening; then echo "{marker} in-use"; exit {in_use}; fi; '
    "{command} & server=$!; "
    # No server listens at once.
    "while sleep 0.05; kill -s 0 $server 2>/dev/null; do "
    'if listening; then echo "{marker} ready"; break; fi; done; '
    "wait $server; code=$?; "
    # A signal interrupts the wait but not the server, so wait again.
    "while [ $late ] && kill -s 0 $server 2>/dev/null; do wait $server; code=$?; done; "
)

# An incomplete script is not run: a connection may end within it. The first line is empty, for
# a program that becomes root and reads a password from its input.
_WHOLE = "\n{{ {script}; }}\n"

# Runs the lines of ``setup`` in one bash, then becomes the command. What the lines print goes
# nowhere; one that fails is run once more to show why. A line may end this shell or change its
# options, so that success is what is reported, not failure. The lines see no arguments: a sourced
# script would take them for its own.
_SETUP = """\
railgauge_lines=({lines}) railgauge_at=0
for railgauge_line in "${{railgauge_lines[@]}}"; do
  echo "{marker} setup $((railgauge_at += 1))"
  eval "$railgauge_line" </dev/null >/dev/null 2>&1 || {{
    railgauge_at=$?
    (eval "$railgauge_line") </dev/null 2>&1 | tail -n 1 >&2
    exit $railgauge_at
  }}
done
set +eu
echo "{marker} setup 0"; echo "{marker} setup 0" >&2
{run}
"""
# The script of the bash is in its environment, which no other user reads; the lines do not see it.
_IN_BASH = "(export railgauge_script={script}; exec bash -c {start} railgauge) </dev/null"
_START = 'set -- "$railgauge_script"; unset railgauge_script; eval "set --; $1"'

# Variables that a shell keeps for itself, and does not set to any value that it is given.
_OF_SHELLS = re.compile(
    r"_|UID|EUID|PPID|GROUPS|RANDOM|SRANDOM|SECONDS|LINENO|OPTIND|OPTARG|OPTERR|HISTCMD|DIRSTACK"
    r"|FUNCNAME|IFS|PS4|ENV|SHELLOPTS|PWD|OLDPWD|SHLVL|PIPESTATUS|EPOCH\w*|BASH\w*"
    r"|LANG|LANGUAGE|LC_\w+"  # bash warns of a locale that the node does not have
)

# dash's kill accepts "-s TERM -- -PID", but not "-TERM -- -PID".
_STOP = """\
kill -s TERM -- -{pid} 2>/dev/null
n=0
while [ $n -lt {last} ] && kill -s 0 -- -{pid} 2>/dev/null; do
  if [ $n -eq {patience} ]; then kill -s KILL -- -{pid} 2>/dev/null; fi
  sleep 0.1
  n=$((n + 1))
done
{remove}
echo '{marker} exit 0'"""


@dataclass(frozen=True, slots=True)
class Sent:
    """What a node is sent: ``line`` is for the login shell, ``script`` is its standard input.

    The input stays open behind the script for a command that ``asks``.
    """

    line: str
    script: str
    asks: bool = False


def command_line(
    command: Command,
    nonce: str,
    tag: str = "",
    setup: tuple[str, ...] = (),
    become: tuple[str, ...] = (),
    *,
    beats: bool = False,
) -> Sent:
    """Return the line and its input that run ``command`` under its time limit.

    Every process that it starts carries ``tag`` in its environment (``transport.tag``). The lines
    of ``setup`` run before it, unless the command is plain. ``become`` is the argv of the program
    that runs it, its ``setup`` and its time limit as root; empty for none. With ``beats`` a command
    that may be silent for too long shows that it runs.

    Raises ``BadInput`` for what no process can be given: an empty argv, a NUL, an invalid variable
    name, a time limit that is not a positive number, a port outside 1 to 65535.
    """
    _check(command)
    marker = f"{MARKER} {nonce}"
    text = _after(setup, marker, command, _run(command, nonce, tag))
    words = {"marker": marker, "late": TIMEOUT_CODE, "command": text}
    if command.listens_on is None:
        run = _RUN.format(**words)
    else:
        run = _SERVE.format(port=command.listens_on, in_use=IN_USE_CODE, **words)
    beat = _BEATS.format(beat_s=silence.BEAT_S, marker=marker)
    beat = beat if beats and command.time_limit_s >= _BEATS_FROM_S else ""
    script = _BEGIN.format(**words) + _tagged(tag) + beat + run + _FINISH.format(**words)
    limit = f"timeout -k {KILL_AFTER_S} {_seconds(command.time_limit_s)} sh"
    return Sent(_line(limit, marker, become), _WHOLE.format(script=script), command.asks)


def greeting(nonce: str) -> Sent:
    """Return what a node answers with the marker ``pid``; the shell then lives as its input does.

    The marker is on stderr too, where it ends what the login shell's start-up files print.
    """
    marker = f"{MARKER} {nonce}"
    return Sent("exec sh", f'echo "{marker} pid $$"; echo "{marker} pid" >&2\n')


def _line(limit: str, marker: str, become: tuple[str, ...]) -> str:
    if not become:
        return f"exec {limit}"
    raised = _AS_ROOT.format(become=shlex.join(become), line=limit, marker=marker)
    return f"exec {_for_any_shell(raised)}"


def _run(command: Command, nonce: str, tag: str) -> str:
    """Return the shell text that becomes the command itself, with its variables.

    It uses ``exec``, because a program with the name of a shell builtin would not be found. A
    shell does not set the variables that it keeps for itself: ``env`` does.
    """
    given = command.environment
    kept = [name for name in given if _is_of_shells(name, given[name]) or _is_inside(command, name)]
    ours = [name for name in given if name not in kept]
    variables = [f"{name}={given[name]}" for name in kept]
    argv = ["env", *variables, *command.argv] if variables else command.argv
    exports = (
        f"export {_outside(command, name)}={shlex.quote(given[name])} || exit; " for name in ours
    )
    return f"{''.join(exports)}exec {shlex.join(_contained(command, argv, ours, nonce, tag))}"


def _is_of_shells(name: str, value: str) -> bool:
    """Whether a shell keeps the variable for itself, or warns of a value that it does not know.

    Each shell knows the locale C, and readings of counters have this variable only: without ``env``
    they cost the node one program less.
    """
    return bool(_OF_SHELLS.fullmatch(name)) and (name, value) != ("LC_ALL", "C")


def _outside(command: Command, name: str) -> str:
    box = command.container
    return name if box is None else containers.engine(box.engine).outside(name)


def _is_inside(command: Command, name: str) -> bool:
    """Whether a variable is set in the container only, not for the engine outside."""
    return command.container is not None and is_of_programs(name)


def _contained(
    command: Command, argv: Sequence[str], variables: Sequence[str], nonce: str, tag: str
) -> Sequence[str]:
    """Return the argv in the command's container, if it has one, with ``variables`` from outside.

    A container of a daemon has a time limit of its own, for the case that the engine's client was
    killed. Its first process would also ignore TERM, which timeout does not. In the command's own
    group timeout would make a group that nobody ends.
    """
    box = command.container
    if box is None:
        return argv
    if box.engine in containers.DETACHED:
        limit_s = _seconds(command.time_limit_s + _CONTAINER_SPARE_S)
        argv = ("timeout", "-k", str(KILL_AFTER_S), limit_s, *argv)
    labels = containers.labels(tag)
    engine = containers.engine(box.engine)
    return engine.argv(box, container_name(nonce), labels, variables, argv)


def container_name(nonce: str) -> str:
    """Return the name of the container of the command with this nonce."""
    return f"railgauge-{nonce}"


def _after(setup: tuple[str, ...], marker: str, command: Command, run: str) -> str:
    """Return the shell text that runs a command after ``setup``; without input, unless it asks."""
    if command.asks:
        return f"({run})"
    if command.plain or not setup:
        return f"({run}) </dev/null"
    script = _SETUP.format(lines=shlex.join(setup), marker=marker, run=run)
    return _IN_BASH.format(script=shlex.quote(script), start=shlex.quote(_START))


def _tagged(tag: str) -> str:
    # The shell itself was started without the tag, but always has a child that carries it.
    return f"export {VARIABLE}={shlex.quote(tag)}; " if tag else ""


def typed_line(argv: Sequence[str], assigned: Mapping[str, str] | None = None) -> str:
    """Return one line that a person can paste into a shell: the words, then ``NAME=value`` of each.

    Raises ``BadInput`` for a character that does not print: a line end would begin a second
    command.
    """
    values = {} if assigned is None else assigned
    for word in (*argv, *values, *values.values()):
        if not word.isprintable():
            raise BadInput(f"{word[:80]!r} cannot be part of one line")
    named = [f"{shlex.quote(name)}={shlex.quote(value)}" for name, value in values.items()]
    return " ".join([shlex.join(argv), *named])


def stop_line(
    pid: int, nonce: str, become: tuple[str, ...] = (), removal: tuple[str, ...] = ()
) -> Sent:
    """Return what ends the process group ``pid``: TERM, then KILL if it lives 2 s later.

    It reports its end by the marker ``exit 0``. A group of root's is ended by ``become``.
    ``removal`` is the argv that removes the command's container, empty for none.

    Raises ``ValueError`` for 1 and below.
    """
    if pid <= 1:  # kill -- -1 would end every process of the user, -0 our own group
        raise ValueError(f"{pid} is not the process group of a command")
    marker, last = f"{MARKER} {nonce}", _TERM_POLLS + _KILL_POLLS
    remove = f"{shlex.join(removal)} </dev/null >/dev/null 2>&1" if removal else ":"
    script = _STOP.format(marker=marker, pid=pid, patience=_TERM_POLLS, last=last, remove=remove)
    line = f"exec {_for_any_shell(f'{shlex.join(become)} sh')}" if become else "exec sh"
    return Sent(line, _WHOLE.format(script=script))


def _seconds(time_s: float) -> str:
    """Return the time in decimal notation; never 0, which ``timeout`` takes as "no limit"."""
    return f"{max(time_s, 0.001):.3f}".rstrip("0").rstrip(".")


def _for_any_shell(script: str) -> str:
    """Return the call of ``sh`` with ``script``, quoted so that no login shell changes it.

    Within single quotes csh still interprets ``!`` and line ends, and fish a doubled backslash.
    Such characters are therefore sent as octal escapes, which sh decodes.
    """
    if not _TOUCHED.search(script):
        return f"sh -c '{script}'"
    encoded = _DECODED.sub(lambda found: f"\\{ord(found[0]):03o}", script)
    return f'sh -c \'eval "$(printf "{encoded}")"\''


def _check(command: Command) -> None:
    if not command.argv or not command.argv[0]:
        raise BadInput("the command names no program", where=command.node)
    for name in command.environment:
        if not _NAME.fullmatch(name):
            raise BadInput(
                f"{name!r} is not a valid name of an environment variable",
                where=command.node,
                remedy="use letters, digits and underscores; the first must not be a digit",
            )
    _check_texts(command)
    _check_numbers(command)


def _check_texts(command: Command) -> None:
    for text in (*command.argv, *command.environment.values()):
        if "\0" in text:
            raise BadInput(
                f"{text!r} contains a NUL, which no argument may contain", where=command.node
            )


def _check_numbers(command: Command) -> None:
    if not (math.isfinite(command.time_limit_s) and command.time_limit_s > 0):
        raise BadInput(
            f"the time limit {command.time_limit_s} s is not valid",
            where=command.node,
            remedy="use a positive number of seconds",
        )
    if command.listens_on is not None and not 0 < command.listens_on < 1 << 16:
        raise BadInput(f"{command.listens_on} is not a TCP port", where=command.node)
