"""Whether the user's ssh-agent answers: paramiko asks it for its keys, and waits without end.

A forwarded agent of a machine that sleeps takes the request and never answers.
"""

from __future__ import annotations

import os
import socket

_ANSWER_LIMIT_S = 5.0
_REQUEST_IDENTITIES = b"\0\0\0\1\x0b"


def hangs() -> bool:
    """Whether there is an agent that takes a request and does not answer it in time."""
    path = os.environ.get("SSH_AUTH_SOCK")
    if not path:
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asked:
        asked.settimeout(_ANSWER_LIMIT_S)
        try:
            asked.connect(path)
            asked.sendall(_REQUEST_IDENTITIES)
            asked.recv(1)
        except TimeoutError:
            return True
        except OSError:
            return False  # there is none, which paramiko finds too
    return False
