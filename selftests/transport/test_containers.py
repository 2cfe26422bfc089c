"""``runtime:`` of the hostfile: tools in containers, over stand-ins and over a real podman."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import pytest
from testing import engine_stand_in, programs
from testing.places import ROOT
from testing.transport_contract import STUBBORN, environment_of, is_alive
from testing.waiting import wait_until

from railgauge import containers
from railgauge.config.hostfile import cluster_from_json, cluster_to_json
from railgauge.core.errors import BadInput
from railgauge.core.model import Case, Command, Container, Node, Pairing
from railgauge.leases.holder import sweep_command
from railgauge.planning.plan import commands
from railgauge.run import inputs
from railgauge.transport import Session
from railgauge.transport.registry import connect
from railgauge.transport.tag import Tag

pytestmark = pytest.mark.usefixtures("impatient")

Without = Callable[[str], NoReturn]
START_S = 60  # of a container, on a machine that other tests use as well
RUN = f"containers-{os.getpid()}"  # other selftests on this machine sweep runs of their own
TAG = Tag(RUN, "main")


@dataclass(frozen=True)
class Place:
    """An engine, the image to use, and the node on which it is found."""

    container: Container
    node: Node
    left: Callable[[], list[str]]
    """The containers that are there."""
    image: str = "image:1"

    def session(self, tag: Tag | None = TAG) -> Session:
        return connect("exec", self.node, tag)

    def command(self, *argv: str, **options: Any) -> Command:
        return Command("n01", argv, container=self.container, **options)


ENGINES = ("docker", "apptainer", "enroot", "podman")


@pytest.fixture(params=ENGINES)
def place(request: pytest.FixtureRequest, tmp_path: Path, cannot_run: Without) -> Iterator[Place]:
    make = real_podman if request.param == "podman" else partial(stand_in, request.param)
    yield from make(tmp_path, cannot_run)


def stand_in(name: str, tmp_path: Path, cannot_run: Without) -> Iterator[Place]:
    if subprocess.run(["unshare", "--user", "true"], check=False).returncode:
        cannot_run("user namespaces are restricted")
    state = engine_stand_in.install(name, tmp_path)
    words = ("env", f"PATH={tmp_path}:{os.environ['PATH']}")
    node = Node("n01", "x", "x", exec=words)
    container = Container(name, "image:1", ("--more=a b",))
    yield Place(container, node, lambda: [path.stem for path in state.glob("*.json")])


CONF = """[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1000:1000"]
[engine]
runtime = "runc"
"""
PROGRAMS = ("sh", "env", "timeout", "sleep", "cat", "id", "python3")


def real_podman(tmp_path: Path, cannot_run: Without) -> Iterator[Place]:
    path = programs.machine()
    if os.geteuid() != 0 or not all(shutil.which(name, path=path) for name in ("podman", "runc")):
        cannot_run("needs root, podman and runc")
    (tmp_path / "containers.conf").write_text(CONF)
    own = {"CONTAINERS_CONF": str(tmp_path / "containers.conf"), "PATH": path}
    mounts = [f"--volume={name}:{name}" for name in ("/usr", "/lib", "/lib64", "/bin", "/root")]
    mounts += [f"--volume={tmp_path}:{tmp_path}", f"--volume={ROOT}:{ROOT}"]
    empty = tmp_path / "image"
    (empty / "tmp").mkdir(parents=True)
    archive = subprocess.run(["tar", "-C", str(empty), "-c", "."], capture_output=True, check=True)
    image = "localhost/railgauge-selftest:1"

    def podman(*words: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
        environment = os.environ | own
        argv = [programs.asked("podman"), *words]
        return subprocess.run(argv, env=environment, capture_output=True, check=False, **options)

    made = podman("import", "-q", "-", image, input=archive.stdout)
    if made.returncode:
        pytest.skip(f"podman cannot import an image: {made.stderr.decode()[-200:]}")
    output = podman("run", "--rm", *mounts, image, "true")
    if output.returncode:
        pytest.skip(f"podman runs no container here: {output.stderr.decode()[-200:]}")

    def left() -> list[str]:
        found = podman("ps", "--all", "--quiet", "--filter", "name=railgauge-")
        assert found.returncode == 0
        return found.stdout.decode().split()

    words = ("env", *(f"{key}={value}" for key, value in own.items()))
    node = Node("n01", "x", "x", exec=words)
    container = Container("podman", image, tuple(mounts))
    yield Place(container, node, left, image)
    podman("rmi", "-f", image)


# --- running ---


def test_a_command_runs_inside_and_its_output_and_code_come_back(place: Place) -> None:
    session = place.session()
    script = "echo out; echo err >&2; readlink /proc/self/ns/mnt; exit 3"
    done = session.run(place.command("sh", "-c", script))
    own = str(Path("/proc/self/ns/mnt").readlink())
    assert (done.exit_code, done.error) == (3, "")
    assert done.stdout.splitlines()[0] == "out"
    assert done.stdout.splitlines()[1] != own
    assert done.stderr.endswith("err\n")
    assert done.argv == ("sh", "-c", script)
    assert place.left() == []
    session.close()


def test_variables_arguments_and_the_tag_arrive(place: Place) -> None:
    session = place.session()
    awkward = "a b'\"$HOME\\n*"
    argv = ("sh", "-c", 'printf "%s|" "$V" "$1" "$RAILGAUGE_RUN"', "sh", awkward)
    done = session.run(place.command(*argv, environment={"V": awkward}))
    assert done.stdout == f"{awkward}|{awkward}|{RUN}/n01/main/|"
    session.close()


def test_a_server_gets_ready_and_stops(place: Place, free_port: int) -> None:
    session = place.session()
    code = f"import socket,time\ns=socket.create_server(('127.0.0.1',{free_port}))\ntime.sleep(60)"
    server = session.start(place.command(sys.executable, "-c", code, listens_on=free_port))
    server.wait_ready(20)
    assert server.stop().error == ""
    assert place.left() == []
    session.close()


# --- the end ---


def stubborn(place: Place, pids: Path, **options: Any) -> Command:
    """Two processes that ignore TERM; inside, their numbers are others than those out here."""
    return place.command(sys.executable, "-c", STUBBORN, str(pids), **options)


def inside(pids: Path) -> list[int]:
    """The processes of the command as the machine counts them: by the file that they were given."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        is_ours = words[:2] == [sys.executable.encode(), b"-c"] and str(pids).encode() in words
        if is_ours and is_alive(int(entry.name)):
            found.append(int(entry.name))
    return found


def test_a_stop_ends_the_container(place: Place, tmp_path: Path) -> None:
    session = place.session()
    running = session.start(stubborn(place, tmp_path / "pids"))
    wait_until(lambda: len(inside(tmp_path / "pids")) == 2, START_S, "the command")
    assert running.stop().error == ""
    wait_until(lambda: not inside(tmp_path / "pids"), 10, "the end of the command")
    wait_until(lambda: place.left() == [], 10, "the end of the container")
    session.close()


def test_the_time_limit_ends_the_container(place: Place, tmp_path: Path) -> None:
    session = place.session()
    done = session.run(stubborn(place, tmp_path / "pids", time_limit_s=3.0))
    assert (done.exit_code, done.error) == (None, "command-timed-out")
    wait_until(lambda: not inside(tmp_path / "pids"), 10, "the end of the command")
    assert place.left() == []
    session.close()


# Takes the node's lease, starts a stubborn command in a container, and waits to be killed.
MAIN = """
import json, sys, time
from railgauge.core.model import Command, Container, Node
from railgauge.leases.holder import Holder, hold_command
from railgauge.transport.registry import connect
from railgauge.transport.tag import Tag
run, words, box, root, *argv = json.loads(sys.argv[1])
session = connect("exec", Node("n01", "x", "x", exec=tuple(words)), Tag(run, "main"))
holder = Holder("ana", "login", run, "now", run)
engines = [box[0]] if box[0] in ("docker", "podman") else []
lease = session.start(hold_command("n01", root, holder, run, 0.5, engines=engines))
print(lease.first_line(20), flush=True)
container = Container(box[0], box[1], tuple(box[2]))
session.start(Command("n01", tuple(argv), container=container))
time.sleep(120)
"""


def test_nothing_is_left_after_the_run_was_killed(place: Place, tmp_path: Path) -> None:
    lock = tmp_path / "tmp"
    lock.mkdir()
    lock.chmod(0o1777)
    pids, box = tmp_path / "pids", place.container
    argv = stubborn(place, pids).argv
    run_of_its_own = f"{RUN}-killed-{box.engine}"
    box_words = [box.engine, box.image, box.options]
    given = json.dumps([run_of_its_own, place.node.exec, box_words, str(tmp_path), *argv])
    with subprocess.Popen([sys.executable, "-c", MAIN, given], stdout=subprocess.PIPE) as run:
        assert run.stdout
        assert run.stdout.readline().startswith(b"held ")
        wait_until(lambda: len(inside(pids)) == 2, START_S, "the command")
        run.send_signal(signal.SIGKILL)
    wait_until(lambda: not inside(pids), 30, "the end of the command")
    wait_until(lambda: place.left() == [], 20, "the end of the container")
    wait_until(lambda: not carrying(run_of_its_own), 30, "the lease's last sweep")


def carrying(run: str) -> list[Path]:
    """The processes that carry the tag of a run."""
    tag = f"RAILGAUGE_RUN={run}/".encode()
    return [path for path in Path("/proc").glob("[0-9]*") if tag in environment_of(path)]


def test_a_sweep_ends_the_containers_of_its_part_alone(place: Place, tmp_path: Path) -> None:
    engines = [place.container.engine] if place.container.engine in containers.DETACHED else []
    mine, other = place.session(Tag(RUN, "gw0")), place.session(Tag(RUN, "gw1"))
    mine.start(stubborn(place, tmp_path / "mine"))
    other.start(stubborn(place, tmp_path / "other"))
    for name in ("mine", "other"):
        wait_until(lambda name=name: len(inside(tmp_path / name)) == 2, START_S, name)
    swept = other.run(sweep_command("n01", RUN, "gw0", engines))
    assert swept.exit_code == 0
    wait_until(lambda: not inside(tmp_path / "mine"), 10, "the end of the part")
    assert len(inside(tmp_path / "other")) == 2
    for session in (mine, other):
        session.close()
    wait_until(lambda: not inside(tmp_path / "other"), 10, "the end of the other part")
    assert place.left() == []


# --- what does not work ---


def test_an_image_that_is_not_there_is_a_failure_and_no_download(
    tmp_path: Path, cannot_run: Without
) -> None:
    for place in real_podman(tmp_path, cannot_run):
        absent = replace(place.container, image="localhost/no-such-image:1")
        session = place.session()
        began = time.monotonic()
        done = session.run(Command("n01", ("true",), container=absent))
        assert (done.exit_code, done.error) == (125, "")
        assert "no-such-image" in done.stderr
        assert time.monotonic() - began < 10
        session.close()


def test_an_engine_that_is_not_installed_is_a_missing_program() -> None:
    session = connect("exec", Node("n01", "x", "x", exec=("env", "PATH=/usr/bin:/bin")))
    done = session.run(Command("n01", ("true",), container=Container("apptainer", "i")))
    assert done.exit_code == 127
    assert "apptainer" in done.stderr
    session.close()


# --- the argv of each engine ---


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("vendor", ["nvidia", "amd", "metax"])
def test_the_devices_and_the_site_s_options_are_asked_for(name: str, vendor: str) -> None:
    box = Container(name, "image", ("--more",), gpu_vendor=vendor, rdma=True)
    argv = containers.engine(name).argv(box, "n", ("a=b",), ("V",), ("env", "x"))
    line = " ".join(argv)
    assert argv.index("--more") < argv.index("image")
    assert argv[-1] == "x"
    signs = {"nvidia": ("gpu", "nv", "NVIDIA"), "amd": ("kfd", "rocm"), "metax": ("mxcd", "maca")}
    assert any(sign in line for sign in signs[vendor])
    assert name == "apptainer" or "infiniband" in line


@pytest.mark.parametrize("name", ENGINES)
def test_no_device_is_asked_for_that_the_platform_does_not_have(name: str) -> None:
    argv = containers.engine(name).argv(Container(name, "image"), "n", (), (), ("env", "x"))
    assert "infiniband" not in " ".join(argv)
    assert "gpu" not in " ".join(argv).lower()


# --- the hostfile and the plan ---


def site(tmp_path: Path, runtime: object, platform: str = "h200", **changes: str) -> Any:
    path = tmp_path / "site.yaml"
    given = {"cluster": "c", "platform": platform, "nodes": "n[1-2]", "runtime": runtime}
    given["fabric"] = {"none": "no switch of ours in this test"}
    given |= changes or {"ssh": {"user": "ana"}}
    path.write_text(json.dumps(given))
    return inputs.site(path, ROOT)


BOX = {"engine": "podman", "image": "perftest:24.10", "options": ["--volume=/data:/data"]}
PAIR = Case("host_write_bandwidth", ("n1", "n2"), Pairing("mlx5_0"), (8388608,))


def test_a_tool_s_commands_get_its_container(tmp_path: Path) -> None:
    cluster, platform = site(tmp_path, {"perftest": BOX})
    assert cluster_from_json(json.loads(json.dumps(cluster_to_json(cluster)))) == cluster
    for command in commands(PAIR, platform, cluster, 1):
        assert command.container == Container(
            "podman", "perftest:24.10", ("--volume=/data:/data",), "nvidia", rdma=True
        )
    node = Case("gpu_diagnostic_quick", ("n1",), None, ())
    assert commands(node, platform, cluster, 1)[0].container is None


def test_a_launcher_in_a_container_reaches_other_nodes_through_the_suite(tmp_path: Path) -> None:
    cluster, platform = site(tmp_path, BOX)
    pair = Case("pair_all_reduce", ("n1", "n2"), None, (1 << 30,))
    (command,) = commands(pair, platform, cluster, 1)
    assert command.container == Container(
        "podman", "perftest:24.10", ("--volume=/data:/data",), "nvidia", rdma=True
    )
    assert set(command.daemons_on.values()) == {"n1", "n2"}
    assert "--allow-run-as-root" in command.argv, "whoever logs in, a container's user may be root"


@pytest.mark.parametrize(
    "changes", [{"launch": "ssh"}, {"transport": "slurm", "launcher": "slurm"}]
)
def test_a_launcher_in_a_container_cannot_reach_other_nodes_by_itself(
    tmp_path: Path, changes: dict[str, str]
) -> None:
    with pytest.raises(BadInput, match="and 8 more: podman would hold the launcher") as bad:
        site(tmp_path, BOX, **changes)
    assert "use launch: through-suite" in str(bad.value)


@pytest.mark.parametrize(
    ("runtime", "says"),
    [
        ({"engine": "lxc", "image": "i"}, "runtime"),
        ({"engine": "podman"}, "image"),
        ({"engine": "podman", "image": "--rm"}, "image"),
        ({"perftests": BOX}, "did you mean perftest"),
        ({}, "runtime"),
        ("podman", "runtime"),
    ],
)
def test_an_invalid_container_is_refused(tmp_path: Path, runtime: object, says: str) -> None:
    with pytest.raises(BadInput, match="runtime") as caught:
        site(tmp_path, runtime)
    assert says in str(caught.value)
