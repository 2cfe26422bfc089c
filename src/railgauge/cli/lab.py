"""``railgauge lab``: keep a simulated cluster running, for experiments by hand."""

from __future__ import annotations

import argparse
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from railgauge import labs
from railgauge.cli import text
from railgauge.config import hostfile
from railgauge.core.errors import BadInput
from railgauge.core.model import Node
from railgauge.run.progress import screen

HELP = "start the embedded lab (simulated nodes over real SSH) and keep it up until Ctrl-C"
EXAMPLE = "example: railgauge lab up --hostfile hostfiles/lab-metax-c500.yaml"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=["up"])
    parser.add_argument(
        "--hostfile", type=Path, metavar="F", help="default: hostfiles/lab-metax-c500.yaml"
    )
    parser.add_argument("--nodes", type=int, metavar="N", help="number of nodes")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="seed of the noise")
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        metavar="FAULT",
        help="a fault as --lab-fault of the plugin takes it: NAME[@NODE[:DEVICE]][=SEVERITY]…",
    )


def run(options: argparse.Namespace) -> int:
    path = options.hostfile or options.root / "hostfiles" / "lab-metax-c500.yaml"
    cluster = hostfile.load(path, schema_file=options.root / "hostfiles" / "schema.json")
    if cluster.transport != "lab":
        raise BadInput("is not a lab", where=str(path), remedy="give one with transport: lab")
    with labs.started(
        cluster, seed=options.seed, nodes=options.nodes, faults=options.fault
    ) as reached:
        commands = {node.name: _ssh(node) for node in reached.nodes}
        with screen.paused(), _until_asked_to_end():
            if options.json:
                text.print_json(commands)
            else:
                print("simulated nodes; Ctrl-C ends them:")
                for line in commands.values():
                    print(f"  {line}", flush=True)
    return 0


@contextmanager
def _until_asked_to_end() -> Iterator[None]:
    """Wait for a signal; one that comes while the lab is being printed counts too."""
    ends = {signal.SIGINT, signal.SIGTERM}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    try:
        yield
        signal.sigwait(ends)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _ssh(node: Node) -> str:
    settings = node.ssh
    return (
        f"ssh -p {settings.port} -i {settings.key} -o IdentitiesOnly=yes "
        f"-o UserKnownHostsFile={settings.known_hosts} {settings.user}@{node.address}"
    )
