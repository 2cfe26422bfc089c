"""examples/kubernetes/: published schemas, what names what, and the rights of each account."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from testing.kubernetes_rendered import EXAMPLE, REMEDY, Objects, only, rendered
from testing.places import ROOT
from testing.programs import cannot_run

from railgauge.config.hostfile import load
from railgauge.core.terms import LaunchWay

FOLDERS = ("base", "openshift")
# The oldest release that has a schema with the fields in use, and the newest with a schema at all.
RELEASES = ("1.28", "1.37")

pytestmark = pytest.mark.parametrize("folder", FOLDERS)


@pytest.fixture
def objects(folder: str) -> Objects:
    return rendered(folder)


@pytest.fixture
def schemas() -> Any:
    try:
        import kubernetes_validate  # noqa: PLC0415 - only developers have it
    except ImportError:
        cannot_run(f"kubernetes-validate is not here: {REMEDY}")
    return kubernetes_validate


@pytest.mark.parametrize("release", RELEASES)
def test_the_published_schemas_accept_every_object(
    objects: Objects, schemas: Any, release: str
) -> None:
    assert len(objects) >= 9
    for one in objects:
        schemas.validate(one, release, strict=True)


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("kind", ["DaemonSet", "Job"])
def test_the_published_schemas_refuse_an_unknown_key_in_a_pod(
    objects: Objects, schemas: Any, release: str, kind: str
) -> None:
    changed = deepcopy(dict(only(objects, kind)))
    changed["spec"]["template"]["spec"]["hostNetwrok"] = True
    with pytest.raises(schemas.ValidationError, match="hostNetwrok"):
        schemas.validate(changed, release, strict=True)


# --- what names what ---


def pods(objects: Objects) -> Iterator[Mapping[str, Any]]:
    yield from (
        one["spec"]["template"]["spec"] for one in objects if "template" in one.get("spec", {})
    )


def named(objects: Objects) -> Iterator[tuple[str, str]]:
    """The kind and the name of each object that another one needs."""
    for pod in pods(objects):
        yield "ServiceAccount", pod["serviceAccountName"]
        for volume in pod["volumes"]:
            if claim := volume.get("persistentVolumeClaim"):
                yield "PersistentVolumeClaim", claim["claimName"]
            if values := volume.get("configMap"):
                yield "ConfigMap", values["name"]
    for one in objects:
        if one["kind"] == "RoleBinding":
            yield from ((subject["kind"], subject["name"]) for subject in one["subjects"])
        if one["kind"] == "RoleBinding" and one["roleRef"]["kind"] == "Role":
            yield "Role", one["roleRef"]["name"]


def test_what_an_object_names_is_there(objects: Objects) -> None:
    there = {(one["kind"], one["metadata"]["name"]) for one in objects}
    assert len(set(named(objects))) >= 5
    assert set(named(objects)) <= there


def test_all_of_it_is_in_the_one_namespace(objects: Objects) -> None:
    name = only(objects, "Namespace")["metadata"]["name"]
    placed = [one["metadata"]["namespace"] for one in objects if one["kind"] != "Namespace"]
    subjects = [s["namespace"] for one in objects for s in one.get("subjects", ())]
    assert {*placed, *subjects} == {name}


def test_each_volume_of_a_container_is_one_of_its_pod(objects: Objects) -> None:
    for pod in pods(objects):
        (container,) = pod["containers"]
        mounted = {mount["name"] for mount in container["volumeMounts"]}
        assert mounted == {volume["name"] for volume in pod["volumes"]}


@pytest.mark.parametrize(("kind", "stage"), [("DaemonSet", "node"), ("Job", "control")])
def test_each_pod_has_the_image_of_its_stage(objects: Objects, kind: str, stage: str) -> None:
    (container,) = only(objects, kind)["spec"]["template"]["spec"]["containers"]
    assert re.fullmatch(rf"registry\.example/railgauge-{stage}:.+", container["image"])
    assert re.search(rf"^FROM .* AS {stage}$", (ROOT / "Containerfile").read_text(), re.MULTILINE)


# --- the job ---


def test_the_job_leaves_its_run_in_a_volume_and_is_not_tried_again(objects: Objects) -> None:
    job = only(objects, "Job")["spec"]
    assert (job["backoffLimit"], job["template"]["spec"]["restartPolicy"]) == (0, "Never")
    (container,) = job["template"]["spec"]["containers"]
    places = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    (site,) = re.findall(r"^WORKDIR (.*)$", (ROOT / "Containerfile").read_text(), re.MULTILINE)
    assert places["reports"] == f"{site}/reports"
    (hostfile,) = only(objects, "ConfigMap")["data"]
    assert f"--hostfile={places['hostfile']}/{hostfile}" in container["command"]


def test_the_job_has_no_rights_on_its_own_node(objects: Objects) -> None:
    pod = only(objects, "Job")["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
    for container in (*pod["initContainers"], *pod["containers"]):
        dropped = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
        assert container["securityContext"] == dropped
        assert container["image"] == pod["containers"][0]["image"]


def test_its_hostfile_loads(objects: Objects, tmp_path: Path) -> None:
    ((name, text),) = only(objects, "ConfigMap")["data"].items()
    (tmp_path / name).write_text(text)
    found = load(tmp_path / name, schema_file=ROOT / "hostfiles" / "schema.json")
    assert found.launch == LaunchWay.THROUGH_SUITE, "no sshd, as the page says"
    assert [node.exec for node in found.nodes] == [
        ("examples/kubernetes/on-node", node.name) for node in found.nodes
    ]
    assert (EXAMPLE / "on-node").stat().st_mode & 0o111


# --- the rights; test_kubectl.py shows that each of the role's is needed ---


def test_only_the_job_may_do_anything(objects: Objects, folder: str) -> None:
    given = {
        (one["roleRef"]["kind"], one["roleRef"]["name"], subject["name"])
        for one in objects if one["kind"].endswith("Binding") for subject in one["subjects"]
    }  # fmt: skip
    privileged = ("ClusterRole", "system:openshift:scc:privileged", "nodes")
    assert given == {
        ("Role", "control", "control"),
        *([privileged] if folder == "openshift" else ()),
    }
    assert not [one for one in objects if one["kind"] in ("ClusterRole", "ClusterRoleBinding")]
    assert only(objects, "Job")["spec"]["template"]["spec"]["serviceAccountName"] == "control"
    nodes = only(objects, "DaemonSet")["spec"]["template"]["spec"]
    assert (nodes["serviceAccountName"], nodes["automountServiceAccountToken"]) == ("nodes", False)


def test_openshift_gives_the_job_its_user(objects: Objects, folder: str) -> None:
    fixed = set(only(objects, "Job")["spec"]["template"]["spec"]["securityContext"])
    assert ("fsGroup" in fixed) == (folder == "base")
    assert "runAsUser" not in fixed
