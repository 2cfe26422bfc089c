"""Opening the way to a node by ssh: jump hosts, sockets, keys, and what can go wrong there."""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path
from typing import Any

import fabric
import paramiko

from railgauge.core.errors import (
    AuthenticationFailed,
    BadInput,
    NodeUnreachable,
    RailgaugeError,
    TransportError,
)
from railgauge.core.model import Node
from railgauge.transport import host_keys

KEEPALIVE_S = 15
SILENCE_LIMIT_S = 60  # unacknowledged for so long, a connection is lost
_AUTH_LIMIT_S = 30.0
# How often paramiko's thread for a connection wakes to look whether it is to end: its own 0.1 s
# would cost a core for 1,250 connections on which nothing happens.
_LOOK_S = 2.0

# What paramiko and fabric let through while a connection is being opened: keys that
# cannot be decoded come as ValueError or TypeError of the cryptography below.
_FOREIGN = (paramiko.SSHException, OSError, EOFError, ValueError, TypeError)


def open_hops(node: Node) -> tuple[Any, ...]:
    """Open fabric connections to the jump hosts of ``node`` and last to itself.

    Raises ``BadInput`` for settings that cannot be used, else ``NodeUnreachable``,
    ``AuthenticationFailed``, ``HostKeyRejected``, or another ``TransportError``.
    """
    hops = _hops(node)
    try:
        for before, hop in zip((None, *hops), hops, strict=False):
            _open(node, before, hop)
    except BaseException:
        close_hops(hops)
        raise
    return hops


def close_hops(hops: tuple[Any, ...]) -> None:
    """Close from the far end; harmless for what is closed or was never open."""
    for hop in reversed(hops):
        _wake(hop)
        hop.client.close()


def _wake(hop: Any) -> None:
    """Have the thread that reads from a connection see its end now, not when it looks next."""
    transport = hop.client.get_transport()
    if transport is not None and hasattr(transport.sock, "shutdown"):
        with contextlib.suppress(OSError, EOFError):
            transport.sock.shutdown(socket.SHUT_RDWR)


def _hops(node: Node) -> tuple[Any, ...]:
    config = _config(node)
    target = _connection(node, config, node.address, user=node.ssh.user, port=node.ssh.port)
    jump = node.ssh.jump or target.ssh_config.get("proxyjump", "none")
    names = [] if jump == "none" else [name.strip() for name in jump.split(",")]
    if not names and (proxy := target.ssh_config.get("proxycommand", "none")) != "none":
        target.gateway = proxy
    return (*(_connection(node, config, name) for name in names), target)


def _config(node: Node) -> Any:
    # Lazy: the user's fabric.yaml is about other work than ours.
    path = node.ssh.config and str(Path(node.ssh.config).expanduser())
    config = fabric.Config(lazy=True, runtime_ssh_path=path)
    try:
        config.load_ssh_config()
    except (OSError, paramiko.ConfigParseError) as error:
        raise BadInput(f"the ssh configuration cannot be read: {error}", where=node.name) from error
    return config


def _connection(node: Node, config: Any, host: str, **login: Any) -> Any:
    """A connection, not opened. ``gateway=False`` keeps fabric from looking for one itself:
    it walks a ProxyJump of several hosts from the wrong end."""
    try:
        connection = fabric.Connection(host, config=config, gateway=False, **login)
    except ValueError as error:
        raise BadInput(f"{host!r} cannot be used: {error}", where=node.name) from error
    connection.connect_timeout = None  # fabric would cut it to whole seconds
    connection.connect_kwargs = _connect_options(node, connection.ssh_config)
    known_hosts = connection.ssh_config.get("userknownhostsfile", "")
    host_keys.guard(connection.client, node.ssh, known_hosts, node.name)
    return connection


def _connect_options(node: Node, ssh_config: Any) -> dict[str, Any]:
    settings = node.ssh
    options: dict[str, Any] = {
        "timeout": settings.connect_timeout_s,
        "banner_timeout": settings.connect_timeout_s,
        "auth_timeout": max(_AUTH_LIMIT_S, settings.connect_timeout_s),
        "allow_agent": settings.agent,
        "look_for_keys": settings.key is None,
    }
    if settings.key is not None:
        options["pkey"] = _key(node, settings.key)
    else:
        configured = ssh_config.get("identityfile", [])
        options["key_filename"] = [name for name in configured if Path(name).exists()]
    return options


def _key(node: Node, name: str) -> paramiko.PKey | None:
    """The user's key; ``None`` if it is encrypted and the agent may hold it."""
    try:
        return paramiko.PKey.from_path(Path(name).expanduser())
    except OSError as error:
        why, remedy = f"cannot be read: {error.strerror}", "name the private key in ssh.key"
    except (TypeError, paramiko.PasswordRequiredException):
        if node.ssh.agent:
            return None
        why, remedy = "is encrypted", f"ssh-add {name}, and allow the agent: ssh.agent true"
    except (ValueError, paramiko.SSHException, paramiko.pkey.UnknownKeyType):
        why, remedy = "is not a private key", "name the private key, not the .pub, in ssh.key"
    raise AuthenticationFailed(f"the key {name} {why}", where=node.name, remedy=remedy)


def _open(node: Node, before: Any, hop: Any) -> None:
    """Open ``hop`` through the hop ``before`` it, or straight from here."""
    try:
        if not hop.gateway:
            limit_s = node.ssh.connect_timeout_s
            hop.connect_kwargs["sock"] = (
                _tunnel(before, hop, limit_s) if before else _socket(hop, limit_s)
            )
        hop.open()
        hop.transport.set_keepalive(KEEPALIVE_S)
        if not hop.gateway:
            hop.transport.sock.settimeout(_LOOK_S)
    except RailgaugeError:
        raise
    except _FOREIGN as error:
        raise _translated(node, hop, error) from error


def _socket(hop: Any, limit_s: float) -> socket.socket:
    opened = socket.create_connection((hop.host, hop.port), timeout=limit_s)
    # paramiko never sets it, and each command then waits 40 ms for a delayed acknowledgement.
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # With the keepalive this is what notices a node that lost its power.
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, SILENCE_LIMIT_S * 1000)
    return opened


def _tunnel(before: Any, hop: Any, limit_s: float) -> paramiko.Channel:
    channel: paramiko.Channel = before.transport.open_channel(
        "direct-tcpip", (hop.host, hop.port), ("", 0), timeout=limit_s
    )
    return channel


def _translated(node: Node, hop: Any, error: Exception) -> TransportError:
    """Our own error for a foreign one; ``hop`` is the node itself or one of its jump hosts."""
    place = f"{hop.host} port {hop.port}"
    if isinstance(error, paramiko.BadHostKeyException):
        name = hop.host if hop.port == paramiko.config.SSH_PORT else f"[{hop.host}]:{hop.port}"
        return host_keys.changed_key(error.key, error.expected_key, name, node.name)
    if isinstance(error, paramiko.ChannelException):
        return _unreachable(node, f"the jump host does not get through to {place}: {error.text}")
    if _was_greeted(hop) or isinstance(error, paramiko.AuthenticationException):
        return _refused(node, hop, error)
    return _unreachable(node, *_why_unreachable(hop, place, error))


def _why_unreachable(hop: Any, place: str, error: Exception) -> tuple[str, str]:
    """What went wrong before the host showed its key, and the remedy if there is a special one."""
    if isinstance(error, socket.gaierror):
        return f"the name {hop.host} is not known", "correct its address"
    if isinstance(error, TimeoutError):
        return f"{place} does not answer", ""
    if isinstance(error, OSError):
        return f"no connection to {place}: {error.strerror or error}", ""
    return f"{place} answers, but not as ssh should: {_one_line(error)}", ""


def _was_greeted(hop: Any) -> bool:
    """Whether keys were exchanged and the host's was accepted: what is left is the login."""
    transport = hop.client.get_transport()
    return transport is not None and bool(transport.initial_kex_done)


def _unreachable(node: Node, what: str, remedy: str = "") -> NodeUnreachable:
    port = f"-p {node.ssh.port} " if node.ssh.port else ""
    return NodeUnreachable(
        what, where=node.name, remedy=remedy or f"try: ssh {port}{node.address} true"
    )


def _refused(node: Node, hop: Any, error: Exception) -> AuthenticationFailed:
    what = f"{hop.user} cannot log in to {hop.host} port {hop.port}: {_one_line(error)}"
    if node.ssh.key and hop.connect_kwargs.get("pkey") is None:
        remedy = f"the key {node.ssh.key} is encrypted: ssh-add {node.ssh.key}"
    else:
        key = f" -i {node.ssh.key}" if node.ssh.key else ""
        remedy = (
            f"put the public key into authorized_keys there, or correct ssh.user and ssh.key; "
            f"try: ssh{key} -p {hop.port} {hop.user}@{hop.host} true"
        )
    return AuthenticationFailed(what, where=node.name, remedy=remedy)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
