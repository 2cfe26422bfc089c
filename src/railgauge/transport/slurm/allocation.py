"""The allocation of a run: the one that the run was started in, or one of its own.

An allocation of its own is held by a process that reads a pipe from us until its end. Slurm gets
the nodes back when the run closes the pipe, and therefore also when the run is killed.
"""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from tempfile import TemporaryFile
from typing import IO

from railgauge.core.errors import BadInput, TransportError
from railgauge.core.model import Cluster, Node, SlurmSettings
from railgauge.transport import Tell
from railgauge.transport.slurm import nodes
from railgauge.transport.slurm.steps import ask, environment, folded, folder, last_word
from railgauge.transport.waits import WAITS_OF_PROCESS

_HOLD = ("sh", "-c", 'echo "$SLURM_JOB_ID"; exec cat >/dev/null')
_END_LIMIT_S = 10.0
_MOST_BYTES = 1 << 16
_SOON_S = 2.0  # Slurm grants free nodes within this time
_PENDING = re.compile(r"Pending job allocation (\d+)")


@contextmanager
def opened(cluster: Cluster, tell: Tell) -> Iterator[Cluster]:
    """Give the cluster with an allocation of its nodes, held until the block ends.

    A node that Slurm refuses carries the reason in ``slurm.refusal``; the others are allocated
    without it. Raises ``BadInput`` or ``TransportError`` if there is no allocation.
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
            f"this run was started in allocation {job} (SLURM_JOB_ID), which has none of the nodes",
            where=cluster.source,
            remedy="unset SLURM_JOB_ID to get an own allocation, or start the run in another one",
        )
    outside = f"not in the allocation {job}, in which this run was started"
    refused = {name: outside for name in names if name not in held}
    return _reached(cluster, job, {**refused, **nodes.refusals(names, None, for_a_job=False)})


def _reached(cluster: Cluster, job: str, refused: Mapping[str, str]) -> Cluster:
    options = _binding() if job else ()
    known = _addresses(cluster.nodes)
    found = tuple(
        replace(
            node,
            data_address=known.get(node.name, node.data_address),
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


def _addresses(declared: Sequence[Node]) -> dict[str, str]:
    """Return Slurm's address (NodeAddr) of each node whose name only Slurm knows.

    Tools and MPI contact a node at ``data_address``, which is its name if nothing is declared.
    """
    only = [n.name for n in declared if n.data_address == n.name and not _resolves(n.name)]
    return nodes.addresses(only) if only else {}


def _resolves(name: str) -> bool:
    try:
        socket.getaddrinfo(name, None)
    except (OSError, UnicodeError):
        return False
    return True


def _binding() -> tuple[str, ...]:
    """Return the option that keeps Slurm from binding steps to cores.

    Empty if Slurm has no plugin that binds, because it then rejects the option.
    """
    plugins = re.search(r"^TaskPlugin\s*=\s*(\S+)", ask("scontrol", "show", "config"), re.MULTILINE)
    return () if plugins is None or plugins[1] == "task/none" else ("--cpu-bind=none",)


@contextmanager
def allocated(names: Sequence[str], settings: SlurmSettings, tell: Tell) -> Iterator[str]:
    """Hold all of ``names`` exclusively and give the job's number. Raises ``TransportError``."""
    with TemporaryFile() as stderr:
        holder = _salloc(_argv(names, settings), stderr)
        try:
            job = _granted(holder, stderr, folded(names), settings.wait_s, tell)
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
        "--no-kill",  # a node that fails must not end the run on the others
        *(f"--nodes={len(names)}", f"--nodelist={folded(names)}"),
        *(f"--{name}={value}" for name, value in given.items() if value is not None),
        *settings.allocation_options,
        *_HOLD,
    )


def _salloc(argv: Sequence[str], stderr: IO[bytes]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env=environment(),
            cwd=folder(),
            start_new_session=True,  # Ctrl-C goes to the run, which releases the nodes at its end
        )
    except OSError as error:
        raise TransportError(f"cannot start salloc: {error}", where="transport: slurm") from error


def _granted(
    holder: subprocess.Popen[bytes], stderr: IO[bytes], names: str, wait_s: float, tell: Tell
) -> str:
    soon_s = min(wait_s, _SOON_S)
    job = _first_line(holder, soon_s)
    if job is None and wait_s > soon_s:
        tell(f"slurm: waiting up to {wait_s:g} s for {names}: {_why_not(_text(stderr))}")
        with WAITS_OF_PROCESS.at(names, "an allocation by Slurm"):
            job = _first_line(holder, wait_s - soon_s)
    if job:
        return job
    message, where = _text(stderr), "transport: slurm"
    if job is not None:
        raise TransportError(f"no allocation of {names}: {last_word(message)}", where=where)
    raise TransportError(
        f"no allocation of {names} within {wait_s:g} s: {_why_not(message)}",
        where=where,
        remedy="wait longer (slurm: {wait_s: …} in the hostfile), or leave out the busy nodes",
    )


def _first_line(holder: subprocess.Popen[bytes], time_limit_s: float) -> str | None:
    """Return the job's number; empty if ``salloc`` gave up, ``None`` if it is still waiting."""
    assert holder.stdout
    deadline = time.monotonic() + time_limit_s
    with selectors.DefaultSelector() as selector:
        selector.register(holder.stdout, selectors.EVENT_READ)
        if not selector.select(max(deadline - time.monotonic(), 0.0)):
            return None
    return holder.stdout.readline().decode(errors="replace").strip()


def _text(stderr: IO[bytes]) -> str:
    """Return what ``salloc`` has printed so far.

    Reads with ``pread``: ``salloc`` goes on writing at the file offset that both share.
    """
    return os.pread(stderr.fileno(), _MOST_BYTES, 0).decode(errors="replace")


def _why_not(message: str) -> str:
    """Return Slurm's reason why the job waits."""
    pending = _PENDING.search(message)
    if pending is None:
        return last_word(message)
    with contextlib.suppress(TransportError):
        why = ask("squeue", "-h", "-j", pending[1], "-o", "%r").strip()
        return f"job {pending[1]} is pending ({why})"
    return last_word(message)


def _end(holder: subprocess.Popen[bytes], *first: signal.Signals) -> None:
    """Release the nodes.

    A ``salloc`` that has the nodes releases them at the end of its input, and may fail if a signal
    arrives at that moment. One that still waits for them does not read its input; for it,
    ``first`` names the signal to send at once.
    """
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
