"""A measurement's options, checked, the path of its program, and the command that runs it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NoReturn

from railgauge.core.errors import BadInput
from railgauge.core.model import Command
from railgauge.core.programs import located
from railgauge.core.units import format_size
from railgauge.tools import Setting, keys

_PORTS = range(1, 65536)


@dataclass(frozen=True, slots=True)
class Count:
    """An option that is a whole number: its flag, its bounds, and its value if none is given.

    A flag that ends in ``=`` has the number in its own word.
    """

    flag: str
    least: int = 1
    most: int | None = None
    default: int | None = None


@dataclass(frozen=True, slots=True)
class Options:
    """The options of one measurement. Each method raises ``BadInput`` for a value of another type.

    ``where`` is the measurement's name, for error messages.
    """

    where: str
    values: Mapping[str, object]

    def text(self, name: str, default: str = "") -> str:
        value = self.values.get(name, default)
        if not isinstance(value, str):
            self.refuse(f"{name} is {value!r}", "give text")
        return value

    def count(
        self, name: str, default: int | None, least: int = 1, most: int | None = None
    ) -> int | None:
        """Return a whole number; the default only if the option is not there."""
        if name not in self.values:
            return default
        value = self.values[name]
        wanted = f"{least} to {most}" if most else f"a whole number of {least} or more"
        if isinstance(value, bool) or not isinstance(value, int):
            self.refuse(f"{name} is {value!r}", f"give {wanted}")
        if not least <= value <= (most or value):
            self.refuse(f"{name} is {value}", f"give {wanted}")
        return value

    def number(self, name: str, default: int, least: int = 1, most: int | None = None) -> int:
        value = self.count(name, default, least, most)
        return default if value is None else value

    def choice(self, name: str, known: Collection[str], default: str = "") -> str:
        """Return one of the texts ``known``, or the default."""
        value = self.text(name, default)
        if value != default and value not in known:
            self.refuse(f"{name} is {value!r}", f"use one of {', '.join(known)}")
        return value

    def flags(self, counts: Mapping[str, Count]) -> Iterator[str]:
        """Yield the flags of the numbers that are given or have a default."""
        for name, one in counts.items():
            value = self.count(name, one.default, one.least, one.most)
            if value is not None and one.flag.endswith("="):
                yield f"{one.flag}{value}"
            elif value is not None:
                yield from (one.flag, str(value))

    def flag(self, name: str, default: bool = False) -> bool:
        value = self.values.get(name, default)
        if not isinstance(value, bool):
            self.refuse(f"{name} is {value!r}", "give true or false")
        return value

    def words(self, name: str) -> tuple[str, ...]:
        value = self.values.get(name, ())
        if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
            self.refuse(f"{name} is {value!r}", "give a list of texts")
        return tuple(value)

    def refuse(self, what: str, remedy: str) -> NoReturn:
        raise BadInput(what, where=self.where, remedy=remedy)


def read_options(
    setting: Setting, known: frozenset[str], commands: Collection[str] = ()
) -> Options:
    """Return the measurement's options. Raises ``BadInput`` that names unknown and known ones.

    ``commands`` are those of the tool; another one of the measurement is ``BadInput`` too.
    """
    measurement = setting.measurement
    options = Options(measurement.name, measurement.options)
    if commands and measurement.command not in commands:
        options.refuse(
            f"{measurement.command!r} is not a command of {measurement.tool}",
            f"use one of {', '.join(commands)}",
        )
    if unknown := sorted(set(measurement.options) - known):
        options.refuse(
            f"unknown option {', '.join(unknown)}",
            f"{measurement.tool} takes {', '.join(sorted(known))}",
        )
    return options


def program(setting: Setting, name: str, beside: tuple[str, ...] = ()) -> str:
    """Return the path of the program ``name``, or ``name`` alone if the hostfile gives no path.

    Under ``tools`` the hostfile gives a folder, or the full path of the program or of one of the
    programs ``beside`` it.
    """
    return located(setting.cluster.tools, name, keys(setting.measurement.tool), beside)


def on_its_node(
    setting: Setting, argv: Iterable[str], environment: Mapping[str, str] | None = None
) -> tuple[Command, ...]:
    """Return the command of a tool that runs on the case's first node alone.

    It has the environment of the setting, unless it is given another one.
    """
    command = command_on(setting, setting.case.nodes[0], argv)
    return (command if environment is None else replace(command, environment=dict(environment)),)


def command_on(
    setting: Setting, node: str, argv: Iterable[str], listens_on: int | None = None
) -> Command:
    """Return a command with the environment of the setting; a server ``listens_on`` a TCP port."""
    environment, limit_s = dict(setting.environment), setting.measurement.time_limit_s
    return Command(node, tuple(argv), environment, limit_s, listens_on)


def starting(programs: tuple[str, ...], commands: Iterable[Command]) -> tuple[Command, ...]:
    """Return the commands of a tool's own script with the programs that it starts."""
    return tuple(replace(one, programs=programs) for one in commands)


def one_size(setting: Setting) -> int | None:
    """Return the case's message size in bytes, or ``None``; ``BadInput`` for several."""
    sizes = sorted(set(setting.case.sizes))
    if len(sizes) > 1:
        raise BadInput(
            f"one run measures one size, not {', '.join(map(format_size, sizes))}",
            where=setting.measurement.name,
            remedy="declare a measurement for each size",
        )
    return sizes[0] if sizes else None


def check_port(port: int, where: str) -> None:
    if port not in _PORTS:
        raise BadInput(f"{port} is not a TCP port", where=where, remedy="give 1 to 65535")
