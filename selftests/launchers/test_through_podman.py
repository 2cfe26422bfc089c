"""Collectives over three nodes in real podman, each node with a store and an image of its own.

Real Open MPI and MPICH of this machine, which the images show, over ``launch: through-suite``.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from test_mpi_launch import OPTIONS
from test_through_suite import _LAUNCHES, MPIS, SSHD, require
from testing import programs
from testing.netlab_bench import visit
from testing.places import ROOT

from railgauge.tools import tool
from railgauge_lab.netlab.files import mpi4py_folder

# The node's mounts are the machine's: podman needs its cgroups. All else is the node's own.
_STORE = r"""
mkdir -p "$HOME/image/tmp" && echo "the image of $(hostname)" >"$HOME/image/name"
cat >"$CONTAINERS_CONF" <<END
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1000:1000"]
[engine]
runtime = "runc"
tmp_dir = "$HOME/libpod"
END
cat >"$CONTAINERS_STORAGE_CONF" <<END
[storage]
driver = "vfs"
graphroot = "$HOME/store"
runroot = "$HOME/run"
END
tar -C "$HOME/image" -c . | podman import -q - localhost/own:1 &&
  podman run --rm "$@" localhost/own:1 true
"""
_PODMAN = r"""
from concurrent.futures import ThreadPoolExecutor
from railgauge.core.model import Container
IMAGE = Container("podman", "localhost/own:1", tuple(asked["mounts"]))

def with_podman(node):
    home = FOLDER / node.name
    words = ("nsenter", "-t", first(node), "--net", "--uts", "--ipc", f"--wd={home}", "--",
             "env", "-i", f"HOME={home}", f"TMPDIR={home}/tmp", "PATH=/usr/sbin:/usr/bin:/bin",
             f"CONTAINERS_CONF={home}/containers", f"CONTAINERS_STORAGE_CONF={home}/storage")
    argv = [*words, "sh", "-c", asked["store"], "sh", *asked["mounts"]]
    if (made := subprocess.run(argv, capture_output=True, text=True)).returncode:
        FOUND["cannot"] = made.stderr[-300:]
    return replace(node, exec=words)

def there():
    return [subprocess.run([*node.exec, "podman", "ps", "-aq"], capture_output=True, text=True,
                           check=True).stdout for node in nodes]

def launched(sessions, mpi, program, limit_s):
    hosts = tuple(Host(n.name, n.data_address, 2) for n in nodes)
    made = Launch(hosts, tuple(program), {}, "none", tuple(asked["options"][mpi]),
                  allow_run_as_root=True, ports=PORTS)
    argv = (asked["mpis"][mpi], *launcher(mpi).argv(made)[1:])
    command = Command("tcp01", argv, mpich.within(PORTS), limit_s, container=IMAGE,
                      daemons_on={h.address: h.name for h in hosts})
    return relay.run(sessions, command)

nodes = [with_podman(node) for node in cluster.nodes]
at = replace(cluster, transport="exec", nodes=tuple(nodes))
sessions = Sessions(at, lambda node: connect("exec", node, Tag("r42", "main")))
for name, (mpi, program, limit_s) in asked["programs"].items() if "cannot" not in FOUND else ():
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(launched, sessions, mpi, program, limit_s)
        began = until(lambda: all(there()) or running.done(), limit_s) and not running.done()
    done = running.result()
    gone = until(lambda: not any(there()), 20)
    FOUND[name] = [done.exit_code, done.stdout, done.stderr, done.error, began, gone]
sessions.close()
"""


def _mounts():
    """What of this machine the images show: they have no programs of their own."""
    system = ("/usr", "/lib", "/lib64", "/bin", "/etc/openmpi", "/etc/alternatives")
    python = [sys.prefix, sys.base_prefix, mpi4py_folder(), ROOT / "src"]
    shown = {Path(path) for path in (*system, *python) if path and Path(path).exists()}
    outer = [path for path in sorted(shown) if not shown.intersection(path.parents)]
    return [f"--volume={path}:{path}" for path in outer]


@pytest.fixture(scope="module")
def in_podman(tmp_path_factory, cannot_run):
    require(cannot_run)
    pytest.importorskip("mpi4py")
    path = programs.machine()
    if os.geteuid() != 0 or not all(shutil.which(name, path=path) for name in ("podman", "runc")):
        cannot_run("needs root, podman and runc")
    ranks = ["sh", "-c", 'echo "$(hostname): $(cat /name), $RAILGAUGE_RUN"; sleep 1']
    endless = "trap '' TERM; while :; do sleep 1; done"
    bench = [sys.executable, str(ROOT / "src/railgauge/tools/mpi_bench/program.py")]
    asked = {
        "mpis": MPIS, "options": OPTIONS, "store": _STORE, "mounts": _mounts(),
        "schema": str(ROOT / "hostfiles" / "schema.json"),
        "programs": {
            "openmpi": ("openmpi", ranks, 60),
            "mpich": ("mpich", ranks, 60),
            "all_reduce": ("openmpi", [*bench, "all_reduce", "-b", "65536"], 60),
            "hangs": ("openmpi", ["sh", "-c", f"hostname; {endless}"], 8),
        },
    }  # fmt: skip
    folder = tmp_path_factory.mktemp("podman")
    (folder / "asked.json").write_text(json.dumps(asked), encoding="utf-8")
    script = _LAUNCHES.replace('on_all("ssh", cluster.nodes)', "").rpartition('on_all("exec"')[0]
    found = visit(script + _PODMAN, folder, *SSHD, "--nodes", "3")
    if "cannot" in found:
        pytest.skip(f"podman runs no container here: {found['cannot']}")
    names = ("code", "out", "err", "error", "began", "gone")
    return {
        name: SimpleNamespace(**dict(zip(names, found[name], strict=True)))
        for name in asked["programs"]
    }


@pytest.mark.parametrize("mpi", MPIS)
def test_all_ranks_run_in_podman_in_the_image_of_their_node(in_podman, mpi):
    ran = in_podman[mpi]
    assert (ran.code, ran.error) == (0, ""), ran
    wanted = [f"{n}: the image of {n}, r42/{n}/main/" for n in ("tcp01", "tcp02", "tcp03")]
    assert sorted(ran.out.splitlines()) == [line for line in wanted for _ in range(2)]
    assert ran.gone


def test_a_collective_of_three_nodes_is_right_in_podman(in_podman):
    ran = in_podman["all_reduce"]
    assert (ran.code, ran.error) == (0, ""), ran
    parsed = tool("mpi-bench").parse(ran.out)
    assert parsed.problems == ()
    assert parsed.summary["ranks"] == {"tcp01": 2, "tcp02": 2, "tcp03": 2}
    assert [sample.value for sample in parsed.samples if sample.metric == "wrong"] == [0]


def test_the_time_limit_ends_the_containers_of_all_nodes(in_podman):
    ran = in_podman["hangs"]
    assert sorted(ran.out.split()) == ["tcp01", "tcp01", "tcp02", "tcp02", "tcp03", "tcp03"]
    assert (ran.code, ran.error) == (None, "command-timed-out"), ran
    assert (ran.began, ran.gone) == (True, True), "containers on all nodes, and then on none"
