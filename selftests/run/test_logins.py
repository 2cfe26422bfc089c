"""With ``launch: ssh``, the logins that collectives need are tried before anything is measured."""

from dataclasses import replace

import pytest
from testing.core_values import ROOT, cluster, transcript

from railgauge.config import thresholds
from railgauge.config.thresholds import on_site
from railgauge.core.errors import NodeUnreachable
from railgauge.core.model import Node, SshSettings
from railgauge.core.question import FactAt
from railgauge.core.terms import LaunchWay
from railgauge.facts import NodeFacts
from railgauge.judging.expectation import judge_at
from railgauge.launchers import LAUNCHED
from railgauge.planning.needs import lacking
from railgauge.planning.plan import level
from railgauge.run import logins
from railgauge.run.settings import RunSettings
from railgauge.transport.sessions import Sessions

H200 = thresholds.load("h200", ROOT / "thresholds")
FOUR = cluster("n1", "n2", "n3", "n4", launch=LaunchWay.SSH, no_fabric="nobody is asked here")
AT = FactAt("n1", ("failed_logins",))


def tried(output, nodes=FOUR, platform=H200, rounds=1):
    """The survey, and the addresses that each node tried; ``output`` are the lines of a node."""
    asked = {}

    class Session:
        lost = ""

        def run(self, command, in_vain=None):
            asked[command.node] = command.argv[4:]
            answer = output(command.argv[4:]) if callable(output) else output
            if isinstance(answer, Exception):
                raise answer
            return transcript(command.node, stdout="".join(f"{line}\n" for line in answer))

        def close(self):
            pass

    platform = on_site(platform, nodes, "c.yaml")
    settings = RunSettings(nodes, platform, level(platform, nodes, "nightly", rounds))
    found = {node.name: NodeFacts(node.name) for node in nodes.nodes}
    sessions = Sessions(nodes, lambda node: Session())
    return logins.tried(found, nodes, settings, sessions), asked, platform


def good(addresses):
    return [f"{address} 0 " for address in addresses]


def test_each_first_node_of_a_pair_or_group_logs_in_to_the_others():
    found, asked, platform = tried(good)
    first = {pair.source for pair in level(platform, FOUR, "nightly", 1).pairs}
    assert set(asked) == first | {"n1"}
    assert set(asked["n1"]) == {"n2", "n3", "n4"}  # the group of all nodes
    assert {node: facts.failed_logins for node, facts in found.items()} == dict.fromkeys(found, ())
    judged = judge_at(AT, platform.expected["node_login"], platform, found)
    assert judged.outcome == "passed"


def test_a_login_that_fails_is_reported_with_the_message_of_ssh_and_fails_the_node():
    found, _, platform = tried(
        lambda addresses: [
            *good(addresses[1:]),
            f"{addresses[0]} 255 ssh: connect to host {addresses[0]} port 22: Connection refused",
        ]
    )
    (first, *_) = found["n1"].failed_logins
    assert first.endswith("port 22: Connection refused")
    judged = judge_at(AT, platform.expected["node_login"], platform, found)
    assert (judged.outcome, judged.limit) == ("failed", "none")
    assert "Connection refused" in judged.reason


def test_the_port_of_the_suite_is_named_if_it_is_another():
    nodes = tuple(replace(node, ssh=SshSettings(port=2222)) for node in FOUR.nodes)
    found, *_ = tried(lambda a: [f"{one} 255 refused" for one in a], replace(FOUR, nodes=nodes))
    assert all("(railgauge reaches it on port 2222)" in one for one in found["n1"].failed_logins)


def test_ssh_without_a_message_is_reported_by_its_exit_code():
    found, *_ = tried(lambda addresses: [f"{one} 127 " for one in addresses])
    assert "ssh ended with 127" in found["n1"].failed_logins[0]


@pytest.mark.parametrize(
    "answer",
    [
        lambda addresses: [],
        lambda addresses: good(addresses)[1:],
        lambda addresses: [f"{one} ok" for one in addresses],
        NodeUnreachable("gone", where="n1"),
    ],
)
def test_an_answer_that_is_lacking_is_no_pass(answer):
    found, _, platform = tried(answer)
    assert found["n1"].failed_logins is None
    with pytest.raises(Exception, match="failed_logins is not known"):
        judge_at(AT, platform.expected["node_login"], platform, found)


@pytest.mark.parametrize(
    "nodes",
    [
        replace(FOUR, launch=LaunchWay.THROUGH_SUITE),
        replace(FOUR, launch=LaunchWay.UNSET),
        replace(FOUR, nodes=FOUR.nodes[:1]),
    ],
)
def test_nothing_is_tried_or_expected_where_no_launch_needs_a_login(nodes):
    found, asked, platform = tried(good, nodes)
    assert asked == {}
    assert "node_login" not in platform.expected
    assert found["n1"] == NodeFacts("n1")
    assert lacking(platform, level(platform, nodes, "nightly"))["logins"]


def test_a_platform_without_collectives_between_nodes_needs_no_login():
    alone = {n: m for n, m in H200.measurements.items() if m.tool not in LAUNCHED}
    _, asked, platform = tried(good, platform=replace(H200, measurements=alone))
    assert asked == {}
    assert "node_login" not in platform.expected


def test_logins_go_to_the_address_at_which_mpi_contacts_a_node():
    nodes = tuple(Node(n.name, n.address, f"10.2.0.{i}") for i, n in enumerate(FOUR.nodes, 1))
    _, asked, _ = tried(good, replace(FOUR, nodes=nodes))
    assert set(asked["n1"]) == {"10.2.0.2", "10.2.0.3", "10.2.0.4"}
