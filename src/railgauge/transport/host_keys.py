"""Checks of the key that a host presents.

By default fabric accepts any unknown key; the policies here replace that default.
"""

from __future__ import annotations

import base64
import fcntl
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

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


def known_hosts_files(settings: SshSettings, configured: str) -> tuple[Path, ...]:
    """Return the files that are searched for known keys; a new key is added to the first.

    ``configured`` is UserKnownHostsFile of the user's ssh configuration, or empty.
    """
    if settings.known_hosts is not None:
        return (Path(settings.known_hosts).expanduser(),)
    user_files = configured.split() or [USER_FILE]
    return tuple(Path(name).expanduser() for name in (*user_files, SYSTEM_FILE))


def guard(client: paramiko.SSHClient, settings: SshSettings, configured: str, where: str) -> None:
    """Make ``client`` check the host's key. Raises ``BadInput``, ``HostKeyRejected``."""
    files = known_hosts_files(settings, configured)
    for path in files:
        _load(client, path, where)
    if settings.host_keys == "strict":
        client.set_missing_host_key_policy(Strict(files[0], where))
    elif settings.host_keys == "accept-new":
        client.set_missing_host_key_policy(AcceptNew(files[0], where))
    else:
        raise BadInput(
            f"host_keys: {settings.host_keys!r} is not a valid value",
            where=where,
            remedy="use strict or accept-new",
        )


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
    """What is done with an unknown key: see ``meet``. ``path`` is the file of known keys."""

    def __init__(self, path: Path, where: str) -> None:
        self._path = path
        self._where = where

    def missing_host_key(
        self,
        client: paramiko.SSHClient,  # noqa: ARG002
        hostname: str,
        key: paramiko.PKey,
    ) -> None:
        self.meet(hostname, key)

    def meet(self, hostname: str, key: paramiko.PKey) -> None:
        """Handle an unknown key. Raises ``HostKeyRejected`` if it is not accepted."""
        raise NotImplementedError


class Strict(_Policy):
    """Refuses every unknown key."""

    def meet(self, hostname: str, key: paramiko.PKey) -> None:
        raise HostKeyRejected(
            f"the host key of {hostname} is not known: {fingerprint(key)}",
            where=self._where,
            remedy=f"compare the fingerprint with the host's, then run "
            f"{_keyscan(hostname)} >> {self._path}, or set host_keys: accept-new",
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
