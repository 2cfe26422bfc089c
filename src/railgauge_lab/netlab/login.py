"""The SSH server of all nodes, in one process; unlike OpenSSH's sshd it runs without root."""

from __future__ import annotations

import asyncio

import asyncssh

from railgauge_lab.netlab.files import Keys, public
from railgauge_lab.netlab.node import RunningNode
from railgauge_lab.sessions import SERVER_OPTIONS, undelayed, until_either_ends

PORT = 22


async def serve(node: RunningNode, keys: Keys) -> asyncssh.SSHAcceptor:
    """Accept ``root`` on the node's port 22; every command runs inside the node."""
    return await asyncssh.listen(
        sock=node.listen(PORT),
        server_factory=_Login,
        server_host_keys=[keys.hosts[node.name]],
        authorized_client_keys=asyncssh.import_authorized_keys(public(keys.client)),
        process_factory=lambda session: _run(session, node),
        **SERVER_OPTIONS,
    )


class _Login(asyncssh.SSHServer):
    """One connection, with TCP_NODELAY; only ``root`` may log in."""

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        undelayed(conn)

    def begin_auth(self, username: str) -> bool:
        if username != "root":
            raise asyncssh.PermissionDenied(f"no account {username}")
        return True


async def _run(session: asyncssh.SSHServerProcess[bytes], node: RunningNode) -> None:
    """Run one command; processes that it leaves behind keep running, as under any sshd."""
    command = session.command
    child = await asyncio.create_subprocess_exec(
        *node.argv(["/bin/sh", "-c", command] if command else ["/bin/sh"]),
        env=node.home.environment,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    await until_either_ends(session, child)
