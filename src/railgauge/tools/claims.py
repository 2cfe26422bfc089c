"""What the output of a tool says was done, item by item, beside what was asked for. Pure.

A command line is a wish: an environment variable, a wrapper, another build or a typing error can
make of it another test, which prints a table as good as the one that was asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from railgauge.config.thresholds.model import Measurement, Platform
from railgauge.core.errors import NoEvidence
from railgauge.core.model import Case, Parsed
from railgauge.core.terms import Role
from railgauge.facts import NodeFacts

# What vendors put around the name of one and the same GPU.
_AROUND = frozenset({"nvidia", "amd", "metax", "oam", "tesla"})


@dataclass(frozen=True, slots=True)
class Claim:
    """One thing that output and command must agree on.

    ``said`` is ``None`` where this version of the tool, or this output, does not show it. ``node``
    is where it was said, if not by the command that reports. ``remedy`` is what to do where they
    disagree, if that is known.
    """

    item: str
    asked: str
    said: str | None
    agrees: bool = True
    node: str = ""
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.item}: asked for {self.asked}, the tool says {self.said}"


@dataclass(frozen=True, slots=True)
class Asked:
    """All that a run is held against. ``found`` is what the survey knows of the nodes.

    A run that is not ``is_planned`` is somebody else's, who may have chosen how often.
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
        """The GPUs that the nodes should have, and those that the survey saw there."""
        gpus = self.platform.gpus
        declared = [gpus.model] if gpus and "gpu_model" in self.platform.expected else []
        seen = [gpu.model for node in nodes if (facts := self.facts(node)) for gpu in facts.gpus]
        return frozenset([*declared, *seen])


@dataclass(frozen=True, slots=True)
class Heard:
    """What one command of a run printed, read. ``role`` is ``client`` for the one that reports."""

    node: str
    role: Role
    parsed: Parsed


def equal(item: str, asked: object, said: object) -> Claim:
    """A claim that agrees if both sides read alike; ``said`` is ``None`` if it is not shown."""
    if said is None:
        return Claim(item, str(asked), None)
    return Claim(item, str(asked), str(said), str(asked).lower() == str(said).lower())


def same_models(item: str, wanted: Iterable[str], said: Iterable[str]) -> Claim | None:
    """Whether the tool names no other GPU; nothing is claimed where no model is expected."""
    known = {_bare(model): model for model in wanted}
    if not known:
        return None
    named = [model for model in dict.fromkeys(said) if model]
    strange = [model for model in named if _bare(model) not in known]
    asked = " or ".join(sorted(known.values()))
    return Claim(item, asked, ", ".join(strange or named) or None, not strange)


def _bare(model: str) -> frozenset[str]:
    return frozenset(model.lower().split()) - _AROUND


def claims_nothing(asked: Asked, heard: tuple[Heard, ...]) -> tuple[Claim, ...]:  # noqa: ARG001
    """``claims`` of a tool whose command leaves nothing open that its output could deny."""
    return ()
