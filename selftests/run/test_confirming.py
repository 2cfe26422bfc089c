"""Suspects are measured again after the last item; an interrupt then loses nothing."""

import pytest
from testing.assess_values import PLATFORM
from testing.core_values import case, cluster

from railgauge.core.errors import NodeUnreachable
from railgauge.core.question import LIMITS, Question
from railgauge.diagnosis import RunResults
from railgauge.judging.assessor import Assessor
from railgauge.judging.confirmation import FILE, Remeasurement
from railgauge.run import confirming
from railgauge.run.store import Store

PLACES = (("n1", "n3"), ("n2", "n3"))
ASKED = [Remeasurement(("n3",), Question(LIMITS, case(*nodes), 8388608)) for nodes in PLACES]


@pytest.fixture
def store(tmp_path):
    (tmp_path / "leases").mkdir()
    return Store(tmp_path)


def asked_again(store, *answers):
    """The messages for these errors during a measurement, and whether it was completed."""
    lines, left = [], list(answers)

    def measured(wanted):
        assert len(store.lines(FILE)[0]) == len(ASKED), "all is asked before the first is measured"
        raise left.pop(0)

    ended = confirming.ask_again(ASKED, store, Assessor(PLATFORM, {}, measured), lines.append)
    return lines, ended


def test_each_suspect_is_reported_with_its_new_result(store):
    lost = NodeUnreachable("no route", where="n3")
    lines, ended = asked_again(store, lost, lost)
    assert ended
    assert lines == [
        "",
        "confirm: 1 of 2: host_write_bandwidth n1:n3 mlx5_0: n3: no route",
        "confirm: 2 of 2: host_write_bandwidth n2:n3 mlx5_0: n3: no route",
    ]


def test_an_interrupt_ends_the_step_and_the_requests_are_kept(store):
    lines, ended = asked_again(store, NodeUnreachable("no route", where="n3"), KeyboardInterrupt())
    assert not ended
    assert lines[-1] == "confirm: interrupted"
    assert len(store.lines(FILE)[0]) == len(ASKED)


def test_a_run_without_suspects_says_so():
    lines = []
    found = RunResults({}, {}, PLATFORM, cluster())
    assert not confirming.suspects(found, lines.append)
    assert lines == ["", "confirm: no suspect can be measured again"]
