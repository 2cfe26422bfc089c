"""Which part is slow: one model of parts, figures and faults. Pure.

Each tool declares what its figures mean in parts (``tools.form``). ``readings`` makes shares of
what healthy parts reach (``healthy``) out of figures; ``places`` predicts them for parts that are
slow; ``likelihood`` weighs a hypothesis, which is a set of ``faults``; ``search`` finds the
likeliest ones with ``fitting``; ``decision`` gives each part its probability; ``asking`` chooses
the next measurement among the ``options``; ``found_parts`` are the result, ``text`` is its
English; ``nodes`` compares nodes as a limit on stragglers asks. All numbers are in ``constants``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from railgauge.core.model import Case
from railgauge.core.question import Question
from railgauge.diagnosis.model import Finding, RunResults
from railgauge.diagnosis.slow.asking import ChosenCase, asked
from railgauge.diagnosis.slow.decision import Weighed, doubted, weighed
from railgauge.diagnosis.slow.found_parts import FoundPart, found_parts
from railgauge.diagnosis.slow.known import KnownCause
from railgauge.diagnosis.slow.likelihood import Model
from railgauge.diagnosis.slow.nodes import ComparedNode, compared_nodes
from railgauge.diagnosis.slow.options import Barred
from railgauge.diagnosis.slow.readings import evidence
from railgauge.diagnosis.slow.search import searched
from railgauge.diagnosis.slow.side_effects import SideEffect, side_effects
from railgauge.diagnosis.slow.sight import Sight
from railgauge.diagnosis.slow.text import findings


@dataclass(frozen=True, slots=True)
class Inference:
    """What the model makes of a run."""

    results: RunResults
    model: Model
    weighed: Weighed
    effects: tuple[SideEffect, ...]
    bars: Barred

    @property
    def found_parts(self) -> tuple[FoundPart, ...]:
        return tuple(found_parts(self.model, self.weighed, self.effects))

    def asked(
        self, most: int, made: Collection[str] = (), *, again: bool = False
    ) -> list[ChosenCase]:
        """What to ask of so many cases at most; ``made`` are the keys of those made.

        ``again``: what is decided is measured again as well.
        """
        weighed_ = doubted(self.weighed) if again else self.weighed
        return asked(
            self.model.evidence, weighed_, most, made, adds=self.model.adds, bars=self.bars
        )

    def findings(self) -> tuple[Finding, ...]:
        found = self.found_parts
        return tuple(findings(found, self.results.records, self._questions(found)))

    def nodes(self) -> dict[str, ComparedNode]:
        """The nodes, compared as a limit on stragglers asks."""
        found = self.found_parts
        return compared_nodes(self.model, self.weighed, found, self._questions(found))

    def sight(self) -> Sight:
        """What the figures show beside the slow parts that are decided."""
        return Sight.of(self.model, self.weighed, self.found_parts)

    def _questions(self, found: Iterable[FoundPart]) -> list[Question]:
        is_open = any(not one.is_decided for one in found)
        return [one.question for one in self.asked(1)] if is_open else []


def _nothing(_node: str, _case: Case) -> bool:
    return False


def inferred(
    results: RunResults, known: Collection[KnownCause] = (), bars: Barred = _nothing
) -> Inference:
    """Infer which parts are slow beside what the ``known`` causes explain.

    Nothing is asked for that ``bars`` keeps a node from.
    """
    found = searched(evidence(results, known))
    likeliest = weighed(found.pool, found.model.twins)
    effects = tuple(side_effects(found.model, likeliest.best))
    return Inference(results, found.model, likeliest, effects, bars)
