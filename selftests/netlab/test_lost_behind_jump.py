"""A node behind a jump host whose link goes down while a tool on it prints nothing.

With the times of the product: the run says whom it waits for, and names the node within a minute.
"""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import pytest
from testing.acceptance import BARE_SMOKE, make_project
from testing.fewer import measuring
from testing.netlab_bench import visit

LOST = "tcp02"
# Its client prints nothing, and its server waits for it.
TOOL = """\
#!/bin/sh
case "$*" in *-s*) exec "$REAL" "$@" ;; esac
case "$(hostname) $*" in *tcp02*|*10.77.0.2*) : >"$HELD"; exec sleep 300 ;; esac
exec "$REAL" "$@"
"""
VISIT = """
import re, shutil, signal

OPTIONS = __OPTIONS__
tool = FOLDER / "held" / "iperf3"
tool.parent.mkdir()
held = FOLDER / "held" / "begun"
tool.write_text(__TOOL__.replace("$REAL", shutil.which("iperf3")).replace("$HELD", str(held)))
tool.chmod(0o755)

document = json.loads(HOSTFILE.read_text())
document["tools"]["iperf3"] = str(tool.parent)
document["nodes"][1]["ssh"] = {"jump": "root@10.77.0.1"}
document["ssh"]["patience_s"] = 5
Path("jump.yaml").write_text(json.dumps(document))

def wait(what, limit_s):
    until = time.monotonic() + limit_s
    while not what():
        assert time.monotonic() < until, Path("output.txt").read_text()
        time.sleep(0.2)

with open("output.txt", "wb") as output:
    run = subprocess.Popen([sys.executable, "-m", "pytest", "--hostfile", "jump.yaml", *OPTIONS],
                           stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
    wait(held.exists, 60)
    subprocess.run(["ip", "link", "set", "tcp02", "down"], check=True)
    cut = time.monotonic()
    (latest,) = Path("reports").glob("2*")
    FOUND["named_s"] = FOUND["waited_s"] = None
    while run.poll() is None and time.monotonic() - cut < 150:
        time.sleep(0.2)
        text = Path("output.txt").read_text()
        if FOUND["waited_s"] is None and "waiting for tcp0" in text:
            FOUND["waited_s"] = time.monotonic() - cut
        if FOUND["named_s"] is None and re.search("tcp02: .*nothing has come", text):
            FOUND["named_s"] = time.monotonic() - cut
    FOUND["ended_s"] = time.monotonic() - cut
    FOUND["code"] = run.poll()
    if run.poll() is None:
        run.kill()
FOUND["output"] = Path("output.txt").read_text()
FOUND["verdict"] = json.loads((latest / "verdict.json").read_text())
"""


def have_time(document: dict[str, Any]) -> None:
    """A tool may be silent for long: its own time limit is not what ends the wait."""
    document["measurements"]["host_tcp_bandwidth"]["time_limit_s"] = 600


@pytest.fixture(scope="module")
def lost(cannot_run: Any, tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    if os.geteuid():
        cannot_run("OpenSSH's sshd in a namespace needs root")
    project = make_project(tmp_path_factory.mktemp("lost") / "project")
    measuring("tcp-lab", "host_tcp_bandwidth")(project)
    project.edit_platform("tcp-lab", have_time)
    script = VISIT.replace("__OPTIONS__", repr(BARE_SMOKE)).replace("__TOOL__", repr(TOOL))
    return SimpleNamespace(**visit(script, project.folder, "--sshd", "openssh"))


def test_the_run_names_the_node_within_a_minute_and_ends(lost: SimpleNamespace) -> None:
    assert lost.code == 10, lost.output
    assert lost.waited_s is not None, lost.output
    assert lost.waited_s < 25, "a tool is awaited from twice its usual time and 10 s on"
    assert lost.named_s is not None, lost.output
    assert 30 < lost.named_s < 60
    assert lost.ended_s < 120
    (cause,) = lost.verdict["causes"]
    assert (cause["cause"], cause["where"]["node"]) == ("node-unreachable", LOST)


def test_the_other_nodes_are_measured(lost: SimpleNamespace) -> None:
    assert lost.verdict["coverage"]["pairs"] == {"tested": 1, "declared": 3}
    assert "lease: tcp03" not in lost.output, "its connection is whole, and so is its lease"
