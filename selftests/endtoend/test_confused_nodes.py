"""Hostfiles that name the wrong machines: refused by name, and nothing is run on a node."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from testing.acceptance import BARE_SMOKE, Project, Run, assert_clean
from testing.standing_lab import StandingLab, standing_lab


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandingLab]:
    folder = tmp_path_factory.mktemp("standing") / "lab"
    with standing_lab(folder, "connectx4-homelab") as lab:
        yield lab


def run(lab: StandingLab, project: Project, logins: dict[str, str], *options: str) -> Run:
    hostfile = StandingLab(lab.platform, logins).hostfile(project)
    return project.run(*hostfile, *BARE_SMOKE, *options)


@pytest.mark.parametrize("options", [(), ("-n", "1")], ids=["one-process", "xdist"])
def test_two_names_for_one_machine(
    lab: StandingLab, project: Project, options: tuple[str, ...]
) -> None:
    before = lab.files()
    done = run(lab, project, {**lab.logins, "cobra": lab.logins["viper"]}, *options)
    assert_refused(done)
    assert "viper, cobra are 2 names of one machine: its host name is viper" in done.words
    assert "held by" not in done.words
    assert lab.files() == before


def test_addresses_that_were_exchanged(lab: StandingLab, project: Project) -> None:
    logins = {"viper": lab.logins["columbia"], "columbia": lab.logins["viper"]}
    done = run(lab, project, logins)
    assert_refused(done)
    assert "viper has the host name columbia, which is another node of the hostfile" in done.words
    assert "columbia has the host name viper, which is another node of the hostfile" in done.words


def assert_refused(done: Run) -> None:
    """Bad input, and no verdict in any form."""
    assert done.code == 4, done.output
    assert_clean(done)
    assert not (done.latest / "verdict.json").exists()
    assert not (done.latest / "junit.xml").exists()
    for word in ("accepted", "incomplete", "rejected"):
        assert word not in done.output.lower()
