"""Collectives over several nodes whose launcher and daemons run in containers.

Real Open MPI and MPICH between nodes without logins, over ``launch: through-suite``. The engine is
a stand-in with the arguments of the real ones: it enters a mount namespace in which the folder for
temporary files is another one, and shows only the folders that its arguments name.
"""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from test_mpi_launch import OPTIONS
from test_through_suite import _LAUNCHES, MPIS, SSHD, require
from testing.netlab_bench import visit
from testing.places import ROOT

from railgauge import containers
from railgauge.core.model import Container

ENGINES = ("docker", "podman", "enroot", "apptainer")
_ENGINE = r"""#!/bin/sh
# Only the words by which railgauge runs a command; a sweep finds no container of a daemon.
case $1 in run | start | exec) shift ;; *) exit 0 ;; esac
shown= entry=
while :; do
  case $1 in
    --volume=* | --mount=* | --bind=*) at=${1#*=}; shown=${at%%:*} ;;
    --entrypoint=*) entry=${1#*=} ;;
    -*) ;;
    *) break ;;
  esac
  shift
done
IMAGE=$1; export IMAGE
shift
exec unshare --mount sh -c '
  if [ -n "$1" ]; then mkdir -p /run/kept.$$; mount --bind "$1" /run/kept.$$; fi
  mount -t tmpfs tmpfs "$TMPDIR"
  if [ -n "$1" ]; then mkdir -p "$1"; mount --bind /run/kept.$$ "$1"; fi
  [ -n "$2" ] || shift
  shift
  exec "$@"' engine "$shown" ${entry:-""} "$@"
"""
_BOXED = r"""
from railgauge.core.model import Container
asked = json.loads(Path(sys.argv[0]).with_name("asked.json").read_text())
engines = FOLDER / "engines"
engines.mkdir()
for name in asked["engines"]:
    (engines / name).write_text(asked["engine"])
    (engines / name).chmod(0o755)

def go(kind, sessions, mpi, name, program):
    for engine in asked["engines"]:
        hosts = tuple(Host(n.name, n.data_address, 2) for n in cluster.nodes)
        made = Launch(hosts, tuple(program), {}, "none", tuple(asked["options"][mpi]),
                      allow_run_as_root=True, ports=PORTS)
        argv = (asked["mpis"][mpi], *launcher(mpi).argv(made)[1:])
        command = Command("tcp01", argv, mpich.within(PORTS), 30,
                          container=Container(engine, "i:1"),
                          daemons_on={h.address: h.name for h in hosts})
        done = relay.run(sessions, command)
        FOUND[f"{engine} {mpi}"] = [done.exit_code, done.stdout, done.stderr, done.error]
"""


def _script() -> str:
    """The launches of the other test, over ``exec`` alone, each in a container of each engine."""
    before, _, after = _LAUNCHES.partition('on_all("ssh", cluster.nodes)')
    return (before + _BOXED + after).replace('"PATH=/usr/sbin', 'f"PATH={engines}:/usr/sbin')


@pytest.fixture(scope="module")
def launches(tmp_path_factory, cannot_run):
    require(cannot_run)
    folder = tmp_path_factory.mktemp("boxed")
    program = ["sh", "-c", 'echo "$(hostname) $IMAGE $RAILGAUGE_RUN"; sleep 1']
    asked = {
        "mpis": MPIS, "options": OPTIONS, "programs": {"works": program}, "engines": ENGINES,
        "engine": _ENGINE, "schema": str(ROOT / "hostfiles" / "schema.json"),
    }  # fmt: skip
    (folder / "asked.json").write_text(json.dumps(asked), encoding="utf-8")
    found = visit(_script(), folder, *SSHD, "--nodes", "3")
    names = ("code", "out", "err", "error")
    wanted = [key for key in found if key.split()[0] in ENGINES]
    return {key: SimpleNamespace(**dict(zip(names, found[key], strict=True))) for key in wanted}


@pytest.mark.parametrize("mpi", MPIS)
@pytest.mark.parametrize("engine", ENGINES)
def test_all_ranks_run_in_the_containers_of_their_nodes(launches, engine, mpi):
    ran = launches[f"{engine} {mpi}"]
    assert (ran.code, ran.error) == (0, ""), ran
    wanted = [f"{n} i:1 r42/{n}/main/" for n in ("tcp01", "tcp02", "tcp03") for _ in range(2)]
    assert sorted(ran.out.splitlines()) == wanted


@pytest.mark.parametrize("name", ENGINES)
def test_a_bound_folder_is_an_option_of_the_engine(name):
    box = Container(name, "i:1", containers.engine(name).binding("/tmp/railgauge.x"))
    argv = containers.engine(name).argv(box, "n", (), (), ("true",))
    (option,) = [word for word in argv if "/tmp/railgauge.x:/tmp/railgauge.x" in word]
    assert argv.index(option) < argv.index("i:1")
