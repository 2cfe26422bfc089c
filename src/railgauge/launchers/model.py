"""The input of every launcher, and the checks that hold for all of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from railgauge.core.errors import BadInput
from railgauge.core.node_names import is_name

BINDINGS = ("numa", "none")

_OF_PROGRAMS = re.compile(r"PATH|LD_\w+")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def is_of_programs(name: str) -> bool:
    """Whether a variable says where programs and libraries are, such as ``LD_LIBRARY_PATH``.

    Neither a launcher nor a container's engine is started with it: both pass it on by value.
    """
    return bool(_OF_PROGRAMS.fullmatch(name))


@dataclass(frozen=True, slots=True)
class Host:
    """A node, the address at which MPI contacts it, and the number of its ranks."""

    name: str
    address: str
    ranks: int


@dataclass(frozen=True, slots=True)
class Launch:
    """One program on several hosts, with its environment.

    A launcher passes the environment on by name: the values are in its own environment, because
    every user of a node reads the arguments of all processes. Where programs and libraries are
    (``PATH``, ``LD_LIBRARY_PATH``) is given by value: the launcher must not search there itself.

    ``bind`` is ``numa`` or ``none``. ``network`` is a comma-separated list of networks
    (``10.2.122.0/24``) or interfaces for the launcher's own messages; empty leaves the choice to
    the launcher. ``options`` are further arguments of the launcher. They come after railgauge's
    own; options for binding or mapping replace railgauge's. ``ports`` are the first and the last
    TCP port that the launcher and the ranks may listen on; ``None`` if any may be used.
    ``through_suite``: the suite starts the launcher's daemons.

    Raises ``BadInput`` for a launch that no launcher can start.
    """

    hosts: tuple[Host, ...]
    program: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    bind: str = "numa"
    options: tuple[str, ...] = ()
    network: str = ""
    allow_run_as_root: bool = False
    ports: tuple[int, int] | None = None
    through_suite: bool = False

    def __post_init__(self) -> None:
        if not self.hosts or not self.program:
            raise BadInput("the launch has no host or no program")
        if self.bind not in BINDINGS:
            known = ", ".join(BINDINGS)
            raise BadInput(f"unknown binding {self.bind!r}", remedy=f"use one of {known}")
        for host in self.hosts:
            _check_host(host)
        for name, value in self.environment.items():
            _check_variable(name, value)

    @property
    def ranks(self) -> int:
        return sum(host.ranks for host in self.hosts)

    @property
    def ranks_per_host(self) -> int | None:
        """The number of ranks on each host; ``None`` if hosts differ."""
        counts = {host.ranks for host in self.hosts}
        return counts.pop() if len(counts) == 1 else None

    @property
    def by_value(self) -> dict[str, str]:
        """The variables that stand in the launcher's arguments with their values, in order."""
        return {k: v for k, v in sorted(self.environment.items()) if is_of_programs(k)}

    @property
    def by_name(self) -> dict[str, str]:
        """The variables that the launcher has in its environment and passes on, in order."""
        return {k: v for k, v in sorted(self.environment.items()) if not is_of_programs(k)}

    def has_option(self, *names: str) -> bool:
        """Whether the options contain one of ``names``, alone or as ``name=value``."""
        return any(option.partition("=")[0] in names for option in self.options)


def is_host(address: str) -> bool:
    """Whether a launcher accepts an address: it takes what follows a colon as a count."""
    return address.isascii() and is_name(address)


def _check_host(host: Host) -> None:
    if not is_host(host.address):
        what = f"{host.address!r} is not a host name that a launcher accepts"
        raise BadInput(what, remedy="use letters, digits, dots, hyphens and underscores")
    if host.ranks < 1:
        raise BadInput(f"{host.ranks} ranks on {host.name}", remedy="use 1 rank or more")


def _check_variable(name: str, value: str) -> None:
    if not _VARIABLE.fullmatch(name):
        raise BadInput(f"{name!r} is not the name of an environment variable")
    if "\0" in value or "\n" in value:
        raise BadInput(f"the value of {name} contains a line end or a NUL")
