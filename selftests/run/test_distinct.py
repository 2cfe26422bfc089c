"""Two names for one machine end a run before anything is measured."""

import pytest
from testing.assess_values import PLATFORM
from testing.core_values import cluster, transcript
from testing.fake_sessions import Fakes

from railgauge.core.errors import BadInput, NodeUnreachable
from railgauge.facts import NodeFacts
from railgauge.run import distinct
from railgauge.transport.sessions import Sessions

ONE, TWO = (f"{i}f0c6c1e-8a0d-4a3e-9f3a-5d1c2b7e9a10" for i in "12")
NODES = cluster("n1", "n2")


def look(*outputs):
    """Each node returns its host name and boot id, or nothing if it cannot be reached."""
    fakes = Fakes(
        unreachable={node.name for node, text in zip(NODES.nodes, outputs, strict=True) if not text}
    )
    reports = {node.name: text for node, text in zip(NODES.nodes, outputs, strict=True)}

    def connect(node):
        session = fakes.connect(node)
        session.run = lambda command, _: transcript(node.name, stdout=reports[node.name])
        return session

    distinct.refuse_second_names(NODES, Sessions(NODES, connect), PLATFORM)


def test_nodes_that_are_machines_of_their_own_pass():
    look(f"n1\n{ONE}\n", f"n2\n{TWO}\n")


def test_one_machine_under_two_names_is_refused_by_both():
    with pytest.raises(BadInput) as refused:
        look(f"n1\n{ONE}\n", f"n1\n{ONE}\n")
    head, line = str(refused.value).split("\n")
    assert head == "the hostfile's names do not match the nodes:"
    assert "n1" in line
    assert "n2" in line


def test_a_node_that_cannot_be_asked_is_left_to_the_survey():
    look(f"n1\n{ONE}\n", "")


def test_the_survey_shows_a_second_name_as_well():
    same = {node: NodeFacts(node, hostname="n1", boot_id=ONE) for node in ("n1", "n2")}
    with pytest.raises(BadInput, match="do not match the nodes"):
        distinct.check(NODES, same, PLATFORM)
    lost = {"n1": same["n1"], "n2": NodeUnreachable("no route", where="n2")}
    distinct.check(NODES, lost, PLATFORM)
