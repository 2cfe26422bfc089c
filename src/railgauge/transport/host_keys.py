"""Checks of the key that a host presents.

By default fabric accepts any unknown key; the policies here replace that default.
"""

from __future__ import annotations

import base64
import fcntl
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import paramiko

from railgauge.core.errors import BadInput, HostKeyRejected

if TYPE_CHECKING:
    from railgauge.core.model import SshSettings

SYSTEM_FILE = "/etc/ssh/ssh_known_hosts"
USER_FILE = "~/.ssh/known_hosts"


def fingerprint(key: paramiko.PKey) -> str:
    """Return the fingerprint as in ``ssh-keygen -l``: type, ``SHA256:``, unpadded base64."""
    digest = base64.b64encode(hashlib.sha256(key.asbytes()).digest()).decode().rstrip("=")
    return f"{key.get_name()} SHA256:{digest}"


def known_hosts_files(settings: SshSettings, configured: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the files that are searched for known keys; a new key is added to the first.

    ``configured`` is the user's ssh configuration for the host.
    """
    if settings.known_hosts is not None:
        return (Path(settings.known_hosts).expanduser(),)
    names = (
        *configured.get("userknownhostsfile", USER_FILE).split(),
        *configured.get("globalknownhostsfile", SYSTEM_FILE).split(),
    )
    return tuple(Path(name).expanduser() for name in names if name != "none")


def guard(connection: Any, settings: SshSettings, where: str) -> None:
    """Make a fabric connection check the host's key. Raises ``BadInput``, ``HostKeyRejected``."""
    configured, client = connection.ssh_config, connection.client
    files = known_hosts_files(settings, configured)
    if not files:
        raise BadInput(
            "the ssh configuration names no file of known hosts",
            where=where,
            remedy="set UserKnownHostsFile there, or ssh.known_hosts in the hostfile",
        )
    for path in files:
        _load(client, path, where)
    alias = configured.get("hostkeyalias", "")
    if alias:
        _know_by_alias(client, alias, _address(connection))
    way = settings.host_keys or _CONFIGURED.get(configured.get("stricthostkeychecking"), STRICT)
    if way not in _WAYS:
        raise BadInput(
            f"host_keys: {way!r} is not a valid value",
            where=where,
            remedy="use strict or accept-new",
        )
    client.set_missing_host_key_policy(_WAYS[way](files[0], where, alias))


def known_as(connection: Any) -> str:
    """Return the name of the host in files of known keys: its alias, ``host``, ``[host]:port``."""
    alias: str = connection.ssh_config.get("hostkeyalias", "")
    return alias or _address(connection)


def _address(connection: Any) -> str:
    host, port = connection.host, connection.port
    return host if port == paramiko.config.SSH_PORT else f"[{host}]:{port}"


def _know_by_alias(client: Any, alias: str, address: str) -> None:
    """Make the keys of ``alias`` the only ones known: paramiko looks for those of ``address``."""
    known = client._system_host_keys.lookup(alias) or {}
    client._system_host_keys = paramiko.HostKeys()
    for kind, key in known.items():
        client._system_host_keys.add(address, kind, key)


def changed_key(
    got: paramiko.PKey, expected: paramiko.PKey, name: str, where: str
) -> HostKeyRejected:
    """Return the error for a host whose key differs from the known one."""
    return HostKeyRejected(
        f"the host key of {name} has changed: expected {fingerprint(expected)}, "
        f"got {fingerprint(got)}",
        where=where,
        remedy=f"if the host was reinstalled: ssh-keygen -R '{name}', then accept its new key",
    )


class _Policy(paramiko.MissingHostKeyPolicy):
    """What is done with an unknown key: see ``meet``. ``path`` is the file of known keys.

    ``alias`` is the name that the host has there, empty for its address.
    """

    def __init__(self, path: Path, where: str, alias: str = "") -> None:
        self._path = path
        self._where = where
        self._alias = alias

    def missing_host_key(
        self,
        client: paramiko.SSHClient,  # noqa: ARG002
        hostname: str,
        key: paramiko.PKey,
    ) -> None:
        self.meet(self._alias or hostname, key)

    def meet(self, hostname: str, key: paramiko.PKey) -> None:
        """Handle an unknown key. Raises ``HostKeyRejected`` if it is not accepted."""
        raise NotImplementedError


class Strict(_Policy):
    """Refuses every unknown key."""

    def meet(self, hostname: str, key: paramiko.PKey) -> None:
        raise HostKeyRejected(
            f"the host key of {hostname} is not known: {fingerprint(key)}",
            where=self._where,
            remedy="compare the fingerprint with the host's, then "
            + ("log in once by ssh" if self._alias else f"run {_keyscan(hostname)} >> {self._path}")
            + ", or set host_keys: accept-new",
        )


class AcceptNew(_Policy):
    """Adds an unknown key to the file of known keys, so that the next connection expects it."""

    def meet(self, hostname: str, key: paramiko.PKey) -> None:
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self._path.open("a+", encoding="utf-8") as file:
                # Several workers may see the same new host at the same moment.
                fcntl.flock(file, fcntl.LOCK_EX)
                if not self._is_known(hostname, key):
                    file.write(f"{hostname} {key.get_name()} {key.get_base64()}\n")
        except OSError as error:
            raise HostKeyRejected(
                f"the new host key of {hostname} cannot be saved: {error}",
                where=self._where,
                remedy=f"make {self._path} writable, or set ssh.known_hosts to another file",
            ) from error

    def _is_known(self, hostname: str, key: paramiko.PKey) -> bool:
        """Whether another worker has added the key since this process read the file.

        Raises ``HostKeyRejected`` if it added a different key.
        """
        known = paramiko.HostKeys(str(self._path)).lookup(hostname)
        if not known:
            return False
        if known.get(key.get_name()) != key:
            raise changed_key(key, next(iter(known.values())), hostname, self._where)
        return True


STRICT = "strict"
_WAYS: Mapping[str, type[_Policy]] = {STRICT: Strict, "accept-new": AcceptNew}
# StrictHostKeyChecking as OpenSSH and its files say it. Under ``no`` OpenSSH goes on with a changed
# key too; here a changed key is always refused.
_CONFIGURED = dict.fromkeys(("accept-new", "no", "off", "false"), "accept-new")


def _load(client: paramiko.SSHClient, path: Path, where: str) -> None:
    if not path.exists():
        return
    try:
        client.load_system_host_keys(str(path))
    except (OSError, ValueError, paramiko.hostkeys.InvalidHostKey) as error:
        raise HostKeyRejected(f"{path} cannot be read: {error}", where=where) from error


def _keyscan(hostname: str) -> str:
    """Return the command that prints the key; ``hostname`` is ``host`` or ``[host]:port``."""
    host, _, port = hostname.removeprefix("[").partition("]:")
    return f"ssh-keyscan -p {port} {host}" if port else f"ssh-keyscan {host}"
