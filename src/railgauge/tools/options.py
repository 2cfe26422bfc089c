"""A measurement's options, checked, and the path of its program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

from railgauge.core.errors import BadInput
from railgauge.core.programs import located
from railgauge.core.units import format_size
from railgauge.tools import Setting, keys

_PORTS = range(1, 65536)


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

    def count(self, name: str, default: int | None, least: int = 1) -> int | None:
        value = self.values.get(name, default)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            self.refuse(f"{name} is {value!r}", f"give a whole number of {least} or more")
        return value

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


def read_options(setting: Setting, known: frozenset[str]) -> Options:
    """Return the measurement's options. Raises ``BadInput`` that names unknown and known ones."""
    measurement = setting.measurement
    options = Options(measurement.name, measurement.options)
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
