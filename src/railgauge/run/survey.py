"""The survey before the first test: probes every node once, all of them in parallel."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path
from typing import Any

from railgauge import facts as node_facts
from railgauge.core.codec import from_plain, to_plain
from railgauge.core.errors import NoEvidence
from railgauge.core.model import Cluster, Command, Transcript
from railgauge.core.progress import PROGRESS_OF_PROCESS
from railgauge.core.run_files import FACTS
from railgauge.facts import NodeAnswer
from railgauge.judging import inventory
from railgauge.judging.stamp import Evidence
from railgauge.run.probing import PROBE_LIMIT_S, NodeProbe, joined
from railgauge.run.settings import RunSettings
from railgauge.run.store import Store, write_whole
from railgauge.stacks import Stack
from railgauge.transport import Answer, FanOut, Session
from railgauge.transport.registry import fan_out
from railgauge.transport.sessions import Sessions

OnAnswer = Callable[[NodeAnswer], None]

_AT_ONCE = 64


def survey(
    cluster: Cluster, sessions: Sessions, stack: Stack | None, on_answer: OnAnswer
) -> dict[str, NodeAnswer]:
    """Return the facts of every node, or the error that left none.

    ``on_answer`` is called with each answer as it arrives; a slow node does not delay the others.
    """
    probe = NodeProbe(cluster, stack, secrets.token_hex(8))
    roots: dict[str, Transcript | NoEvidence] = {}
    if probe.as_root:
        roots.update(_answers(cluster, sessions, probe.as_root))
    found: dict[str, NodeAnswer] = {}
    answers = _answers(cluster, sessions, probe.own)
    for node, answer in PROGRESS_OF_PROCESS.arriving("survey: node", answers, len(cluster.nodes)):
        found[node] = probe.read(node, joined(answer, roots.get(node)))
        on_answer(found[node])
    return {node.name: found[node.name] for node in cluster.nodes}


def surveyed_again(
    cluster: Cluster,
    stack: Stack | None,
    node: str,
    session: Session,
    time_limit_s: float = PROBE_LIMIT_S,
) -> NodeAnswer:
    """Return the facts of one node, over a connection to it. Raises ``TransportError``."""
    probe = NodeProbe(cluster, stack, secrets.token_hex(8))

    def answer(command: Command) -> Transcript:
        return session.run(replace(command, node=node, time_limit_s=time_limit_s))

    root = answer(probe.as_root) if probe.as_root else None
    return probe.read(node, joined(answer(probe.own), root))


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


def keep(found: Mapping[str, NodeAnswer], store: Store, settings: RunSettings) -> None:
    """Write the survey's file, which ends the survey for all processes of the run."""
    store.write_evidence(
        FACTS,
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
        self._path = folder / FACTS
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
