"""A newcomer with nodes that nothing of this project knows: OpenSSH, login shells that print, real
iperf3, real Open MPI.

From a hostfile without a platform file to an accepted run, from there to limits that were measured,
and then a fault that is named.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from testing.acceptance import Run, make_project
from testing.netlab_bench import lab
from testing.noisy_shells import START_FILES, installed, start_file

RAILGAUGE = shlex.join(
    [sys.executable, "-c", "import sys; from railgauge.cli import main; sys.exit(main())"]
)
PYTEST = shlex.join([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--level", "smoke"])
_MINE = """\
sed 's/"platform": "tcp-lab"/"platform": "mine"/' "$RAILGAUGE_HOSTFILE" >mine.yaml
"""
# Under OpenSSH each node's login shell is bash, and its start-up file prints, as on a real site.
_NOISY = f"""\
for home in "${{RAILGAUGE_HOSTFILE%/*}}"/tcp[0-9]*; do
  cp start "$home/{START_FILES["bash"]}" && cp banner "$home/banner"
  sed "s,:[^:]*$,:{installed("bash")}," "$home/passwd" >passwd || exit 9
  cat passwd >"$home/passwd" || exit 9  # the file is mounted, so it must stay the same one
done
heard=$(ssh -F /dev/null -i "${{RAILGAUGE_HOSTFILE%/*}}/id_ed25519" -o BatchMode=yes \\
  -o UserKnownHostsFile="${{RAILGAUGE_HOSTFILE%/*}}/known_hosts" root@tcp02 true </dev/null 2>&1)
case $heard in *"(base) activated"*) echo "the login prints" ;; esac
"""
_FIRST = f"""\
{_MINE}
{RAILGAUGE} platform new mine --hostfile mine.yaml 2>asked.txt; echo "asked $?"
{RAILGAUGE} platform new mine --hostfile mine.yaml --one-kernel --rate eth0=0.2 || exit 9
{RAILGAUGE} plan --hostfile mine.yaml || exit 9
exec {PYTEST} --hostfile mine.yaml
"""
# Other tests use this machine at the same time, so that a floor of 95 % would say little.
_MEASURED = f"""\
sed 's/"platform": "tcp-lab"/"platform": "measured"/' "$RAILGAUGE_HOSTFILE" >measured.yaml
{_MINE}
{PYTEST} --hostfile mine.yaml || exit 9  # five samples of a value are needed
{RAILGAUGE} thresholds derive reports/2* --fraction 0.6 -o thresholds/measured.json
echo "derived $?"
{RAILGAUGE} plan --hostfile measured.yaml || exit 9
"""
_SAME = _MEASURED.splitlines(keepends=True)[0]
_RUN = f"exec {PYTEST} --hostfile measured.yaml\n"
_LOGIN = ("--sshd", "openssh") if os.geteuid() == 0 else ()


def visit(project, script, *options):
    text, banner = start_file("$HOME")
    project.write("start", text)
    project.write("banner", banner)
    path = project.write("visit.sh", f"{_NOISY if _LOGIN else ''}{script}")
    done = lab((*_LOGIN, *options), ["sh", str(path)], project.folder)
    return Run(project, done.returncode, done.stdout, done.stderr, 0.0)


@pytest.fixture(scope="module")
def newcomer(cannot_run, tmp_path_factory):
    pytest.importorskip("mpi4py")
    if not any(Path(folder, "mpirun.openmpi").exists() for folder in ("/usr/bin", "/bin")):
        cannot_run("not installed: openmpi-bin")
    project = make_project(tmp_path_factory.mktemp("newcomer") / "project")
    first = visit(project, _FIRST)
    accepted = first.verdict if first.code in (0, 1, 10) else {}
    second = visit(project, _MEASURED + _RUN)
    again = second.verdict if second.code in (0, 1, 10) else {}
    limited = visit(project, _SAME + _RUN, "--limit", "tcp02=50mbit")
    return SimpleNamespace(
        first=first, accepted=accepted, second=second, again=again, limited=limited
    )


@pytest.mark.skipif(not _LOGIN, reason="OpenSSH's sshd in a namespace needs root")
def test_the_login_shells_of_its_nodes_print(newcomer):
    for run in (newcomer.first, newcomer.second, newcomer.limited):
        assert "the login prints" in run.stdout, run.output


def test_what_the_survey_cannot_know_is_asked_first(newcomer):
    first = newcomer.first
    assert "asked 2" in first.stdout, first.output
    asked = (first.project.folder / "asked.txt").read_text(encoding="utf-8")
    assert "tcp[01-03] have one boot id" in asked
    assert "eth0 is virtual" in asked


def test_the_file_is_short_and_its_run_is_accepted(newcomer):
    first, accepted = newcomer.first, newcomer.accepted
    text = (first.project.folder / "thresholds" / "mine.json").read_text(encoding="utf-8")
    assert len(text.splitlines()) < 60
    assert set(json.loads(text)["measurements"]) == {
        "host_tcp_bandwidth",
        "pair_all_reduce,group_all_reduce",
    }
    assert first.code == 0, first.output
    assert (accepted["verdict"], accepted["evidence"]) == ("accepted", "hardware")
    assert accepted["counts"]["passed"] == accepted["counts"]["planned"] > 50
    assert "LIMITS NOT CALIBRATED: 3 of 3" in first.words


def test_limits_that_its_run_measured_accept_the_next_one(newcomer):
    second = newcomer.second
    assert "derived 10" in second.stdout, "the one group has a sample in each run: " + second.output
    assert second.code == 0, second.output
    assert newcomer.again["verdict"] == "accepted"
    assert newcomer.again["platform"] == "measured"
    last = second.words.rpartition("derived 10")[2]
    assert "LIMITS NOT CALIBRATED: 1 of 3" in last, "of the group's alone"


def test_a_slow_link_is_rejected_and_named_by_the_measured_limits(newcomer):
    limited = newcomer.limited
    assert limited.code == 1, limited.output
    (cause,) = limited.verdict["causes"]
    assert (cause["cause"], cause["where"]["node"]) == ("slow-node", "tcp02")
