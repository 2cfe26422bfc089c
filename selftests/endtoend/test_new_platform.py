"""Nodes without a platform file: survey, file, plan, run; the labs are the unknown clusters."""

from __future__ import annotations

import json
from functools import cache

import pytest
from testing.acceptance import BARE_SMOKE, SMOKE, make_project
from testing.standing_lab import standing_lab

from railgauge.cli import main

LABS = ("connectx4-homelab", "h100-tcpx", "h200", "metax-c500", "mi300x")


def hostfile(lab, project):
    """A hostfile of the standing lab for the platform ``mine``."""
    _, name = lab.hostfile(project)
    path = project.folder / name
    path.write_text(path.read_text().replace(f"platform: {lab.platform}", "platform: mine"))
    return path


def new(project, path, *options):
    words = ("--hostfile", str(path), "--root", str(project.folder), *options)
    return main(["platform", "new", "mine", *words])


@pytest.fixture(scope="module")
def surveyed(tmp_path_factory):
    """``surveyed(platform)``: the text of ``mine`` from a survey of a healthy lab, made once."""

    @cache
    def made(platform):
        folder = tmp_path_factory.mktemp(platform)
        project = make_project(folder / "project")
        with standing_lab(folder / "lab", platform) as lab:
            assert new(project, hostfile(lab, project)) == 0
        return platform_file(project).read_text(encoding="utf-8")

    return made


def platform_file(project):
    return project.folder / "thresholds" / "mine.json"


@pytest.mark.parametrize("platform", LABS)
def test_a_healthy_cluster_is_accepted_by_the_file_of_its_own_survey(platform, tmp_path, capsys):
    project = make_project(tmp_path / "project")
    with standing_lab(tmp_path / "lab", platform) as lab:
        path = hostfile(lab, project)
        assert new(project, path) == 0
        assert "not yet calibrated" in capsys.readouterr().out
        assert main(["plan", "--hostfile", str(path), "--root", str(project.folder)]) == 0
        run = project.run("--hostfile", path.name, *BARE_SMOKE)
    assert run.code == 0, run.output
    assert run.verdict["verdict"] == "accepted"
    assert run.verdict["platform"] == "mine"
    document = json.loads(platform_file(project).read_text(encoding="utf-8"))
    assert {"kernel_log", "growth"} <= set(document)
    assert ("telemetry" in document) == ("gpus" in document["hardware"])


@pytest.mark.parametrize(
    ("platform", "fault", "found"),
    [
        ("connectx4-homelab", "link-rate@columbia:mlx5_0", ("link-rate-degraded", "columbia")),
        ("connectx4-homelab", "slow-path@viper:columbia", ("slow-node", "viper")),
        ("metax-c500", "gdr-disabled@mx02", ("gpudirect-rdma-disabled", "mx02")),
    ],
)
def test_a_fault_is_rejected_and_named_all_the_same(platform, fault, found, surveyed, tmp_path):
    project = make_project(tmp_path / "project")
    platform_file(project).write_text(surveyed(platform), encoding="utf-8")
    with standing_lab(tmp_path / "faulty", platform, "--fault", fault) as lab:
        run = project.run("--hostfile", hostfile(lab, project).name, *BARE_SMOKE)
    assert run.code == 1, run.output
    (cause, node), first = found, run.verdict["causes"][0]
    assert first["cause"] == cause
    assert node in json.dumps(first["where"])


def test_the_first_screens_say_that_no_limit_is_calibrated(surveyed, tmp_path):
    project = make_project(tmp_path / "project")
    platform_file(project).write_text(surveyed("connectx4-homelab"), encoding="utf-8")
    with standing_lab(tmp_path / "lab", "connectx4-homelab") as lab:
        run = project.run("--hostfile", hostfile(lab, project).name, *SMOKE)
    printed = "LIMITS NOT CALIBRATED: "
    header, _, rest = run.stdout.partition("collected ")
    assert printed in header
    assert printed in rest
    assert any(note.startswith(printed) for note in run.verdict["notes"])
    assert printed in (run.latest / "report.html").read_text(encoding="utf-8")
