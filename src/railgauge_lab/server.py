"""The lab's one process, an SSH server for every node: ``python -m railgauge_lab.server CONFIG``.

It opens the listeners, writes the keys, prints one line of JSON, for example
``{"ports": {"mx01": 40001, "mx02": 40002}}``, and serves until its standard input ends. Therefore
it never outlives the process that started it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import socket
import sys
import threading
from pathlib import Path
from typing import Any

import asyncssh

from railgauge_lab.commands import Children, CommandRunner, end_descendants
from railgauge_lab.sessions import SERVER_OPTIONS, undelayed
from railgauge_lab.sim import stored
from railgauge_lab.tool_server import ASK

_END_LIMIT_S = 8.0


class Site:
    """One node: its listener, its connections and its commands."""

    def __init__(
        self, described: dict[str, Any], client_key: asyncssh.SSHKey, children: Children
    ) -> None:
        self.name: str = described["name"]
        self.address: str = described["address"]
        self._ssh: dict[str, Any] = described["ssh"]
        self._host_key = asyncssh.generate_private_key("ssh-ed25519")
        self._client_key = client_key
        self._connections: set[asyncssh.SSHServerConnection] = set()
        self._listener: asyncssh.SSHAcceptor | None = None
        self._placeholder: socket.socket | None = None
        self._left: int | None = self._ssh["stops_after"]
        self._runner = CommandRunner(Path(described["home"]), children, described["environment"])

    async def open(self) -> int:
        """Listen, and return the port; an unreachable node binds its port but does not listen."""
        if not self._ssh["listens"]:
            self._placeholder = socket.socket()
            self._placeholder.bind((self.address, 0))
            return int(self._placeholder.getsockname()[1])
        self._listener = await asyncssh.listen(
            self.address,
            0,
            server_factory=lambda: _Login(self._connections),
            server_host_keys=[self._host_key],
            authorized_client_keys=asyncssh.import_authorized_keys(self._authorized()),
            process_factory=self._serve,
            **SERVER_OPTIONS,
        )
        return int(self._listener.get_port())

    def known_host(self, port: int) -> str:
        """Return the node's line of known_hosts; with the fault its key is not the node's key."""
        changed = self._ssh["other_host_key"]
        key = asyncssh.generate_private_key("ssh-ed25519") if changed else self._host_key
        return f"[{self.address}]:{port} {_public(key)}\n"

    def _authorized(self) -> str:
        refuses = self._ssh["refuses"]
        return _public(
            asyncssh.generate_private_key("ssh-ed25519") if refuses else self._client_key
        )

    async def _serve(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        if self._left == 0:
            self._drop()
            return
        if self._left is not None:
            self._left -= 1
        await self._runner.serve(process)

    def _drop(self) -> None:
        """Take the node down: close the listener, kill its commands, cut every connection."""
        if self._listener:
            self._listener.close()
        self._runner.end_all()
        for connection in list(self._connections):
            connection.abort()

    def close(self) -> None:
        """End the listener, the connections and the commands."""
        self._drop()
        if self._placeholder:
            self._placeholder.close()


class _Login(asyncssh.SSHServer):
    """Keeps the set of a node's open connections up to date."""

    def __init__(self, connections: set[asyncssh.SSHServerConnection]) -> None:
        self._connections = connections
        self._own: asyncssh.SSHServerConnection | None = None

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._own = conn
        self._connections.add(conn)
        undelayed(conn)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncssh's signature
        if self._own:
            self._connections.discard(self._own)


def _public(key: asyncssh.SSHKey) -> str:
    return key.export_public_key("openssh").decode().strip()


async def serve(config: dict[str, Any]) -> None:
    """Open every node, print the ready line on stdout, and serve until asked to end."""
    folder = Path(config["folder"])
    ended = asyncio.Event()
    _watch_end(ended)
    _wait_without_threads()
    client_key = asyncssh.generate_private_key("ssh-ed25519")
    children = Children()
    children.serve_tools(config["tools"])
    children.adopt_orphans()
    sites = [Site(node, client_key, children) for node in config["nodes"]]
    ports = {site.name: await site.open() for site in sites}
    _write_keys(folder, client_key, [site.known_host(ports[site.name]) for site in sites])
    print(json.dumps({"ports": ports}), flush=True)
    await ended.wait()
    _end_for_certain(config)
    for site in sites:
        site.close()


def _end_for_certain(config: dict[str, Any]) -> None:
    """Exit after a time limit even if a task keeps the event loop from ending."""

    def leave() -> None:
        _end_processes(config["tools"])
        _remove(config["removes"])
        os._exit(0)

    timer = threading.Timer(_END_LIMIT_S, leave)
    timer.daemon = True
    timer.start()


def _watch_end(ended: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)

    def readable() -> None:
        if not os.read(0, 4096):
            loop.remove_reader(0)
            ended.set()

    loop.add_reader(0, readable)


def _wait_without_threads() -> None:
    """Wait for commands by their descriptors; before 3.12 asyncio starts a thread for each."""
    if sys.version_info < (3, 12) and hasattr(os, "pidfd_open"):
        watcher = asyncio.PidfdChildWatcher()
        watcher.attach_loop(asyncio.get_running_loop())
        asyncio.set_child_watcher(watcher)


def _write_keys(folder: Path, client_key: asyncssh.SSHKey, known_hosts: list[str]) -> None:
    private = folder / "id_ed25519"
    private.touch(mode=0o600)
    private.write_bytes(client_key.export_private_key("openssh"))
    (folder / "known_hosts").write_text("".join(known_hosts), encoding="utf-8")


def main() -> None:
    """Serve the nodes of the configuration file that the command line names."""
    config = stored.read(sys.argv[1])
    try:
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(serve(config))
    finally:
        _end_processes(config["tools"])
        _remove(config["removes"])


def _end_processes(tools: str) -> None:
    Path(tools, ASK).unlink(missing_ok=True)  # tools that are started from now on do not wait
    end_descendants()


def _remove(folder: str) -> None:
    """Remove the lab's folder if it is a temporary one: whoever made it may have been killed."""
    if folder:
        os.chdir("/")
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
