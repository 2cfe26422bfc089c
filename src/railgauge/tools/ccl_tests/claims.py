"""What a collective test says of its run, beside what was asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from railgauge.config.thresholds.physics import bus_factor
from railgauge.core.model import Parsed
from railgauge.tools.ccl_tests.devices import claims_of_devices
from railgauge.tools.claims import Asked, Claim, Heard, equal
from railgauge.tools.hosts import claims_of_ranks

# Others print what they were given and do not use it, or print nothing.
_REDUCES = frozenset({"all_reduce", "reduce_scatter", "reduce"})
_FACTOR_SLACK = 0.02


def claims(asked: Asked, heard: tuple[Heard, ...]) -> tuple[Claim, ...]:
    """Collective, data type, reduction, iterations, graph, checking, ranks, hosts and GPUs."""
    return tuple(_claims(asked, heard[0].parsed))


def _claims(asked: Asked, parsed: Parsed) -> Iterator[Claim]:
    said = parsed.summary
    collective = asked.measurement.command.removesuffix("_perf")
    yield _collective(collective, parsed)
    yield equal("data type", asked.option("dtype", "float"), _joined(said.get("dtypes")))
    if collective in _REDUCES:
        yield equal("reduction", "sum", _joined(said.get("redops")))
    yield _warmup(asked, said.get("warmup"))
    if asked.option("iterations") is not None:
        yield equal("iterations", asked.option("iterations"), said.get("iterations"))
    yield equal("aggregated iterations", 1, said.get("aggregated"))
    yield _graph(asked, said.get("graph"))
    yield from _validation(asked, said)
    gpus = asked.platform.gpus
    each = asked.option("gpus_per_node", gpus.count if gpus else None)
    yield from claims_of_ranks(asked, each, said, said.get("gpus"), "GPUs")
    yield from claims_of_devices(asked, said.get("devices", ()))


def _joined(said: object) -> str | None:
    return ", ".join(map(str, said)) if isinstance(said, tuple) and said else None


def _collective(wanted: str, parsed: Parsed) -> Claim:
    """As the output names it; if it does not, what bus over algorithm bandwidth shows."""
    named, ranks = parsed.summary.get("collective"), parsed.summary.get("nranks")
    if named is not None:
        return equal("collective", wanted, str(named).removesuffix("_perf"))
    expected = bus_factor(wanted, ranks) if isinstance(ranks, int) and ranks > 1 else None
    ratio = _ratio(parsed)
    if expected is None or ratio is None:
        return Claim("collective", wanted, None)
    fits = abs(ratio / expected - 1) <= _FACTOR_SLACK
    if fits and ratio < 1 + _FACTOR_SLACK:  # above it is all_reduce alone
        return Claim("collective", wanted, None)
    shows = f"one whose bus bandwidth is {ratio:.3f} of its algorithm bandwidth, not {expected:.3f}"
    return Claim("collective", wanted, shows, fits)


def _ratio(parsed: Parsed) -> float | None:
    """Bus over algorithm bandwidth of the fastest row, where rounding is least."""
    rows: dict[tuple[object, ...], dict[str, float]] = {}
    for sample in parsed.samples:
        key = (sample.size_bytes, sample.placement, sample.iteration)
        rows.setdefault(key, {})[sample.metric] = sample.value
    both = [row for row in rows.values() if row.get("algbw") and "busbw" in row]
    fastest = max(both, key=lambda row: row["algbw"], default=None)
    return fastest["busbw"] / fastest["algbw"] if fastest else None


def _warmup(asked: Asked, said: object) -> Claim:
    """What was not asked for is the tool's own choice, which is 1 or 5, but never none."""
    wanted = asked.option("warmup")
    if wanted is not None or not isinstance(said, int):
        return equal("warm-up iterations", "1 or more" if wanted is None else wanted, said)
    return Claim("warm-up iterations", "1 or more", str(said), said > 0)


def _graph(asked: Asked, said: object) -> Claim:
    """A run with graphs that prints ``graph: 0`` is known (document 003): not shown, then."""
    wanted = bool(asked.option("graph"))
    if wanted and not said:
        return Claim("graph", "on", None)
    return equal("graph", _on(wanted), None if said is None else _on(bool(said)))


def _validation(asked: Asked, said: Mapping[str, object]) -> Iterator[Claim]:
    """That results are to be compared, and that they were, in each row, on one side at least."""
    wanted, shown = bool(asked.option("check", 1)), said.get("validation")
    yield equal("validation", _on(wanted), None if shown is None else _on(bool(shown)))
    rows, checked = said.get("rows_checkable"), said.get("rows_checked")
    if not wanted:
        return
    if rows is None:
        yield Claim("checked rows", "all", None)
    else:
        yield Claim("checked rows", "all", f"{checked} of {rows}", checked == rows)


def _on(value: bool) -> str:
    return "on" if value else "off"
