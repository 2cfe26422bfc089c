"""An interrupt while other threads measure: no killed command gives a result."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest
from testing.core_values import case, cluster, transcript
from testing.run_folder import store_in

from railgauge.core.model import Command
from railgauge.run.runner import Runner
from railgauge.transport.sessions import Sessions

LIMIT_S = 20.0


@dataclass
class Lasting:
    """A session whose command lasts until it is closed."""

    node: str
    began: threading.Event = field(default_factory=threading.Event)
    closed: threading.Event = field(default_factory=threading.Event)
    lost: str = ""

    def run(self, _command, _in_vain):
        self.began.set()
        assert self.closed.wait(LIMIT_S), "nobody ended it"
        return transcript(self.node, exit_code=None)

    def close(self):
        self.closed.set()


@pytest.fixture
def made():
    return []


@pytest.fixture
def sessions(made):
    def connect(node):
        made.append(Lasting(node.name))
        return made[-1]

    return Sessions(cluster("n1", "n2"), connect)


def test_an_interrupted_measurement_is_not_stored_and_can_be_made_later(sessions, made, tmp_path):
    store = store_in(tmp_path)
    runner = Runner(sessions, store, lambda *_: (Command("n1", ("true",)),))
    with ThreadPoolExecutor(1) as threads:
        sessions["n1"]
        running = threads.submit(runner.measure, case())
        assert made[0].began.wait(LIMIT_S)
        with sessions.interrupted():
            with pytest.raises(KeyboardInterrupt):
                running.result(LIMIT_S)
            with pytest.raises(KeyboardInterrupt):
                sessions["n2"]
    assert store.load(case()) is None
    assert len(made) == 1, "no connection is opened while it lasts"
    sessions["n1"]
    assert len(made) == 2, "the last readings of the run open one"
