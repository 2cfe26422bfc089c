"""Nodes reached by the real kubectl, as the example does, and which rights that takes.

A stand-in for the API server has the pods of the example's DaemonSet, and grants what its role
does.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from testing.kubernetes_api import Api, pod, serving
from testing.kubernetes_rendered import kubectl, only, rendered
from testing.places import ROOT
from testing.transport_contract import AWKWARD, STUBBORN, impatient, is_alive, pids_in, python  # noqa: F401
from testing.waiting import wait_until

from railgauge.core.errors import NodeUnreachable
from railgauge.core.model import Command, Node
from railgauge.transport import Session
from railgauge.transport.registry import connect

pytestmark = pytest.mark.usefixtures("impatient")

RIGHTS = [("get", "pods"), ("list", "pods"), ("create", "pods/exec"), ("get", "pods/exec")]

Serving = Callable[..., Any]


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Serving:
    """``cluster({name: node}, rules)``: pods on nodes, and kubectl with what these rules allow."""
    objects = rendered("base")
    template = only(objects, "DaemonSet")["spec"]["template"]

    @contextmanager
    def make(places: Mapping[str, str], rules: Any = None, phase: str = "Running") -> Iterator[Api]:
        there = [pod(name, node, template, phase) for name, node in places.items()]
        given = only(objects, "Role")["rules"] if rules is None else rules
        with serving(there, given) as api:
            monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig(tmp_path / "kubeconfig")))
            yield api

    monkeypatch.setenv("HOME", str(tmp_path))  # kubectl keeps files there
    monkeypatch.setenv("PATH", f"{Path(kubectl()).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(ROOT)
    return make


def reached(node: str) -> Session:
    words = ("examples/kubernetes/on-node", node)
    return connect("exec", Node(node, node, node, exec=words))


def test_a_command_runs_in_the_pod_of_its_node(cluster: Serving) -> None:
    with cluster({"nodes-a": "gpu01", "nodes-b": "gpu02"}) as api:
        for node, name in (("gpu01", "nodes-a"), ("gpu02", "nodes-b")):
            session = reached(node)
            message = session.run(Command(node, ("sh", "-c", 'echo "$POD"; echo err >&2; exit 7')))
            session.close()
            assert (message.stdout, message.exit_code, message.error) == (f"{name}\n", 7, "")
            assert message.stderr == "err\n", "kubectl adds no line to what the tool printed"
        assert api.refused == []


def test_every_word_and_much_output_come_through(cluster: Serving) -> None:
    with cluster({"nodes-a": "gpu01"}):
        session = reached("gpu01")
        message = session.run(Command("gpu01", ("printf", "%s\\n", *AWKWARD)))
        assert message.stdout == "".join(f"{word}\n" for word in AWKWARD)
        many = session.run(Command("gpu01", ("seq", "200000")))
        assert many.stdout.splitlines()[-1] == "200000"
        session.close()


def test_a_time_limit_ends_what_ignores_term_in_the_pod(cluster: Serving, tmp_path: Path) -> None:
    with cluster({"nodes-a": "gpu01"}):
        session = reached("gpu01")
        message = session.run(python(STUBBORN, str(tmp_path / "pids"), time_limit_s=1.5))
        assert (message.exit_code, message.error) == (None, "command-timed-out")
        pids = pids_in(tmp_path / "pids")
        wait_until(lambda: not any(map(is_alive, pids)), 10, "the end of both processes")
        session.close()


@pytest.mark.parametrize(
    ("places", "phase", "says"),
    [
        ({}, "Running", "not one running pod on gpu01, but: none"),
        ({"nodes-a": "gpu02"}, "Running", "not one running pod on gpu01, but: none"),
        ({"nodes-a": "gpu01"}, "Pending", "not one running pod on gpu01, but: none"),
        ({"nodes-a": "gpu01", "nodes-b": "gpu01"}, "Running", "but: pod/nodes-a; pod/nodes-b"),
    ],
)
def test_a_node_without_its_one_pod_is_not_reached(
    cluster: Serving, places: Mapping[str, str], phase: str, says: str
) -> None:
    with cluster(places, phase=phase), pytest.raises(NodeUnreachable, match=says):
        reached("gpu01")


@pytest.mark.parametrize("phases", [[], ["Pending"], ["Running", "Failed"]])
def test_the_job_waits_until_each_pod_runs(cluster: Serving, phases: Sequence[str]) -> None:
    (waits,) = only(rendered("base"), "Job")["spec"]["template"]["spec"]["initContainers"]
    command = [word.replace("sleep 5", "sleep 0.1") for word in waits["command"]]
    template = only(rendered("base"), "DaemonSet")["spec"]["template"]
    with cluster({}) as api:
        api.pods.extend(pod(f"nodes-{phase}", "gpu01", template, phase) for phase in phases)
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as waiting:
            wait_until(lambda: len(api.asked) >= 3, 10, "three requests for the pods")
            assert waiting.poll() is None
            api.pods[:] = [pod(f"nodes-{node}", node, template) for node in ("gpu01", "gpu02")]
            assert waiting.wait(10) == 0


def test_the_job_waits_for_a_time_only(cluster: Serving) -> None:
    (waits,) = only(rendered("base"), "Job")["spec"]["template"]["spec"]["initContainers"]
    command = [
        word.replace("sleep 5", "true").replace("seq 120", "seq 3") for word in waits["command"]
    ]
    with cluster({}) as api:
        assert subprocess.run(command, check=False).returncode == 0
        assert api.asked.count(("list", "pods")) == 3


# --- the rights ---


def test_the_role_has_these_rights_and_no_other() -> None:
    rules = only(rendered("base"), "Role")["rules"]
    assert all(rule.keys() == {"apiGroups", "resources", "verbs"} for rule in rules)
    assert sorted(RIGHTS) == sorted(
        (verb, name) for rule in rules for verb in rule["verbs"] for name in rule["resources"]
    )
    assert {group for rule in rules for group in rule["apiGroups"]} == {""}


@pytest.mark.parametrize("right", RIGHTS, ids=" ".join)
def test_without_one_of_its_rights_no_node_is_reached(
    cluster: Serving, right: tuple[str, str]
) -> None:
    verb, resource = right
    rules = deepcopy(only(rendered("base"), "Role")["rules"])
    for rule in rules:
        if resource in rule["resources"]:
            rule["verbs"].remove(verb)
    with cluster({"nodes-a": "gpu01"}, rules) as api:
        with pytest.raises(NodeUnreachable):
            reached("gpu01")
        assert right in api.refused
