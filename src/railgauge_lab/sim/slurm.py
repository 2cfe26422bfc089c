"""``srun``: the partition is all nodes of the lab, and no other job uses them."""

from __future__ import annotations

import os
import sys

from . import hosts, program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]
    Asked = dict[str, Any]

_STEP = "4711.0"
_VALUED = {
    "-N": "nodes", "--nodes": "nodes", "-n": "tasks", "--ntasks": "tasks", "-w": "list",
    "--nodelist": "list", "--ntasks-per-node": "per_node", "--export": "export",
    "-p": "partition", "--partition": "partition", "-t": "time", "--time": "time", "-c": "cpus",
    "--cpus-per-task": "cpus", "--gpus-per-node": "gpus", "--gres": "gres", "--mpi": "mpi",
    "--cpu-bind": "bind", "--mem-bind": "memory", "--gpu-bind": "gpu_bind", "-J": "name",
    "--job-name": "name", "-o": "output", "-x": "exclude", "--exclude": "exclude",
    "--jobid": "job", "-A": "account", "--account": "account", "-m": "distribution",
    "--distribution": "distribution", "--gpus-per-task": "gpus_per_task", "--mem": "mem",
    "--kill-on-bad-exit": "kill", "-D": "folder", "--chdir": "folder", "--hint": "hint",
}  # fmt: skip
_OPTIONAL_VALUE = {"--kill-on-bad-exit", "--cpu-bind"}


class SrunRefused(Exception):
    """srun stops: ``args[0]`` is what it prints on stderr, ``args[1]`` its exit code."""


def run(_tool: str, arguments: list[str], node: Node) -> int:
    """Run the program on the nodes; return the exit code of the real srun."""
    try:
        if arguments in (["--version"], ["-V"]):
            print("slurm 23.11.4")
            return 0
        asked = _read(arguments)
        slots = _slots(asked, node)
        environment = _environment(asked.get("export", "ALL"))
        job = program.named(asked["command"], environment)
        # Slurm deals out the ranks of a node over its sockets in turn.
        job["bound"] = asked.get("bind", "none").rpartition(",")[2], "socket"
        _check_installed(job["tool"], slots)
    except SrunRefused as refusal:
        sys.stderr.write(f"{refusal.args[0]}\n")
        return int(refusal.args[1])
    code = program.run_job(job, slots, environment)
    if code:
        sys.stdout.flush()
        where = slots[0][0]["name"]
        sys.stderr.write(f"srun: error: {where}: task 0: Exited with exit code {code}\n")
    return code


def _read(arguments: list[str]) -> Asked:
    asked: Asked = {}
    rest = list(arguments)
    while rest and rest[0].startswith("-"):
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if not word.startswith("--") and len(word) > 2 and word[:2] in _VALUED:  # noqa: PLR2004
            name, equals, value = word[:2], "=", word[2:]
        if name in _VALUED and not equals and name not in _OPTIONAL_VALUE:
            if not rest:
                raise SrunRefused(f"srun: option '{name}' requires an argument", 1)
            value = rest.pop(0)
        asked[_VALUED.get(name, name)] = value
    if not rest:
        raise SrunRefused("srun: fatal: No command given to execute.", 1)
    return {**asked, "command": rest}


def _slots(asked: Asked, node: Node) -> list[tuple[Node, int]]:
    known = hosts.names(node)
    wanted = hosts.expanded(asked["list"]) if "list" in asked else _first(asked, known)
    if [name for name in wanted if name not in known]:
        raise SrunRefused(
            "srun: error: Unable to allocate resources: Invalid node name specified", 1
        )
    count = int(asked.get("nodes", len(wanted)).partition("-")[0])
    if count > len(known):
        raise SrunRefused(
            "srun: error: Unable to allocate resources: Requested node configuration is not"
            " available",
            1,
        )
    wanted = wanted[:count] if "list" in asked else known[:count]
    nodes = [_entered(node, name) for name in wanted]
    each = _per_node(asked, len(nodes))
    if each > min(one["host"]["cpus"] for one in nodes):
        raise SrunRefused(
            "srun: error: Unable to allocate resources: More processors requested than permitted",
            1,
        )
    found = [(one, local) for one in nodes for local in range(each)]
    return found[: int(asked["tasks"])] if "tasks" in asked else found


def _first(asked: Asked, known: list[str]) -> list[str]:
    return known[: int(asked.get("nodes", "1").partition("-")[0])]


def _per_node(asked: Asked, count: int) -> int:
    if "per_node" in asked:
        return int(asked["per_node"])
    return -(-int(asked.get("tasks", count)) // count)


def _entered(node: Node, name: str) -> Node:
    try:
        return hosts.named(node, name)
    except hosts.Unreachable:
        why = "Communication connection failure"
        raise SrunRefused(
            f"srun: error: Task launch for StepId={_STEP} failed on node {name}: {why}\n"
            f"srun: error: Application launch failed: {why}\n"
            "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.\n"
            "srun: error: Timed out waiting for job step to complete",
            1,
        ) from None


def _environment(export: str) -> dict[str, str]:
    """Read ``--export``: ``ALL`` is the caller's environment, ``NONE`` is empty.

    ``K=V`` sets a variable, and ``K`` takes it from the caller. As with the real srun, a value
    cannot contain a comma, which separates variables; users set such variables in the caller's
    environment.
    """
    words = export.split(",")
    given = dict(os.environ) if "ALL" in words else {}
    for word in words:
        key, equals, value = word.partition("=")
        if equals:
            given[key] = value
        elif key in os.environ:
            given[key] = os.environ[key]
    return given


def _check_installed(name: str, slots: list[tuple[Node, int]]) -> None:
    for node, _ in slots:
        if not program.installed(node, name):
            tasks = [str(rank) for rank, (one, _) in enumerate(slots) if one is node]
            span = tasks[0] if len(tasks) == 1 else f"{tasks[0]}-{tasks[-1]}"
            plural = "task" if len(tasks) == 1 else "tasks"
            raise SrunRefused(
                f"slurmstepd: error: execve(): {name}: No such file or directory\n"
                f"srun: error: {node['name']}: {plural} {span}: Exited with exit code 2",
                2,
            )
