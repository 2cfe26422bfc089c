"""Checks that every transcript is of the command that its case plans. Pure.

The commands are planned anew from the bundle, because output alone does not show what was measured:
another device, node or option prints a table of the same shape. The plan decides everything in a
command except the TCP port, which is taken from the transcript.

Example: a transcript of ``ib_write_bw -d mlx5_1 -p 18900`` under a case that plans
``ib_write_bw -d mlx5_0 -p PORT`` is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NoReturn

from railgauge.config.thresholds import Platform
from railgauge.core.errors import BadInput, NotVerified
from railgauge.core.masking import Mask, assignment
from railgauge.core.model import Case, Cluster, Command, Transcript
from railgauge.core.run_files import RUN
from railgauge.core.secret_forms import MASK
from railgauge.core.terms import BESIDE_ROLES, COUNTER_ROLES, LOAD_ROLES, Role
from railgauge.facts import steal
from railgauge.judging import traffic
from railgauge.planning import plan
from railgauge.planning.telemetry import samplers
from railgauge.run.case_files import case_file
from railgauge.run.control_host import ARGV, NODE
from railgauge.run.invocation import Addresses

# Two ports without a common digit: two plans with them differ exactly where the port is.
_ONE, _OTHER = 11111, 22222
_PORTS = range(1, 65536)
# The longest argument that may hold a secret, because searching for secrets is slow.
_LONGEST_SECRET = 4096

# A command and the role of its transcript.
_Due = tuple[Command, str]


class Commands:
    """Compares transcripts with the commands of one platform file and cluster."""

    def __init__(
        self, platform: Platform, cluster: Cluster, elsewhere: Iterable[Addresses] = ()
    ) -> None:
        """``elsewhere`` has the nodes' addresses in earlier runs that this one carried on."""
        self._platform = platform
        self._clusters = (cluster, *(moved(cluster, one) for one in elsewhere))
        self._seen: dict[tuple[str, float, str], str] = {}

    def refuse_others(
        self, case: Case, runs: Iterable[Sequence[Transcript]], folder: str = ""
    ) -> None:
        """Raise ``NotVerified``, naming the file, for a transcript of another command."""
        name = f"{RUN}{case_file(case, folder)}"
        for number, run in enumerate(runs, 1):
            transcripts = [one for one in run if one.role not in BESIDE_ROLES]
            if not any(self._fits(case, cluster, transcripts, name) for cluster in self._clusters):
                _fail(name, f"{_what(transcripts)} (run {number}) is not the command of {case.key}")
            self._refuse_other_counters(case, run, name)
            self._refuse_other_samplers(case, run, name)
            self._refuse_other_loads(case, run, name)
            _refuse_other_host(run, name)
            for one in run:
                self._refuse_twice(one, name)

    def _fits(
        self, case: Case, cluster: Cluster, transcripts: Sequence[Transcript], name: str
    ) -> bool:
        try:
            one, other = (self._planned(case, cluster, port) for port in (_ONE, _OTHER))
            for order in _orders(len(one)):
                if len(order) != len(transcripts):
                    continue
                port = _port(transcripts, [one[i] for i in order], [other[i] for i in order])
                due = self._planned(case, cluster, port)
                if all(_agrees(one, due[i]) for one, i in zip(transcripts, order, strict=True)):
                    return True
        except BadInput as error:
            _fail(name, f"cannot be planned anew: {error}")
        return False

    def _planned(self, case: Case, cluster: Cluster, port: int) -> list[_Due]:
        *servers, last = plan.commands(case, self._platform, cluster, port)
        return [
            *((one, Role.SERVICE if one.endless else Role.SERVER) for one in servers),
            (last, Role.CLIENT),
        ]

    def _refuse_other_counters(self, case: Case, run: Iterable[Transcript], name: str) -> None:
        read = [one for one in run if one.role in COUNTER_ROLES]
        spec = self._platform.measurements[case.measurement].traffic
        probes = traffic.probes(case.nodes, self._clusters[0].rootfs, spec, self._platform)
        due = [(one, role) for role in COUNTER_ROLES for one in probes]
        if read and (len(read) != len(due) or not all(map(_agrees, read, due))):
            nodes = ", ".join(case.nodes)[:200]
            _fail(name, f"does not read the counters of {nodes} before and after the run")

    def _refuse_other_samplers(self, case: Case, run: Iterable[Transcript], name: str) -> None:
        """Raise for samples of other GPUs; missing samples are reported by the item of the node."""
        read = [one for one in run if one.role == Role.TELEMETRY]
        due = samplers(case, self._platform, self._clusters[0])
        if read and (
            len(read) != len(due)
            or not all(
                _agrees(kept, (one, Role.TELEMETRY)) for kept, one in zip(read, due, strict=True)
            )
        ):
            nodes = ", ".join(case.nodes)[:200]
            _fail(name, f"does not sample the GPUs of {nodes} during the run")

    def _refuse_other_loads(self, case: Case, run: Iterable[Transcript], name: str) -> None:
        """Raise for the load of another node, or one that was not read before and after."""
        read = [one for one in run if one.role in LOAD_ROLES]
        nodes = tuple(one.node for one in read if one.role is Role.LOAD_BEFORE)
        probes = steal.readers(nodes, self._clusters[0].rootfs)
        due = [(one, role) for role in LOAD_ROLES for one in probes]
        known = len({*nodes}) == len(nodes) and {*nodes} <= {*case.nodes}
        if not known or len(read) != len(due) or not all(map(_agrees, read, due)):
            where = ", ".join(case.nodes)[:200]
            _fail(name, f"does not read the load of nodes among {where} before and after the run")

    def _refuse_twice(self, one: Transcript, name: str) -> None:
        """Raise if two files have the same output with the same start time and duration."""
        if not one.stdout.strip():
            return
        key = (one.started_at, one.duration_s, f"{one.role} {one.stdout}")
        first = self._seen.setdefault(key, name)
        if first != name:
            _fail(name, f"has the same output as {first}")


def _refuse_other_host(run: Iterable[Transcript], name: str) -> None:
    """Raise for more than one reading of the control host's load, or for another command."""
    read = [one for one in run if one.role is Role.CONTROL_HOST]
    if len(read) > 1 or any((one.node, one.argv) != (NODE, ARGV) for one in read):
        _fail(name, "does not read the load of the control host once beside the run")


def moved(cluster: Cluster, addresses: Addresses) -> Cluster:
    """The cluster with the given addresses; nodes that are not named keep theirs."""
    nodes = tuple(
        replace(node, data_address=to.data_address, nic_addresses=to.nic_addresses)
        if (to := addresses.nodes.get(node.name))
        else node
        for node in cluster.nodes
    )
    return replace(cluster, nodes=nodes)


def _orders(count: int) -> Iterator[tuple[int, ...]]:
    """The indices of commands that one run may have: the client, then its servers.

    A run may instead have a single server, which ended before the client started.
    """
    yield (count - 1, *range(count - 1))
    for server in range(count - 1):
        yield (server,)


def _port(transcripts: Sequence[Transcript], one: Sequence[_Due], other: Sequence[_Due]) -> int:
    """The port in the transcripts, found where two plans differ; any port if they do not."""
    for kept, (first, _), (second, _) in zip(transcripts, one, other, strict=True):
        for word, a, b in zip(kept.argv, first.argv, second.argv, strict=False):
            if a != b:
                head, _, tail = a.partition(str(_ONE))
                digits = word[len(head) : len(word) - len(tail)]
                is_port = digits.isascii() and digits.isdigit() and len(digits) <= len(str(_ONE))
                return int(digits) if is_port and int(digits) in _PORTS else _ONE
    return _ONE


def _agrees(kept: Transcript, due: _Due) -> bool:
    command, role = due
    asked, wanted = kept.environment, Mask().environment(command.environment)
    return (
        (kept.node, kept.role, len(kept.argv)) == (command.node, role, len(command.argv))
        and all(map(_is_word, kept.argv, command.argv))
        and asked.keys() == wanted.keys()
        and all(_is_word(asked[name], wanted[name]) for name in wanted)
    )


def _is_word(kept: str, due: str) -> bool:
    """Whether an argument is the planned one, possibly with secrets masked."""
    if kept == due:
        return True
    if MASK not in kept or len(due) > _LONGEST_SECRET:
        return False
    return kept == Mask().text(assignment(due))


def _what(transcripts: Sequence[Transcript]) -> str:
    first = transcripts[0] if transcripts else None
    return f"{' '.join(first.argv)[:160]!r} on {first.node[:80]}" if first else "nothing"


def _fail(where: str, what: str) -> NoReturn:
    raise NotVerified(what, where=where)
