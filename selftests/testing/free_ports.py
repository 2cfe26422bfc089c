"""TCP ports for a test's own servers."""

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


def free_ports(count: int) -> list[int]:
    """So many ports, all different."""
    found: dict[int, None] = {}
    while len(found) < count:
        found[free_port()] = None
    return list(found)
