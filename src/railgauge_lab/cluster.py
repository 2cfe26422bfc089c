"""Start and stop a lab.

``start`` writes one folder for each node, launches the server process (``server.py``) and returns a
``Lab``, whose cluster has the transport ``ssh`` and the address and port of every node. For
example, the nodes ``mx01`` and ``mx02`` get the addresses 127.0.1.1 and 127.0.1.2.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from railgauge.core.errors import BadInput, RailgaugeError
from railgauge.core.model import Cluster, Node, SshSettings
from railgauge_lab import fabric_faults, fault_timing, platforms
from railgauge_lab import faults as lab_faults
from railgauge_lab.sim import stored
from railgauge_lab.tree import NodeFolders

_START_LIMIT_S = 30.0
_END_LIMIT_S = 10.0
_MOST_NODES = 250
_PATIENCE_S = 3.0  # a lab node that is down does not boot again
_BLOCKS = range(1, 255)


class Lab:
    """A running lab. The suite uses ``cluster``, an ordinary cluster over SSH."""

    def __init__(
        self, cluster: Cluster, process: subprocess.Popen[bytes], block: socket.socket
    ) -> None:
        self.cluster = cluster
        self._process = process
        self._block = block

    def close(self) -> None:
        """Stop every node and every process on it; may be called twice."""
        _end(self._process)
        self._block.close()

    def __enter__(self) -> Lab:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def start(
    cluster: Cluster,
    *,
    nodes: int | None,
    seed: int,
    faults: tuple[str, ...],
    folder: Path,
    removes: Path | None = None,
) -> Lab:
    """Simulate ``cluster`` on this machine.

    ``nodes`` is the number of nodes (``None``: those of the cluster), ``seed`` is the seed of the
    noise (0: no noise), ``faults`` are as in ``faults.py``, and all files are written below
    ``folder``, which must not hold a lab already. The server removes the folder ``removes`` when it
    ends, also after this process was killed. Raises ``BadInput`` for a platform, a fault or a
    number of nodes that the lab cannot simulate, and ``RailgaugeError`` if the server does not
    start.
    """
    cluster = resized(cluster, len(cluster.nodes) if nodes is None else nodes)
    names = [node.name for node in cluster.nodes]
    platform = platforms.load(cluster.platform)
    described = [platforms.describe(platform, name, i, seed) for i, name in enumerate(names)]
    for node, place in fabric_faults.trees(cluster.groups, names).items():
        described[names.index(node)]["tree"] = place
    _apply_faults(faults, described, platform)
    block, prefix = _take_block()
    try:
        configuration = _write(folder.resolve(), described, prefix, removes)
        process, ports = _launch(folder.resolve(), configuration, block)
    except BaseException:
        block.close()
        raise
    return Lab(_reachable(cluster, folder.resolve(), described, ports), process, block)


def resized(cluster: Cluster, count: int) -> Cluster:
    """Return ``cluster`` with ``count`` nodes.

    Nodes are dropped from the end, or added with names that continue the numbering (``mx05`` after
    ``mx04``). Dropped nodes leave their groups too. Raises ``BadInput`` if the lab cannot have that
    many nodes.
    """
    names = _names([node.name for node in cluster.nodes], count)
    groups = {
        name: kept
        for name, members in cluster.groups.items()
        if (kept := tuple(member for member in members if member in names))
    }
    become = cluster.nodes[0].become  # a hostfile says it once for all nodes
    nodes = tuple(Node(name, name, name, become=become) for name in names)
    return dataclasses.replace(cluster, nodes=nodes, groups=groups)


def _names(given: Sequence[str], wanted: int) -> list[str]:
    if not 1 <= wanted <= _MOST_NODES:
        raise BadInput(
            f"a lab has 1 to {_MOST_NODES} nodes, not {wanted}",
            remedy="give a number in this range with --lab-nodes",
        )
    names = list(given[:wanted])
    while len(names) < wanted:
        names.append(_next_name(names))
    return names


def _next_name(names: Sequence[str]) -> str:
    """Return ``mx05`` after ``mx04``, or ``node04`` as fourth name after one without a number."""
    match = re.fullmatch(r"(.*?)(\d+)", names[-1]) if names else None
    if match is None:
        return f"node{len(names) + 1:02d}"
    number, width = int(match[2]) + 1, len(match[2])
    while (name := f"{match[1]}{number:0{width}d}") in names:
        number += 1
    return name


def _apply_faults(
    texts: Sequence[str], described: Sequence[dict[str, Any]], platform: Mapping[str, Any]
) -> None:
    by_name = {node["name"]: node for node in described}
    # Other faults of a device come before its removal, so that their order on the command line
    # makes no difference.
    asked = [lab_faults.parse(text, list(by_name)) for text in texts]
    asked.sort(key=lambda one: one.name.endswith("-missing"))
    trees = {name: node["tree"] for name, node in by_name.items()}
    leaves = {name: tree["leaf"] if tree else "" for name, tree in trees.items()}
    for name, node in by_name.items():
        own = [one for one in asked if name in {one.node, *fabric_faults.struck(one, leaves)}]
        fault_timing.apply_faults(node, own, lambda one, to: lab_faults.apply(one, to, platform))


def _take_block() -> tuple[socket.socket, str]:
    """Claim a /24 of the loopback network that no other lab on this machine uses.

    The claim is a bound abstract Unix socket. The server process inherits it, so the kernel frees
    the claim when both this process and the server have ended.
    """
    for third in _BLOCKS:
        claim = socket.socket(socket.AF_UNIX)
        try:
            claim.bind(f"\0railgauge-lab-{third}")
        except OSError:
            claim.close()
            continue
        return claim, f"127.0.{third}"
    raise RailgaugeError(
        f"{len(_BLOCKS)} labs are already running on this machine", remedy="stop some of them"
    )


def _write(
    folder: Path, described: Sequence[dict[str, Any]], prefix: str, removes: Path | None
) -> Path:
    try:
        folders = NodeFolders(folder)
    except FileExistsError:
        raise BadInput(
            "the folder holds a lab already", where=str(folder), remedy="name another folder"
        ) from None
    served = []
    for index, node in enumerate(described):
        node["address"] = f"{prefix}.{index + 1}"
        home = folders.write(node)
        served.append(
            {key: node[key] for key in ("name", "address", "ssh", "environment")}
            | {"home": str(home)}
        )
    path = folder / "server"
    gone = str(removes.resolve()) if removes else ""
    asked = {"folder": str(folder), "tools": str(folders.shared), "nodes": served, "removes": gone}
    stored.write(str(path), asked)
    return path


def _launch(
    folder: Path, configuration: Path, block: socket.socket
) -> tuple[subprocess.Popen[bytes], dict[str, int]]:
    log = folder / "server.log"
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "railgauge_lab.server", str(configuration)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            pass_fds=(block.fileno(),),
            start_new_session=True,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": _import_path()},
        )
    try:
        ready = json.loads(_first_line(process))
    except ValueError:
        _end(process)
        logged = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        why = logged[-1] if logged else f"its server was not ready within {_START_LIMIT_S:.0f} s"
        raise RailgaugeError(f"the lab did not start: {why}") from None
    except BaseException:
        _end(process)
        raise
    return process, ready["ports"]


def _import_path() -> str:
    """Return PYTHONPATH for the server, with this project's absolute path in front.

    The server starts in another folder, where a relative import path of this process is wrong.
    """
    own = str(Path(__file__).resolve().parents[1])
    return os.pathsep.join(filter(None, (own, os.environ.get("PYTHONPATH"))))


def _first_line(process: subprocess.Popen[bytes]) -> bytes:
    """Read the server's ready line, or the part that came before its end or the time limit."""
    line = b""
    deadline = time.monotonic() + _START_LIMIT_S
    with selectors.DefaultSelector() as selector:
        if process.stdout is None:
            return line
        selector.register(process.stdout, selectors.EVENT_READ)
        while not line.endswith(b"\n") and selector.select(deadline - time.monotonic()):
            chunk = process.stdout.read1()  # type: ignore[attr-defined]
            if not chunk:
                break
            line += chunk
    return line


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        if process.stdin:
            process.stdin.close()
    try:
        process.wait(_END_LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout:
        process.stdout.close()


def _reachable(
    cluster: Cluster, folder: Path, described: Sequence[dict[str, Any]], ports: dict[str, int]
) -> Cluster:
    nodes = tuple(
        Node(
            node["name"],
            node["address"],
            node["address"],
            _ssh(folder, ports[node["name"]]),
            become=cluster.nodes[0].become,
        )
        for node in described
    )
    storage = {}
    for name, mount in cluster.storage.items():  # a folder of the lab, which its nodes share
        path = folder / "mounts" / name
        path.mkdir(parents=True)
        storage[name] = dataclasses.replace(mount, path=str(path))
    return dataclasses.replace(
        cluster, transport="ssh", nodes=nodes, rootfs="root", storage=storage
    )


def _ssh(folder: Path, port: int) -> SshSettings:
    return SshSettings(
        user="lab",
        port=port,
        key=str(folder / "id_ed25519"),
        known_hosts=str(folder / "known_hosts"),
        host_keys="strict",
        agent=False,
        config="/dev/null",  # the user's settings are for other hosts
        patience_s=_PATIENCE_S,
    )
