"""The process that serves the nodes: stable, fast, and ended with its lab."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import asyncssh
import pytest
from testing.lab_bench import Bench, StartLab, cluster, ssh, ssh_argv, wait_for_listener
from testing.waiting import wait_until

from railgauge.core.errors import BadInput, RailgaugeError
from railgauge.core.model import Node, SshSettings
from railgauge_lab import cluster as lab
from railgauge_lab.cluster import _names


def test_exit_codes_streams_and_input_pass_through_ssh(metax: Bench) -> None:
    node = metax.nodes[0]
    assert ssh(node, "exit 7").returncode == 7
    both = ssh(node, "echo out; echo err >&2")
    assert (both.stdout, both.stderr) == (b"out\n", b"err\n")
    assert ssh(node, "cat", input=b"x" * 300_000).stdout == b"x" * 300_000
    assert ssh(node, "cat root/proc/sys/kernel/hostname").stdout == b"mx01\n"
    assert ssh(node, "kill -s KILL $$").returncode != 0


def test_a_large_output_is_complete(metax: Bench) -> None:
    assert len(ssh(metax.nodes[0], "head -c 30000000 /dev/zero").stdout) == 30_000_000


def test_commands_have_a_small_clean_environment(metax: Bench) -> None:
    os.environ["LAB_LEAK"] = "leaked"
    lines = ssh(metax.nodes[0], "env").stdout.decode().splitlines()
    names = {line.partition("=")[0] for line in lines}
    assert names <= {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "PWD", "OLDPWD", "_"}
    assert f"PATH={metax.home(0)}/bin" in lines


def test_a_command_that_becomes_a_program_is_as_under_a_shell(metax: Bench) -> None:
    """No shell is started for it: it has the same environment, session and errors."""
    node = metax.nodes[0]
    bare, shelled = (
        {line for line in ssh(node, command).stdout.splitlines() if line[:2] != b"_="}
        for command in ("exec env", "exec env; true")
    )
    assert bare == shelled
    for command in ("exec cat /proc/self/stat", "exec cat /proc/self/stat; true"):
        process, _name, _state, _parent, group, session, *_ = ssh(node, command).stdout.split()
        assert process == group == session, command
    absent = ssh(node, "exec no-such-program -k 5")
    assert absent.returncode == 127
    assert b"no-such-program: not found" in absent.stderr


def test_the_lab_returns_a_cluster_reached_by_strict_ssh(metax: Bench) -> None:
    given = metax.lab.cluster
    assert (given.transport, given.rootfs, given.platform) == ("ssh", "root", "metax-c500")
    settings = given.nodes[0].ssh
    assert (settings.user, settings.host_keys, settings.agent) == ("lab", "strict", False)
    assert settings.config == "/dev/null", "the user's configuration is not that of the lab"
    assert Path(settings.key or "").stat().st_mode & 0o777 == 0o600
    assert len({node.address for node in given.nodes}) == 3
    assert len(Path(settings.known_hosts or "").read_text().splitlines()) == 3


async def _connect(node: Node) -> asyncssh.SSHClientConnection:
    settings = node.ssh
    return await asyncssh.connect(
        node.address,
        settings.port,
        username=settings.user,
        client_keys=[settings.key],
        known_hosts=settings.known_hosts,
        agent_path=None,
        config=None,
    )


async def _work(node: Node, commands: int) -> list[tuple[int | None, str]]:
    async with await _connect(node) as connection:
        results = []
        for number in range(commands):
            ran = await connection.run(f"cat root/proc/sys/kernel/hostname; exit {number}")
            results.append((ran.exit_status, str(ran.stdout)))
        return results


async def _work_everywhere(nodes: tuple[Node, ...], commands: int) -> list[object]:
    return list(await asyncio.gather(*(_work(node, commands) for node in nodes)))


def test_thirty_two_nodes_are_served_at_once(start_lab: StartLab) -> None:
    bench = start_lab("metax-c500", nodes=32, served=True)
    results = asyncio.run(_work_everywhere(bench.nodes, 20))
    for node, answers in zip(bench.nodes, results, strict=True):
        assert answers == [(number, f"{node.name}\n") for number in range(20)]
    assert (bench.folder / "server.log").read_text() == ""


def test_one_connection_runs_hundreds_of_commands_at_once(metax: Bench) -> None:
    async def work() -> set[int | None]:
        async with await _connect(metax.nodes[2]) as connection:
            jobs = [connection.run(f"exit {n}") for n in range(200)]
            return {(await job).exit_status for job in jobs}

    assert asyncio.run(work()) == set(range(200))


def test_a_command_ends_with_its_client(metax: Bench) -> None:
    note = metax.home(0) / "pid"
    client = subprocess.Popen(ssh_argv(metax.nodes[0], "sleep 300 & echo $! > pid; wait"))
    pid = _read_pid(note)
    client.kill()
    client.wait()
    _assert_gone(pid)


def test_a_command_under_timeout_ends_with_its_client(metax: Bench) -> None:
    """timeout(1) moves its command into a separate process group."""
    script = "timeout 200 sh -c 'echo $$ > pid-timeout; sleep 300'"
    client = subprocess.Popen(ssh_argv(metax.nodes[0], script))
    pid = _read_pid(metax.home(0) / "pid-timeout")
    client.kill()
    client.wait()
    _assert_gone(pid)


def test_background_processes_of_a_command_stay_and_leave_no_zombie(metax: Bench) -> None:
    script = "sleep 300 > /dev/null 2>&1 & echo $!"
    pid = int(ssh(metax.nodes[0], script).stdout)
    assert ssh(metax.nodes[0], f"kill -s 0 {pid}").returncode == 0
    assert ssh(metax.nodes[0], f"kill {pid}").returncode == 0
    _assert_gone(pid)


def test_unfinished_commands_end_with_the_lab(start_lab: StartLab) -> None:
    bench = start_lab("connectx4-homelab", served=True)
    script = "setsid sleep 300 & echo $! > pid; wait"
    with subprocess.Popen(ssh_argv(bench.nodes[0], script)) as client:
        pid = _read_pid(bench.home(0) / "pid")
        bench.lab.close()
        bench.lab.close()
        assert client.wait(10) != 0
    _assert_gone(pid)


_STARTER = """
import sys
from pathlib import Path
sys.path.insert(0, {here!r})
from testing.lab_bench import cluster
from railgauge_lab import cluster as lab
one = lab.start(
    cluster("metax-c500"), nodes=2, seed=0, faults=(), folder=Path(sys.argv[1]))
print(one.cluster.nodes[0].ssh.port, one.cluster.nodes[0].address, one._process.pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_the_lab_ends_with_the_process_that_started_it(tmp_path: Path, how: int) -> None:
    script = _STARTER.format(here=str(Path(__file__).parents[1]))
    folder = tmp_path / "lab"
    starter = subprocess.Popen(
        [sys.executable, "-c", script, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert starter.stdout
    port, address, server = starter.stdout.readline().split()
    node = Node("mx01", address, address, _settings(folder, int(port)))
    client = subprocess.Popen(ssh_argv(node, "sleep 300 & echo $! > pid; wait"))
    pid = _read_pid(folder / "nodes/mx01/pid")
    starter.send_signal(how)
    starter.wait()
    client.wait(10)
    _assert_gone(int(server))
    _assert_gone(pid)


def test_ctrl_c_in_the_terminal_does_not_reach_the_lab(metax: Bench) -> None:
    server = metax.lab._process.pid
    assert os.getsid(server) == server
    assert os.getsid(server) != os.getsid(0)


def test_two_labs_run_at_once(start_lab: StartLab) -> None:
    first, second = (start_lab("metax-c500", served=True) for _ in range(2))
    argv = ("ib_write_bw", "-F", "-a")
    both = [bench.start(1, *argv) for bench in (first, second)]
    for bench in (first, second):
        wait_for_listener(bench.nodes[1].data_address, 18515)
    ran = [bench.run(0, *argv, bench.nodes[1].data_address) for bench in (first, second)]
    assert [one.returncode for one in ran] == [0, 0]
    assert [child.wait(10) for child in both] == [0, 0]
    for child in both:
        child.communicate()
    assert not {node.address for node in first.nodes} & {node.address for node in second.nodes}


def test_node_names_are_continued_or_cut_to_the_size_of_the_lab(tmp_path: Path) -> None:
    assert _names(["mx01", "mx02"], 4) == ["mx01", "mx02", "mx03", "mx04"]
    assert _names(["mx01", "mx02"], 1) == ["mx01"]
    assert _names(["a9", "a10"], 3) == ["a9", "a10", "a11"]
    assert _names(["viper", "columbia"], 4) == ["viper", "columbia", "node03", "node04"]
    for wrong in (0, 251):
        with pytest.raises(BadInput, match="1 to 250 nodes"):
            _names(["mx01"], wrong)


def test_a_server_that_does_not_start_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(RailgaugeError, match="the lab did not start"):
        lab.start(cluster("metax-c500"), nodes=1, seed=0, faults=(), folder=tmp_path / "lab")


def test_a_used_folder_is_refused(start_lab: StartLab, tmp_path: Path) -> None:
    bench = start_lab("connectx4-homelab", served=True)
    with pytest.raises(BadInput, match="a lab already"):
        lab.start(cluster("metax-c500"), nodes=1, seed=0, faults=(), folder=bench.folder)


def test_groups_keep_only_nodes_of_the_lab(tmp_path: Path) -> None:
    given = dataclasses.replace(
        cluster("metax-c500"), groups={"a": ("mx01", "mx02"), "b": ("mx03",)}
    )
    with lab.start(given, nodes=1, seed=0, faults=(), folder=tmp_path / "lab") as one:
        assert one.cluster.groups == {"a": ("mx01",)}


def test_sixty_four_nodes_are_made_quickly(start_lab: StartLab) -> None:
    begun = time.perf_counter()
    bench = start_lab("metax-c500", nodes=64, served=True)
    assert time.perf_counter() - begun < 120, "takes about 1.5 s on an idle machine with two cores"
    assert len(bench.nodes) == 64


def _settings(folder: Path, port: int) -> SshSettings:
    return SshSettings(
        user="lab",
        port=port,
        key=str(folder / "id_ed25519"),
        known_hosts=str(folder / "known_hosts"),
        agent=False,
    )


def _read_pid(path: Path) -> int:
    written = wait_until(lambda: path.exists() and path.read_text().strip(), 10, f"a pid in {path}")
    return int(str(written))


def _assert_gone(pid: int) -> None:
    wait_until(lambda: _is_gone(pid), 10, f"the end of process {pid}")


def _is_gone(pid: int) -> bool:
    """Whether it has ended; a zombie that its new parent has not yet collected counts as ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return stat.rpartition(")")[2].split()[0] == "Z"
