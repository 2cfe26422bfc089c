"""The forms of a run's figures: what tools declare, with causes that are known. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from railgauge.config.thresholds.model import Platform
from railgauge.core.model import Case
from railgauge.diagnosis.slow.known import KnownCause, as_item, with_known
from railgauge.tools import form
from railgauge.tools.form import FigureForm, Layout, ToolFigure


@dataclass(frozen=True, slots=True)
class Measurable:
    """Something that the run measures: a case, and what of it is judged."""

    case: Case
    size_bytes: int | None
    placement: str


@dataclass(frozen=True, slots=True)
class FigureForms:
    """Each form is made once, so that forms are one if their figures show the same thing."""

    platform: Platform
    layout: Layout
    known: Collection[KnownCause] = ()
    _made: dict[tuple[object, ...], FigureForm | None] = field(
        default_factory=dict, compare=False, repr=False
    )

    def of(self, one: Measurable, metric: str = "") -> FigureForm | None:
        """The form of a metric; ``None`` if the platform file has no such measurement, or its tool
        declares none."""
        case = one.case
        if case.measurement not in self.platform.measurements:
            return None
        about = (case.measurement, case.nodes, case.pairing, one.placement)
        key = (*about, metric, one.size_bytes if self.known else None)
        if key not in self._made:
            found = self._form(one, metric)
            self._made[key] = self._made.setdefault((found,), found)
        return self._made[key]

    def _form(self, one: Measurable, metric: str) -> FigureForm | None:
        measurement = self.platform.measurements[one.case.measurement]
        found = form(ToolFigure(one.case, measurement, self.layout, metric, one.placement))
        if found is None or not self.known:
            return found
        item = as_item(self.platform, one.case, one.placement)
        return with_known(found, item, one.size_bytes, self.known)
