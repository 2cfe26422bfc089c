"""A temporary SSH server on 127.0.0.1 that runs real commands."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import asyncssh

from railgauge.core.model import Node, SshSettings


@dataclass
class SshServer:
    """An ssh server on 127.0.0.1 that runs commands as this user. Files lie in ``folder``."""

    folder: Path
    host_key: asyncssh.SSHKey
    login_shell: tuple[str, ...] = ("sh",)
    port: int = 0
    connections: int = 0
    acceptor: asyncssh.SSHAcceptor | None = None
    open_connections: list[asyncssh.SSHServerConnection] = field(default_factory=list)
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    thread: threading.Thread = field(default_factory=threading.Thread)

    @property
    def known_hosts(self) -> Path:
        return self.folder / "known_hosts"

    def know(self, key: asyncssh.SSHKey) -> None:
        public = key.export_public_key().decode().strip()
        self.known_hosts.write_text(f"[127.0.0.1]:{self.port} {public}\n")

    def settings(self, **changes: object) -> SshSettings:
        values: dict[str, object] = {
            "user": "tester",
            "port": self.port,
            "key": str(self.folder / "client"),
            "known_hosts": str(self.known_hosts),
            "config": str(self.folder / "config"),
            "agent": False,
        }
        return SshSettings(**(values | changes))  # type: ignore[arg-type]

    def node(self, **changes: object) -> Node:
        return Node("n01", "127.0.0.1", "127.0.0.1", self.settings(**changes))

    def on_loop(self, action: Callable[[], object]) -> None:
        done = threading.Event()
        self.loop.call_soon_threadsafe(lambda: (action(), done.set()))
        assert done.wait(10)

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)
        assert not self.thread.is_alive()

    def vanish(self) -> None:
        """Cuts every connection, like a node that loses power and comes back."""
        self.on_loop(lambda: [connection.abort() for connection in self.open_connections])


class Door(asyncssh.SSHServer):
    def __init__(self, server: SshServer) -> None:
        self._server = server

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._server.connections += 1
        self._server.open_connections.append(conn)

    def connection_requested(self, *where: object) -> bool:
        return True


async def copied(reader: asyncio.StreamReader, writer: asyncssh.SSHWriter) -> None:
    while chunk := await reader.read(1 << 16):
        writer.write(chunk)
        await writer.drain()


async def fed(reader: asyncssh.SSHReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError, asyncssh.Error):
        while chunk := await reader.read(1 << 16):
            writer.write(chunk)
            await writer.drain()
        writer.close()


async def execute(server: SshServer, process: asyncssh.SSHServerProcess) -> None:
    child = await asyncio.create_subprocess_exec(
        *server.login_shell,
        "-c",
        process.command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    feeding = asyncio.ensure_future(fed(process.stdin, child.stdin))
    try:
        await asyncio.gather(
            copied(child.stdout, process.stdout), copied(child.stderr, process.stderr)
        )
        tell_end(process, await child.wait())
    except (OSError, asyncssh.Error):
        pass
    finally:
        feeding.cancel()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        # Not wait(): that waits for the pipes, which a grandchild in another group may hold.
        child._transport.close()


def tell_end(process: asyncssh.SSHServerProcess, code: int) -> None:
    if code < 0:
        process.exit_with_signal(signal.Signals(-code).name.removeprefix("SIG"))
    else:
        process.exit(code)


async def listen(server: SshServer) -> asyncssh.SSHAcceptor:
    return await asyncssh.listen(
        "127.0.0.1",
        server.port,
        server_factory=lambda: Door(server),
        server_host_keys=[server.host_key],
        authorized_client_keys=str(server.folder / "authorized_keys"),
        process_factory=partial(execute, server),
        encoding=None,
    )


def serve(server: SshServer, ready: threading.Event) -> None:
    asyncio.set_event_loop(server.loop)
    server.acceptor = server.loop.run_until_complete(listen(server))
    server.port = server.acceptor.get_port()
    ready.set()
    server.loop.run_forever()
    server.acceptor.close()
    server.loop.run_until_complete(abandon_commands())
    server.loop.close()


async def abandon_commands() -> None:
    """A task that is garbage collected raises in whatever code it interrupts, in another test."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def start_server(folder: Path, *login_shell: str) -> SshServer:
    """A server whose login shell is ``sh``, or the program (with arguments) that is given."""
    server = SshServer(folder, asyncssh.generate_private_key("ssh-ed25519"), login_shell or ("sh",))
    client_key = asyncssh.generate_private_key("ssh-ed25519")
    client_key.write_private_key(str(folder / "client"))
    client_key.write_public_key(str(folder / "authorized_keys"))
    (folder / "config").write_text("")
    ready = threading.Event()
    server.thread = threading.Thread(target=serve, args=(server, ready), daemon=True)
    server.thread.start()
    assert ready.wait(10)
    server.know(server.host_key)
    return server
