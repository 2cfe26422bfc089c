"""Each node is probed once, and a failing node affects only its own result."""

import json

import pytest
from testing.core_values import cluster, transcript

from railgauge.core.errors import (
    CommandTimedOut,
    ConnectionLost,
    FactMissing,
    NodeUnreachable,
    NoEvidence,
)
from railgauge.facts import NodeFacts
from railgauge.run.survey import found_from_json, found_to_json, survey
from railgauge.transport.sessions import Sessions


class Probed:
    """A session whose probe ends in the given way."""

    def __init__(self, result):
        self.result = result

    lost = ""

    def run(self, command, in_vain=None):
        if isinstance(self.result, Exception):
            raise self.result
        return self.result

    def close(self):
        pass


def surveyed(results, seen=None):
    def connect(node):
        result = results[node.name]
        if isinstance(result, NodeUnreachable):
            raise result
        return Probed(result)

    nodes = cluster(*results)
    progress = (lambda found: None) if seen is None else seen.append
    return survey(nodes, Sessions(nodes, connect), None, progress)


def test_every_node_has_facts_or_the_reason_why_not():
    seen = []
    found = surveyed(
        {
            "n1": NodeUnreachable("no route", where="n1"),
            "n2": ConnectionLost("gone", where="n2"),
            "n3": transcript("n3", exit_code=None, error="command-timed-out"),
            "n4": transcript("n4", exit_code=None, error="connection-lost"),
        },
        seen,
    )
    assert list(found) == ["n1", "n2", "n3", "n4"]
    kinds = [type(value) for value in found.values()]
    assert kinds == [NodeUnreachable, ConnectionLost, CommandTimedOut, ConnectionLost]
    assert len(seen) == 4


def test_a_probe_that_printed_rubbish_has_no_fact_that_could_pass():
    found = surveyed({"n1": transcript("n1", stdout="command not found\n")})["n1"]
    assert isinstance(found, (NodeFacts, NoEvidence))
    if isinstance(found, NodeFacts):
        from railgauge.facts import require  # noqa: PLC0415

        with pytest.raises(FactMissing):
            require(found, "governors")


def test_the_survey_comes_back_from_json():
    found = surveyed(
        {"n1": NodeUnreachable("no route", where="n1", remedy="look"), "n2": transcript("n2")}
    )
    again = found_from_json(json.loads(json.dumps(found_to_json(found))))
    assert type(again["n1"]) is NodeUnreachable
    assert str(again["n1"]) == str(found["n1"])
    assert again["n2"] == found["n2"] or str(again["n2"]) == str(found["n2"])
