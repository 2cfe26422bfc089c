"""The cells of how a node is entered: login, shell, root, and who holds the node. Pure."""

from __future__ import annotations

import shlex

from railgauge.config.reaching import BY_SSH
from railgauge.core.errors import OnlyBySsh
from railgauge.describing.readiness.model import (
    CellState,
    CheckCell,
    HostfileLine,
    NodeSeen,
    NodesSeen,
)
from railgauge.leases.holder import Held, Taken, Unleasable

_SUDOERS = "give the login the right: {user} ALL=(root) NOPASSWD: ALL in /etc/sudoers.d/railgauge"


def reach(one: NodeSeen, site: NodesSeen) -> CheckCell:  # noqa: ARG001 - the form of every check
    if one.refusal is None:
        return CheckCell(CellState.OK, one.entry.way if one.entry else "reached")
    error = one.refusal
    if isinstance(error, OnlyBySsh):
        lines = (
            HostfileLine(("transport",), "exec"),
            HostfileLine(("exec",), [*_ssh_words(one), "{address}", "{line}"]),
        )
        return CheckCell(CellState.MEND, error.what, error.remedy, lines)
    return CheckCell(
        CellState.MEND, error.what, error.remedy or "look at its power, network and login"
    )


def _ssh_words(one: NodeSeen) -> list[str]:
    """Return the recipe with what the hostfile says of the login: exec passes ssh nothing else."""
    ssh = one.node.ssh
    given = {"User": ssh.user, "Port": ssh.port, "IdentityFile": ssh.key, "ProxyJump": ssh.jump}
    config = [] if ssh.config is None else ["-F", ssh.config]
    return [*BY_SSH, *config, *(f"-o{key}={value}" for key, value in given.items() if value)]


def shell(one: NodeSeen, site: NodesSeen) -> CheckCell:
    if one.setup_failed:
        return CheckCell(CellState.MEND, one.setup_failed.what, one.setup_failed.remedy)
    output = one.self_report
    if output is None or not output.shell:
        return CheckCell(
            CellState.UNKNOWN, "the node printed nothing about its login", "log in by hand"
        )
    if any(node.setup for node in site.cluster.nodes) and not output.has_bash:
        return CheckCell(
            CellState.MEND, "no bash, which setup needs", "install bash, or remove setup"
        )
    printed = (one.entry.printed if one.entry else "").strip()
    if not printed:
        return CheckCell(CellState.OK, f"{output.shell}, prints nothing at its start")
    first = " ".join(printed.splitlines()[0].split())[:60]
    return CheckCell(
        CellState.NOTE, f"{output.shell}, prints at its start what is dropped: {first!r}"
    )


def root(one: NodeSeen, site: NodesSeen) -> CheckCell:  # noqa: ARG001
    output, become = one.self_report, one.node.become
    way, _, rest = (output.root if output else "").partition(" ")
    if way == "root":
        return CheckCell(CellState.OK, "root by login")
    if way == "works" and become:
        return CheckCell(CellState.OK, f"root by {shlex.join(become)}")
    if way == "works":
        lines = (HostfileLine(("become",), rest),) if rest in ("sudo -n", "doas -n") else ()
        return CheckCell(CellState.MEND, f"{rest} works and is not in the hostfile", "", lines)
    if way not in ("refused", "none"):
        return CheckCell(
            CellState.UNKNOWN, "not known whether the login may become root", "try: sudo -n true"
        )
    user = output.user if output and output.user.isidentifier() else "USER"
    drop = ", or remove become" if become else ", then write become: sudo -n"
    why = f"{user} cannot become root: {rest or 'neither sudo nor doas is there'}"
    return CheckCell(CellState.MEND, why, _SUDOERS.format(user=user) + drop)


def lease(one: NodeSeen, site: NodesSeen) -> CheckCell:
    held = one.lease
    if site.allots_nodes:
        return CheckCell(CellState.OK, "allotted to this command alone")
    if isinstance(held, Held):
        return CheckCell(CellState.OK, "free")
    if isinstance(held, Taken):
        return CheckCell(CellState.MEND, f"held by {held}", "wait for it: pytest --wait SECONDS")
    if isinstance(held, Unleasable):
        return CheckCell(
            CellState.MEND, f"cannot be leased: {held.why}", "mend it, or other runs may come in"
        )
    return CheckCell(CellState.UNKNOWN, "the node did not say who holds it", "run the check again")
