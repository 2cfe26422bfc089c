"""Opening an ssh connection to a node: jump hosts, sockets, keys, and the errors on the way."""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import fabric
import paramiko

from railgauge.core.errors import (
    AuthenticationFailed,
    BadInput,
    LoginBeyond,
    NoCommonAlgorithm,
    NodeUnreachable,
    RailgaugeError,
    TransportError,
)
from railgauge.core.model import Node
from railgauge.transport import agent, carriers, host_keys, login_key, silence, ssh_config
from railgauge.transport.carriers import Carrier

_AUTH_LIMIT_S = 30.0
_MOST_HOPS = 8

# The exceptions that paramiko and fabric raise while a connection is opened. A key that cannot
# be decoded raises ValueError or TypeError in the cryptography library that they use.
_FOREIGN = (paramiko.SSHException, OSError, EOFError, ValueError, TypeError)


class _Connection(fabric.Connection):  # type: ignore[misc]
    """A connection whose attributes are not settings.

    ``proxy`` is the line of its ProxyCommand, ``before`` the connections that it goes through.

    fabric would write an attribute that it does not know into the configuration, which connections
    share.
    """

    proxy = ""
    before: tuple[Any, ...] = ()

    def __setattr__(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)


def open_hops(node: Node) -> tuple[Any, ...]:
    """Open fabric connections to the jump hosts of ``node``, in order, then to the node itself.

    Raises ``BadInput`` for settings that cannot be used, otherwise ``NodeUnreachable``,
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


def way_through(node: Node, hops: tuple[Any, ...]) -> str:
    """Return how the open connections lead to the node: user, key, and jump hosts."""
    *before, last = hops
    jumps = [hop.host for hop in before] or ([last.proxy] if last.proxy else [])
    through = f", through {', '.join(jumps)}" if jumps else ""
    return f"{last.user} by {_key_of(node, last)}{through}"


def _key_of(node: Node, hop: Any) -> str:
    """Return the key of a login in words: that of the agent, of a file, or its fingerprint."""
    key = hop.transport.login_key
    if key is None:
        return "no key"
    if isinstance(key, paramiko.AgentKey):
        return f"the agent's key {host_keys.fingerprint(key)}"
    given = node.ssh.key or login_key.file_of(key, hop.connect_kwargs.get("key_filename", ()))
    return f"the key {given or host_keys.fingerprint(key)}"


def close_hops(hops: tuple[Any, ...]) -> None:
    """Close the connections, the node's first; they may be closed already or never opened."""
    for hop in reversed(hops):
        transport = hop.client.get_transport()
        if transport is not None:
            transport.sock.wake()
        hop.client.close()


def silent_hop(hops: tuple[Any, ...]) -> str:
    """Return the host whose silence ended one of the connections; empty if none has ended.

    Answers of a node come through the jump hosts before it. The first connection that has missed
    an answer is therefore the cause, although a later one may have ended sooner.
    """
    if not any(hop.transport.sock.is_silent for hop in hops):
        return ""
    late = (h for h in hops if h.transport.sock.is_silent or h.transport.sock.has_missed_an_answer)
    return next(f"{hop.host} port {hop.port}" for hop in late)


def _hops(node: Node) -> tuple[Any, ...]:
    target = _connection(node, node.address, user=node.ssh.user, port=node.ssh.port)
    before = _before(node, node.ssh.jump or target.ssh_config.get("proxyjump", "none"))
    hops = (*before, target)
    for number, hop in enumerate(hops):
        hop.before = hops[:number]
    return hops


def _before(node: Node, jump: str, deeper: int = 0) -> tuple[Any, ...]:
    """Return the jump hosts in order; the first of them may itself be behind others."""
    names = [] if jump == "none" else [name.strip() for name in jump.split(",")]
    found = tuple(_connection(node, name) for name in names)
    if not found:
        return ()
    if deeper > _MOST_HOPS:
        raise BadInput(f"{jump} is a jump host of itself", where=node.name, remedy="mend ProxyJump")
    return (*_before(node, found[0].ssh_config.get("proxyjump", "none"), deeper + 1), *found)


def _refuse_nameless_user(node: Node) -> None:
    """Raise ``BadInput`` for a user without a name, as in containers with a user id of their own.

    paramiko looks the name up even where the hostfile gives the user of the node.
    """
    try:
        getpass.getuser()
    except (KeyError, OSError):
        raise BadInput(
            f"the user {os.getuid()} of this machine has no name, which SSH needs",
            where=node.name,
            remedy="name it (export LOGNAME=NAME), or give it a line in /etc/passwd",
        ) from None


def _connection(node: Node, host: str, **login: Any) -> Any:
    """Return a connection that is not open yet.

    ``gateway=False`` keeps fabric from using ProxyJump itself: it takes several jump hosts in the
    wrong order.
    """
    _refuse_nameless_user(node)
    try:
        config = ssh_config.for_host(node, **login)
        connection = _Connection(host, config=config, gateway=False, **login)
    except ValueError as error:
        raise BadInput(f"cannot use the host {host!r}: {error}", where=node.name) from error
    connection.connect_timeout = None  # fabric would truncate it to whole seconds
    connection.connect_kwargs = _connect_options(node, connection.ssh_config)
    proxy = connection.ssh_config.get("proxycommand", "none")
    connection.proxy = "" if proxy == "none" else proxy
    host_keys.guard(connection, node.ssh, node.name, lambda: _beside(node, connection))
    return connection


def _beside(node: Node, hop: Any) -> tuple[str, ...] | None:
    """Return the argv that runs a command where ``hop`` can be reached: here, on its jump host.

    ``None`` if that is not known.
    """
    if not hop.before:
        return None if hop.proxy else ()
    *first, last = (f"{one.user}@{one.original_host}" for one in hop.before)
    ports = [f":{one.port}" if one.port != paramiko.config.SSH_PORT else "" for one in hop.before]
    jumps = ",".join(f"{name}{port}" for name, port in zip(first, ports, strict=False))
    return (
        "ssh",
        *(("-F", node.ssh.config) if node.ssh.config else ()),
        *(("-i", node.ssh.key) if node.ssh.key else ()),
        *(("-J", jumps) if jumps else ()),
        *(("-p", ports[-1][1:]) if ports[-1] else ()),
        last,
    )


def _connect_options(node: Node, configured: Any) -> dict[str, Any]:
    settings = node.ssh
    options: dict[str, Any] = {
        "timeout": settings.connect_timeout_s,
        "banner_timeout": settings.connect_timeout_s,
        "auth_timeout": max(_AUTH_LIMIT_S, settings.connect_timeout_s),
        "allow_agent": settings.agent and not agent.hangs(),
        "look_for_keys": settings.key is None,
    }
    if settings.key is not None:
        options["pkey"] = _key(node, settings.key)
    else:
        names = configured.get("identityfile", [])
        options["key_filename"] = [name for name in names if Path(name).exists()]
    return options


def _key(node: Node, name: str) -> paramiko.PKey | None:
    """Return the user's private key; ``None`` if it is encrypted and the agent may hold it.

    Raises ``AuthenticationFailed`` for a key that cannot be used.
    """
    path = Path(name).expanduser()
    try:
        return _loaded(path, path.read_bytes(), _bytes_if_any(Path(f"{path}-cert.pub")))
    except OSError as error:
        why = f"cannot be read: {error.strerror}"
        remedy = "set ssh.key to a private key that is readable"
    except (TypeError, paramiko.PasswordRequiredException):
        if node.ssh.agent:
            return None
        why, remedy = "is encrypted", f"run ssh-add {name}, and set ssh.agent to true"
    except (ValueError, paramiko.SSHException, paramiko.pkey.UnknownKeyType):
        why, remedy = "is not a private key", "set ssh.key to the private key, not the .pub"
    raise AuthenticationFailed(f"the key {name} {why}", where=node.name, remedy=remedy)


@lru_cache(maxsize=4)
def _loaded(path: Path, key: bytes, certificate: bytes) -> paramiko.PKey:  # noqa: ARG001
    """Return the key of a file; one for all connections, as long as its bytes are the same."""
    return paramiko.PKey.from_path(path)


def _bytes_if_any(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


def _open(node: Node, before: Any, hop: Any) -> None:
    """Open ``hop`` through the hop ``before`` it, or directly if there is none."""
    try:
        hop.connect_kwargs["sock"] = _carrier(before, hop, node.ssh.connect_timeout_s)
        hop.open()
        hop.transport.set_keepalive(_keepalive_s(hop.ssh_config))
        hop.transport.sock.watch()
    except RailgaugeError:
        raise
    except _FOREIGN as error:
        raise _translated(node, hop, error) from error


def _carrier(before: Any, hop: Any, limit_s: float) -> Carrier:
    if before:
        return carriers.through(before.transport, hop.host, hop.port, limit_s)
    return (
        carriers.by_program(hop.proxy) if hop.proxy else carriers.tcp(hop.host, hop.port, limit_s)
    )


def _keepalive_s(configured: Mapping[str, Any]) -> float:
    """Return the seconds between two keep-alives: the user's ``ServerAliveInterval`` if shorter.

    A longer interval would find a lost connection too late.
    """
    own = str(configured.get("serveraliveinterval", ""))
    return min(float(own), silence.BEAT_S) if own.isdecimal() and int(own) else silence.BEAT_S


def _translated(node: Node, hop: Any, error: Exception) -> TransportError:
    """Translate an error of paramiko, fabric or the operating system into one of ours.

    ``hop`` is the node itself or one of its jump hosts.
    """
    place = f"{hop.host} port {hop.port}"
    if isinstance(error, paramiko.ChannelException):
        return _unreachable(node, f"the jump host cannot connect to {place}: {error.text}")
    if isinstance(error, paramiko.ssh_exception.IncompatiblePeer):
        what = f"{place} has no algorithm in common with railgauge: {_one_line(error)}"
        return NoCommonAlgorithm(what, where=node.name)
    if _was_greeted(hop) or isinstance(error, paramiko.AuthenticationException):
        return _refused(node, hop, error)
    return _unreachable(node, *_why_unreachable(hop, place, error))


def _why_unreachable(hop: Any, place: str, error: Exception) -> tuple[str, str]:
    """Return what failed before the host presented its key, and a specific remedy or ``""``."""
    if hop.proxy and not hop.before:
        printed = hop.connect_kwargs["sock"].last_word if "sock" in hop.connect_kwargs else ""
        return f"its ProxyCommand gives no connection: {printed or _one_line(error)}", ""
    if isinstance(error, socket.gaierror):
        remedy = "correct the address in the hostfile, or see that the name server answers"
        return f"the name {hop.host} does not resolve", remedy
    if isinstance(error, TimeoutError):
        return f"{place} does not answer", ""
    if isinstance(error, OSError):
        return f"no connection to {place}: {error.strerror or error}", ""
    return f"{place} answers, but not with the ssh protocol: {_one_line(error)}", ""


def _was_greeted(hop: Any) -> bool:
    """Whether the key exchange is complete and the host key accepted, so that the login failed."""
    transport = hop.client.get_transport()
    return transport is not None and bool(transport.initial_kex_done)


def _unreachable(node: Node, what: str, remedy: str = "") -> NodeUnreachable:
    port = f"-p {node.ssh.port} " if node.ssh.port else ""
    jump = f"-J {node.ssh.jump} " if node.ssh.jump else ""
    return NodeUnreachable(
        what, where=node.name, remedy=remedy or f"try: ssh {jump}{port}{node.address} true"
    )


def _refused(node: Node, hop: Any, error: Exception) -> AuthenticationFailed:
    what = f"{hop.user} cannot log in to {hop.host} port {hop.port}: {_one_line(error)}"
    if beyond := ssh_config.beyond(hop.ssh_config):
        ways = " and ".join(beyond)
        return LoginBeyond(f"{what}; only the ssh command has {ways}", where=node.name)
    if node.ssh.agent and not hop.connect_kwargs["allow_agent"]:
        remedy = "the ssh-agent of SSH_AUTH_SOCK does not answer: mend it, or set ssh.agent: false"
    elif node.ssh.key and hop.connect_kwargs.get("pkey") is None:
        remedy = f"the key {node.ssh.key} is encrypted: run ssh-add {node.ssh.key}"
    else:
        key = f" -i {node.ssh.key}" if node.ssh.key else ""
        remedy = (
            f"add the public key to authorized_keys there, or correct ssh.user and ssh.key; "
            f"try: ssh{key} -p {hop.port} {hop.user}@{hop.host} true"
        )
    return AuthenticationFailed(what, where=node.name, remedy=remedy)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
