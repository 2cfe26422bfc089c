"""How nodes ask for each other: the scripts in a real shell, with each program that may connect."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from testing import free_ports
from testing.asked_nodes import NODES, seen, self_report
from testing.waiting import wait_until

from railgauge.core.model import Node
from railgauge.describing.readiness import peers

SHELL = ("sh", "timeout", "head", "tail", "tr", "sed", "cat", "getent")


def only(folder: Path, *names: str) -> dict[str, str]:
    """An environment with these programs and what a shell needs."""
    folder.mkdir(exist_ok=True)
    for name in (*SHELL, *names):
        # What is called python3 may be a script of a version manager.
        found = sys.base_exec_prefix + "/bin/python3" if name == "python3" else shutil.which(name)
        if found is None:
            pytest.skip(f"{name} is not installed")
        (folder / name).symlink_to(found)
    return {"PATH": str(folder)}


@pytest.fixture
def free_port() -> int:
    return free_ports.free_port()


@contextmanager
def listening(environment: dict[str, str], port: int) -> Iterator[None]:
    with subprocess.Popen(peers.listening("n01", port).argv, env=environment) as process:
        try:
            yield
        finally:
            process.kill()


def connects(address: str, port: int) -> bool:
    try:
        socket.create_connection((address, port), 5).close()
    except OSError:
        return False
    return True


@pytest.mark.parametrize("program", ["perl", "python3"])
def test_a_node_listens_by_both_protocols(tmp_path: Path, program: str, free_port: int) -> None:
    with listening(only(tmp_path / "bin", program), free_port):
        wait_until(lambda: connects("127.0.0.1", free_port), 20, "it listens")
        assert connects("::1", free_port) or not Path("/proc/net/if_inet6").read_text()


@pytest.mark.parametrize("program", ["bash", "python3", "perl"])
def test_every_connecting_program_reports_in_the_same_words(
    tmp_path: Path, program: str, free_port: int
) -> None:
    own = self_report(addresses=("127.0.0.1",))
    nameless = seen("n02", node=Node("n02", "x", "no-such-host.invalid"), self_report=own)
    command = peers.asking("n01", [nameless], {"n02": free_port})

    environment = only(tmp_path / "bin", program)

    def ask() -> dict[str, str]:
        done = subprocess.run(
            command.argv, env=environment, capture_output=True, text=True, check=True, timeout=60
        )
        met = peers.found(done.stdout, [nameless])["n02"]
        assert (met.resolved, done.stderr) == ("", "")
        return dict(met.reached)

    shut = ask()
    assert "Name or service not known" in shut["no-such-host.invalid"]
    assert "Connection refused" in shut["127.0.0.1"]
    with socket.create_server(("127.0.0.1", free_port)):
        assert ask()["127.0.0.1"] == peers.OPEN


def test_a_node_without_a_connecting_program_reports_no_ports(tmp_path: Path) -> None:
    one = seen("n02")
    command = peers.asking("n01", [one], {"n02": 1})
    done = subprocess.run(
        command.argv, env=only(tmp_path / "bin"), capture_output=True, text=True, check=True
    )
    assert peers.found(done.stdout, [one])["n02"].reached == {}


def test_each_node_asks_for_few_others_and_all_are_asked_for() -> None:
    names = [f"n{n}" for n in range(300)]
    asked = peers.asked_of(names)
    assert {len(others) for others in asked.values()} == {4}
    assert {other for others in asked.values() for other in others} == set(names)
    assert peers.asked_of(NODES)["n03"] == ("n01", "n02")
    assert peers.asked_of(["n1"]) == {"n1": ()}


def test_each_node_listens_on_another_port_within_the_range() -> None:
    names = [f"n{n}" for n in range(20)]
    assert list(peers.ports(names, (20000, 20015)).values())[:17] == [*range(20000, 20016), 20000]
    assert len(set(peers.ports(names, None).values())) == 20


def test_the_first_answer_of_a_node_about_another_counts() -> None:
    one = seen("n02")
    printed = (
        "reached n02 n02 open\nreached n02 n02 refused\nresolved n02 -\nresolved n02 1\njunk\n"
    )
    assert peers.found(printed, [one])["n02"].reached == {"n02": "open"}
    assert peers.found(printed, [one])["n02"].resolved == ""
