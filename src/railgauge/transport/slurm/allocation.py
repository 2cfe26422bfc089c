"""One allocation for a whole run: the one that the run is part of, or one of its own.

An allocation of its own is held by a process that reads from a pipe of ours to its end. Slurm
gets the nodes back when the run lets go of the pipe, and so also when the run is killed.
"""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from tempfile import TemporaryFile
from typing import IO

from railgauge.core.errors import BadInput, TransportError
from railgauge.core.model import Cluster, SlurmSettings
from railgauge.transport.slurm import nodes
from railgauge.transport.slurm.steps import ask, environment, folded, folder, last_word

_HOLD = ("sh", "-c", 'echo "$SLURM_JOB_ID"; exec cat >/dev/null')
_END_LIMIT_S = 10.0
_MOST_BYTES = 1 << 16
_SOON_S = 2.0  # what is to be had at once is there by then
_PENDING = re.compile(r"Pending job allocation (\d+)")

Tell = Callable[[str], None]


@contextmanager
def opened(cluster: Cluster, tell: Tell) -> Iterator[Cluster]:
    """The cluster with an allocation of its nodes, until the block ends.

    Nodes that Slurm does not give carry its reason; the others are allocated without them.
    Raises ``BadInput`` or ``TransportError`` if there is no allocation to be had.
    """
    surrounding = os.environ.get("SLURM_JOB_ID", "")
    if surrounding:
        yield _within(cluster, surrounding)
        return
    settings, names = cluster.nodes[0].slurm, [node.name for node in cluster.nodes]
    refused = nodes.refusals(names, settings.partition, for_a_job=True)
    usable = [name for name in names if name not in refused]
    if not usable:
        yield _reached(cluster, "", refused)
        return
    with allocated(usable, settings, tell) as job:
        yield _reached(cluster, job, refused)


def _within(cluster: Cluster, job: str) -> Cluster:
    names = [node.name for node in cluster.nodes]
    held = nodes.of_job(job)
    if not held.intersection(names):
        raise BadInput(
            f"allocation {job}, which this run is part of (SLURM_JOB_ID), has none of the nodes",
            where=cluster.source,
            remedy="unset SLURM_JOB_ID to get an allocation of its own, or start within another",
        )
    outside = f"not in the allocation {job}, which this run is part of"
    refused = {name: outside for name in names if name not in held}
    return _reached(cluster, job, {**refused, **nodes.refusals(names, None, for_a_job=False)})


def _reached(cluster: Cluster, job: str, refused: Mapping[str, str]) -> Cluster:
    options = _binding() if job else ()
    found = tuple(
        replace(
            node,
            slurm=replace(
                node.slurm,
                job=job,
                refusal=refused.get(node.name, ""),
                step_options=(*options, *node.slurm.step_options),
            ),
        )
        for node in cluster.nodes
    )
    return replace(cluster, nodes=found)


def _binding() -> tuple[str, ...]:
    """Steps are not to be bound to cores; where Slurm binds none, it complains of being told."""
    plugins = re.search(r"^TaskPlugin\s*=\s*(\S+)", ask("scontrol", "show", "config"), re.MULTILINE)
    return () if plugins is None or plugins[1] == "task/none" else ("--cpu-bind=none",)


@contextmanager
def allocated(names: Sequence[str], settings: SlurmSettings, tell: Tell) -> Iterator[str]:
    """Hold all of ``names``, whole; gives the number of the job. Raises ``TransportError``."""
    with TemporaryFile() as said:
        holder = _salloc(_argv(names, settings), said)
        try:
            job = _granted(holder, said, folded(names), settings.wait_s, tell)
        except BaseException:
            _end(holder, signal.SIGTERM)
            raise
        try:
            yield job
        finally:
            _end(holder)


def _argv(names: Sequence[str], settings: SlurmSettings) -> tuple[str, ...]:
    given = {
        "partition": settings.partition,
        "account": settings.account,
        "gres": settings.gres,
        "time": settings.time_limit_min,
    }
    return (
        *("salloc", "--job-name=railgauge", "--exclusive", "--mem=0"),
        "--no-kill",  # one node that fails must not end the run on the others
        *(f"--nodes={len(names)}", f"--nodelist={folded(names)}"),
        *(f"--{name}={value}" for name, value in given.items() if value is not None),
        *settings.allocation_options,
        *_HOLD,
    )


def _salloc(argv: Sequence[str], said: IO[bytes]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            env=environment(),
            cwd=folder(),
            start_new_session=True,  # Ctrl-C is for the run, which lets go when it is done
        )
    except OSError as error:
        raise TransportError(f"salloc does not start: {error}", where="transport: slurm") from error


def _granted(
    holder: subprocess.Popen[bytes], said: IO[bytes], names: str, wait_s: float, tell: Tell
) -> str:
    soon_s = min(wait_s, _SOON_S)
    job = _first_line(holder, soon_s)
    if job is None and wait_s > soon_s:
        tell(f"slurm: waiting up to {wait_s:g} s for {names}: {_why_not(_text(said))}")
        job = _first_line(holder, wait_s - soon_s)
    if job:
        return job
    complaint, where = _text(said), "transport: slurm"
    if job is not None:
        raise TransportError(f"no allocation of {names}: {last_word(complaint)}", where=where)
    raise TransportError(
        f"no allocation of {names} within {wait_s:g} s: {_why_not(complaint)}",
        where=where,
        remedy="wait longer (slurm: {wait_s: …} in the hostfile), or leave out nodes that are busy",
    )


def _first_line(holder: subprocess.Popen[bytes], time_limit_s: float) -> str | None:
    """The number of the job; empty if ``salloc`` gave up, ``None`` if it is still waiting."""
    assert holder.stdout
    deadline = time.monotonic() + time_limit_s
    with selectors.DefaultSelector() as selector:
        selector.register(holder.stdout, selectors.EVENT_READ)
        if not selector.select(max(deadline - time.monotonic(), 0.0)):
            return None
    return holder.stdout.readline().decode(errors="replace").strip()


def _text(said: IO[bytes]) -> str:
    """What ``salloc``, which goes on writing at the same place of the file, has said so far."""
    return os.pread(said.fileno(), _MOST_BYTES, 0).decode(errors="replace")


def _why_not(complaint: str) -> str:
    """Slurm's reason for letting the job wait."""
    pending = _PENDING.search(complaint)
    if pending is None:
        return last_word(complaint)
    with contextlib.suppress(TransportError):
        why = ask("squeue", "-h", "-j", pending[1], "-o", "%r").strip()
        return f"job {pending[1]} is pending ({why})"
    return last_word(complaint)


def _end(holder: subprocess.Popen[bytes], *first: signal.Signals) -> None:
    """Let go of the nodes. One that has them does so at the end of its input, and is confused by a
    signal at that moment; one that still waits for them does not read."""
    assert holder.stdin
    assert holder.stdout
    with contextlib.suppress(OSError):
        holder.stdin.close()
    for end in (*first, 0, signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
            if holder.poll() is None:
                os.killpg(holder.pid, end)
                holder.wait(_END_LIMIT_S)
    holder.stdout.close()
