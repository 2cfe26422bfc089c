"""The scan of a subnet, the switch under test, and the judgements on its cables."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from railgauge.config.thresholds.model import FabricLimits
from railgauge.core.errors import MetricMissing
from railgauge.core.model import Judgement, Outcome
from railgauge.subnet import Cable, Topology


@dataclass(frozen=True, slots=True)
class Scan:
    """The output of one program about the subnet, and when the program started (ISO 8601)."""

    text: str
    began: str


@dataclass(frozen=True, slots=True)
class SwitchUnderTest:
    """The cables of one switch of the declared subnet, and their limits."""

    subnet: Topology
    owner: str
    limits: FabricLimits

    @property
    def cables(self) -> tuple[Cable, ...]:
        """The switch's cables. Raises ``MetricMissing`` if the declared subnet lacks the switch."""
        found = self.subnet.by_owner.get(self.owner)
        if not found:
            raise MetricMissing(f"the declared subnet has no switch {self.owner[:80]}")
        return found


@dataclass(frozen=True, slots=True)
class Miss:
    """A port or cable that misses a limit: the texts of its judgement."""

    ends: tuple[tuple[str, str], ...]
    measured: str
    limit: str
    reason: str


def judged(
    metric: str, misses: Iterable[Miss], words: str, limit: str, limits: FabricLimits
) -> list[Judgement]:
    found = [
        Judgement(
            metric=metric,
            outcome=Outcome.FAILED,
            measured=miss.measured,
            limit=miss.limit,
            basis=str(limits.basis),
            reason=miss.reason,
            points_at=miss.ends,
        )
        for miss in misses
    ]
    return found or [Judgement(metric, Outcome.PASSED, words, limit, str(limits.basis))]
