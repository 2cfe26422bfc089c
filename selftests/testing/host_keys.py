"""Keys of hosts, and their lines of known_hosts."""

from __future__ import annotations

import base64
import hashlib
import hmac

import asyncssh
import paramiko


def new_key(kind: str = "ssh-ed25519") -> asyncssh.SSHKey:
    return asyncssh.generate_private_key(kind)


def public(key: asyncssh.SSHKey) -> str:
    """Type and base64."""
    return " ".join(key.export_public_key().decode().split()[:2])


def presented(key: asyncssh.SSHKey) -> paramiko.PKey:
    kind, data = public(key).split()
    return paramiko.PKey.from_type_string(kind, base64.b64decode(data))


def hashed(name: str) -> str:
    salt = hashlib.sha1(name.encode()).digest()  # the same in every worker
    digest = hmac.digest(salt, name.encode(), "sha1")
    return "|1|" + "|".join(base64.b64encode(part).decode() for part in (salt, digest))


KEY, OTHER, THIRD = new_key(), new_key(), new_key("ecdsa-sha2-nistp256")
