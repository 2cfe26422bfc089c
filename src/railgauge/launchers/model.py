"""What every launcher is told, and what none of them can do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from railgauge.core.errors import BadInput

BINDINGS = ("numa", "none")

_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Host:
    """A node, the address at which MPI contacts it, and how many ranks run there."""

    name: str
    address: str
    ranks: int


@dataclass(frozen=True, slots=True)
class Launch:
    """One program on several hosts, with its environment.

    ``bind`` is ``numa`` or ``none``. ``network`` are networks (``10.2.122.0/24``) or interfaces,
    with commas, for the launcher's own messages; empty leaves them to it. ``options`` are further
    arguments of the launcher; they come after this project's own and replace its binding and
    mapping where they name their own.
    """

    hosts: tuple[Host, ...]
    program: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    bind: str = "numa"
    options: tuple[str, ...] = ()
    network: str = ""
    allow_run_as_root: bool = False

    def __post_init__(self) -> None:
        if not self.hosts or not self.program:
            raise BadInput("nothing to launch: no host or no program")
        if self.bind not in BINDINGS:
            raise BadInput(f"unknown binding {self.bind!r}", remedy=f"one of {', '.join(BINDINGS)}")
        for host in self.hosts:
            _check_host(host)
        for name, value in self.environment.items():
            _check_variable(name, value)

    @property
    def ranks(self) -> int:
        return sum(host.ranks for host in self.hosts)

    @property
    def ranks_per_host(self) -> int | None:
        """How many ranks run on each host; ``None`` where hosts differ."""
        counts = {host.ranks for host in self.hosts}
        return counts.pop() if len(counts) == 1 else None

    def has_option(self, *names: str) -> bool:
        """Whether the options already say one of ``names``, alone or as ``name=value``."""
        return any(option.partition("=")[0] in names for option in self.options)


def _check_host(host: Host) -> None:
    # A colon or a comma would be read as a count or as another host.
    for name in (host.name, host.address):
        if not _HOST.fullmatch(name):
            raise BadInput(f"{name!r} cannot be given to a launcher", remedy="give a host name")
    if host.ranks < 1:
        raise BadInput(f"{host.ranks} ranks on {host.name}", remedy="1 or more")


def _check_variable(name: str, value: str) -> None:
    if not _VARIABLE.fullmatch(name):
        raise BadInput(f"{name!r} is not the name of an environment variable")
    if "\0" in value or "\n" in value:
        raise BadInput(f"the value of {name} has a line end")
