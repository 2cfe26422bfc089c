"""The survey before the first test: probes every node once, all of them in parallel."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from railgauge import facts as node_facts
from railgauge.core.codec import from_plain, to_plain
from railgauge.core.devices import DeviceNames
from railgauge.core.errors import BecomeRefused, CommandTimedOut, ConnectionLost, NoEvidence
from railgauge.core.model import Cluster, Command, Transcript
from railgauge.core.programs import folders
from railgauge.facts import NodeAnswer, NodeFacts
from railgauge.facts.clock import span_of
from railgauge.facts.naming import declared
from railgauge.facts.probe import PROGRAMS, ProbePart
from railgauge.facts.visible import VISIBLE
from railgauge.judging import inventory
from railgauge.judging.stamp import Evidence
from railgauge.run.settings import RunSettings
from railgauge.run.store import Store, write_whole
from railgauge.stacks import Stack
from railgauge.transport import Answer, FanOut, Session
from railgauge.transport.job import not_started
from railgauge.transport.registry import fan_out
from railgauge.transport.sessions import Sessions

# What the survey found on every node of a run.
FILE = "environment.json"

OnAnswer = Callable[[NodeAnswer], None]

# The probe gives each of its five or six tools 25 s, so a node on which all of them hang still
# reports the facts from the kernel's files.
_TIME_LIMIT_S = 180.0
_AT_ONCE = 64


def survey(
    cluster: Cluster, sessions: Sessions, stack: Stack | None, progress: OnAnswer
) -> dict[str, NodeAnswer]:
    """Return the facts of every node, or the error that left none.

    ``progress`` is called with each answer as it arrives; a slow node does not delay the others.
    """
    probe = _Probe(cluster, stack, secrets.token_hex(8))
    roots: dict[str, Transcript | NoEvidence] = {}
    if probe.as_root:
        roots.update(_answers(cluster, sessions, probe.as_root))
    found: dict[str, NodeAnswer] = {}
    for node, answer in _answers(cluster, sessions, probe.own):
        found[node] = probe.read(node, _joined(answer, roots.get(node)))
        progress(found[node])
    return {node.name: found[node.name] for node in cluster.nodes}


def surveyed_again(
    cluster: Cluster,
    stack: Stack | None,
    node: str,
    session: Session,
    time_limit_s: float = _TIME_LIMIT_S,
) -> NodeAnswer:
    """Return the facts of one node, over a connection to it. Raises ``TransportError``."""
    run = partial(_run, session, time_limit_s)
    return surveyed_by(run, cluster, stack, node)


def _run(session: Session, time_limit_s: float, command: Command) -> Transcript:
    return session.run(replace(command, time_limit_s=time_limit_s))


def surveyed_by(
    run: Callable[[Command], Transcript], cluster: Cluster, stack: Stack | None, node: str
) -> NodeAnswer:
    """Return the facts of one node, whose commands ``run`` runs. Raises ``TransportError``."""
    probe = _Probe(cluster, stack, secrets.token_hex(8))
    root = run(replace(probe.as_root, node=node)) if probe.as_root else None
    return probe.read(node, _joined(run(replace(probe.own, node=node)), root))


class _Probe:
    """The commands of a survey, and what their output says."""

    def __init__(self, cluster: Cluster, stack: Stack | None, nonce: str) -> None:
        """``as_root`` is ``None`` if no node's login may become root."""
        self._cluster, self._stack, self._nonce = cluster, stack, nonce
        becomes = any(node.become for node in cluster.nodes)
        self.own = self._command(ProbePart.USER if becomes else ProbePart.ALL)
        asked = replace(self._command(ProbePart.ROOT), plain=True, as_root=True)
        self.as_root = asked if becomes else None

    def _command(self, part: ProbePart) -> Command:
        cluster = self._cluster
        placed = folders(cluster.tools, PROGRAMS)
        hiding = {k: v for k, v in cluster.environment.items() if VISIBLE.fullmatch(k)}
        script = node_facts.probe_script(cluster.rootfs, self._stack, self._nonce, placed, part)
        return Command("", ("sh", "-c", script), {"LC_ALL": "C", **hiding}, _TIME_LIMIT_S)

    def read(self, node: str, answer: Transcript | NoEvidence) -> NodeAnswer:
        read = _read(node, answer, self._nonce, self._stack)
        names = DeviceNames(self._cluster.devices)
        return declared(read, names) if isinstance(read, NodeFacts) else read


def _joined(
    answer: Transcript | NoEvidence, root: Transcript | NoEvidence | None
) -> Transcript | NoEvidence:
    """Return the login user's answer with the sections that root printed.

    If nothing could be run as root, that is the node's answer.
    """
    if not isinstance(answer, Transcript) or not isinstance(root, Transcript):
        return answer
    if root.error == BecomeRefused.kind:
        return root
    return replace(answer, stdout=f"{answer.stdout}\n{root.stdout}")


def _answers(cluster: Cluster, sessions: Sessions, command: Command) -> Iterator[Answer]:
    """The answers, by one fan-out if the transport has one; other nodes are asked one by one."""
    left = {node.name for node in cluster.nodes}
    if at_once := fan_out(cluster.transport):
        for node, answer in _all_asked(at_once, cluster, sessions, command):
            left.discard(node)
            yield node, sessions.masked(answer) if isinstance(answer, Transcript) else answer
    if not left:
        return
    with ThreadPoolExecutor(min(_AT_ONCE, len(left))) as pool:
        waiting = [pool.submit(_ask, node, sessions, command) for node in sorted(left)]
        for done in as_completed(waiting):
            yield done.result()


def _all_asked(
    at_once: FanOut, cluster: Cluster, sessions: Sessions, command: Command
) -> Iterator[Answer]:
    with sessions.waits.at(f"{len(cluster.nodes)} nodes", "a reading"):
        yield from at_once(cluster.nodes, command)


def _ask(node: str, sessions: Sessions, command: Command) -> Answer:
    try:
        return node, sessions[node].run(replace(command, node=node))
    except NoEvidence as error:
        return node, error


def _read(
    node: str, answer: Transcript | NoEvidence, nonce: str, stack: Stack | None
) -> NodeAnswer:
    if isinstance(answer, NoEvidence):
        return answer
    if answer.error == ConnectionLost.kind:
        return ConnectionLost("the connection ended during the probe", where=node)
    if refusal := not_started(answer):
        return refusal
    if answer.error and nonce not in answer.stdout:
        return CommandTimedOut(f"the probe ended with {answer.error}", where=node)
    # A probe that was cut off still gives the facts that arrived; the others are missing.
    return node_facts.parse_probe(node, answer.stdout, nonce, stack, span_of(answer))


def keep(found: Mapping[str, NodeAnswer], store: Store, settings: RunSettings) -> None:
    """Write the survey's file. For all processes of the run the survey has ended with that."""
    store.write_evidence(
        FILE,
        {
            "schema_version": 1,
            "evidence": settings.evidence_of(found.values()),
            "cluster": settings.declared.name,
            "platform": settings.platform.name,
            "nodes": found_to_json(found),
        },
    )
    write_whole(store.folder / inventory.FILE, store.masked(inventory.inventory(found).csv()))


def found_to_json(found: Mapping[str, NodeAnswer]) -> dict[str, Any]:
    """The facts of each node, or the error that left none."""
    return {
        node: {"error" if isinstance(value, NoEvidence) else "facts": to_plain(value)}
        for node, value in found.items()
    }


def found_from_json(data: Mapping[str, Any]) -> dict[str, NodeAnswer]:
    """The inverse of ``found_to_json``. Raises ``BadInput``."""
    return {
        node: from_plain(NoEvidence, entry["error"])
        if "error" in entry
        else node_facts.from_json(entry["facts"])
        for node, entry in data.items()
    }


class Surveyed:
    """The survey of a run, read from the file that the controller writes."""

    def __init__(
        self, folder: Path, evidence_of: Callable[[Iterable[NodeAnswer]], Evidence]
    ) -> None:
        """``evidence_of`` gives the kind of evidence for a survey, which may still be empty."""
        self._path = folder / FILE
        self._evidence_of = evidence_of
        self._found: dict[str, NodeAnswer] | None = None
        self._evidence: Evidence | None = None

    @property
    def found(self) -> Mapping[str, NodeAnswer]:
        """The answer of each node; empty until the survey has ended."""
        if self._found is None:
            if not self._path.exists():
                return {}
            data = json.loads(self._path.read_text(encoding="utf-8"))
            self._found = found_from_json(data["nodes"])
        return self._found

    @property
    def evidence(self) -> Evidence:
        """The kind of evidence that every report shows; final once the survey has ended."""
        if self._evidence:
            return self._evidence
        evidence = self._evidence_of(self.found.values())
        if self._found is not None:
            self._evidence = evidence
        return evidence
