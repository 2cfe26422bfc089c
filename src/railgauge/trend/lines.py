"""One line of ``measurements.jsonl`` as samples of a series. Pure.

Facts and counts (64 of 64 requests) are no series: they have no unit that could become better.

Changes are shares of a value. A share of a step that is lost, such as ``load_share``, counts by
what it leaves: that 0.2 % of a step becomes 0.3 % costs a thousandth, and is no loss of a third.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from railgauge.core import run_files
from railgauge.core.run_files import MEASUREMENTS
from railgauge.trend.values import SeriesKey

_SIDES = {">=": "higher", "<=": "lower"}
_WITHOUT_TREND = ("", "count")
_SHARE = "_share"  # the end of the name of a metric that is a share of a step

BROKEN = "cannot be read"
OTHER_EVIDENCE = "are of another kind of evidence"
SIDELESS = "do not tell whether higher or lower is better"
NEWER = "are of a newer version of railgauge"
UNPRINTABLE = "have names that cannot be printed"
"""Why a line is left out; these words follow the number of lines."""


@dataclass(frozen=True, slots=True)
class LineSamples:
    """The samples of one line, in the unit of its key, in the order of measuring.

    The values are as printed: they may be 0, negative or not finite. ``limit`` is the floor, or the
    ceiling if lower is better; ``None`` without one.
    """

    key: SeriesKey
    values: tuple[float, ...]
    limit: float | None = None


def samples(line: object, evidence: str) -> LineSamples | str | None:
    """The samples of a line; the reason if it is left out; ``None`` if it is no series.

    ``evidence`` is the kind of evidence of the run.
    """
    if isinstance(line, Mapping) and run_files.is_newer(MEASUREMENTS, line.get(run_files.FIELD, 1)):
        return NEWER
    if not isinstance(line, Mapping) or not _is_whole(line):
        return BROKEN
    if line["evidence"] != evidence:
        return OTHER_EVIDENCE
    if line["unit"] in _WITHOUT_TREND:
        return None
    # Earlier versions wrote only the limit, which shows the direction too.
    better = line.get("better") or _SIDES.get(str(line.get("limit"))[:2], "")
    return _of_series(line, better) if better in _SIDES.values() else SIDELESS


def _of_series(line: Mapping[str, Any], better: str) -> LineSamples | str:
    key = SeriesKey(
        line["subject"],
        line["metric"],
        line["unit"],
        tuple(line["nodes"]),
        line.get("pairing") or "",
        line.get("size_bytes"),
        better,
    )
    words = (key.subject, key.metric, key.unit, key.pairing, *key.nodes)
    if not all(map(str.isprintable, words)):
        return UNPRINTABLE
    values, limit = line["values"], _limit(line.get("ceiling" if key.lower_is_better else "floor"))
    is_share = key.metric.endswith(_SHARE) and key.lower_is_better
    if is_share and values and all(0 <= v < 1 for v in values):
        rest = replace(key, metric=f"1 - {key.metric}", better="higher")
        return LineSamples(rest, tuple(1 - v for v in values), limit and 1 - limit)
    return LineSamples(key, tuple(values), limit)


def _limit(value: object) -> float | None:
    is_one = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if is_one and 0 < value < math.inf else None  # type: ignore[operator,return-value]


def _is_whole(line: Mapping[str, object]) -> bool:
    words = (line.get(name) for name in ("subject", "metric", "unit", "evidence"))
    size = line.get("size_bytes")
    return (
        all(isinstance(word, str) for word in words)
        and isinstance(line.get("pairing") or "", str)
        and (size is None or type(size) is int)
        and _holds(line.get("nodes"), str)
        and _holds(line.get("values"), int, float)
    )


def _holds(values: object, *kinds: type) -> bool:
    return isinstance(values, list) and all(type(value) in kinds for value in values)
