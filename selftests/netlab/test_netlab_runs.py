"""Runs on a real cluster of namespaces: accepted if healthy, and a slow node is named."""

from __future__ import annotations

import shutil
import sys

import pytest
from testing.acceptance import Run, make_project
from testing.netlab_bench import lab

NEEDED = {"iperf3": "iperf3", "mpirun.openmpi": "openmpi-bin"}


def accept(folder, *options, change=None):
    """One run at smoke on a cluster with these options; ``change`` is made to the platform."""
    project = make_project(folder)
    if change:
        project.edit_platform("tcp-lab", change)
    suite = ["-m", "pytest", "--hostfile={hostfile}", "--level", "smoke", "-p", "no:cacheprovider"]
    done = lab(options, [sys.executable, *suite], project.folder)
    return Run(project, done.returncode, done.stdout, done.stderr, 0.0)


@pytest.fixture(scope="module")
def tools(cannot_run):
    path = "/usr/sbin:/usr/bin:/bin:/usr/local/bin"
    if lacking := [
        package for name, package in NEEDED.items() if not shutil.which(name, path=path)
    ]:
        cannot_run(f"not installed: {', '.join(lacking)}")
    try:
        import mpi4py  # noqa: F401, PLC0415
    except ImportError:
        cannot_run("mpi4py is not installed")


@pytest.fixture(scope="module")
def healthy(tools, tmp_path_factory):
    return accept(tmp_path_factory.mktemp("healthy") / "project")


@pytest.fixture(scope="module")
def limited(tools, tmp_path_factory):
    """The speed of collectives is not judged, so that few iterations are enough."""

    def shorten(document):
        for one in document["measurements"].values():
            if one["tool"] == "mpi-bench":
                one["options"] |= {"iterations": 2}

    folder = tmp_path_factory.mktemp("limited") / "project"
    return accept(folder, "--limit", "tcp02=100mbit", change=shorten)


def test_a_whole_cluster_is_accepted_on_real_evidence(healthy):
    assert healthy.code == 0, healthy.stdout + healthy.stderr
    verdict = healthy.verdict
    assert (verdict["verdict"], verdict["evidence"]) == ("accepted", "hardware")
    assert verdict["counts"]["passed"] == verdict["counts"]["planned"] == 38
    assert verdict["causes"] == []
    assert verdict["coverage"]["pairs"] == {"tested": 3, "declared": 3}


def test_every_figure_is_of_a_link_of_the_declared_rate(healthy):
    figures = {"bw_received": [], "busbw": []}
    for line in healthy.measurements:
        figures.get(line["metric"], []).extend(line["values"])
    assert len(figures["bw_received"]) == 3
    assert len(figures["busbw"]) == 4  # three pairs, and all nodes together
    assert all(0.17 <= rate <= 0.2 for rate in figures["bw_received"])
    assert all(0.015 <= rate <= 0.025 for rate in figures["busbw"])


def test_the_slow_link_is_named(limited):
    assert limited.code == 1
    assert limited.verdict["verdict"] == "rejected"
    (cause,) = limited.verdict["causes"]
    assert (cause["cause"], cause["where"]["node"]) == ("slow-node", "tcp02")
    failed = limited.with_outcome("failed")
    assert len(failed) == 2
    assert all("tcp02" in name and "test_tcp_bandwidth" in name for name in failed)


def test_what_a_slow_link_blocks_is_not_passed(limited):
    collectives = [found for name, found in limited.outcomes.items() if "collective" in name]
    assert collectives
    assert set(collectives) == {"blocked"}
