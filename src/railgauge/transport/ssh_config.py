"""The user's ssh configuration for a host, as OpenSSH itself reports it.

``ssh -G`` knows ``Include``, ``Match``, ``CanonicalizeHostname`` and the rest; where the ``ssh``
command is not installed, paramiko reads the files as far as it understands them.
"""

from __future__ import annotations

import base64
import getpass
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import fabric
import paramiko

from railgauge.core.errors import BadInput
from railgauge.core.model import Node

_ANSWER_LIMIT_S = 30.0
# The keywords that are used; fabric fails on some of the others.
_USED = frozenset(
    {
        *("hostname", "user", "port", "identityfile", "proxyjump", "proxycommand"),
        *("userknownhostsfile", "globalknownhostsfile", "stricthostkeychecking", "hostkeyalias"),
        "serveraliveinterval",
        *("identityagent", "certificatefile", "pkcs11provider", "hostbasedauthentication"),
        "gssapiauthentication",
    }
)
# Ways to log in that only the ssh command has, and the values that mean none.
_BEYOND = ("IdentityAgent", "CertificateFile", "PKCS11Provider", "HostbasedAuthentication")
_KERBEROS = "GSSAPIAuthentication"
_NONE = ("", "no", "none", "SSH_AUTH_SOCK")
_EXPANDED = ("proxycommand", "userknownhostsfile", "globalknownhostsfile")
_TOKEN = re.compile(r"%(.)|\$\{(\w+)\}")
_ON_SECURITY_KEYS = (b"sk-ssh-ed25519@openssh.com", b"sk-ecdsa-sha2-nistp256@openssh.com")


def for_host(node: Node, user: str | None = None, port: int | None = None) -> fabric.Config:
    """Return the configuration with which fabric opens connections to hosts for ``node``.

    ``user`` and ``port``, if given, are those that the hostfile names: a ``Match`` may ask for
    them. Raises ``BadInput``, here or at the look-up of a host.
    """
    path = node.ssh.config and str(Path(node.ssh.config).expanduser())
    if _is_empty(path):
        return _without_settings()
    if shutil.which("ssh"):
        answers = _OpenSsh(node.name, path, user, port)
        return fabric.Config(lazy=True, ssh_config=answers)
    # Lazy, so that the user's fabric.yaml, which is for other purposes, is not read.
    config = fabric.Config(lazy=True, runtime_ssh_path=path)
    try:
        config.load_ssh_config()
    except (OSError, paramiko.ConfigParseError) as error:
        raise _unreadable(node.name, str(error)) from error
    return config


@cache
def _without_settings() -> fabric.Config:
    """The configuration of an empty file, one for all connections, which only read it."""
    return fabric.Config(lazy=True, ssh_config=paramiko.SSHConfig())


def _is_empty(path: str | None) -> bool:
    return path is not None and Path(path).exists() and Path(path).stat().st_size == 0


def _unreadable(node: str, why: str) -> BadInput:
    return BadInput(f"cannot read the ssh configuration: {why}", where=node)


def beyond(configured: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the settings of a host by which the ssh command may log in, and this transport cannot.

    Debian and Red Hat set GSSAPIAuthentication for everybody, so it counts only with a Kerberos
    ticket.
    """
    asked = [
        name for name in (*_BEYOND, _KERBEROS) if configured.get(name.lower(), "") not in _NONE
    ]
    if _KERBEROS in asked and not _has_ticket():
        asked.remove(_KERBEROS)
    if any(_is_on_security_key(Path(name)) for name in configured.get("identityfile", [])):
        asked.append("a security key")
    return tuple(asked)


def _has_ticket() -> bool:
    try:
        done = subprocess.run(["klist", "-s"], timeout=_ANSWER_LIMIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _is_on_security_key(path: Path) -> bool:
    """Whether the file of a key stands for a security key; its public part is not encrypted."""
    try:
        text = b"".join(path.read_bytes().splitlines()[1:-1])
        data = base64.b64decode(text, validate=True)
    except (OSError, ValueError):
        return False
    return any(kind in data for kind in _ON_SECURITY_KEYS)


class _OpenSsh(paramiko.SSHConfig):
    """Answers look-ups by ``ssh -G``."""

    def __init__(self, node: str, path: str | None, user: str | None, port: int | None) -> None:
        super().__init__()
        self._node = node
        file = ("-F", path) if path else ()
        login = ("-l", user) if user else ()
        self._argv = ("ssh", "-G", "-T", *file, *login, *(("-p", str(port)) if port else ()))

    def lookup(self, hostname: str) -> paramiko.SSHConfigDict:
        try:
            done = subprocess.run(
                [*self._argv, "--", hostname],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_ANSWER_LIMIT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise _unreadable(self._node, f"ssh -G {hostname}: {error}") from error
        if done.returncode != 0:
            raise _unreadable(self._node, " ".join(done.stderr.split()) or f"ssh -G {hostname}")
        answer: Any = parsed(done.stdout, hostname)  # paramiko too has lists in it
        return paramiko.SSHConfigDict(answer)


def parsed(text: str, name: str) -> dict[str, str | list[str]]:
    """Parse the output of ``ssh -G name``: a lower-case keyword and its value a line.

    ``identityfile`` is a list of all its values. Tokens (``%h``) and ``~`` are expanded.
    """
    found: dict[str, str | list[str]] = {}
    identities: list[str] = []
    for line in text.splitlines():
        key, _, value = line.partition(" ")
        if key == "identityfile":
            identities.append(value)
        elif key in _USED:
            found.setdefault(key, value)
    tokens = _tokens({key: str(value) for key, value in found.items()}, name)
    for key in _EXPANDED:
        if key in found:
            found[key] = _expanded(str(found[key]), tokens)
    # ``Path`` would fail for the home of a user who does not exist; ssh leaves such a file out.
    files = (os.path.expanduser(_expanded(file, tokens)) for file in identities)  # noqa: PTH111
    return {**found, "identityfile": list(files)}


def _tokens(found: Mapping[str, str], name: str) -> dict[str, str]:
    hostname = found.get("hostname", name)
    return {
        "%": "%",
        "d": str(Path.home()),
        "h": hostname,
        "k": found.get("hostkeyalias", hostname),
        "n": name,
        "p": found.get("port", "22"),
        "r": found.get("user", ""),
        "u": getpass.getuser(),
    }


def _expanded(text: str, tokens: Mapping[str, str]) -> str:
    """Replace tokens and ``${VARIABLES}``; what is not known stays."""

    def value(match: re.Match[str]) -> str:
        known = tokens.get(match[1]) if match[1] else os.environ.get(match[2])
        return match[0] if known is None else known

    return _TOKEN.sub(value, text)
