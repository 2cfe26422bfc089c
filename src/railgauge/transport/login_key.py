"""The key by which a login succeeded."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import paramiko

_DEFAULT_FILES = ("~/.ssh/id_rsa", "~/.ssh/id_ecdsa", "~/.ssh/id_ed25519")


class NotingTransport(paramiko.Transport):
    """Notes the key that the host accepted; ``None`` before the login."""

    login_key: paramiko.PKey | None = None

    def auth_publickey(self, username: str, key: paramiko.PKey, event: Any = None) -> list[str]:
        left = super().auth_publickey(username, key, event)
        self.login_key = key
        return left


def file_of(key: paramiko.PKey, files: Iterable[str]) -> str:
    """Return the private key among ``files`` and the usual ones, by the public half beside it."""
    return next((name for name in (*files, *_DEFAULT_FILES) if _is_of(name, key)), "")


def _is_of(name: str, key: paramiko.PKey) -> bool:
    path = Path(f"{name}.pub").expanduser()
    try:
        words = path.read_text(encoding="utf-8", errors="replace").split()
    except OSError:
        return False
    return key.get_base64() in words[1:2]
