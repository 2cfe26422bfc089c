"""Read the nights of a reports folder with DuckDB, directly from the files of the runs.

The folder may hold runs that are still going or were killed, folders that are not runs, and
incomplete lines. Each is left out and reported; none is an error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from railgauge.core.errors import BadInput
from railgauge.judging.stamp import Evidence
from railgauge.trend.values import Fleet, Night, SeriesKey

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

LINES, VERDICT, LIMITS = "measurements.jsonl", "verdict.json", "thresholds.json"
NEWEST = 2
"""The schema version of ``verdict.json`` that this version of the package writes."""
CALIBRATED_FROM = "calibrated_from"
"""The key of a platform file that was derived: the platform whose runs it was derived from."""
_RUN_ID = re.compile(r"\d{8}-\d{6}\b.*")
# A verdict has a few kilobytes, a line of measurements less than one.
_VERDICT_MAX_BYTES = 16 * 2**20
_LINE_MAX_BYTES = 2**20
_WORDS = ("run_id", "cluster", "platform", "evidence", "level")

_READ = """
CREATE OR REPLACE TEMP TABLE line AS
SELECT json->>'$.subject' AS subject, json->>'$.metric' AS metric, json->>'$.unit' AS unit,
    TRY_CAST(json->'$.nodes' AS VARCHAR[]) AS nodes, coalesce(json->>'$.pairing', '') AS pairing,
    TRY_CAST(json->>'$.size_bytes' AS BIGINT) AS size_bytes, json->>'$.evidence' AS evidence,
    coalesce(json->>'$.better', CASE left(json->>'$.limit', 2)
        WHEN '>=' THEN 'higher' WHEN '<=' THEN 'lower' END) AS better,
    TRY_CAST(json->'$.values' AS DOUBLE[]) AS samples
FROM read_ndjson_objects(?, ignore_errors = true, maximum_object_size = ?)
WHERE NOT coalesce(starts_with(json->>'$.id', 'soak/'), false)
"""
_COUNT = """
SELECT count(*) FILTER (concat_ws('', subject, metric, unit) = '' OR subject IS NULL
        OR metric IS NULL OR unit IS NULL OR nodes IS NULL OR samples IS NULL OR evidence IS NULL),
    count(*) FILTER (evidence <> ?),
    count(*) FILTER (unit NOT IN ('', 'count') AND coalesce(better, '') NOT IN ('higher', 'lower'))
FROM line
"""
# Counts (64 of 64 requests) have no trend, and 0 has no logarithm.
_MEDIANS = """
SELECT subject, metric, unit, nodes, pairing, size_bytes, better, median(sample) AS value
FROM (SELECT *, unnest(samples) AS sample FROM line
    WHERE evidence = ? AND subject IS NOT NULL AND metric IS NOT NULL AND unit NOT IN ('', 'count')
    AND nodes IS NOT NULL AND better IN ('higher', 'lower'))
WHERE isfinite(sample) AND sample > 0
GROUP BY subject, metric, unit, nodes, pairing, size_bytes, better
"""


@dataclass(frozen=True, slots=True)
class RunHistory:
    """The nights of a reports folder. ``said`` lists (folder name, what was left out and why)."""

    nights: tuple[Night, ...]
    said: tuple[tuple[str, str], ...]

    @property
    def fleets(self) -> tuple[Fleet, ...]:
        found = {night.fleet for night in self.nights}
        return tuple(sorted(found, key=lambda f: (f.cluster, f.platform, f.evidence)))

    def of(self, fleet: Fleet) -> tuple[Night, ...]:
        return tuple(night for night in self.nights if night.fleet == fleet)


def read(reports: Path, cluster: str | None = None, last: int | None = None) -> RunHistory:
    """Return the nights of ``cluster`` (``None``: of all), oldest first.

    ``last`` limits the number of nights of each fleet (``None``: all). Raises ``BadInput`` if
    ``reports`` is not a folder.
    """
    if not reports.is_dir():
        raise BadInput("is not a folder", where=str(reports), remedy="name the root with --root")
    said: list[tuple[str, str]] = []
    wanted = [one for one in _verdicts(reports, said) if cluster in (None, one[1].fleet.cluster)]
    wanted.sort(key=lambda one: one[1].run_id)
    kept = [one for one in wanted if last is None or one in _of_fleet(wanted, one[1])[-last:]]
    return RunHistory(tuple(_filled(kept, said)), tuple(sorted(said)))


def night_of(folder: Path) -> Night:
    """The night of one run's folder, without values. Raises ``BadInput`` if it holds none."""
    night = _verdict(folder)
    if isinstance(night, str):
        raise BadInput(night, where=str(folder), remedy="name the folder of a finished run")
    return night


def _of_fleet(all_of_them: list[tuple[Path, Night]], night: Night) -> list[tuple[Path, Night]]:
    return [one for one in all_of_them if one[1].fleet == night.fleet]


def _verdicts(reports: Path, said: list[tuple[str, str]]) -> Iterator[tuple[Path, Night]]:
    seen: set[str] = set()
    for folder in sorted(reports.iterdir()):
        if folder.is_symlink() or not folder.is_dir():
            continue
        night = _verdict(folder)
        if isinstance(night, str):
            said.append((_plain(folder.name), night))
        elif night.fleet.evidence == Evidence.REPLAYED:
            said.append((_plain(folder.name), "a replay of another run, not a night of its own"))
        elif night.run_id in seen:
            said.append((_plain(folder.name), f"a second folder of run {night.run_id}"))
        else:
            seen.add(night.run_id)
            yield folder, night


def _verdict(folder: Path) -> Night | str:
    """The night of a folder, without values, or the reason why it holds none."""
    path = folder / VERDICT
    if not path.is_file() or not (folder / LINES).is_file():
        return f"no {VERDICT if not path.is_file() else LINES}: still running, or cut off"
    if path.stat().st_size > _VERDICT_MAX_BYTES:
        return f"{VERDICT} is larger than {_VERDICT_MAX_BYTES // 2**20} MiB"
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        return f"{VERDICT} cannot be read: {type(error).__name__}"
    return _night(folder, data)


def _night(folder: Path, data: object) -> Night | str:
    if isinstance(data, dict) and _is_newer(data.get("schema_version", NEWEST)):
        return f"{VERDICT} is of a newer railgauge: this version reads schema version {NEWEST}"
    said = [data.get(word) for word in _WORDS] if isinstance(data, dict) else []
    words = [word for word in said if isinstance(word, str) and word and word.isprintable()]
    if len(words) < len(_WORDS):
        return f"{VERDICT} does not hold all of {', '.join(_WORDS)}"
    run_id, cluster, platform, evidence, level = words
    if not _RUN_ID.fullmatch(run_id):
        return "its run id does not start with a time (20260131-020000), so it has no order"
    return Night(run_id, Fleet(cluster, _family(folder) or platform, evidence), level)


def _is_newer(version: object) -> bool:
    return not isinstance(version, int) or version > NEWEST


def _family(folder: Path) -> str:
    """The platform from which that of the run was calibrated, if any; else ``""``."""
    path = folder / LIMITS
    try:
        is_small = path.stat().st_size <= _VERDICT_MAX_BYTES
        data = json.loads(path.read_text(encoding="utf-8")) if is_small else None
    except (OSError, ValueError, RecursionError):
        return ""
    found = data.get(CALIBRATED_FROM) if isinstance(data, dict) else None
    return found if isinstance(found, str) and found.isprintable() else ""


def _filled(nights: list[tuple[Path, Night]], said: list[tuple[str, str]]) -> Iterator[Night]:
    import duckdb  # noqa: PLC0415 - 0.2 s to import

    with duckdb.connect(":memory:") as connection:
        connection.execute("SET enable_progress_bar = false")
        for folder, night in nights:
            try:
                yield replace(night, values=_values(connection, folder, night, said))
            except duckdb.Error as error:
                said.append((_plain(folder.name), f"{LINES}: {_plain(str(error))[:200]}"))


def _values(
    connection: DuckDBPyConnection, folder: Path, night: Night, said: list[tuple[str, str]]
) -> Mapping[SeriesKey, float]:
    connection.execute(_READ, [_literal(folder / LINES), _LINE_MAX_BYTES])
    counts = connection.execute(_COUNT, [night.fleet.evidence]).fetchone()
    broken, others, sideless = counts or (0, 0, 0)
    rows = connection.execute(_MEDIANS, [night.fleet.evidence]).fetchall()
    keyed = {_key(row): float(f"{row[-1]:.9g}") for row in rows if _printable(row)}
    odd = len(rows) - len(keyed)
    for count, what in (
        (broken, "cannot be read"), (others, "are of another kind of evidence"),
        (sideless, "do not tell whether higher or lower is better"),
        (odd, "have names that cannot be printed"),
    ):  # fmt: skip
        if count:
            said.append((_plain(folder.name), f"{count} lines of {LINES} {what}: left out"))
    return keyed


def _key(row: tuple[Any, ...]) -> SeriesKey:
    subject, metric, unit, nodes, pairing, size_bytes, better, _ = row
    return SeriesKey(subject, metric, unit, tuple(nodes), pairing, size_bytes, better)


def _printable(row: tuple[Any, ...]) -> bool:
    subject, metric, unit, nodes, pairing, *_ = row
    return all(
        isinstance(word, str) and word.isprintable()
        for word in (subject, metric, unit, pairing, *nodes)
    )


def _literal(path: Path) -> str:
    """The path, escaped so that DuckDB does not read it as a pattern."""
    return re.sub(r"([*?\[])", r"[\1]", str(path))


def _plain(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text)
