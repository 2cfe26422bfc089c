"""What is judged of a subnet, and what a judgement of it looks like."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from railgauge.config.thresholds.model import FabricLimits
from railgauge.core.errors import MetricMissing
from railgauge.core.model import Judgement, Outcome
from railgauge.subnet import Cable, Topology


@dataclass(frozen=True, slots=True)
class Scan:
    """What one program printed about the subnet, and when it began (ISO 8601)."""

    text: str
    began: str


@dataclass(frozen=True, slots=True)
class SwitchUnderTest:
    """What is judged: the cables of one switch of the declared subnet, by which limits."""

    subnet: Topology
    owner: str
    limits: FabricLimits

    @property
    def cables(self) -> tuple[Cable, ...]:
        """Raises ``MetricMissing`` for a switch that the declared subnet does not have."""
        found = self.subnet.by_owner.get(self.owner)
        if not found:
            raise MetricMissing(f"the declared subnet has no switch {self.owner[:80]}")
        return found


@dataclass(frozen=True, slots=True)
class Miss:
    """A port or cable that is not as it should be: values of its judgement, in words."""

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
