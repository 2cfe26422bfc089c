"""Suspects are measured again only after a run that has run all of its items."""

from types import SimpleNamespace

import pytest
from testing.assess_values import PLATFORM
from testing.core_values import cluster

from railgauge.acceptance.run import AcceptanceRun
from railgauge.diagnosis import RunResults
from railgauge.plugin.session import Controller


def asked(*, confirm, recorded=None, corrupt=False, interrupted=False, **session):
    """Whether the controller looks for suspects, and what it returns."""
    looked = []

    def results():
        looked.append(True)
        return RunResults({}, {}, PLATFORM, cluster())

    run = SimpleNamespace(
        services=SimpleNamespace(recorded=recorded),
        settings=SimpleNamespace(confirm=confirm),
        results=results,
        is_corrupt=corrupt,
    )
    ended = {"exitstatus": pytest.ExitCode.TESTS_FAILED, "shouldfail": False, "shouldstop": False}
    controller = SimpleNamespace(acceptance=run, _is_interrupted=interrupted)
    may_ask = Controller._may_ask(controller, SimpleNamespace(**ended | session))
    return AcceptanceRun._suspects(run, lambda _: None, may_ask=may_ask), bool(looked)


@pytest.mark.parametrize("confirm", [True, False])
def test_suspects_are_measured_after_the_last_item(confirm):
    assert asked(confirm=confirm) == ((), True)


@pytest.mark.parametrize("confirm", [True, False])
@pytest.mark.parametrize(
    "ended",
    [
        {"exitstatus": pytest.ExitCode.INTERRUPTED},
        {"shouldfail": "stopping after 1 failures"},
        {"shouldstop": "a hook wants it"},
        {"corrupt": True, "interrupted": True, "exitstatus": pytest.ExitCode.INTERRUPTED},
    ],
)
def test_suspects_are_not_measured_after_a_run_that_ended_early(confirm, ended):
    assert asked(confirm=confirm, **ended) == ((), False)


@pytest.mark.parametrize("confirm", [True, False])
@pytest.mark.parametrize(
    "ended",
    [
        {"shouldfail": "data corruption"},
        {"exitstatus": pytest.ExitCode.INTERRUPTED, "shouldstop": "data corruption"},
    ],
    ids=["by pytest", "by xdist"],
)
def test_suspects_are_measured_after_corruption_has_stopped_the_run(confirm, ended):
    assert asked(confirm=confirm, corrupt=True, **ended) == ((), True)


def test_a_replay_asks_what_the_run_asked():
    recorded = SimpleNamespace(asked=lambda: ("as recorded",))
    assert asked(confirm=False, recorded=recorded) == (("as recorded",), False)
