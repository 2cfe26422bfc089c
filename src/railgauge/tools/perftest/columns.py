"""The heading of a table: which columns, in which units.

Columns are found by their printed names, because versions add and leave out columns. A heading
that perftest itself can print also says with how many decimals each column ends, which is how
a row that was cut off inside its last number is told from a whole one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Column:
    """``metric`` is ``None`` for columns that are read but not reported.

    ``unit`` is ``None`` where the heading names one that nobody knows (``printed_unit``).
    ``decimals`` is what a whole number of this column shows; ``None`` where that varies.
    """

    label: str
    metric: str | None
    unit: str | None
    printed_unit: str = ""
    decimals: int | None = None

    @property
    def is_integer(self) -> bool:
        return self.label in _INTEGERS

    @property
    def is_bandwidth(self) -> bool:
        return self.metric in _BANDWIDTHS


@dataclass(frozen=True, slots=True)
class Heading:
    """``official`` says that perftest prints this very set of columns."""

    columns: tuple[Column, ...]
    official: bool

    def index(self, metric: str) -> int | None:
        metrics = [column.metric for column in self.columns]
        return metrics.index(metric) if metric in metrics else None

    @property
    def bandwidth_unit(self) -> str | None:
        return next((column.unit for column in self.columns if column.is_bandwidth), None)


_INTEGERS = frozenset({"#bytes", "#iterations", "#sl"})
_BANDWIDTHS = frozenset({"bw_peak", "bw_average"})

_METRICS = {
    "BW peak": "bw_peak",
    "BW average": "bw_average",
    "MsgRate": "msg_rate",
    "t_min": "lat_min",
    "t_max": "lat_max",
    "t_typical": "lat_typical",
    "t_avg": "lat_avg",
    "t_stdev": "lat_stdev",
    "99% percentile": "lat_p99",
    "99.9% percentile": "lat_p999",
    "99%": "lat_p99",
    "99.9%": "lat_p999",
    "tps average": "tps",
}
_UNITS = {
    "MB/sec": "MB/s",
    "MiB/sec": "MiB/s",
    "Gb/sec": "Gb/s",
    "Mpps": "Mpps",
    "usec": "us",
    "us": "us",
    "µs": "us",
    "µsec": "us",
    "μs": "us",
    "μsec": "us",
}
_DIMENSIONS = {"bw": {"MB/s", "MiB/s", "Gb/s"}, "lat": {"us"}, "msg": {"Mpps"}}

_LABEL = re.compile(
    r"#bytes|#iterations|#sl"
    r"|(?:BW[ \t]{1,8}(?:peak|average|Port[12])|MsgRate(?:[ \t]{1,8}Port[12])?"
    r"|t_(?:min|max|typical|avg|stdev)|99(?:\.9)?%(?:[ \t]{1,8}percentile)?)\[[^\]\[]{1,20}\]"
    r"|tps[ \t]{1,8}average|CPU_Util\[%{1,2}\]"
)
# A duration test of before 2016 prints no rate behind the average.
_LATENCY = ("t_min", "t_max", "t_typical", "t_avg", "t_stdev", "99% percentile", "99.9% percentile")
_BANDWIDTH = ("BW peak", "BW average", "MsgRate")
_PER_PORT = ("BW Port1", "MsgRate Port1", "BW Port2", "MsgRate Port2")
_START = ("#bytes", "#iterations")
_OFFICIAL = {
    (*_START, *_BANDWIDTH[:2]),
    (*_START, *_BANDWIDTH),
    (*_START, *_BANDWIDTH, *_PER_PORT),
    ("#bytes", "#sl", "#iterations", *_BANDWIDTH),
    (*_START, *_LATENCY[:3]),
    (*_START, *_LATENCY[:5]),
    (*_START, *_LATENCY),
    (*_START, "t_avg", "tps average"),
    (*_START, "t_avg"),
}


def is_heading(line: str) -> bool:
    return "#bytes" in line


def read_heading(line: str) -> Heading | None:
    """The columns of a heading; ``None`` if it has a column that perftest does not print."""
    if _LABEL.sub("", line).strip():
        return None
    columns = tuple(_column(match[0]) for match in _LABEL.finditer(line))
    labels = tuple(column.label for column in columns)
    if labels[:1] != ("#bytes",) or "#iterations" not in labels or len(set(labels)) < len(labels):
        return None
    if not any(column.metric for column in columns):
        return None
    official = _without_cpu(labels) in _OFFICIAL
    return Heading(columns=columns, official=official)


def _without_cpu(labels: tuple[str, ...]) -> tuple[str, ...]:
    return labels[:-1] if labels[-1] == "CPU_Util" else labels


def _column(text: str) -> Column:
    label, _, rest = text.partition("[")
    label = " ".join(label.split())
    printed_unit = rest.rstrip("]")
    metric = _METRICS.get(label)
    return Column(
        label=label,
        metric=metric,
        unit=_unit(metric, printed_unit),
        printed_unit=printed_unit,
        decimals=_decimals(label),
    )


def _unit(metric: str | None, printed_unit: str) -> str | None:
    if metric is None:
        return None
    if metric == "tps":
        return "1/s"
    unit = _UNITS.get(printed_unit)
    return unit if unit in _DIMENSIONS[metric.partition("_")[0]] else None


def _decimals(label: str) -> int | None:
    if label.startswith("MsgRate"):
        return 6
    # Bandwidths show 2, or 6 where the average is below 0.1 Gb/s.
    return None if label.startswith("BW") or label in _INTEGERS else 2
