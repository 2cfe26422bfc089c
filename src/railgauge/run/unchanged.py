"""Whether the folder of a run is as the run left it; every reader of an earlier run checks this.

A run that has ended has a manifest of all its files. A run that was killed has vouched for its
evidence: a file was written under a temporary name, then its digest was written, and then the file
got its own name. So at whatever moment the run was killed, each file that it vouches for exists
under one of the two names.

One change is not detected: evidence and the ends of all chains, cut off together at one moment.
That equals a run that was killed at that moment.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from railgauge.core import chain
from railgauge.core.codec import from_plain
from railgauge.core.digests import sha256_of
from railgauge.core.errors import BadInput
from railgauge.core.model import Case
from railgauge.core.run_files import EARLIER, MANIFEST, MEASUREMENTS, TRANSCRIPTS, VERDICT
from railgauge.judging import record
from railgauge.judging.confirmation import FOLDER as AGAIN
from railgauge.planning.soak import FOLDER as SOAK
from railgauge.run.case_files import case_file
from railgauge.run.run_folder import RunFolder, json_left
from railgauge.run.store import VOUCHED, Store, objects
from railgauge.verdict.decision import FILE as PLAN

# The folders of evidence, which hold only files that the run wrote.
_EVIDENCE = (TRANSCRIPTS, AGAIN, SOAK, EARLIER)
_AS_LEFT = "restore it as the run left it, or start a new run"


class _Difference(NamedTuple):
    name: str
    what: str


def refuse_changed(
    run: Path, among: Iterable[str] | None = None, besides: tuple[str, ...] = ()
) -> None:
    """Raise ``BadInput``, naming the first file, if the folder is not as the run left it.

    ``among`` are the only files that are read; those of them that are missing do not count. Files
    whose names begin with one of ``besides`` are not read.
    """
    held: Mapping[str, str] | None = RunFolder(run, f"{run}/").manifest()
    if held is not None and besides:
        held = {name: digest for name, digest in held.items() if not name.startswith(besides)}
    if held is None:
        found = _of_killed(run) if among is None else iter(())
    elif among is None:
        found = _of_ended(run, held)
    else:
        found = _changed(run, held, (n for n in among if n in held and (run / n).is_file()))
    first = next(found, None)
    if first is None:
        return
    count = len({first.name, *(one.name for one in found)})
    others = f" (files that are missing or changed: {count})" if count > 1 else ""
    raise BadInput(f"{first.what}{others}", where=str(run / first.name), remedy=_AS_LEFT)


def _changed_by(listed: str) -> str:
    return f"was changed after the run wrote it: its SHA-256 is not in {listed}"


# --- a run that has ended ---


def _of_ended(run: Path, held: Mapping[str, str]) -> Iterator[_Difference]:
    yield from _changed(run, held, held)
    for folder in _EVIDENCE:
        for path in sorted((run / folder).rglob("*")):
            name = path.relative_to(run).as_posix()
            if path.is_file() and name not in held:
                yield _Difference(name, f"is not of the run: it is not in {MANIFEST}")
    vouched = _vouched(run)
    left = unfinished(run, vouched)
    for name in vouched:
        if name not in held and name not in left:
            yield _Difference(name, f"is missing: it is in {VOUCHED}, and not in {MANIFEST}")


def _changed(run: Path, held: Mapping[str, str], names: Iterable[str]) -> Iterator[_Difference]:
    for name in sorted(names):
        path = run / name
        if not path.is_file():
            yield _Difference(name, f"is missing: it is in {MANIFEST}")
        elif sha256_of(path) != held[name]:
            yield _Difference(name, _changed_by(MANIFEST))


# --- a run that was killed ---


def _of_killed(run: Path) -> Iterator[_Difference]:
    for name in (*_vouching(run), MEASUREMENTS):
        number = chain.first_broken(_lines(run / name))
        if number is not None:
            what = "does not fit the lines before it: one of them was changed"
            yield _Difference(name, f"line {number} {what}")
            return
    vouched = _vouched(run)
    left = unfinished(run, vouched)
    yield from _other_than_vouched(run, vouched, left)
    yield from _without_evidence(run, left)


def _other_than_vouched(
    run: Path, vouched: Mapping[str, str], left: Collection[str]
) -> Iterator[_Difference]:
    """Each file for which the run vouches, unless it is as the run wrote it last."""
    last = next(reversed([*vouched]), None)
    for name, digest in vouched.items():
        # Nothing is measured before the survey has its name.
        if name in left and (TRANSCRIPTS in Path(name).parts or name == last):
            continue
        if not (run / name).is_file():
            yield _Difference(name, f"is missing: it is in {VOUCHED}")
        elif sha256_of(run / name) != digest:
            yield _Difference(name, _changed_by(VOUCHED))
    for path in _transcripts(run):
        name = path.relative_to(run).as_posix()
        if name not in vouched:
            yield _Difference(name, _changed_by(VOUCHED))


def unfinished(run: Path, vouched: Mapping[str, str] | None = None) -> dict[str, Path]:
    """The files of evidence that a killed process has left under a temporary name, by their names.

    Each is complete: the run had vouched for it, and was killed before it gave it its name.
    ``vouched`` are the digests for which the run vouches, if they were read already.
    """
    left = [path for path in run.rglob(".*.json.*") if path.is_file()]
    if vouched is None:
        vouched = _vouched(run) if left else {}
    named = ((_named(path).relative_to(run).as_posix(), path) for path in left)
    return {name: path for name, path in named if sha256_of(path) == vouched.get(name)}


def _named(path: Path) -> Path:
    """The name that a file was to get: ``.a.json.123`` is written for ``a.json``."""
    return path.with_name(path.name[1:].rpartition(".")[0])


def _vouching(run: Path) -> list[str]:
    """The files of digests: one for a run; early versions had one more for each round of a soak."""
    return sorted(path.relative_to(run).as_posix() for path in run.rglob(VOUCHED))


def _vouched(run: Path) -> dict[str, str]:
    """The files for which the run vouches, in their order, each with its last digest."""
    found: dict[str, str] = {}
    for name in _vouching(run):
        below = name.removesuffix(VOUCHED)
        for line in objects(run / name):
            found[f"{below}{line.get('name')}"] = str(line.get("sha256"))
    return found


def _transcripts(run: Path) -> Iterator[Path]:
    for place in (run, run / AGAIN, *sorted((run / SOAK).glob("*"))):
        yield from sorted((place / TRANSCRIPTS).glob("*.json"))


def _without_evidence(run: Path, left: Collection[str]) -> Iterator[_Difference]:
    """Judgements whose evidence is missing, and records or lines that the run lacks."""
    measured = {line.get("id") for line in objects(run / MEASUREMENTS)}
    ended, used = set[str](), dict[str, None]()
    for item in objects(run / record.FILE):
        ended.add(str(item.get("id")))
        used |= dict.fromkeys(_files_of(item))
        if item.get("judgements") and item.get("id") not in measured:
            what = f"has no line of {item.get('id')}, which has a record"
            yield _Difference(MEASUREMENTS, what)
    for name in used:
        if name not in left and not (run / name).is_file():
            yield _Difference(name, f"is missing: an item in {record.FILE} is based on it")
    if not (run / VERDICT).is_file():
        return
    plan = json_left(run / PLAN)
    for name in plan.get("planned", ()) if isinstance(plan, dict) else ():
        if name not in ended:
            what = f"has no record of {name}, but the run has reached its verdict"
            yield _Difference(record.FILE, what)


def _files_of(item: Mapping[str, Any]) -> Iterator[str]:
    """The transcripts on which the record of an item is based."""
    for question in item.get("questions", ()) if item.get("by_evidence") else ():
        for case in (question.get("case"), question.get("other")):
            if case:
                yield case_file(from_plain(Case, case))


def _lines(path: Path) -> list[Any]:
    return Store(path.parent).lines(path.name)[0]
