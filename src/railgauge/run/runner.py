"""Runs cases: starts servers, runs clients, and stores their output."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from railgauge.core.errors import ConnectionLost, NoEvidence, PortInUse, ToolFailed, ToolHangs
from railgauge.core.model import Case, Cluster, Command, Transcript
from railgauge.core.question import CaseResult
from railgauge.core.terms import BESIDE_ROLES, COUNTER_ROLES, LOAD_ROLES, Role
from railgauge.run.control_host import MadeRun
from railgauge.run.hung import HungTools
from railgauge.run.sampling import GpuSampling
from railgauge.run.store import Store
from railgauge.run.together import at_once
from railgauge.transport import Running, relay
from railgauge.transport.sessions import Sessions

Planner = Callable[[Case, int], tuple[Command, ...]]
# The commands that read the NIC counters of a case's nodes; none if nothing checks its traffic.
CounterProbe = Callable[[Case], tuple[Command, ...]]
# The commands that read the CPU time of those of a case's nodes that are virtual machines.
LoadProbe = Callable[[Case], tuple[Command, ...]]
# What an interrupted run has measured of a case: all repeats, the first ones, or ``None``.
EarlierResult = Callable[[Case], CaseResult | None]
# The cases that are measured at the same time as a case, which is one of them.
MeasuredWith = Callable[[Case], tuple[Case, ...]]
# Makes a repeat, and adds the transcripts of what ran beside it.
RunWatch = Callable[[Callable[[], tuple[Transcript, ...]]], tuple[Transcript, ...]]

# Below the ephemeral ports of Linux (from 32768 up), above those of well-known services.
_PORTS = range(18515, 32768)
_PORT_ATTEMPTS = 5
_READY_LIMIT_S = 30.0
_SERVER_GRACE_S = 10.0


def ports_of(cluster: Cluster) -> range:
    """Return the TCP ports that servers may use on a cluster."""
    return range(cluster.ports[0], cluster.ports[1] + 1) if cluster.ports else _PORTS


class Runner:
    """Measures each case once in a run, even if several items ask for it."""

    def __init__(
        self,
        sessions: Sessions,
        store: Store,
        plan: Planner,
        counters: CounterProbe = lambda _: (),
        *,
        sampling: GpuSampling | None = None,
        earlier: EarlierResult = lambda _: None,
        ports: range = _PORTS,
        loads: LoadProbe = lambda _: (),
        watch: RunWatch = lambda make: make(),
        measured_with: MeasuredWith = lambda case: (case,),
        hung: HungTools | None = None,
    ) -> None:
        """``ports`` are the TCP ports of servers; without ``sampling`` no GPU is sampled."""
        self._hung = hung or HungTools(lambda case: case.measurement)
        self._watch = watch
        self._measured_with = measured_with
        self._ports = ports
        self._sessions = sessions
        self._store = store
        self._plan = plan
        self._counters = counters
        self._loads = loads
        self._sampling = sampling or GpuSampling(sessions, lambda _: ())
        self._earlier = earlier

    def measure(self, case: Case) -> CaseResult:
        """Return the transcripts of ``case``: those on disk, and missing repeats measured now."""
        result = self._store.load(case)
        if result is None or not _is_through(case, result):
            result = self._measured(self._measured_with(case))[case]
        return result

    def _measured(self, cases: Sequence[Case]) -> dict[Case, CaseResult]:
        """Measure cases at the same time, unless all of them are complete, and store them."""
        found = {case: self._begun(case) for case in cases}
        if not all(_is_through(case, result) for case, result in found.items()):
            found = self._made(cases, found)
            self._sessions.refuse_interrupted()  # a command that was killed gives no result
        return {case: self._store.save(case, result) for case, result in found.items()}

    def _made(self, cases: Sequence[Case], begun: dict[Case, CaseResult]) -> dict[Case, CaseResult]:
        """Measure cases, all of one tool on the same nodes, unless the tool hangs there."""
        (first, *others) = cases
        try:
            self._hung.refuse(first)
        except ToolHangs as error:
            return {case: replace(result, error=error) for case, result in begun.items()}
        made = self._together(cases) if others else {first: self._run(first, begun[first])}
        self._hung.note(made)
        return made

    def _begun(self, case: Case) -> CaseResult:
        return self._store.load(case) or self._earlier(case) or CaseResult(())

    def _run(self, case: Case, begun: CaseResult) -> CaseResult:
        """Add the missing repeats to those in ``begun``; each one is stored as it ends."""
        runs = list(begun.runs)
        try:
            while len(runs) < case.repeats and all(map(_ended_well, runs)):
                runs.append(self._watch(lambda: self._counted(case)))
                if len(runs) < case.repeats:
                    self._store.keep(case, CaseResult(tuple(runs)))
        except NoEvidence as error:
            return self._without_lost(case, CaseResult(tuple(runs), error))
        return self._without_lost(case, CaseResult(tuple(runs)))

    def _together(self, cases: Sequence[Case]) -> dict[Case, CaseResult]:
        """Make all repeats of cases that share their nodes; in each one all of them run at once."""
        found = {case: CaseResult(()) for case in cases}
        for _ in range(cases[0].repeats):
            try:
                made, beside = self._rails(cases)
            except NoEvidence as error:
                found = {case: CaseResult(found[case].runs, error) for case in cases}
                break
            found = {case: _with_run(found[case], made[case], beside) for case in cases}
            if not all(result.error is None and _went_well(result) for result in found.values()):
                break
        found = {case: self._without_lost(case, result) for case, result in found.items()}
        return {case: _ended_early(case, result) for case, result in found.items()}

    def _rails(
        self, cases: Sequence[Case]
    ) -> tuple[dict[Case, MadeRun | NoEvidence], tuple[Transcript, ...]]:
        """Make one repeat of each case at the same time, with samples and loads of the nodes."""
        first, (before, after) = cases[0], LOAD_ROLES
        begun = [self._read(command, before) for command in self._loads(first)]
        with self._sampling.during(first) as sampled:
            made = at_once({case: partial(self._rail, case) for case in cases})
            seen = sampled()
        ended = [self._read(command, after) for command in self._loads(first)]
        return made, (*seen, *begun, *ended)

    def _rail(self, case: Case, start: Callable[[], object]) -> tuple[Transcript, ...]:
        return self._watch(lambda: self._on_a_free_port(case, start))

    def _counted(self, case: Case) -> tuple[Transcript, ...]:
        """Make one repeat; read the NIC counters and the load of its nodes before and after it."""
        probes = [(command, COUNTER_ROLES) for command in self._counters(case)]
        probes += [(command, LOAD_ROLES) for command in self._loads(case)]
        before = [self._read(command, role) for command, (role, _) in probes]
        run = self._sampled(case)
        if not _ended_well(run):
            return run
        return (*run, *before, *(self._read(command, role) for command, (_, role) in probes))

    def _sampled(self, case: Case) -> tuple[Transcript, ...]:
        """Make one repeat while the GPUs of its nodes are sampled."""
        with self._sampling.during(case) as sampled:
            run = self._on_a_free_port(case)
            return (*run, *sampled())

    def _read(self, command: Command, role: Role) -> Transcript:
        return replace(self._sessions[command.node].run(command), role=role)

    def _on_a_free_port(
        self, case: Case, start: Callable[[], object] = lambda: None
    ) -> tuple[Transcript, ...]:
        last: PortInUse | None = None
        for port in random.sample(self._ports, _PORT_ATTEMPTS):
            try:
                return self._carry_out(case, self._plan(case, port), start)
            except PortInUse as error:
                last = error
        assert last is not None
        raise last

    def _carry_out(
        self, case: Case, commands: Sequence[Command], start: Callable[[], object]
    ) -> tuple[Transcript, ...]:
        """Run the commands; return the client's transcript first, then those of its servers.

        ``start`` is called when all servers are ready, before the client.
        """
        *servers, reporter = commands
        with self._started(servers) as running:
            for command, server in zip(servers, running, strict=True):
                if command.listens_on is None:
                    continue
                try:
                    with self._sessions.waits.of_tool(command.node, command.argv):
                        server.wait_ready(_ready_limit_s(command))
                except ToolFailed:
                    return (_as_server(server.stop(), command),)
            start()
            report = self._reported(case, reporter, running)
            ended = [
                _end(server, command, _ended_well((report,)))
                for command, server in zip(servers, running, strict=True)
            ]
        return (report, *map(_as_server, ended, servers))

    def _reported(self, case: Case, reporter: Command, servers: Sequence[Running]) -> Transcript:
        """Run the client until it ends, or until another node of the case is gone.

        A client would wait for a lost server or rank up to its own time limit, which is long. If
        only the connection to a node was lost, the node may still be there, so a new connection is
        tried first. Raises the ``NoEvidence`` of a node that is gone.
        """
        others = [node for node in case.nodes if node != reporter.node]
        gone: list[NoEvidence] = []

        def in_vain() -> bool:
            if any(map(_was_lost, servers)):
                return True
            try:
                for node in others:
                    self._sessions.replace_lost(node)
            except NoEvidence as error:
                gone.append(error)
            return bool(gone)

        report = relay.run(self._sessions, reporter, in_vain)
        if gone:
            raise gone[0]
        return report

    @contextmanager
    def _started(self, servers: Sequence[Command]) -> Iterator[list[Running]]:
        """Start the servers, and stop all of them when the block ends, also after an error."""
        running: list[Running] = []
        try:
            for command in servers:
                running.append(self._sessions[command.node].start(command))
            yield running
        finally:
            for server in running:
                server.stop()

    def _without_lost(self, case: Case, result: CaseResult) -> CaseResult:
        """Close the sessions that were lost, so that the next case connects anew."""
        lost = {one.node for run in result.runs for one in run if one.error == ConnectionLost.kind}
        if isinstance(result.error, ConnectionLost):
            lost.add(result.error.where)
        for node in case.nodes:
            if node in lost:
                self._sessions.drop(node)
        return result


def _was_lost(server: Running) -> bool:
    return server.has_ended and server.so_far().error == ConnectionLost.kind


def _with_run(
    result: CaseResult, made: MadeRun | NoEvidence, beside: Sequence[Transcript]
) -> CaseResult:
    """Return the result with one more repeat, or with the error that ended it."""
    if isinstance(made, NoEvidence):
        return CaseResult(result.runs, made)
    return CaseResult((*result.runs, (*made, *beside)))


def _ended_early(case: Case, result: CaseResult) -> CaseResult:
    """Return the result, with an error if it lacks repeats because another rail failed."""
    if _is_through(case, result):
        return result
    return CaseResult(result.runs, ToolFailed("repeats are missing: another rail failed"))


def _went_well(result: CaseResult) -> bool:
    return all(_ended_well(run) for run in result.runs)


def _is_through(case: Case, result: CaseResult) -> bool:
    """Whether the case needs no more repeats: all were made, or one of them failed."""
    is_over = len(result.runs) >= case.repeats or not _went_well(result)
    return bool(result.error) or is_over


def _ready_limit_s(command: Command) -> float:
    """Seconds until a server must be ready: a service loads its model first, so it has longer."""
    return command.time_limit_s if command.endless else _READY_LIMIT_S


def _end(server: Running, command: Command, client_ended_well: bool) -> Transcript:
    if client_ended_well and not command.endless:
        return server.wait(_SERVER_GRACE_S)
    return server.stop()


def _as_server(transcript: Transcript, command: Command) -> Transcript:
    role = Role.SERVICE if command.endless else Role.SERVER
    return replace(transcript, role=role, argv=command.argv)


def _ended_well(run: Sequence[Transcript]) -> bool:
    """Whether every command but the services ended well.

    A service is always stopped, so its exit code does not count, nor do the suite's own commands.
    A run with no other transcript did not end well: the service ended before the client started.
    """
    ended = [t for t in run if t.role != Role.SERVICE and t.role not in BESIDE_ROLES]
    return bool(ended) and all(t.exit_code == 0 and not t.error for t in ended)
