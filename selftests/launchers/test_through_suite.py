"""``launch: through-suite`` with real Open MPI and MPICH, between nodes without logins.

The nodes drop what other nodes send to their port 22; only the suite's machine reaches it. Over
``exec`` nobody does.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from types import SimpleNamespace

import pytest
from test_mpi_failures import error
from test_mpi_launch import OPTIONS, SUICIDE
from testing import programs
from testing.acceptance import make_project
from testing.netlab_bench import missing, visit
from testing.places import ROOT

from railgauge.core.errors import RankDied

MPIS = {"openmpi": "mpirun.openmpi", "mpich": "mpiexec.hydra"}
SSHD = ("--sshd", "openssh") if os.geteuid() == 0 else ()
# Daemons and ranks; the process ids of all nodes are seen from outside of them.
_SEEN = r"""
import shutil, signal
SIGNS = (b"orted", b"hydra_pmi_proxy", b"stand-in")

def block(hook):
    rules = f"table bridge {hook} {{\n chain c {{\n  type filter hook {hook} priority 0;\n" \
            "  tcp dport 22 drop\n }\n}\n"
    subprocess.run(["nft", "-f", "-"], input=rules, text=True, check=True)

def words(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""

def seen():
    found = (words(p.name) for p in Path("/proc").glob("[0-9]*"))
    return [w.replace(b"\0", b" ").decode() for w in found if any(s in w for s in SIGNS)]

def until(happened, limit_s):
    end = time.monotonic() + limit_s
    while not happened() and time.monotonic() < end:
        time.sleep(0.1)
    return happened()

block("forward")
"""
_LAUNCHES = (
    _SEEN
    + r"""
from dataclasses import replace
from railgauge.config import hostfile
from railgauge.core.model import Command
from railgauge.launchers import Host, Launch, launcher, mpich
from railgauge.transport import relay
from railgauge.transport.registry import connect
from railgauge.transport.sessions import Sessions
from railgauge.transport.tag import Tag

PORTS = (21000, 21049)
asked = json.loads(Path(sys.argv[0]).with_name("asked.json").read_text())
cluster = hostfile.load(HOSTFILE, schema_file=Path(asked["schema"]))
FOUND["default"] = cluster.launch.value
FOUND["ssh"] = on("tcp01", "ssh -o ConnectTimeout=2 tcp02 true")

def go(kind, sessions, mpi, name, program):
    hosts = tuple(Host(n.name, n.data_address, 2) for n in cluster.nodes)
    made = Launch(hosts, tuple(program), {"GREETING": "a, b 'c'"}, "none",
                  tuple(asked["options"][mpi]), allow_run_as_root=True, ports=PORTS,
                  through_suite=True)
    argv = (asked["mpis"][mpi], *launcher(mpi).argv(made)[1:])
    daemons_on = {h.address: h.name for h in hosts}
    given = {**mpich.within(PORTS), **made.by_name}
    command = Command("tcp01", argv, given, 20, daemons_on=daemons_on)
    done = relay.run(sessions, command)
    left = seen() if not until(lambda: not seen(), 5) else []
    FOUND[f"{kind} {mpi} {name}"] = [done.exit_code, done.stdout, done.stderr, list(argv), left,
                                     done.error]

def on_all(kind, nodes):
    at = replace(cluster, transport=kind, nodes=tuple(nodes))
    sessions = Sessions(at, lambda node: connect(kind, node, Tag("r42", "main")))
    for mpi in asked["mpis"]:
        for name, program in asked["programs"].items():
            go(kind, sessions, mpi, name, program)
    sessions.close()

on_all("ssh", cluster.nodes)

# By nsenter, and now nobody reaches an sshd.
block("output")
def first(node):
    for p in Path("/proc").glob("[0-9]*"):
        if words(p.name) == b"sleep\0infinity\0":
            host = subprocess.run(["nsenter", "-t", p.name, "--uts", "hostname"],
                                  capture_output=True, text=True).stdout.strip()
            if host == node.name:
                return p.name
def enter(node):
    home = FOLDER / node.name
    return ("nsenter", "-t", first(node), "--net", "--mount", "--uts", "--ipc", "--pid",
            f"--wd={home}", "--", "env", "-i", f"HOME={home}", f"TMPDIR={home}/tmp",
            "PATH=/usr/sbin:/usr/bin:/sbin:/bin")
on_all("exec", [replace(node, exec=enter(node)) for node in cluster.nodes])
"""
)
_RUNS = (
    _SEEN
    + r"""
asked = json.loads(Path(sys.argv[0]).with_name("asked.json").read_text())
project, document = Path(asked["project"]), json.loads(HOSTFILE.read_text())

def pytest_of(name, words=(), **changes):
    hosts = project / f"{name}.yaml"
    hosts.write_text(json.dumps({**document, **changes}))
    argv = [*asked["pytest"], "--hostfile", str(hosts), *words]
    return subprocess.Popen(argv, cwd=project, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)

def ended(name, running):
    out, _ = running.communicate(timeout=150)
    (run,) = [p.parent for p in project.glob(f"reports/*/hostfile.yaml")
              if p.parent not in ENDED and not p.parent.is_symlink()] or [None]
    ENDED.add(run)
    verdict = run / "verdict.json"
    FOUND[name] = [running.returncode, out,
                   json.loads(verdict.read_text()) if verdict.exists() else {}]

ENDED = set()
ended("through", pytest_of("through"))
ended("ssh", pytest_of("ssh", launch="ssh"))

# Ranks that only wait, so that the suite can be ended while they run.
own = Path(document["tools"]["mpi_bench"]) / "own"  # nodes see this folder, and no other /tmp
own.mkdir()
wait = "trap '' TERM; while :; do sleep 1; done"
(own / "mpi-bench").write_text(f'#!/bin/sh\nexec sh -c "{wait}" stand-in\n')
(own / "mpi-bench").chmod(0o755)
for name, target in (("mpiexec", "mpiexec.hydra"), ("hydra_pmi_proxy", "hydra_pmi_proxy")):
    (own / name).symlink_to(shutil.which(target))
for name, number, launcher in (("interrupt", signal.SIGINT, "openmpi"),
                               ("kill openmpi", signal.SIGKILL, "openmpi"),
                               ("kill mpich", signal.SIGKILL, "mpich")):
    tools = {"mpi_bench": str(own)} | ({"mpiexec": str(own)} if launcher == "mpich" else {})
    for _ in range(2):  # MPICH's launch hung once, on a busy machine; its end is what is tested
        running = pytest_of(name.replace(" ", "-"), ("-k", "group"), launcher=launcher,
                            tools=tools, mpi_network="eth0")
        if began := until(lambda: sum("stand-in" in w for w in seen()) >= 3, 60):
            break
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=60)
    running.send_signal(number)
    out, _ = running.communicate(timeout=60)
    gone = until(lambda: not seen(), 40)
    FOUND[name] = [began, gone, seen(), running.returncode, out]
"""
)


def require(cannot_run):
    path = programs.machine()
    if lacking := [name for name in MPIS.values() if shutil.which(name, path=path) is None]:
        cannot_run(f"not installed: {', '.join(lacking)}")
    if lacks := missing():
        cannot_run(f"no cluster of namespaces on this machine: {lacks}")


@pytest.fixture(scope="module")
def launches(tmp_path_factory, cannot_run):
    require(cannot_run)
    folder = tmp_path_factory.mktemp("through")
    works = ["sh", "-c", 'echo "$(hostname) $RAILGAUGE_RUN $GREETING"; sleep 1']
    asked = {
        "mpis": MPIS,
        "options": OPTIONS,
        "programs": {
            "works": works,
            "killed": ["sh", "-c", SUICIDE],
            "listens": ["sh", "-c", "sleep 1; grep ' 0A ' /proc/net/tcp; sleep 1"],
        },
        "schema": str(ROOT / "hostfiles" / "schema.json"),
    }
    (folder / "asked.json").write_text(json.dumps(asked), encoding="utf-8")
    found = visit(_LAUNCHES, folder, *SSHD, "--nodes", "3")
    assert found.pop("default") == "through-suite"
    assert found.pop("ssh")["code"] == 255
    names = ("code", "out", "err", "argv", "left", "error")
    return {key: SimpleNamespace(**dict(zip(names, v, strict=True))) for key, v in found.items()}


WAYS = [(way, mpi) for way in ("ssh", "exec") for mpi in MPIS]


@pytest.mark.parametrize(("way", "mpi"), WAYS)
def test_ranks_run_on_all_nodes_with_their_environment_and_tag(launches, way, mpi):
    ran = launches[f"{way} {mpi} works"]
    assert (ran.code, ran.error) == (0, ""), ran
    wanted = [f"{n} r42/{n}/main/ a, b 'c'" for n in ("tcp01", "tcp02", "tcp03") for _ in range(2)]
    assert sorted(ran.out.splitlines()) == wanted
    assert ran.left == []


@pytest.mark.parametrize(("way", "mpi"), WAYS)
def test_a_rank_that_dies_is_named_and_its_daemons_end(launches, way, mpi):
    ran = launches[f"{way} {mpi} killed"]
    cut = ran.error  # Hydra may wait for ever after it has named the rank
    found = error(ran.out + ran.err, argv=tuple(ran.argv), cut=cut)
    assert type(found) is RankDied, ran
    assert ran.left == []


@pytest.mark.parametrize(("way", "mpi"), WAYS)
def test_daemons_listen_within_the_ports_of_the_hostfile(launches, way, mpi):
    ran = launches[f"{way} {mpi} listens"]
    found = [line.split()[1].split(":") for line in ran.out.splitlines() if ": " in line]
    outside = {int(port, 16) for address, port in found if address != "0100007F"}
    assert outside - {22} <= set(range(21000, 21050)), ran
    assert outside - {22}


def shorten(document):
    """Ranks use a whole CPU while they wait, and how fast they are is tested elsewhere."""
    for one in document["measurements"].values():
        if one["tool"] == "mpi-bench":
            one["options"] |= {"iterations": 2}


@pytest.fixture(scope="module")
def runs(tmp_path_factory, cannot_run):
    require(cannot_run)
    pytest.importorskip("mpi4py")
    folder = tmp_path_factory.mktemp("runs")
    made = make_project(folder / "project")
    made.edit_platform("tcp-lab", shorten)
    project = made.folder
    run = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--level", "smoke"]
    asked = {"project": str(project), "pytest": run}
    (folder / "asked.json").write_text(json.dumps(asked), encoding="utf-8")
    return visit(_RUNS, folder, *SSHD, "--nodes", "3")


def test_a_cluster_without_logins_between_nodes_is_accepted(runs):
    code, out, verdict = runs["through"]
    assert code == 0, out
    assert verdict["verdict"] == "accepted"
    assert "node_login" in verdict["not_applicable"]


def test_a_lacking_login_is_named_before_any_collective_with_launch_ssh(runs):
    code, out, verdict = runs["ssh"]
    assert code == 1, out
    (cause,) = verdict["causes"]
    assert (cause["cause"], cause["where"]["node"]) == ("login-between-nodes", "tcp[01-03]")
    assert "port 22: Connection timed out" in cause["says"]
    assert "launch: through-suite" in cause["remedy"]
    assert verdict["counts"]["blocked"] == 14


@pytest.mark.parametrize("name", ["interrupt", "kill openmpi", "kill mpich"])
def test_no_daemon_and_no_rank_outlives_the_suite(runs, name):
    began, gone, left, code, out = runs[name]
    assert began, out
    assert code, out
    assert gone, left


def test_the_words_of_a_launch_can_be_repeated_by_hand(launches):
    """The agent is not in the command of a transcript."""
    argv = shlex.join(launches["ssh openmpi works"].argv)
    assert "railgauge." not in argv
    assert "agent" not in argv
