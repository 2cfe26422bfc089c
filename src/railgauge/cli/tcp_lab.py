"""``railgauge tcp-lab``: a real TCP cluster in one machine, while one command runs."""

from __future__ import annotations

import argparse

from railgauge import labs
from railgauge.core.errors import BadInput
from railgauge.run.progress import screen

HELP = "build a real TCP cluster of network namespaces on this machine and run a command with it"
EXAMPLE = (
    "example: railgauge tcp-lab --limit tcp02=50mbit -- pytest --hostfile={hostfile} --level smoke"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--nodes", type=int, default=3, metavar="N", help="number of nodes (3)")
    parser.add_argument(
        "--sshd",
        choices=["asyncssh", "openssh"],
        default="asyncssh",
        help="the SSH server of the nodes; openssh needs root",
    )
    for name, form, says in (
        ("--limit", "NODE=RATE", "slow down the node's link both ways, such as tcp02=50mbit"),
        ("--loss", "NODE=PERCENT", "drop packets from the node, such as tcp02=5%%"),
        ("--partition", "NODE[:data]", "cut off the node; with :data keep its SSH"),
        ("--mtu", "NODE=BYTES", "set a smaller MTU on the node's link, such as tcp02=1300"),
    ):
        parser.add_argument(name, action="append", default=[], metavar=form, help=says)
    parser.add_argument(
        "command",
        nargs=argparse.REMAINDER,
        metavar="-- COMMAND …",
        help="the command to run, where it can reach the nodes; {hostfile} in it, and "
        "RAILGAUGE_HOSTFILE in its environment, is the path of the hostfile",
    )


def run(options: argparse.Namespace) -> int:
    """Return the command's own exit code; 2 if the cluster cannot be built."""
    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    if not command:
        raise BadInput("no command to run", remedy="railgauge tcp-lab -- COMMAND …")
    faults = {kind: getattr(options, kind) for kind in ("limit", "loss", "partition", "mtu")}
    with screen.paused():  # the command has the terminal
        return labs.run_with_tcp(options.nodes, faults, options.sshd, command)
