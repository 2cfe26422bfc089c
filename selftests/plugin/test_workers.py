"""Workers on other machines are refused in one line, before any folder or node is touched."""

from types import SimpleNamespace

import pytest

from railgauge.core.errors import BadInput
from railgauge.plugin.workers import refuse_unusable


def config(*specs, **more):
    return SimpleNamespace(option=SimpleNamespace(tx=list(specs)), **more)


@pytest.mark.parametrize("spec", ["popen", "3*popen", "2*popen//python=python3//chdir=/tmp"])
def test_workers_on_this_machine_are_accepted(spec):
    refuse_unusable(config(spec))


@pytest.mark.parametrize(
    "spec",
    ["ssh=ctl2", "2*ssh=ctl2//python=python3", "socket=10.0.0.1:8888", "popen//via=master"],
)
def test_workers_on_other_machines_are_refused(spec):
    with pytest.raises(BadInput, match="on this machine"):
        refuse_unusable(config("popen", spec))


def test_nothing_is_refused_without_xdist_or_in_a_worker():
    refuse_unusable(SimpleNamespace(option=SimpleNamespace()))
    refuse_unusable(config("ssh=ctl2", workerinput={}))
