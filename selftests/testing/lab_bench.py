"""Labs to test, and the plainest ways to run something on their nodes."""

from __future__ import annotations

import contextlib
import socket
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from railgauge.core.model import Cluster, Node
from railgauge_lab import cluster as lab
from railgauge_lab.cluster import Lab
from railgauge_lab.sim import stored
from testing import programs
from testing.places import SHARED
from testing.waiting import wait_until

NAMES = {
    "metax-c500": ("mx01", "mx02", "mx03"),
    "connectx4-homelab": ("viper", "columbia", "prometheus"),
    "h200": ("h200-01", "h200-02", "h200-03", "h200-04"),
    "mi300x": ("mi01", "mi02"),
    "h100-tcpx": ("tcpx01", "tcpx02"),
}
StartLab = Callable[..., "Bench"]


def cluster(platform: str, names: tuple[str, ...] = ()) -> Cluster:
    nodes = tuple(Node(name, name, name) for name in names or NAMES.get(platform, ("n1", "n2")))
    return Cluster("under-test", platform, "lab", nodes, "nowhere.yaml")


@dataclass(frozen=True)
class Bench:
    """A lab whose tools can be run without SSH, as the server would run them."""

    lab: Lab
    folder: Path

    @property
    def nodes(self) -> tuple[Node, ...]:
        return self.lab.cluster.nodes

    def home(self, index: int) -> Path:
        return self.folder / "nodes" / self.nodes[index].name

    def start(self, index: int, *argv: str, **env: str) -> subprocess.Popen[str]:
        home = self.home(index)
        return subprocess.Popen(
            [home / "bin" / argv[0], *argv[1:]],
            cwd=home,
            env={"PATH": f"{home}/bin", **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, index: int, *argv: str, **env: str) -> subprocess.CompletedProcess[str]:
        child = self.start(index, *argv, **env)
        out, err = child.communicate(timeout=20)
        return subprocess.CompletedProcess(argv, child.returncode, out, err)

    def read(self, index: int, path: str) -> str:
        return (self.home(index) / "root" / path).read_text()

    def pair(
        self, client: tuple[str, ...], server: tuple[str, ...] = (), *, server_index: int = 1
    ) -> tuple[subprocess.CompletedProcess[str], subprocess.CompletedProcess[str]]:
        """The client on node 0, the server on node 1; the same arguments unless given others."""
        argv = server or client
        there = self.nodes[server_index].data_address
        listening = self.start(server_index, *argv)
        port = next((b for a, b in pairwise(argv) if a == "-p"), "18515")
        wait_for_listener(there, int(port))
        ran = self.run(0, *client, there)
        out, err = listening.communicate(timeout=20)
        return ran, subprocess.CompletedProcess(argv, listening.returncode, out, err)


def wait_for_listener(address: str, port: int, limit_s: float = 10.0) -> None:
    octets = bytes(int(part) for part in address.split("."))
    wanted = f" {octets[::-1].hex().upper()}:{port:04X} 00000000:0000 0A"
    table = Path("/proc/net/tcp")
    wait_until(lambda: wanted in table.read_text(), limit_s, f"a listener on {address}:{port}")


def ssh_argv(node: Node, command: str) -> list[str]:
    settings = node.ssh
    options = {
        "BatchMode": "yes",
        "IdentitiesOnly": "yes",
        "UserKnownHostsFile": settings.known_hosts,
        "GlobalKnownHostsFile": "/dev/null",
        "StrictHostKeyChecking": "yes",
        "ConnectTimeout": "10",
    }
    flags = [word for key, value in options.items() for word in ("-o", f"{key}={value}")]
    where = ["-p", str(settings.port), f"{settings.user}@{node.address}"]
    return [programs.asked("ssh"), "-F", "none", "-i", str(settings.key), *flags, *where, command]


def ssh(node: Node, command: str, **more: object) -> subprocess.CompletedProcess[bytes]:
    argv = ssh_argv(node, command)
    return subprocess.run(argv, capture_output=True, timeout=30, check=False, **more)  # type: ignore[call-overload,no-any-return]


def transcript(name: str) -> str:
    path = SHARED / "transcripts" / name
    if not path.exists():
        pytest.skip(f"{path} is not there: recorded output is not part of the project")
    return path.read_text(encoding="utf-8")


class Nobody:
    """In the place of a lab's server, which takes most of its start."""

    stdin = stdout = None

    def wait(self, _limit_s: float | None = None) -> int:
        return 0


def _launch_nobody(folder: Path, configuration: Path, _block: socket.socket) -> tuple[Any, Any]:
    assert configuration.parent == folder
    served = stored.read(str(configuration))["nodes"]
    return Nobody(), {node["name"]: 0 for node in served}


@contextlib.contextmanager
def laid_out(
    folder: Path, platform: str, *faults: str, nodes: int, names: tuple[str, ...] = ()
) -> Iterator[Bench]:
    """A lab that nobody serves, without noise."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("railgauge_lab.cluster._launch", _launch_nobody)
        one = lab.start(cluster(platform, names), nodes=nodes, seed=0, faults=faults, folder=folder)
    with one:
        yield Bench(one, folder)


@pytest.fixture
def start_lab(tmp_path: Path) -> Iterator[StartLab]:
    """``served`` also by SSH: a lab's tools need the nodes' files only."""
    started: list[Lab] = []

    def begin(
        platform: str = "metax-c500",
        *faults: str,
        nodes: int | None = 2,
        seed: int = 0,
        served: bool = False,
    ) -> Bench:
        folder = tmp_path / f"lab{len(started)}"
        given = cluster(platform)
        with pytest.MonkeyPatch.context() as patch:
            if not served:
                patch.setattr("railgauge_lab.cluster._launch", _launch_nobody)
            one = lab.start(given, nodes=nodes, seed=seed, faults=faults, folder=folder)
        started.append(one)
        return Bench(one, folder)

    yield begin
    for one in started:
        one.close()


def _healthy(platform: str, folder: Path, seed: int) -> Iterator[Bench]:
    given = cluster(platform)
    with lab.start(given, nodes=None, seed=seed, faults=(), folder=folder / "lab") as one:
        yield Bench(one, folder / "lab")


@pytest.fixture(scope="session")
def metax(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    yield from _healthy("metax-c500", tmp_path_factory.mktemp("metax"), 0)


@pytest.fixture(scope="session")
def h200(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    yield from _healthy("h200", tmp_path_factory.mktemp("h200"), 0)


@pytest.fixture(scope="session")
def mi300x(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    yield from _healthy("mi300x", tmp_path_factory.mktemp("mi300x"), 0)


@pytest.fixture(scope="session")
def tcpx(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    yield from _healthy("h100-tcpx", tmp_path_factory.mktemp("tcpx"), 0)


@pytest.fixture(scope="session")
def homelab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    yield from _healthy("connectx4-homelab", tmp_path_factory.mktemp("homelab"), 0)


@pytest.fixture
def noisy_twin(tmp_path: Path) -> Iterator[tuple[Bench, Bench]]:
    """Two fresh labs of one seed."""
    with contextlib.ExitStack() as stack:
        benches = [
            stack.enter_context(contextlib.contextmanager(_healthy)("metax-c500", tmp_path / n, 7))
            for n in ("one", "two")
        ]
        yield benches[0], benches[1]


@pytest.fixture(scope="session")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    yield from _healthy("metax-c500", tmp_path_factory.mktemp("noisy"), 7)
