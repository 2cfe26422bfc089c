"""The commands of both programs, and the output checks of their rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from railgauge.core.model import Command, Parsed
from railgauge.tools import Setting
from railgauge.tools.blas_bench.each_gpu import on_each_gpu
from railgauge.tools.blas_bench.table import read
from railgauge.tools.options import Options, on_its_node, program, read_options, starting
from railgauge.tools.output_checks import (
    OutputCheck,
    SideOutput,
    ToolRequest,
    checks_of_gpus,
    equal,
)

DEFAULTS = {"size": 8192, "iterations": 100, "warmup": 100, "cycles": 3}


@dataclass(frozen=True, slots=True)
class Types:
    """The types of a product: of its factors, its result, and its sums."""

    factors: str
    result: str
    sums: str

    def flags(self) -> tuple[str, ...]:
        pairs = (("a", self.factors), ("b", self.factors), ("c", self.result), ("d", self.result))
        named = [word for name, kind in pairs for word in (f"--{name}_type", kind)]
        return (*named, "--compute_type", self.sums)

    def asked(self) -> dict[str, str]:
        """The types as a row names them, by column."""
        return {
            "a_type": self.factors,
            "b_type": self.factors,
            "c_type": self.result,
            "d_type": self.result,
            "compute_type": self.sums,
        }


@dataclass(frozen=True, slots=True)
class BlasBench:
    """One of the programs: its name, its formats, and its own flags for a verified product."""

    name: str
    formats: Mapping[str, Types]
    own: tuple[str, ...]
    verify: tuple[str, ...]

    def commands(self, setting: Setting, _port: int) -> tuple[Command, ...]:
        """Return one command that runs the program on each declared GPU. Raises ``BadInput``.

        The measurement's command is the format. Options: ``size`` (rows of a matrix),
        ``iterations`` (products of a row), ``warmup`` (products before them), ``cycles`` (runs of
        each GPU, one row each), ``verify`` (the host computes the product too, which takes long).
        """
        options = read_options(setting, frozenset({*DEFAULTS, "verify"}), self.formats)
        form, gpus = setting.measurement.command, setting.platform.gpus
        if gpus is None:
            options.refuse("the platform declares no GPUs", "declare hardware.gpus")
        argv = (program(setting, self.name), *self._flags(options, form))
        cycles = _count(options, "cycles")
        on_each = on_each_gpu(self.name, argv, gpus.count, cycles)
        return starting(
            argv[:1], on_its_node(setting, on_each, {"LC_ALL": "C", **setting.environment})
        )

    def parse(self, text: str) -> Parsed:
        """Read its rows (see ``table.read``). Never raises."""
        return read(text, self.name)

    def _flags(self, options: Options, form: str) -> Iterator[str]:
        size = str(_count(options, "size"))
        yield from self.own
        yield from ("-m", size, "-n", size, "-k", size, "--transA", "N", "--transB", "T")
        yield from (word for name in "abcd" for word in (f"--ld{name}", size))
        yield from self.formats[form].flags()
        yield from ("-i", str(_count(options, "iterations")), "-j", str(_count(options, "warmup")))
        yield from (self.verify if options.flag("verify") else ())

    def output_checks(
        self, asked: ToolRequest, sides: tuple[SideOutput, ...]
    ) -> tuple[OutputCheck, ...]:
        """Compare sizes, types, cycles, and the number and models of the GPUs."""
        summary = sides[0].parsed.summary
        types = self.formats.get(asked.measurement.command)
        size = asked.option("size", DEFAULTS["size"])
        cycles = asked.option("cycles", DEFAULTS["cycles"])
        return (
            *(equal(name, size, summary.get(name)) for name in ("m", "n", "k")),
            *(equal(name, one, summary.get(name)) for name, one in _asked(types).items()),
            equal("cycles", cycles, summary.get("cycles")),
            *checks_of_gpus(asked, summary),
        )


def _asked(types: Types | None) -> Mapping[str, str]:
    return types.asked() if types else {}


def _count(options: Options, name: str) -> int:
    return options.number(name, DEFAULTS[name])
