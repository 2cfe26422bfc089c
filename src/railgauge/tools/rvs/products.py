"""The lines of GST (matrix products at a rate) and IET (matrix products at a power).

GST prints its rate in every interval, and at the end the best one beside the target: RVS judges by
this best sample. Here each interval after the ramp is a sample. IET judges by the largest power
that it read, and passes a GPU that shows none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from railgauge.core.problems import ProblemKind
from railgauge.tools.rvs.plan import FORMATS
from railgauge.tools.rvs.reading import RvsRun

_RAMP = re.compile(r"(Start|End) of GPU ramp up")
_NUMBER = r"[0-9]{1,12}(?:\.[0-9]{1,9})?"
_INTERVAL = re.compile(rf"GFLOPS ({_NUMBER})")
_FINAL = re.compile(rf"GFLOPS ({_NUMBER}) Target GFLOPS: ({_NUMBER}) met: (TRUE|FALSE)")
_WRONG = re.compile(r"(?:self-check|accu-check) error ([0-9.]{1,40}|\S{1,40})")
_POWER = re.compile(rf"Power\(W\) ({_NUMBER})")
_PASS = re.compile(r"pass: (TRUE|FALSE)")
_STATUS = {"TRUE": "pass", "FALSE": "fail"}
# Rates are printed without their fraction.
_ROUNDED = 1.0

_Of = tuple[str, str]  # an action, and RVS's number of a GPU


@dataclass(slots=True)
class Products:
    """The values of GST and IET for each GPU, read so far."""

    ramping: set[_Of] = field(default_factory=set)
    rates: dict[_Of, list[float]] = field(default_factory=dict)
    powers: dict[_Of, float] = field(default_factory=dict)

    def take(self, action: str, number: str, result: str, run: RvsRun) -> bool:
        """Take a line of a GPU; return whether it is one of these modules."""
        of = (action, number)
        if match := _RAMP.fullmatch(result):
            self._ramp(of, match[1], run)
        elif match := _INTERVAL.fullmatch(result):
            self._interval(of, float(match[1]), run)
        elif match := _FINAL.fullmatch(result):
            self._final(of, match, run)
        elif match := _WRONG.fullmatch(result):
            what = f"{run.place(number)}: {result} ({action})"
            run.collector.error(ProblemKind.DATA_CORRUPTION, what)
        elif match := _POWER.fullmatch(result):
            if of not in self.powers:
                run.begin(*of)
            self.powers[of] = max(self.powers.get(of, 0.0), float(match[1]))
        elif match := _PASS.fullmatch(result):
            self._passed(of, match[1], run)
        else:
            return False
        return True

    def _ramp(self, of: _Of, at: str, run: RvsRun) -> None:
        if at == "Start":
            self.ramping.add(of)
            self.rates[of] = []
            run.begin(*of)
        else:
            self.ramping.discard(of)

    def _interval(self, of: _Of, rate: float, run: RvsRun) -> None:
        if of in self.ramping:
            return
        if of not in self.rates:
            self._ramp(of, "Start", run)  # it must end too
            self.ramping.discard(of)
        self.rates[of].append(rate)
        run.collector.add(metric_of(of[0]), "GFLOP/s", rate, run.place(of[1]))

    def _final(self, of: _Of, match: re.Match[str], run: RvsRun) -> None:
        rates = self.rates.get(of, [])
        if rates and float(match[1]) < max(rates) - _ROUNDED:
            what = f"{run.place(of[1])}: the best of {max(rates):g} is printed as {match[1]}"
            run.collector.error(ProblemKind.INCONSISTENT, what)
        elif not rates:
            what = f"{run.place(of[1])}: no rate of {of[0]} but its best one, {match[1]}"
            run.collector.error(ProblemKind.METRIC_MISSING, what)
        printed = f"{match[1]} of {match[2]} GFLOPS, met: {match[3]}"
        run.end(of[0], of[1], _STATUS[match[3]], printed)

    def _passed(self, of: _Of, result: str, run: RvsRun) -> None:
        power = self.powers.get(of, 0.0)
        if not power:
            run.end(of[0], of[1], "skip", f"pass: {result}", "no power was read")
        else:
            run.end(of[0], of[1], _STATUS[result], f"pass: {result}", f"at most {power:g} W")


def metric_of(action: str) -> str:
    """Return ``gflops_bf16`` for ``compute-bf16-trig``; ``gflops`` if the name has no format."""
    words = re.split(r"[-_]", action.lower())
    return next((f"gflops_{form}" for form in FORMATS if form in words), "gflops")
