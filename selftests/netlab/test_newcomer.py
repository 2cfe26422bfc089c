"""A newcomer with nodes that nothing of this project knows, as ``foreign_nodes`` makes them.

The way goes from ``railgauge init`` and a hostfile of three lines over ``check``, ``platform new``
and ``plan`` to an accepted run. Then the site trusts certificates of hosts alone, and two nights
follow over the ssh command, the second with limits that were measured and a slow link. No line of
the hostfile is the newcomer's own, but for the first three.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from foreign_nodes import NODES, RENAMED
from site_iperf import VERSION
from testing.acceptance import Project, Run
from testing.netlab_bench import lab
from testing.noisy_shells import START_FILES, installed
from testing.places import ROOT
from testing.standing_sshd import sshd

RAILGAUGE = shlex.join(
    [sys.executable, "-c", "import sys; from railgauge.cli import main; sys.exit(main())"]
)
PYTEST = shlex.join([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--level", "smoke"])
THREE = {"cluster": "foreign", "platform": "mine", "nodes": "gpu[01-04]"}
_VISIT = f"""\
export RAILGAUGE_KEEP=all
{RAILGAUGE} init site && cd site || exit 9
printf '%s\\n' {shlex.join(f"{key}: {value}" for key, value in THREE.items())} >hostfiles/three.yaml
{RAILGAUGE} check hostfiles/three.yaml --write hostfiles/mine.yaml >checked.txt; echo "checked $?"
{RAILGAUGE} platform new mine --hostfile hostfiles/mine.yaml --one-kernel || exit 9
{RAILGAUGE} plan --hostfile hostfiles/mine.yaml || exit 9
sed -i 's/"streams": 1/"duration_s": 1, &/' thresholds/mine.json
grep -q '"duration_s": 1' thresholds/mine.json || exit 9
{PYTEST} --hostfile hostfiles/mine.yaml; echo "first $?"
cp "$HOME/.ssh/authority" "$HOME/.ssh/known_hosts"
{RAILGAUGE} check hostfiles/mine.yaml --write hostfiles/signed.yaml; echo "refused $?"
{RAILGAUGE} check hostfiles/signed.yaml; echo "ready $?"
examples/nightly.sh hostfiles/signed.yaml --level smoke; echo "night $?"
# Other tests use this machine at the same time, so that a floor of 95 % would say little.
{RAILGAUGE} thresholds derive reports/2* --fraction 0.6 -o thresholds/measured.json
echo "derived $?"
sed 's/^platform: mine$/platform: measured/' hostfiles/signed.yaml >hostfiles/measured.yaml
PATH=$PATH:/usr/sbin:/sbin
slow() {{ "$@" tc qdisc change dev $nic root tbf rate 50mbit burst 131072 latency 20ms; }}
nic=tcp02 slow env && nic=eth0 slow ssh gpu02 sudo -n env "PATH=$PATH" >/dev/null 2>&1 || exit 9
examples/nightly.sh hostfiles/measured.yaml --level smoke; echo "slow $?"
"""
STEPS = ("checked 1", "first 0", "refused 1", "ready 0", "night 0", "derived 0", "slow 1")


@pytest.fixture(scope="module")
def newcomer(cannot_run, tmp_path_factory):
    lacking = [shell for shell in NODES.values() if not installed(shell)]
    if os.geteuid() or lacking or not sshd() or not installed("sudo"):
        cannot_run(f"needs root, sshd, sudo, and these shells: {', '.join(NODES.values())}")
    home = Project(tmp_path_factory.mktemp("newcomer"))
    path = home.write("visit.sh", _VISIT)
    foreign = [sys.executable, str(Path(__file__).with_name("foreign_nodes.py")), "sh", str(path)]
    options = ("--sshd", "openssh", "--nodes", str(len(NODES)))
    paths = f"{ROOT / 'src'}:{ROOT / 'selftests'}"
    done = lab(options, ["env", f"PYTHONPATH={paths}", *foreign], home.folder)
    site = Project(home.folder / "site")
    runs = sorted(site.folder.glob("reports/2*"))
    return SimpleNamespace(
        site=site.folder,
        run=Run(site, done.returncode, done.stdout, done.stderr, 0.0),
        verdicts=[json.loads((run / "verdict.json").read_text()) for run in runs],
        hostfile=lambda name: yaml.safe_load((site.folder / f"hostfiles/{name}.yaml").read_text()),
    )


def test_every_step_ends_as_its_page_says(newcomer):
    ends = [line for line in newcomer.run.stdout.splitlines() if line in STEPS]
    assert ends == list(STEPS), newcomer.run.output


def test_the_hostfile_has_no_line_that_check_did_not_propose(newcomer):
    nodes = [{"name": node, "data_address": f"10.77.0.{at}"} for at, node in enumerate(NODES, 1)]
    mine = THREE | {
        "nodes": nodes,
        "become": "sudo -n",
        "setup": ["source /etc/profile.d/burnin.sh"],
        "devices": {RENAMED: {"eth0": "ens5"}},
    }
    assert newcomer.hostfile("mine") == mine
    example = yaml.safe_load((ROOT / "hostfiles" / "example-openssh.yaml").read_text())
    over_ssh = {key: example[key] for key in ("transport", "exec")}
    assert newcomer.hostfile("signed") == mine | over_ssh


def test_the_check_names_the_shells_that_print(newcomer):
    checked = (newcomer.site / "checked.txt").read_text()
    noisy = [node for node, shell in NODES.items() if shell in START_FILES]
    assert len(noisy) == 3
    for node in noisy:
        assert f"{node}: {installed(NODES[node])}, prints at its start" in checked


def test_the_file_is_short_and_its_runs_are_accepted(newcomer):
    text = (newcomer.site / "thresholds" / "mine.json").read_text()
    assert len(text.splitlines()) < 60
    for verdict in newcomer.verdicts[:2]:
        assert (verdict["verdict"], verdict["evidence"]) == ("accepted", "hardware")
        assert verdict["counts"]["passed"] == verdict["counts"]["planned"] > 50
    assert "LIMITS NOT CALIBRATED: 1 of 1" in newcomer.run.words


def test_the_site_s_own_program_measured_the_links(newcomer):
    written = newcomer.site.glob("reports/2*/transcripts/host_tcp_bandwidth*.txt")
    texts = [path.read_text() for path in written]
    assert len(texts) >= 3 * len(NODES)
    assert all(f'"version": "iperf {VERSION}"' in text for text in texts)


def test_each_night_keeps_its_evidence(newcomer):
    kept = sorted(path.stem for path in newcomer.site.glob("evidence/*.railgauge"))
    assert kept == [verdict["run_id"] for verdict in newcomer.verdicts[1:]]


def test_a_slow_link_is_rejected_and_named_by_the_measured_limits(newcomer):
    last = newcomer.verdicts[-1]
    assert last["platform"] == "measured"
    (cause,) = last["causes"]
    assert (cause["cause"], cause["where"]["node"]) == ("slow-node", "gpu02")
