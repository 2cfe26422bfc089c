"""A newcomer with nodes that nothing of this project knows: OpenSSH, login shells that print, real
Open MPI, and a program of the site's own for TCP.

From ``railgauge init`` and a hostfile without a platform file to an accepted run, from there to
limits that were measured, and then a fault that is named.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from site_iperf import VERSION
from testing.acceptance import Project, Run
from testing.netlab_bench import lab
from testing.noisy_shells import START_FILES, installed, start_file

RAILGAUGE = shlex.join(
    [sys.executable, "-c", "import sys; from railgauge.cli import main; sys.exit(main())"]
)
PYTEST = shlex.join([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--level", "smoke"])
# The nodes see the hostfile's folder; the site's own program is not on their PATH.
_TOOL = r"""
nodes=${RAILGAUGE_HOSTFILE%/*}
mkdir "$nodes/burnin" && cp iperf3 "$nodes/burnin" && chmod +x "$nodes/burnin/iperf3" || exit 9
hostfile() {
  sed "s,\"platform\": \"tcp-lab\",\"platform\": \"$1\",
    s,\"tools\": {,&\"iperf3\": \"$nodes/burnin\"\, ," "$RAILGAUGE_HOSTFILE" >"$1.yaml"
}
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
{RAILGAUGE} init site && cd site || exit 9
hostfile mine
{RAILGAUGE} platform new mine --hostfile mine.yaml 2>asked.txt; echo "asked $?"
{RAILGAUGE} platform new mine --hostfile mine.yaml --one-kernel --rate eth0=0.2 || exit 9
{RAILGAUGE} plan --hostfile mine.yaml || exit 9
# Ranks use a whole CPU while they wait for these links; floors of 40 % and 60 % need no more.
sed -i 's/"launcher_args"/"iterations": 2, &/' thresholds/mine.json
grep -q '"iterations": 2' thresholds/mine.json || exit 9
exec {PYTEST} --hostfile mine.yaml
"""
# Other tests use this machine at the same time, so that a floor of 95 % would say little.
_MEASURED = f"""\
cd site && hostfile mine && hostfile measured || exit 9
{PYTEST} --hostfile mine.yaml || exit 9  # five samples of a value are needed
{RAILGAUGE} thresholds derive reports/2* --fraction 0.6 -o thresholds/measured.json
echo "derived $?"
{RAILGAUGE} plan --hostfile measured.yaml || exit 9
"""
_SAME = "cd site && hostfile measured || exit 9\n"
_RUN = f"exec {PYTEST} --hostfile measured.yaml\n"
_LOGIN = ("--sshd", "openssh") if os.geteuid() == 0 else ()


def visit(home, script, *options):
    text, banner = start_file("$HOME")
    home.write("start", text)
    home.write("banner", banner)
    program = Path(__file__).with_name("site_iperf.py").read_text(encoding="utf-8")
    home.write("iperf3", f"#!{sys.executable}\n{program}")
    path = home.write("visit.sh", f"{_NOISY if _LOGIN else ''}{_TOOL}{script}")
    done = lab((*_LOGIN, *options), ["sh", str(path)], home.folder)
    return Run(Project(home.folder / "site"), done.returncode, done.stdout, done.stderr, 0.0)


@pytest.fixture(scope="module")
def newcomer(cannot_run, tmp_path_factory):
    pytest.importorskip("mpi4py")
    if not any(Path(folder, "mpirun.openmpi").exists() for folder in ("/usr/bin", "/bin")):
        cannot_run("not installed: openmpi-bin")
    home = Project(tmp_path_factory.mktemp("newcomer"))
    first = visit(home, _FIRST)
    accepted = first.verdict if first.code in (0, 1, 10) else {}
    second = visit(home, _MEASURED + _RUN)
    again = second.verdict if second.code in (0, 1, 10) else {}
    limited = visit(home, _SAME + _RUN, "--limit", "tcp02=50mbit")
    return SimpleNamespace(
        first=first, accepted=accepted, second=second, again=again, limited=limited
    )


@pytest.mark.skipif(not _LOGIN, reason="OpenSSH's sshd in a namespace needs root")
def test_the_login_shells_of_its_nodes_print(newcomer):
    for run in (newcomer.first, newcomer.second, newcomer.limited):
        assert "the login prints" in run.stdout, run.output


def test_the_site_s_own_program_measured_the_links(newcomer):
    written = newcomer.first.project.folder.glob("reports/2*/transcripts/*")
    texts = [path.read_text(encoding="utf-8") for path in written]
    links = [text for text in texts if text.startswith("### host_tcp_bandwidth[")]
    assert len(links) >= 12, "three pairs in four runs"
    assert all(f'"version": "iperf {VERSION}"' in text for text in links)


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
