"""The stand-ins are faithful: job and suite agree on names and options."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from nights import jenkinsfile
from testing.places import ROOT

from railgauge.cli import main
from railgauge.config.thresholds import LEVELS

HOSTFILE = "hostfiles/lab-connectx4-homelab.yaml"


def options_of(command: str) -> set[str]:
    """The options that the Jenkinsfile gives to a command."""
    lines = jenkinsfile().replace("\\\n", " ").splitlines()
    given = " ".join(line.split(command, 1)[1] for line in lines if command in line)
    return set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", given))


def test_options_of_pytest() -> None:
    command = [sys.executable, "-m", "pytest", "--help"]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    known = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", shown))
    wanted = options_of("-m pytest ")
    assert wanted == {
        "--hostfile", "--level", "--platform", "--rounds", "-n", "--prepare", "--deviations",
        "--run-id-file",
    }  # fmt: skip
    assert wanted <= known


def test_levels() -> None:
    (choices,) = re.findall(r"name: 'LEVEL', choices: \[(.*?)\]", jenkinsfile())
    assert sorted(re.findall(r"'(\w+)'", choices)) == sorted(LEVELS)


@pytest.mark.parametrize("command", ["plan", "bundle", "prune"])
def test_options_of_railgauge(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    shown = capsys.readouterr().out
    wanted = options_of(f"railgauge {command} ")
    assert wanted
    assert wanted <= set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", shown))


def test_the_plan_names_the_cluster(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job's lock is on the cluster's name, the part before the first colon."""
    monkeypatch.chdir(ROOT)
    assert main(["plan", "--hostfile", HOSTFILE, "--level", "smoke"]) == 0
    plan = capsys.readouterr().out
    (script,) = re.findall(r"script: '(sed .*) evidence/plan.txt'", jenkinsfile())
    named = subprocess.run(
        ["/bin/sh", "-c", script], input=plan, capture_output=True, text=True, check=True
    )
    assert named.stdout == "lab-connectx4-homelab\n"
