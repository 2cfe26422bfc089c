"""A TCP port for a test's own server."""

import random
import socket

# Below the ports that the kernel gives to connections, which may take one before the server does.
_FIRST, _END = 20000, 32000


def free_port() -> int:
    """A port of the loopback that nothing listens on."""
    while True:
        port = random.randrange(_FIRST, _END)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
