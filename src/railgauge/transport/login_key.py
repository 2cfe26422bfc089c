"""The key by which a login succeeded, and the names that people know keys by."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import paramiko

_DEFAULT_FILES = ("~/.ssh/id_rsa", "~/.ssh/id_ecdsa", "~/.ssh/id_ed25519")


def fingerprint(key: paramiko.PKey) -> str:
    """Return the fingerprint as in ``ssh-keygen -l``: type, ``SHA256:``, unpadded base64."""
    digest = base64.b64encode(hashlib.sha256(key.asbytes()).digest()).decode().rstrip("=")
    return f"{key.get_name()} SHA256:{digest}"


class NotingTransport(paramiko.Transport):
    """Notes the key that the host accepted; ``None`` before the login."""

    login_key: paramiko.PKey | None = None

    def auth_publickey(self, username: str, key: paramiko.PKey, event: Any = None) -> list[str]:
        left = super().auth_publickey(username, key, event)
        self.login_key = key
        return left


def in_words(key: paramiko.PKey | None, files: Iterable[str], given: str | None = None) -> str:
    """Return what a key is to its user: that of the agent, of one of ``files``, or which one.

    ``given`` is the file of the only key that was tried besides those of the agent.
    """
    if key is None:
        return "no key"
    if isinstance(key, paramiko.AgentKey):
        return f"the agent's key {fingerprint(key)}"
    if given:
        return f"the key {given}"
    named = next((name for name in (*files, *_DEFAULT_FILES) if _is_of(name, key)), "")
    return f"the key {named or fingerprint(key)}"


def _is_of(name: str, key: paramiko.PKey) -> bool:
    """Whether ``key`` is that of the private key ``name``, by the public half beside it."""
    path = Path(f"{name}.pub").expanduser()
    try:
        words = path.read_text(encoding="utf-8", errors="replace").split()
    except OSError:
        return False
    return key.get_base64() in words[1:2]
