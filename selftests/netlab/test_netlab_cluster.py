"""A real cluster of namespaces: its nodes, its link faults, and its cleanup."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from testing import programs
from testing.netlab_bench import argv, lab, visit
from testing.places import ROOT
from testing.waiting import wait_until

from railgauge.config import hostfile

GONE_LIMIT_S = 30

NODES = """
names = ["tcp01", "tcp02", "tcp03", "tcp04"]
for name in names:
    FOUND[name] = on(name, '''
      hostname; ip -4 -o addr show eth0 | awk '{print $4}'; cat /sys/class/net/eth0/mtu
      ls /sys/class/net | tr "\\\\n" " "; echo; cat /proc/1/comm; ls /tmp /run/lock | wc -l
      echo $HOME; sh -c 'echo ~root'; whoami; touch /tmp/own /run/lock/own
      flock -n /run/lock/own echo locked; ls /proc | grep -c "^[0-9]"''')
FOUND["hostfile"] = HOSTFILE.read_text()
FOUND["folder"] = str(FOLDER)
FOUND["key_mode"] = oct((FOLDER / "id_ed25519").stat().st_mode & 0o777)
FOUND["stranger"] = on("tcp01", "true", 20, "-l", "nobody")
wrong = FOLDER / "wrong"
lines = (FOLDER / "known_hosts").read_text().splitlines()
wrong.write_text(lines[1].replace("tcp02,10.77.0.2", "tcp01,10.77.0.1") + "\\n")
FOUND["other_key"] = on("tcp01", "true", 20, "-o", f"UserKnownHostsFile={wrong}")
FOUND["between"] = on("tcp01", "ssh -o BatchMode=yes tcp04 hostname")
FOUND["status"] = [on("tcp01", f"exit {code}")["code"] for code in (0, 3, 77)]
FOUND["signal"] = on("tcp01", "kill -9 $$")["code"]
FOUND["large"] = len(on("tcp01", "head -c 3000000 /dev/zero | tr '\\\\0' x")["out"])
FOUND["background"] = on("tcp01", "sleep 987 >/dev/null 2>&1 & echo $!")["out"]
time.sleep(0.3)
FOUND["stays"] = on("tcp01", f"cat /proc/{FOUND['background'].strip()}/comm")["out"]
"""

LINKS = """
server = ("iperf3 -s -1 -p 5201 >/dev/null 2>&1 & "
          "while ! grep -q ':1451 .* 0A' /proc/net/tcp /proc/net/tcp6; do sleep 0.05; done")
def iperf(node, seconds=1):
    on(node, server)
    return on("tcp01", f"iperf3 -J -c {node} -p 5201 -t {seconds}", 15)
FOUND["lossy"] = iperf("tcp02")
FOUND["narrow"] = iperf("tcp03")
FOUND["small"] = on("tcp05", "cat /sys/class/net/eth0/mtu")
FOUND["cut_ssh"] = on("tcp04", "hostname")
FOUND["cut_data"] = on("tcp01", "timeout 3 bash -c 'echo >/dev/tcp/tcp04/5201'; echo $?")
FOUND["gone"] = on("tcp06", "hostname", 40, "-o", "ConnectTimeout=3")
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return visit(NODES, tmp_path_factory.mktemp("nodes"), "--nodes", "4")


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_a_node_has_what_a_host_has(found, number):
    name = f"tcp{number:02}"
    assert found[name]["code"] == 0, found[name]
    host, address, mtu, devices, init, there, home, of_root, who, locked, pids = found[name][
        "out"
    ].splitlines()
    assert (host, address, mtu) == (name, f"10.77.0.{number}/16", "1500")
    assert devices.split() == ["eth0", "lo"]
    assert init == "sleep"
    assert int(pids) < 20
    assert (who, locked) == ("root", "locked")
    assert home == of_root == f"{found['folder']}/{name}"
    # Files that an earlier node wrote to its folders are gone.
    assert int(there) <= 5


def test_the_hostfile_is_one_that_the_suite_reads(found, tmp_path):
    path = tmp_path / "tcp-lab.yaml"
    path.write_text(found["hostfile"], encoding="utf-8")
    cluster = hostfile.load(path, schema_file=ROOT / "hostfiles" / "schema.json")
    assert (cluster.transport, cluster.platform, cluster.launcher) == ("ssh", "tcp-lab", "openmpi")
    assert [node.address for node in cluster.nodes] == [f"10.77.0.{n}" for n in (1, 2, 3, 4)]
    assert {node.ssh.host_keys for node in cluster.nodes} == {"strict"}
    assert cluster.nodes[0].ssh.known_hosts == f"{found['folder']}/known_hosts"


def test_only_root_with_the_key_gets_in_and_only_on_the_right_host(found):
    assert found["key_mode"] == "0o600"
    assert found["stranger"]["code"] == 255
    assert found["other_key"]["code"] == 255
    assert "host key" in found["other_key"]["err"].lower()


def test_nodes_log_in_on_each_other(found):
    assert (found["between"]["code"], found["between"]["out"]) == (0, "tcp04\n"), found["between"]


def test_the_servers_are_as_any_sshd(found):
    assert found["status"] == [0, 3, 77]
    assert found["signal"] == 255
    assert found["large"] == 3_000_000
    assert found["stays"] == "sleep\n"


@pytest.fixture(scope="module")
def links(tmp_path_factory, cannot_run):
    if shutil.which("iperf3") is None:
        cannot_run("iperf3 is not installed")
    return visit(
        LINKS, tmp_path_factory.mktemp("links"), "--nodes", "6", "--loss", "tcp02=5%",
        "--limit", "tcp03=20mbit", "--partition", "tcp04:data", "--mtu", "tcp05=1300",
        "--partition", "tcp06",
    )  # fmt: skip


def results(ran):
    assert ran["code"] == 0, ran
    return json.loads(ran["out"])["end"]


def test_lost_packets_are_sent_again(links):
    assert results(links["lossy"])["sum_sent"]["retransmits"] > 0  # a healthy link has none


def test_a_limited_link_carries_no_more(links):
    end = results(links["narrow"])
    # A burst of 128 KiB may go through at once; 1448 of 1514 bytes are payload.
    assert 5e6 < end["sum_received"]["bits_per_second"] < 22.5e6


def test_an_mtu_is_that_of_the_link(links):
    assert links["small"]["out"] == "1300\n"


def test_a_cut_of_the_data_path_leaves_ssh(links):
    assert links["cut_ssh"]["out"] == "tcp04\n"
    assert links["cut_data"]["out"].strip() != "0"


def test_a_partition_cuts_all(links):
    assert links["gone"]["code"] == 255


# --- the end ---


def test_the_commands_exit_code_is_the_clusters(tmp_path):
    assert lab(["--nodes", "2"], ["sh", "-c", "exit 7"], tmp_path).returncode == 7
    assert lab(["--nodes", "2"], ["sh", "-c", "kill -9 $$"], tmp_path).returncode == 137


def test_a_command_that_is_not_there_is_one_line(tmp_path):
    done = lab(["--nodes", "2"], ["no-such-program"], tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("railgauge: tcp-lab: no-such-program: No such file")
    assert done.stderr.count("\n") == 1


def test_without_namespaces_it_says_so_in_one_line(tmp_path, monkeypatch):
    fake = tmp_path / "unshare"
    fake.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{programs.machine()}")
    done = lab([], ["true"], tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "this user may not make namespaces" in done.stderr
    assert done.stderr.count("\n") == 1


def test_openssh_asks_for_root_or_accepts_logins(tmp_path, cannot_run):
    if shutil.which("sshd", path=programs.machine()) is None:
        cannot_run("OpenSSH's sshd is not installed")
    if os.geteuid():
        done = lab(["--sshd", "openssh"], ["true"], tmp_path)
        assert (done.returncode, "needs root" in done.stderr) == (2, True)
        return
    script = """
FOUND["is"] = on("tcp02", "tr '\\\\0' ' ' </proc/$PPID/cmdline; echo; hostname; echo $HOME $TMPDIR")
FOUND["folder"] = str(FOLDER)
FOUND["between"] = on("tcp02", "ssh -o BatchMode=yes tcp01 hostname")
import paramiko
client = paramiko.SSHClient()
client.load_host_keys(str(FOLDER / "known_hosts"))
client.connect("10.77.0.2", username="root", key_filename=str(FOLDER / "id_ed25519"),
               look_for_keys=False, allow_agent=False)
FOUND["suite"] = client.exec_command("hostname")[1].read().decode()
client.close()
"""
    found = visit(script, tmp_path, "--nodes", "2", "--sshd", "openssh")
    server, host, login = found["is"]["out"].splitlines()
    assert "sshd" in server
    assert host == "tcp02"
    assert login == f"{found['folder']}/tcp02 {found['folder']}/tcp02/tmp"
    assert found["between"]["out"] == "tcp01\n", found["between"]
    # The suite's client supports fewer key exchange methods than OpenSSH's.
    assert found["suite"] == "tcp02\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_however_it_ends(number, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", None)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    mark, printed = tmp_path / f"mark-{number}", tmp_path / "pid"
    script = f"""
import os, pathlib, time
pathlib.Path({str(printed)!r}).write_text(os.environ["RAILGAUGE_HOSTFILE"])
open({str(mark)!r}, "w"); time.sleep(600)
"""
    process = subprocess.Popen(
        [*argv("--nodes", "2"), "--", sys.executable, "-c", script],
        env={**os.environ, "TMPDIR": str(scratch)},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(mark.exists, GONE_LIMIT_S, "its program to start")
        mine = processes_with(str(mark))
        assert mine
        process.send_signal(number)
        process.wait(GONE_LIMIT_S)
        for word in (str(scratch), str(mark)):
            wait_until(lambda: not processes_with(word), GONE_LIMIT_S, f"nothing to name {word}")  # noqa: B023
    finally:
        process.kill()
    assert list(scratch.iterdir()) == []


def processes_with(word):
    """Processes of this machine with ``word`` among their arguments."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if word.encode() in path.read_bytes() and int(path.parent.name) != os.getpid():
                found.append(path.parent.name)
        except OSError:
            continue
    return found
