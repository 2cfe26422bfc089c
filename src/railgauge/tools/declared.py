"""Comparison of a platform file's limits and assertions with its tools' metrics. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from railgauge.config.thresholds.model import Assertion, Measurement, Platform
from railgauge.core.limits import Limit
from railgauge.core.units import KNOWN_UNITS, dimension
from railgauge.tools import NAMES, declared_metric, metrics
from railgauge.tools.metric import SCALING, SWEEP, Metric


def misdeclared(platform: Platform) -> Iterator[str]:
    """Yield a line for each limit or assertion that contradicts the tool's declaration.

    Examples are a metric that the tool does not print, a limit on the wrong side or in a unit of
    another dimension, and an average without its sizes: each would pass on any hardware.
    """
    for measurement in platform.measurements.values():
        if measurement.tool in NAMES:
            yield from _unknown(measurement)
            yield from (line for one in measurement.asserts for line in _asserted(measurement, one))
            yield from (line for one in measurement.limits for line in _limited(measurement, one))


def _unknown(measurement: Measurement) -> Iterator[str]:
    asserted = {one.metric: measurement.name for one in measurement.asserts}
    limited = {one.metric: one.pointer for one in measurement.limits}
    for name, where in {**asserted, **limited}.items():
        if declared_metric(measurement.tool, name) is None:
            yield (
                f"{where}: {measurement.tool} prints no {name}; "
                f"its metrics: {_like(measurement.tool, name)}"
            )


def _like(tool: str, name: str) -> str:
    """Return the metrics of a tool; of a long list those whose names are closest to ``name``."""
    known = list(metrics(tool))
    close = difflib.get_close_matches(name, known, n=_SHOWN, cutoff=0.0)
    return ", ".join(known if len(known) <= _SHOWN else [*close, "…"])


_SHOWN = 8


def _asserted(measurement: Measurement, assertion: Assertion) -> Iterator[str]:
    declared = declared_metric(measurement.tool, assertion.metric)
    where = f"{measurement.name}: {assertion.metric}"
    if declared is None:
        return
    if (declared is SCALING) != (assertion.per == "ratio"):
        yield f"{where} is asserted per {assertion.per}; a ratio of two runs is {SCALING.name}"
    if declared.per == SWEEP and assertion.per != "run":
        yield f"{where} is printed once for all sizes; assert it per run, not per {assertion.per}"


def _limited(measurement: Measurement, limit: Limit) -> Iterator[str]:
    declared = declared_metric(measurement.tool, limit.metric)
    if declared is None:
        return
    yield from _in_wrong_unit(declared, limit)
    yield from _on_wrong_side(declared, limit)
    if declared.per == SWEEP and limit.over is None:
        yield (
            f"{limit.pointer}: {limit.metric} is an average over message sizes; "
            'give the sizes: "over": {"from", "to", "factor"}'
        )
    if declared.per != SWEEP and limit.over is not None:
        yield f"{limit.pointer}: {limit.metric} is not an average over sizes; remove 'over'"


def _in_wrong_unit(declared: Metric, limit: Limit) -> Iterator[str]:
    kind = dimension(declared.units[0])
    if limit.unit not in KNOWN_UNITS:
        yield f"{limit.pointer}: unknown unit {limit.unit!r}; {declared.name} is a {kind}"
    elif dimension(limit.unit) != kind:
        yield (
            f"{limit.pointer}: {limit.metric} cannot be measured in {limit.unit}; it is a {kind}, "
            f"printed in {' or '.join(declared.units)}"
        )


def _on_wrong_side(declared: Metric, limit: Limit) -> Iterator[str]:
    """Only the bound on the bad side can be missed; the other one marks impossible values."""
    needed, given = ("ceiling", "floor") if declared.lower_is_better else ("floor", "ceiling")
    if not limit.record_only and getattr(limit, needed) is None:
        yield (
            f"{limit.pointer}: {limit.metric} has only a {given}, which a bad value cannot miss; "
            f"{declared.better} is better: give it a {needed}"
        )
