"""``mpirun`` of Open MPI 4 and ``mpiexec`` of MPICH (Hydra): placement of ranks, and failures."""

from __future__ import annotations

import os
import sys

from . import hosts, mpi_messages, program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]
    Asked = dict[str, Any]

_NOT_FOUND = {"mpirun": 134, "mpiexec": 255}
_UNREACHABLE = {"mpirun": 1, "mpiexec": 255}
_AGENT = {"mpirun": "OMPI_MCA_plm_rsh_agent", "mpiexec": "HYDRA_LAUNCHER_EXEC"}
_TWO_VALUES = {"-mca", "--mca", "-gmca", "--gmca"}
_ONE_VALUE = {
    "-bind-to", "-map-by", "-rank-by", "-wdir", "-wd", "-path", "-prefix", "-output-filename",
    "-timeout", "-tune", "-am", "-iface", "-launcher", "-rmk", "-launcher-exec", "-oversubscribe-",
    "-report-pid", "-npernode", "-ppn", "-n", "-np", "-c", "-host", "-hosts", "-H", "-hostfile",
    "-machinefile", "-f", "-x", "-N", "-cpus-per-proc", "-cpu-set", "-plm",
}  # fmt: skip
_COUNTS = {"-n", "-np", "-c"}
_HOSTS = {"-host", "-H", "-hosts"}
_FILES = {"-hostfile", "-machinefile", "-f"}
_PER_NODE = {"-npernode", "-ppn", "-N"}
_FEW = 2


class LaunchRefused(Exception):
    """The launcher stops: ``args[0]`` is what it prints on stderr, ``args[1]`` its exit code."""


def run(tool: str, arguments: list[str], node: Node) -> int:
    """Launch the program on the hosts; return the exit code of the real launcher."""
    try:
        if arguments in (["--version"], ["-V"], ["-version"]):
            print(mpi_messages.VERSIONS[tool])
            return 0
        asked = _read(tool, arguments)
        _may_run(tool, asked)
        slots = _slots(tool, asked, node)
        job = program.named(asked["command"], dict(asked["environment"]))
        # Open MPI deals out more than two ranks over the sockets in turn, Hydra over the cores.
        in_turn = "socket" if tool == "mpirun" and len(slots) > _FEW else "slot"
        job["bound"] = asked["bind"], asked["mapping"] or in_turn
        _check_installed(tool, job["tool"], slots)
    except LaunchRefused as refusal:
        sys.stderr.write(str(refusal.args[0]))
        return int(refusal.args[1])
    environment = {**_inherited(tool, slots), **asked["environment"]}
    return _ended(tool, program.run_job(job, slots, environment), slots)


def _inherited(tool: str, slots: list[tuple[Node, int]]) -> dict[str, str]:
    """Return the environment that ranks inherit: Hydra's own; Open MPI's only on its own node."""
    alone = len({node["name"] for node, _ in slots}) == 1
    return dict(os.environ) if tool == "mpiexec" or alone else {}


def _read(tool: str, arguments: list[str]) -> Asked:
    asked: Asked = {"flags": set(), "count": 0, "hosts": [], "per_node": 0, "environment": {}}
    asked.update(bind="none", mapping="")
    rest = list(arguments)
    while rest and rest[0].startswith("-"):
        word = rest.pop(0)
        _option(tool, word, rest, asked)
    if not rest:
        raise LaunchRefused(mpi_messages.nothing_to_run(tool), 1)
    asked["command"] = rest
    return asked


def _option(tool: str, word: str, rest: list[str], asked: Asked) -> None:
    name = "-" + word.lstrip("-")
    values = 2 if word in _TWO_VALUES or (tool == "mpiexec" and name in ("-env", "-genv")) else 0
    values = values or (1 if name in _ONE_VALUE or name in ("-genvlist", "-envlist") else 0)
    if len(rest) < values:
        raise LaunchRefused(f'{tool}: Error: option "{word}" did not have enough parameters\n', 1)
    given = [rest.pop(0) for _ in range(values)]
    if name in _COUNTS:
        asked["count"] = int(given[0])
    elif name in _HOSTS:
        asked["hosts"] += _host_list(tool, given[0])
    elif name in _FILES:
        asked["hosts"] += _host_file(given[0])
    elif name in _PER_NODE:
        asked["per_node"] = int(given[0])
    elif name == "-bind-to":
        asked["bind"] = given[0].partition(":")[0]
    elif name == "-map-by":
        asked["mapping"] = given[0].partition(":")[0]
        if given[0].startswith("ppr:") and ":node" in given[0]:
            asked["per_node"] = int(given[0].split(":")[1])
    elif name in ("-env", "-genv"):
        asked["environment"][given[0]] = given[1]
    elif name == "-x":
        key, has_value, value = given[0].partition("=")
        asked["environment"][key] = value if has_value else os.environ.get(key, "")
    elif not values:
        asked["flags"].add(name)


def _host_list(tool: str, text: str) -> list[tuple[str, int]]:
    """Return (host, slots); without a number MPICH has no limit (0), Open MPI one slot an entry."""
    unlimited = tool == "mpiexec"
    found = []
    for part in text.split(","):
        name, colon, count = part.partition(":")
        found.append((name, int(count) if colon else (0 if unlimited else 1)))
    return found


def _host_file(path: str) -> list[tuple[str, int]]:
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - see main.py
            lines = [line.split("#")[0].split() for line in file]
    except OSError:
        raise LaunchRefused(mpi_messages.no_hostfile(path), 1) from None
    found = []
    for words in filter(None, lines):
        name, colon, count = words[0].partition(":")
        slots = next((word[6:] for word in words[1:] if word.startswith("slots=")), "")
        found.append((name, int(count if colon else slots or 0)))
    return found


def _may_run(tool: str, asked: Asked) -> None:
    allowed = "-allow-run-as-root" in asked["flags"] or (
        os.environ.get("OMPI_ALLOW_RUN_AS_ROOT") == "1"
        and os.environ.get("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM") == "1"
    )
    if tool == "mpirun" and os.environ.get("USER") == "root" and not allowed:
        raise LaunchRefused(mpi_messages.AS_ROOT, 1)


def _slots(tool: str, asked: Asked, node: Node) -> list[tuple[Node, int]]:
    """Return the node of every process and its number on that node, in the order of the ranks.

    Raises ``LaunchRefused`` for an unreachable node or too few slots.
    """
    wanted: dict[str, int] = {}
    for name, count in asked["hosts"] or [(node["name"], 0)]:
        wanted[name] = wanted.get(name, 0) + count
    nodes = {name: _entered(tool, node, name) for name in wanted}
    cores = {name: one["host"]["cpus"] // 2 for name, one in nodes.items()}
    room = {name: count or cores[name] for name, count in wanted.items()}
    if asked["per_node"]:
        room = {name: min(asked["per_node"], count) for name, count in room.items()}
    total = asked["count"] or (sum(room.values()) if asked["hosts"] or tool == "mpirun" else 1)
    if tool == "mpiexec" and not asked["per_node"]:
        room = _spread(wanted, total)
    if total > sum(room.values()) and "-oversubscribe" not in asked["flags"]:
        raise LaunchRefused(_too_many(asked, total), 1)
    found = [(nodes[name], local) for name, count in room.items() for local in range(count)]
    return found[:total]


def _spread(wanted: dict[str, int], total: int) -> dict[str, int]:
    """Return host -> processes; like Hydra, spread them evenly over hosts without a number."""
    share = -(-total // len(wanted))
    return {name: count or share for name, count in wanted.items()}


def _too_many(asked: Asked, total: int) -> str:
    name = asked["command"][0]
    if asked["per_node"]:
        return mpi_messages.ppr_conflict(name, total, asked["per_node"])
    return mpi_messages.not_enough_slots(name, total)


def _entered(tool: str, node: Node, name: str) -> Node:
    try:
        return hosts.named(node, name, os.environ.get(_AGENT[tool], ""))
    except hosts.Unreachable as error:
        text = f"{error}\n{mpi_messages.unreachable(tool, node['name'])}"
        raise LaunchRefused(text, _UNREACHABLE[tool]) from None


def _check_installed(tool: str, name: str, slots: list[tuple[Node, int]]) -> None:
    for rank, (node, _) in enumerate(slots):
        if not program.installed(node, name):
            lost = sum(1 for one, _ in slots if one is node)
            text = mpi_messages.not_found(tool, node["name"], name, rank, lost)
            raise LaunchRefused(text, _NOT_FOUND[tool])


def _ended(tool: str, code: int, slots: list[tuple[Node, int]]) -> int:
    if code:
        sys.stdout.flush()
        sys.stderr.write(mpi_messages.failed(tool, slots[0][0]["name"], code))
    return code
