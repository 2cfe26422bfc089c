"""Which part is slow: one model of parts, figures and faults. Pure.

Each tool declares what its figures mean in parts (``tools.form``). ``readings`` makes shares of
what healthy parts reach (``healthy``) out of figures; ``places`` predicts them for parts that are
slow; ``likelihood`` weighs a hypothesis, which is a set of ``faults``; ``search`` finds the
likeliest ones with ``fitting``; ``decision`` gives each part its probability; ``asking`` chooses
the next measurement among the ``options``; ``findings`` are the result and ``text`` is its English.
All numbers are in ``constants``.

It plays in ``make blind-quick ARGS="--diagnosis model"``, in place of the rules of ``diagnosis``.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from railgauge.diagnosis.model import CauseClaim, RunResults
from railgauge.diagnosis.slow.asking import ChosenCase, asked
from railgauge.diagnosis.slow.decision import Weighed, weighed
from railgauge.diagnosis.slow.findings import FoundPart, findings
from railgauge.diagnosis.slow.likelihood import Model
from railgauge.diagnosis.slow.readings import evidence
from railgauge.diagnosis.slow.search import searched
from railgauge.diagnosis.slow.side_effects import with_side_effects
from railgauge.diagnosis.slow.text import claims
from railgauge.tools.form import ClusterPart


@dataclass(frozen=True, slots=True)
class Inference:
    """What the model makes of a run."""

    results: RunResults
    model: Model
    weighed: Weighed

    @property
    def findings(self) -> tuple[FoundPart, ...]:
        return tuple(findings(self.model, self.weighed))

    def asked(self, most: int, made: Collection[tuple[str, int]] = ()) -> list[ChosenCase]:
        """What to ask of so many cases at most; ``made`` are (key, repeats) of those made."""
        return asked(self.model.evidence, self.weighed, most, made, adds=self.model.adds)

    def claims(self) -> tuple[CauseClaim, ...]:
        found = self.findings
        is_open = any(not one.is_decided for one in found)
        questions = [one.question for one in self.asked(1)] if is_open else []
        return tuple(claims(found, self.results.records, questions))


def inferred(results: RunResults, known: Collection[ClusterPart] = ()) -> Inference:
    """Infer which parts are slow; those in ``known`` are slow by what facts show."""
    read = evidence(results)
    numbers = [read.number[part] for part in known if part in read.number]
    found = searched(read, numbers)
    return Inference(
        results, found.model, weighed(with_side_effects(found.model, found.pool), found.model.twins)
    )
