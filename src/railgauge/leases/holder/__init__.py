"""The script that holds a lease on a node, and the answer that it prints.

A lease is a file lock (flock) on the node, held by a script whose output this process reads and
answers. The script ends when its output has no reader, or none that answers; the kernel then
releases the lock. The file contains the name of the holder, for other runs that find it locked. It
exists as long as the lease.

The script's first line is ``held PID``, ``cannot REASON``, ``forged REASON``, or ``taken`` with the
holder as JSON:
``taken {"user": "ana", "host": "login1", "run": "r42", "since": "2026-03-01T…", "tag": "…"}``.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, fields
from importlib.resources import files

from railgauge.core.model import Command
from railgauge.transport import silence
from railgauge.transport.tag import VARIABLE, Tag, run_on

PART = "lease"
"""The part that the tag of a lease's script names."""

_HOLD_LIMIT_S = 30 * 86400.0  # a lease ends with its run, but every command needs a limit
_SPARE_S = 15.0  # a run finds its connection lost before the node gives the lease away
_SWEEP_LIMIT_S = 30.0
_WORD_LENGTH = 80
_PROCESS = re.compile(r"[1-9][0-9]{1,9}", re.ASCII)  # not 1, which is init
_LEAST_BEAT_S = 3.0
_BEATS_EACH_S = 250.0  # for all nodes together, because each beat costs CPU time here


@dataclass(frozen=True, slots=True)
class Holder:
    """The run that holds a node. ``since`` is ISO 8601 in UTC by the clock of ``host``.

    ``tag`` is unique to the run; two runs with the same name may start within one second.
    """

    user: str
    host: str
    run: str
    since: str
    tag: str

    def __str__(self) -> str:
        return f"{self.user} on {self.host} since {self.since} (run {self.run})"


@dataclass(frozen=True, slots=True)
class Held:
    """This run holds the lease by this process on the node; 0 if it is not known which."""

    process: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Taken:
    """Another holder has the lease; ``None`` if it left no readable name.

    ``is_forged`` is true if it left a text that names no run.
    """

    holder: Holder | None
    is_forged: bool = False

    def __str__(self) -> str:
        if self.is_forged:
            return "a forged lease: its text names no run of this suite"
        return str(self.holder) if self.holder else "a holder that left no name"


@dataclass(frozen=True, slots=True)
class Unleasable:
    """The node cannot be leased, for the reason ``why``."""

    why: str


LeaseAnswer = Held | Taken | Unleasable


def hold_command(
    node: str,
    rootfs: str,
    holder: Holder,
    run: str,
    beat_s: float,
    *,
    engines: Collection[str] = (),
) -> Command:
    """Return the command that holds the lease of ``node`` while it runs.

    ``answer`` parses its first line. ``beat_s`` is the time in seconds between two signs of life.
    ``engines`` are those of the run's containers that outlive their group.
    """
    text = f"{_sweep(engines)}\n{_text('hold.sh')}"
    who = json.dumps(asdict(holder))
    answer_s = silence.LIMIT_S + _SPARE_S
    words = (rootfs.rstrip("/"), who, run_on(run, node), f"{beat_s:g}", f"{answer_s:g}")
    # Not the session's tag: ending the processes of a dead worker must not end the lease.
    environment = {"LC_ALL": "C", VARIABLE: Tag(run, PART).on(node)}
    argv = ("sh", "-c", text, "railgauge", *words)
    # As root, because it has to end root's processes too.
    return Command(node, argv, environment, _HOLD_LIMIT_S, plain=True, as_root=True, asks=True)


def sweep_command(node: str, run: str, part: str, engines: Collection[str] = ()) -> Command:
    """Return the command that ends all processes of ``part`` of a run on ``node``.

    It exits with 1 if some remain.
    """
    return _ending("sweep", node, (Tag(run, part).on(node),), engines)


def release_command(node: str, run: str, process: int, engines: Collection[str] = ()) -> Command:
    """Return the command that ends all processes of a run on ``node``, last that of the lease.

    ``process`` is that of ``Held``. It exits with 1 if some remain.
    """
    return _ending("release", node, (run_on(run, node), str(process or "")), engines)


def _ending(act: str, node: str, words: tuple[str, ...], engines: Collection[str]) -> Command:
    argv = ("sh", "-c", f'{_sweep(engines)}\n{act} "$@"\n', "railgauge", *words)
    return Command(node, argv, {"LC_ALL": "C"}, _SWEEP_LIMIT_S, plain=True, as_root=True)


def _sweep(engines: Collection[str]) -> str:
    return f"engines={shlex.quote(' '.join(engines))}\n{_text('sweep.sh')}"


def beat_s(nodes: int) -> float:
    """Return the seconds between two signs of life of a holder.

    The time grows with the number of nodes, so that the total rate stays bounded.
    """
    return max(_LEAST_BEAT_S, nodes / _BEATS_EACH_S)


def answer(line: str) -> LeaseAnswer:
    """Parse the first line of a holder. It comes from a node, so none of it is trusted."""
    word, _, rest = line.strip().partition(" ")
    if word == "held":
        return Held(int(rest) if _PROCESS.fullmatch(rest) else 0)
    if word == "taken":
        holder = _holder(rest)
        return Taken(holder, is_forged=bool(rest.strip()) and holder is None)
    if word == "forged":
        return Unleasable(f"forged: {_printable(rest)}")
    why = _printable(rest if word == "cannot" else line)
    return Unleasable(why or "the lease script printed nothing")


def _holder(text: str) -> Holder | None:
    try:
        data = json.loads(text)
        words = [_word(data, one.name) for one in fields(Holder)]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return Holder(*words)


def _word(data: Mapping[str, object], name: str) -> str:
    return _printable(str(data[name]))[:_WORD_LENGTH]


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text[:1000])


def _text(name: str) -> str:
    """Return a script without its comments, which need not be sent."""
    text = files("railgauge.leases.holder").joinpath(name).read_text(encoding="utf-8")
    lines = text.splitlines()
    return "\n".join(line for line in lines if line and not line.lstrip().startswith("#"))
