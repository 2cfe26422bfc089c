"""What a lease on a node is made of: the text that holds it there, and what it answers.

A lease is a file lock (flock) on the node, held by a script on an open channel: the kernel frees it
when the script ends, and the script ends when nobody reads it any more. The file names the holder
for whoever finds it locked; it is there as long as the lease is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from importlib.resources import files

from railgauge.core.model import Command
from railgauge.transport.tag import VARIABLE, Tag, run_on

PART = "lease"
"""The part of a run that its lease holders are, in their tag."""

_HOLD_LIMIT_S = 30 * 86400.0  # a lease ends with its run; every command has a limit all the same
_SWEEP_LIMIT_S = 30.0
_WORD_LENGTH = 80
_LEAST_BEAT_S = 3.0
_BEATS_EACH_S = 250.0  # for all nodes together: each costs this side and a lab some processor time


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a node: ``since`` is ISO 8601 in UTC by the clock of ``host``.

    Two runs of one name may start in one second: ``tag`` is that of one run and no other.
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
    """The lease is ours."""


@dataclass(frozen=True, slots=True)
class Taken:
    """Somebody else's, who may not have said who it is."""

    holder: Holder | None

    def __str__(self) -> str:
        return str(self.holder) if self.holder else "somebody who left no name"


@dataclass(frozen=True, slots=True)
class Unleasable:
    """There is no way to lease this node, and why."""

    why: str


LeaseAnswer = Held | Taken | Unleasable


def hold_command(node: str, rootfs: str, holder: Holder, run: str, beat_s: float) -> Command:
    """Holds the lease of ``node`` as long as it runs; its first line is for ``answer``."""
    text = f"{_text('sweep.sh')}\n{_text('hold.sh')}"
    who = json.dumps(asdict(holder))
    words = (rootfs.rstrip("/"), who, run_on(run, node), f"{beat_s:g}")
    # Not the tag of the session: who ends what a worker left must not end the lease.
    environment = {"LC_ALL": "C", VARIABLE: Tag(run, PART).on(node)}
    return Command(node, ("sh", "-c", text, "railgauge", *words), environment, _HOLD_LIMIT_S)


def sweep_command(node: str, run: str, part: str = "") -> Command:
    """Ends all processes of ``part`` of a run on ``node``, without one those of the whole run.

    Exit code 1 says that some could not be ended.
    """
    begins = Tag(run, part).on(node) if part else run_on(run, node)
    text = f'{_text("sweep.sh")}\nsweep "$1"\n'
    return Command(node, ("sh", "-c", text, "railgauge", begins), {"LC_ALL": "C"}, _SWEEP_LIMIT_S)


def beat_s(nodes: int) -> float:
    """Seconds between two signs of life of a holder, so that many nodes cost no more than few."""
    return max(_LEAST_BEAT_S, nodes / _BEATS_EACH_S)


def answer(line: str) -> LeaseAnswer:
    """What the first line of a holder says. It comes from a node: nothing of it is trusted."""
    word, _, rest = line.strip().partition(" ")
    if word == "held":
        return Held()
    if word == "taken":
        return Taken(_holder(rest))
    said = _printable(rest if word == "cannot" else line)
    return Unleasable(said or "it says nothing")


def _holder(text: str) -> Holder | None:
    try:
        data = json.loads(text)
        words = [_word(data, field.name) for field in fields(Holder)]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return Holder(*words)


def _word(data: Mapping[str, object], name: str) -> str:
    return _printable(str(data[name]))[:_WORD_LENGTH]


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text[:1000])


def _text(name: str) -> str:
    """A script without its comments, which need not travel."""
    text = files("railgauge.leases.holder").joinpath(name).read_text(encoding="utf-8")
    lines = text.splitlines()
    return "\n".join(line for line in lines if line and not line.lstrip().startswith("#"))
