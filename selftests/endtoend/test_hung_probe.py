"""A probe that is cut off: what arrived is used, the rest is missing."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from railgauge.core.errors import CommandTimedOut, ConnectionLost, NoEvidence
from railgauge.core.model import Cluster, Command, Node, Transcript
from railgauge.facts import NodeAnswer, NodeFacts
from railgauge.run.survey import survey
from railgauge.transport import InVain, Running, Session, never
from railgauge.transport.sessions import Sessions

CLUSTER = Cluster("c", "p", "ssh", tuple(Node(n, n, n) for n in ("n01", "n02")), "h.yaml")
SECTIONS = (
    "{0} begin hostname\nn01\n\n{0} end hostname 0\n{0} begin kernel\n6.8.0\n\n{0} end kernel 0\n"
)
CUT_OFF = "{0} begin os\nPRETTY_NAME=Debi"


class Scripted:
    """A session whose commands all end the same way."""

    def __init__(self, text: str, error: str) -> None:
        self._text = text
        self._error = error

    lost = ""

    def run(self, command: Command, in_vain: InVain = never) -> Transcript:
        nonce = re.search(r"\bN=(\w+)", " ".join(command.argv))
        assert nonce
        assert command.time_limit_s >= 150  # six tools of 25 s each
        text = self._text.replace("{0}", nonce[1])
        code = None if self._error else 0
        return Transcript(command.node, command.argv, code, text, "", 1.0, error=self._error)

    def start(self, command: Command) -> Running:
        raise NotImplementedError

    def close(self) -> None:
        """There is no connection to close."""


def surveyed(session: Session) -> NodeAnswer:
    cluster = replace(CLUSTER, nodes=CLUSTER.nodes[:1])
    return survey(cluster, Sessions(cluster, lambda node: session), None, lambda found: None)["n01"]


@pytest.mark.parametrize("error", ["command-timed-out", "output-too-large"])
def test_the_facts_that_arrived_are_there(error: str) -> None:
    found = surveyed(Scripted(SECTIONS + CUT_OFF, error))
    assert isinstance(found, NodeFacts)
    assert found.hostname == "n01"
    assert found.kernel == "6.8.0"
    assert found.os is None
    assert {"os", "cpus", "nics", "acs_enabled"} <= set(found.missing)


def test_nothing_arrived_in_time() -> None:
    found = surveyed(Scripted("Welcome to n01\n", "command-timed-out"))
    assert isinstance(found, CommandTimedOut)


def test_a_node_that_went_away_has_no_facts() -> None:
    found = surveyed(Scripted(SECTIONS, "connection-lost"))
    assert isinstance(found, ConnectionLost)
    assert found.where == "n01"


def test_one_node_that_cannot_be_reached_costs_no_other_its_facts() -> None:
    def connect(node: Node) -> Session:
        if node.name == "n01":
            raise NoEvidence("gone", where=node.name)
        return Scripted(SECTIONS, "")

    seen: list[NodeAnswer] = []
    found = survey(CLUSTER, Sessions(CLUSTER, connect), None, seen.append)
    assert list(found) == ["n01", "n02"]
    assert isinstance(found["n01"], NoEvidence)
    assert isinstance(found["n02"], NodeFacts)
    assert len(seen) == 2
