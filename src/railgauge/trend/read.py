"""Read the nights of a reports folder, directly from the files of the runs.

The folder may hold runs that are still going or were killed, folders that are not runs, and
incomplete lines. Each is left out and reported; none is an error.
"""

from __future__ import annotations

import json
import math
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from railgauge.core import run_files
from railgauge.core.errors import BadInput
from railgauge.core.progress import PROGRESS_OF_PROCESS
from railgauge.core.run_files import EARLIER, MEASUREMENTS, PLATFORM, VERDICT
from railgauge.trend import lines
from railgauge.trend.values import Fleet, Night, SeriesKey

CALIBRATED_FROM = "calibrated_from"
"""The key of a platform file that was derived: the platform whose runs it was derived from."""
_RUN_ID = re.compile(r"\d{8}-\d{6}\b.*")
# A verdict has a few kilobytes, a line of measurements less than one.
_VERDICT_MAX_BYTES = 16 * 2**20
_LINE_MAX_BYTES = 2**20
_WORDS = ("run_id", "cluster", "platform", "evidence", "level")

# The unit of a fact, as every line has it. Most lines are facts, and none of them is a series.
_FACT = b'"unit": ""'
# A soak keeps only the lines of what did not pass, so its values are no fair sample.
_SOAK = b'"id": "soak/'
# The same series is in every night; one key for all of them is hashed and compared faster.
_Keys = dict[SeriesKey, SeriesKey]


@dataclass(frozen=True, slots=True)
class RunHistory:
    """The nights of a reports folder. ``left_out``: (folder name, what was left out and why)."""

    nights: tuple[Night, ...]
    left_out: tuple[tuple[str, str], ...]

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
    skipped: list[tuple[str, str]] = []
    wanted = [one for one in _verdicts(reports, skipped) if cluster in (None, one[1].fleet.cluster)]
    wanted = _counted_once(wanted, skipped)
    kept = wanted if last is None else _latest(wanted, last)
    return RunHistory(tuple(_filled(kept, skipped)), tuple(sorted(skipped)))


def night_of(folder: Path) -> Night:
    """The night of one run's folder, without values. Raises ``BadInput`` if it holds none."""
    night = _verdict(folder)
    if isinstance(night, str):
        raise BadInput(night, where=str(folder), remedy="name the folder of a finished run")
    return night


def with_repeats(nights: Iterable[tuple[Path, Night]]) -> dict[Path, tuple[str, Path]]:
    """Folders with measurements that an earlier one has: the run that made them, that folder."""
    seen: dict[str, Path] = {}
    repeats: dict[Path, tuple[str, Path]] = {}
    for folder, night in nights:
        runs = _runs_of(folder, night)
        if shared := sorted(runs & seen.keys()):
            repeats[folder] = shared[0], seen[shared[0]]
        else:
            seen.update(dict.fromkeys(runs, folder))
    return repeats


def _runs_of(folder: Path, night: Night) -> frozenset[str]:
    """The run of a folder, and those that it carries on and has taken measurements of."""
    return frozenset({night.run_id, *(path.name for path in (folder / EARLIER).glob("*"))})


def _counted_once(
    nights: list[tuple[Path, Night]], skipped: list[tuple[str, str]]
) -> list[tuple[Path, Night]]:
    """The nights, oldest first; of those with measurements in common only the newest."""
    newest_first = sorted(nights, key=lambda one: one[1].run_id, reverse=True)
    run_ids = {folder: night.run_id for folder, night in nights}
    repeats = with_repeats(newest_first)
    for folder, (_, newer) in repeats.items():
        why = f"has measurements that {run_ids[newer]} has as well, which carries them on"
        skipped.append((_plain(folder.name), why))
    return [one for one in newest_first[::-1] if one[0] not in repeats]


def _latest(nights: list[tuple[Path, Night]], last: int) -> list[tuple[Path, Night]]:
    """The last nights of each fleet, in the order of ``nights``."""
    left = Counter(night.fleet for _, night in nights)
    kept = []
    for one in nights:
        if left[one[1].fleet] <= last:
            kept.append(one)
        left[one[1].fleet] -= 1
    return kept


def _verdicts(reports: Path, skipped: list[tuple[str, str]]) -> Iterator[tuple[Path, Night]]:
    seen: set[str] = set()
    for folder in sorted(reports.iterdir()):
        if folder.is_symlink() or not folder.is_dir():
            continue
        night = _verdict(folder)
        if isinstance(night, str):
            skipped.append((_plain(folder.name), night))
        elif night.is_replay:
            skipped.append((_plain(folder.name), "a replay of another run, not a night of its own"))
        elif night.run_id in seen:
            skipped.append((_plain(folder.name), f"a second folder of run {night.run_id}"))
        else:
            seen.add(night.run_id)
            yield folder, night


def _verdict(folder: Path) -> Night | str:
    """The night of a folder, without values, or the reason why it holds none."""
    path = folder / VERDICT
    if not path.is_file() or not (folder / MEASUREMENTS).is_file():
        return f"no {VERDICT if not path.is_file() else MEASUREMENTS}: still running, or cut off"
    if path.stat().st_size > _VERDICT_MAX_BYTES:
        return f"{VERDICT} is larger than {_VERDICT_MAX_BYTES // 2**20} MiB"
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        return f"{VERDICT} cannot be read: {type(error).__name__}"
    return _night(folder, data)


def _night(folder: Path, data: object) -> Night | str:
    try:
        run_files.refuse_newer(VERDICT, data)
    except BadInput as error:
        return f"{VERDICT} {error.what}"
    fields = [data.get(word) for word in _WORDS] if isinstance(data, dict) else []
    words = [word for word in fields if isinstance(word, str) and word and word.isprintable()]
    if len(words) < len(_WORDS):
        return f"{VERDICT} does not hold all of {', '.join(_WORDS)}"
    run_id, cluster, platform, evidence, level = words
    if isinstance(data, dict) and data.get("part"):
        return "a part of a level, which is no night of its own: railgauge merge joins parts"
    if not _RUN_ID.fullmatch(run_id):
        return "its run id does not start with a time (20260131-020000), so it has no order"
    return Night(run_id, Fleet(cluster, _family(folder) or platform, evidence), level)


def _family(folder: Path) -> str:
    """The platform from which that of the run was calibrated, if any; else ``""``."""
    path = folder / PLATFORM
    try:
        is_small = path.stat().st_size <= _VERDICT_MAX_BYTES
        data = json.loads(path.read_text(encoding="utf-8")) if is_small else None
    except (OSError, ValueError, RecursionError):
        return ""
    found = data.get(CALIBRATED_FROM) if isinstance(data, dict) else None
    return found if isinstance(found, str) and found.isprintable() else ""


def _filled(nights: list[tuple[Path, Night]], skipped: list[tuple[str, str]]) -> Iterator[Night]:
    keys: _Keys = {}
    for folder, night in PROGRESS_OF_PROCESS.counted("night", nights):
        try:
            found, limits, left_out = _values(folder / MEASUREMENTS, night.fleet.evidence, keys)
        except (OSError, BadInput) as error:
            skipped.append((_plain(folder.name), _plain(str(error))[:200]))
            continue
        for what, count in left_out.items():
            skipped.append(
                (_plain(folder.name), f"{count} lines of {MEASUREMENTS} {what}: left out")
            )
        yield replace(night, values=found, limits=limits)


def _values(
    path: Path, evidence: str, keys: _Keys
) -> tuple[dict[SeriesKey, float], dict[SeriesKey, float], Counter[str]]:
    """The median and the limit of each series, and how many lines were left out, by reason."""
    samples: dict[SeriesKey, list[float]] = {}
    limits: dict[SeriesKey, float] = {}
    left_out = Counter[str]()
    for line in _lines(path):
        made = _samples(line, evidence)
        if made == lines.NEWER:
            raise BadInput(f"{MEASUREMENTS} {made}")
        if isinstance(made, str):
            left_out[made] += 1
        elif made is not None:
            key = keys.setdefault(made.key, made.key)
            if made.limit is not None:
                limits[key] = made.limit
            samples.setdefault(key, []).extend(v for v in made.values if 0 < v < math.inf)
    medians = {key: statistics.median(found) for key, found in samples.items() if found}
    return {key: float(f"{median:.9g}") for key, median in medians.items()}, limits, left_out


def _lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        for line in file:
            if _FACT not in line and _SOAK not in line and not line.isspace():
                yield line


def _samples(line: bytes, evidence: str) -> lines.LineSamples | str | None:
    if len(line) > _LINE_MAX_BYTES:
        return lines.BROKEN
    try:
        return lines.samples(json.loads(line), evidence)
    except (ValueError, RecursionError):
        return lines.BROKEN


def _plain(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text)
