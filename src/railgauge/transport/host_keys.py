"""Checks of the key that a host presents.

By default fabric accepts any unknown key; the policies here replace that default, and check known
keys too.
"""

from __future__ import annotations

import base64
import fcntl
import hashlib
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import paramiko

from railgauge.core.errors import BadInput, HostKeyBeyond, HostKeyRejected
from railgauge.transport import known_hosts
from railgauge.transport.carriers import AskingTransport
from railgauge.transport.known_hosts import KnownHosts
from railgauge.transport.login_key import NotingTransport

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


ScanPrefix = Callable[[], tuple[str, ...] | None]
"""The argv that runs a command where a host can be reached; ``None`` if that is not known."""


def guard(connection: Any, settings: SshSettings, where: str, beside: ScanPrefix) -> None:
    """Make a fabric connection check the host's key. Raises ``BadInput``, ``HostKeyRejected``.

    paramiko itself gets no known keys, so that it asks the policy about every key.
    """
    configured = connection.ssh_config
    files = known_hosts_files(settings, configured)
    if not files:
        raise BadInput(
            "the ssh configuration names no file of known hosts",
            where=where,
            remedy="set UserKnownHostsFile there, or ssh.known_hosts in the hostfile",
        )
    way = settings.host_keys or _CONFIGURED.get(configured.get("stricthostkeychecking"), STRICT)
    if way not in _WAYS:
        raise BadInput(
            f"host_keys: {way!r} is not a valid value",
            where=where,
            remedy="use strict or accept-new",
        )
    expected = Expected.of(known_as(connection), files, where)
    # Under an alias ssh-keyscan cannot ask for the key.
    scan = (lambda: None) if configured.get("hostkeyalias") else beside
    connection.client.set_missing_host_key_policy(_WAYS[way](files[0], expected, scan))
    connection.connect_kwargs["transport_factory"] = partial(_transport, expected.first_kind)


class _Transport(AskingTransport, NotingTransport):
    """A transport that asks for answers, and notes the key of its login."""


def _transport(kind: str, sock: Any, **options: Any) -> paramiko.Transport:
    """Return a transport that asks the host for its key of the type that is known, if any is."""
    transport = _Transport(sock, **options)
    security = transport.get_security_options()
    # The type of an RSA key is not the name of its signatures.
    kind = "rsa-sha2-512" if kind == "ssh-rsa" else kind
    if kind in security.key_types:
        others = (other for other in security.key_types if other != kind)
        security.key_types = (kind, *others)
    return transport


def known_as(connection: Any) -> str:
    """Return the name of the host in files of known keys: its alias, ``host``, ``[host]:port``."""
    alias: str = connection.ssh_config.get("hostkeyalias", "")
    host, port = connection.host, connection.port
    return alias or (host if port == paramiko.config.SSH_PORT else f"[{host}]:{port}")


@dataclass(frozen=True, slots=True)
class Expected:
    """The keys of the host ``name`` in files of known keys; ``where`` is the node, for errors.

    ``keys`` has the first key of each type.
    """

    name: str
    where: str
    files: tuple[KnownHosts, ...]
    keys: Mapping[str, paramiko.PKey]

    @classmethod
    def of(cls, name: str, paths: Iterable[Path], where: str) -> Expected:
        """Read the files. Raises ``HostKeyRejected`` if one of them cannot be read."""
        files = tuple(known_hosts.read(path, where) for path in paths)
        keys: dict[str, paramiko.PKey] = {}
        try:
            for key in (key for file in files for key in file.keys(name)):
                keys.setdefault(key.get_name(), key)
        except ValueError as error:
            raise HostKeyRejected(
                f"the known host key of {name} is damaged: {error}",
                where=where,
                remedy=f"ssh-keygen -R '{name}', then accept its key again",
            ) from error
        return cls(name, where, files, keys)

    @property
    def ends_its_line(self) -> bool:
        """Whether a line that is added to the last of the files begins as a line of its own."""
        return not self.files[-1].text or self.files[-1].text.endswith(b"\n")

    @property
    def is_for_ssh(self) -> bool:
        """Whether OpenSSH uses a line of the files that is not understood here."""
        return any(file.leaves_to_ssh(self.name) for file in self.files)

    @property
    def first_kind(self) -> str:
        """The type of the first known key; empty if none is known."""
        return next(iter(self.keys), "")

    def has(self, key: paramiko.PKey) -> bool:
        """Whether ``key`` is known; false if the host is not known at all.

        Raises ``HostKeyRejected`` for a revoked key and for one that differs from the known one.
        """
        if any(file.revokes(self.name, key) for file in self.files):
            raise HostKeyRejected(
                f"the host key of {self.name} is revoked: {fingerprint(key)}",
                where=self.where,
                remedy="give the host a new key: whoever has the old one can pass for it",
            )
        if not self.keys:
            return False
        known = self.keys.get(key.get_name(), next(iter(self.keys.values())))
        if known != key:
            raise self._changed(key, known)
        return True

    def _changed(self, got: paramiko.PKey, known: paramiko.PKey) -> HostKeyRejected:
        return HostKeyRejected(
            f"the host key of {self.name} has changed: expected {fingerprint(known)}, "
            f"got {fingerprint(got)}",
            where=self.where,
            remedy=f"if the host was reinstalled: ssh-keygen -R '{self.name}', "
            "then accept its new key",
        )


class _Policy(paramiko.MissingHostKeyPolicy):
    """Checks the key of a host. ``path`` is the file to which a new one is added.

    ``scan`` gives the argv before ssh-keyscan, ``None`` if that cannot ask for the key.
    """

    def __init__(self, path: Path, expected: Expected, scan: ScanPrefix = tuple) -> None:
        self._path = path
        self._expected = expected
        self._scan = scan

    def missing_host_key(
        self,
        client: paramiko.SSHClient,  # noqa: ARG002
        hostname: str,  # noqa: ARG002
        key: paramiko.PKey,
    ) -> None:
        if not self._expected.has(key):
            self.meet(key)

    def meet(self, key: paramiko.PKey) -> None:
        """Handle an unknown key. Raises ``HostKeyRejected`` if it is not accepted."""
        raise NotImplementedError


class Strict(_Policy):
    """Refuses every unknown key."""

    def meet(self, key: paramiko.PKey) -> None:
        name = self._expected.name
        if self._expected.is_for_ssh:
            raise HostKeyBeyond(
                f"the host key of {name} is not known, and a line of known hosts for it, "
                "@cert-authority or a pattern, is for the system's own ssh",
                where=self._expected.where,
            )
        before = self._scan()
        by_hand = "log in once by ssh"
        if before is not None:
            by_hand = f"run {shlex.join((*before, *_keyscan(name)))} >> {self._path}"
        raise HostKeyRejected(
            f"the host key of {name} is not known: {fingerprint(key)}",
            where=self._expected.where,
            remedy=f"compare the fingerprint with the host's, then {by_hand}, "
            "or set host_keys: accept-new",
        )


class AcceptNew(_Policy):
    """Adds an unknown key to the file of known keys, so that the next connection expects it."""

    def meet(self, key: paramiko.PKey) -> None:
        name, where = self._expected.name, self._expected.where
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8") as file:
                # Several workers may see the same new host at the same moment.
                fcntl.flock(file, fcntl.LOCK_EX)
                now = Expected.of(name, (self._path,), where)
                if not now.has(key):
                    begin = "" if now.ends_its_line else "\n"
                    file.write(f"{begin}{name} {key.get_name()} {key.get_base64()}\n")
        except OSError as error:
            raise HostKeyRejected(
                f"the new host key of {name} cannot be saved: {error}",
                where=where,
                remedy=f"make {self._path} writable, or set ssh.known_hosts to another file",
            ) from error


STRICT = "strict"
_WAYS: Mapping[str, type[_Policy]] = {STRICT: Strict, "accept-new": AcceptNew}
# The values of StrictHostKeyChecking in OpenSSH. Under ``no`` OpenSSH goes on with a changed
# key too; here a changed key is always refused.
_CONFIGURED = dict.fromkeys(("accept-new", "no", "off", "false"), "accept-new")


def _keyscan(hostname: str) -> tuple[str, ...]:
    """Return the argv that prints the key; ``hostname`` is ``host`` or ``[host]:port``."""
    host, _, port = hostname.removeprefix("[").partition("]:")
    return ("ssh-keyscan", "-p", port, host) if port else ("ssh-keyscan", host)
