"""Transports by the name that a hostfile uses: each is a module of ``transport/``."""

from __future__ import annotations

TRANSPORTS = (
    "ssh",
    "local",
    "slurm",
    "exec",
)
# The plugin starts the lab, whose nodes are then reached over ssh.
NAMES = (*TRANSPORTS, "lab")
