"""The Jenkinsfile as text: Jenkins accepts it, and no value is pasted into a shell command."""

from __future__ import annotations

import pytest
from nights import Build, Request, changed, jenkinsfile

TREE = """\
agent
parameters
triggers
options
environment
stages
  stage Install
    steps
  stage Plan
    steps
  stage Measure
    steps
  stage Verdict
    steps
post
  always"""

# A step of one line, in the place of which each copy has something else.
CLEAN = "sh 'rm -rf evidence'"

# Broken copies: the place, the replacement, and the expected error.
BROKEN = {
    "misspelt-directive": ("    stages {", "    stagez {", "unknown directive stagez in pipeline"),
    "misspelt-condition": ("        always {", "        allways {", "unknown directive allways"),
    "misspelt-stage": ("stage('Plan')", "stoge('Plan')", "unknown directive stoge in stages"),
    "no-agent": ("    agent { label 'railgauge' }\n", "", "pipeline has no agent"),
    "twice": ("    triggers {", "    agent any\n    triggers {", "agent more than once"),
    "no-work": (
        "            steps {",
        "            options {",
        "has one of steps, stages",
    ),
    "unknown-option": ("timestamps()", "timestomps()", "options: unknown timestomps"),
    "unknown-parameter": ("booleanParam(name: 'PREPARE'", "bool(name: 'PREPARE'", "unknown bool"),
    "unknown-step": (CLEAN, "shell 'make'", "unknown step shell"),
    "unknown-step-in-script": ("def name = sh(", "def name = bash(", "unknown step bash"),
    "unknown-function": ("script { conclude(", "script { concluded(", "unknown step concluded"),
    "unknown-argument": ("allowEmptyResults: true", "allowEmpty: true", "no argument allowEmpty"),
    "lock-without-name": ("lock(resource: ", "lock(label: ", "lock needs resource"),
    "free-groovy": (
        "sh 'rm -rf evidence'",
        "def x = 1",
        "steps holds no free Groovy",
    ),
    "beside": ("pipeline {", "println 'x'\npipeline {", "functions only"),
    "pasted": (
        "sh 'rm -rf evidence'",
        'sh "echo ${params.HOSTFILE}"',
        "puts nothing into",
    ),
    "joined": (
        "sh 'rm -rf evidence'",
        "sh 'echo ' + params.HOSTFILE",
        "puts nothing into",
    ),
    "pasted-in-script": (
        "script: 'sed -n \"1s",
        'script: "$x" + \'sed -n "1s',
        "puts nothing",
    ),
    "not-closed": ("    post {", "    post {{", "syntax: "),
}


@pytest.fixture(scope="module")
def checked(recorder) -> dict[str, Build]:
    broken = {name: Request(changed(old, new)) for name, (old, new, _) in BROKEN.items()}
    return recorder({"as-it-is": Request(jenkinsfile()), **broken})


def test_nothing_unknown(checked: dict[str, Build]) -> None:
    assert checked["as-it-is"].problems == []


def test_tree_of_stages(checked: dict[str, Build]) -> None:
    assert "\n".join(checked["as-it-is"].tree) == TREE


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_copy_is_refused(checked: dict[str, Build], name: str) -> None:
    problems = checked[name].problems
    assert any(BROKEN[name][2] in problem for problem in problems), problems
    assert "steps" not in checked[name].answer, "it should not have been run"
