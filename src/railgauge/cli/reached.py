"""The nodes of a hostfile, for commands that ask them outside of a run."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from railgauge import labs
from railgauge.cli import text
from railgauge.core.model import Cluster
from railgauge.transport.registry import connect, opened
from railgauge.transport.sessions import Sessions
from railgauge.transport.tag import Tag


@contextmanager
def nodes_reached(
    cluster: Cluster, what: str, tell: Callable[[str], None]
) -> Iterator[tuple[Cluster, Sessions]]:
    """Give the cluster as reached, and its sessions; a lab runs until the block ends.

    ``what`` is the name of the command, in the tag of what it starts on the nodes.
    """
    tag = Tag(f"{what}-{secrets.token_hex(6)}", "main")
    with ExitStack() as stack:
        if cluster.transport == "lab":
            tell(f"lab: starting {len(cluster.nodes)} simulated nodes")
            reached = stack.enter_context(labs.started(cluster, seed=1))
        else:
            reached = stack.enter_context(opened(cluster, tell))
        sessions = Sessions(reached, lambda node: connect(reached.transport, node, tag))
        stack.callback(sessions.close)
        yield reached, sessions


def tell(line: str) -> None:
    print(text.printable(line), file=sys.stderr, flush=True)
