"""Comparison of a tool's output with its command: the tool must have done what was asked. Pure.

An environment variable, a wrapper, another build or a typing error can turn the command into
another test, which prints an equally plausible table. Each item that the output shows is therefore
compared with the command::

    >>> print(equal("queue pairs", 4, 1))
    queue pairs: asked for 4, the tool says 1
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from railgauge.config.thresholds.model import Measurement, Platform
from railgauge.core.errors import NoEvidence, OtherThanAsked, ToolError
from railgauge.core.model import Case, Parsed
from railgauge.core.terms import Role
from railgauge.facts import NodeFacts
from railgauge.facts.parts import PartKind
from railgauge.tools import pci

# Words that vendors put before or after the name of the same GPU.
_AROUND = frozenset({"nvidia", "amd", "metax", "oam", "tesla"})
_Kind = TypeVar("_Kind")


@dataclass(frozen=True, slots=True)
class OutputCheck:
    """One item on which output and command must agree.

    ``shown`` is ``None`` if this version of the tool, or this output, does not show the item.
    ``node`` is the node whose output shows it, empty for the client. ``remedy`` is what to do if
    they disagree, empty if unknown. ``asks`` and ``says`` are the words before ``asked`` and
    ``shown``: an address is not asked for, but known. ``error`` is what it then is.
    """

    item: str
    asked: str
    shown: str | None
    agrees: bool = True
    node: str = ""
    remedy: str = ""
    asks: str = "asked for"
    says: str = "the tool says"
    error: type[ToolError] = OtherThanAsked

    def __str__(self) -> str:
        return f"{self.item}: {self.asks} {self.asked}, {self.says} {self.shown}"


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """All that a run's output is compared with. ``found`` is the survey's result by node.

    ``is_planned`` is false for an output that was not made by a run of the suite: its numbers of
    iterations and rows may differ.
    """

    case: Case
    measurement: Measurement
    platform: Platform
    found: Mapping[str, NodeFacts | NoEvidence] = field(default_factory=dict)
    is_planned: bool = True

    def option(self, name: str, default: object = None) -> object:
        return self.measurement.options.get(name, default)

    def facts(self, node: str) -> NodeFacts | None:
        found = self.found.get(node)
        return found if isinstance(found, NodeFacts) else None

    def models(self, nodes: Iterable[str]) -> frozenset[str]:
        """Return the GPU models that the nodes should have, and those that the survey found."""
        gpus = self.platform.gpus
        declared = [gpus.model] if gpus and "gpu_model" in self.platform.expected else []
        seen = [gpu.model for node in nodes if (facts := self.facts(node)) for gpu in facts.gpus]
        return frozenset([*declared, *seen])


@dataclass(frozen=True, slots=True)
class SideOutput:
    """The parsed output of one command of a run; the one with the results has role ``client``.

    ``argv`` is the command; empty for an output without its command. ``lasted_s`` is how long the
    command ran by the clock of the control host; ``None`` if that is unknown or meaningless.
    """

    node: str
    role: Role
    parsed: Parsed
    argv: tuple[str, ...] = ()
    lasted_s: float | None = None


def equal(item: str, asked: object, shown: object) -> OutputCheck:
    """Return a check that agrees if both texts are equal; ``shown`` is ``None`` if not printed."""
    if shown is None:
        return OutputCheck(item, str(asked), None)
    return OutputCheck(item, str(asked), str(shown), str(asked).lower() == str(shown).lower())


def long_enough(side: SideOutput, least_s: float, why: str) -> Iterator[OutputCheck]:
    """Check that the command ran at least ``least_s``, the seconds that its output needs.

    Only a lower bound: a slow control host, or a slow start of the tool, makes a command longer.
    ``why`` are the words behind the seconds. No check without a time, or without a bound.
    """
    if side.lasted_s is None or not 0 < least_s < math.inf:
        return
    words = (f"at least {least_s:.2f} s {why}", f"{side.lasted_s:.2f} s")
    fits = side.lasted_s >= least_s * (1 - _CLOCKS_APART)
    asks, says = "what the tool says takes", "its command took"
    yield OutputCheck("time", *words, fits, side.node, asks=asks, says=says)


def all_iterations_s(parsed: Parsed) -> float:
    """Return the seconds of all rows; 0 if the number of iterations is not shown."""
    iterations = parsed.summary.get("iterations")
    times = (sample.value for sample in parsed.samples if sample.metric == "time_us")
    return sum(times) * iterations / 1e6 if isinstance(iterations, int) else 0.0


# The clocks of nodes and control host differ by less than 0.05 %; the figures are rounded.
_CLOCKS_APART = 0.01


def same_models(item: str, wanted: Iterable[str], printed: Iterable[str]) -> OutputCheck | None:
    """Check that the tool names only wanted GPU models; ``None`` if no model is wanted."""
    known = {_bare(model): model for model in wanted}
    if not known:
        return None
    named = [model for model in dict.fromkeys(printed) if model]
    strange = [model for model in named if _bare(model) not in known]
    asked = " or ".join(sorted(known.values()))
    return OutputCheck(item, asked, ", ".join(strange or named) or None, not strange)


def checks_of_gpus(asked: ToolRequest, summary: Mapping[str, object]) -> Iterator[OutputCheck]:
    """Check that exactly the declared GPUs were measured, those of the node, and of their model.

    In the ``summary`` of the output, ``measured`` are the names of the GPUs (``gpu0``, …) in
    printed order; ``models``, ``uuids`` and ``buses`` (PCI addresses) are theirs.
    """
    if asked.platform.gpus is None:
        return
    names = _texts(summary, "measured")
    wanted = ", ".join(f"gpu{number}" for number in range(asked.platform.gpus.count))
    yield equal("GPUs", wanted, ", ".join(names) or None)
    known = asked.models(asked.case.nodes)
    if model := same_models("GPU model", known, _texts(summary, "models")):
        yield model
    yield from _uuids(asked, _texts(summary, "uuids"))
    yield from checks_of_buses(asked, _texts(summary, "buses"))


def _texts(summary: Mapping[str, object], name: str) -> tuple[str, ...]:
    return tuple(map(str, listed(summary, name, object)))


def listed(summary: Mapping[str, object], name: str, kind: type[_Kind]) -> tuple[_Kind, ...]:
    """Return the values of this kind in a tuple of the summary; empty if there is no tuple."""
    found = summary.get(name)
    return tuple(one for one in found if isinstance(one, kind)) if isinstance(found, tuple) else ()


def joined(values: object) -> str | None:
    """Join the different values of a tuple of the summary; ``None`` if there are none."""
    return (
        ", ".join(map(str, dict.fromkeys(values))) if values and isinstance(values, tuple) else None
    )


def _uuids(asked: ToolRequest, uuids: Iterable[str]) -> Iterator[OutputCheck]:
    """Check that the GPUs have UUIDs of the node, if the survey has read all of them.

    Of other vendors, and of partitions, the runtime's UUID is not that of the smi tools.
    """
    printed = [uuid for uuid in uuids if _digits(uuid)]
    facts, gpus = asked.facts(asked.case.nodes[0]), asked.platform.gpus
    if not printed or facts is None or gpus is None or gpus.vendor != "nvidia":
        return
    parts = [one.uuid for one in facts.parts if one.kind is PartKind.GPU]
    known = {digits for uuid in parts if uuid and (digits := _digits(uuid))}
    if not known or len(known) < len(parts) or any(gpu.mig_enabled for gpu in facts.gpus):
        return
    strange = [uuid for uuid in printed if _digits(uuid) not in known]
    yield _of_the_node("UUIDs of the GPUs", asked, printed, strange)


def checks_of_buses(asked: ToolRequest, buses: Iterable[str]) -> Iterator[OutputCheck]:
    """Check that the PCI addresses of GPUs are those of the node, if the survey has them all."""
    printed = [one for one in buses if pci.whole(one)]
    facts = asked.facts(asked.case.nodes[0])
    known = [gpu.bus_id for gpu in facts.gpus] if facts else []
    whole = {pci.whole(bus) for bus in known if bus} - {None}
    if not printed or not known or len(whole) < len(known):
        return
    strange = [one for one in printed if pci.whole(one) not in whole]
    yield _of_the_node("PCI addresses of the GPUs", asked, printed, strange)


def _of_the_node(
    item: str, asked: ToolRequest, printed: Sequence[str], strange: Sequence[str]
) -> OutputCheck:
    """Check that all ``printed`` values are the node's; ``strange`` are those that are not."""
    if not strange:
        return OutputCheck(item, "of the node", f"{len(printed)} of them")
    asks = f"{asked.case.nodes[0]} has"
    return OutputCheck(item, "others", ", ".join(strange), False, asks=asks)


_UUID = re.compile(r"(?:gpu-)?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")


def _digits(uuid: str) -> str:
    """Return the digits of a UUID; empty for a text that is none."""
    match = _UUID.fullmatch(uuid.lower())
    return match[1] if match else ""


def _bare(model: str) -> frozenset[str]:
    return frozenset(model.lower().split()) - _AROUND


def checks_nothing(asked: ToolRequest, sides: tuple[SideOutput, ...]) -> tuple[OutputCheck, ...]:  # noqa: ARG001
    """``output_checks`` of a tool whose output shows nothing that could contradict its command."""
    return ()
