"""``railgauge thresholds derive``: propose a platform file from runs on a trusted cluster."""

from __future__ import annotations

import argparse
import json
import math
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from railgauge.cli import replacing, text
from railgauge.config import thresholds
from railgauge.config.thresholds import Platform
from railgauge.config.thresholds.reach import SHARE_MIN
from railgauge.core import arguments, naming
from railgauge.core.errors import BadInput, ThresholdError, Uncovered
from railgauge.core.progress import PROGRESS_OF_PROCESS
from railgauge.core.run_files import MEASUREMENTS, PLATFORM
from railgauge.planning import plan
from railgauge.run.newer import refuse_newer
from railgauge.run.store import Store, write_whole
from railgauge.trend.derive import (
    FRACTION,
    DerivedLimit,
    Strictness,
    Value,
    derive,
)
from railgauge.trend.read import CALIBRATED_FROM, night_of, with_repeats
from railgauge.trend.values import Fleet, Night

HELP = "propose a platform file from calibration runs"
EXAMPLE = (
    "example: railgauge thresholds derive reports/2026*-mine -o thresholds/measured.json; "
    "exit codes: 0 every limit was derived, 10 some stay as they were, 2 nothing was proposed"
)
_SOME_STAY = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=["derive"])
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="the folder of a run")
    parser.add_argument(
        "--fraction", type=arguments.share, default=FRACTION, metavar="F",
        help="the floor as a share of the measured value (default: %(default)g)",
    )  # fmt: skip
    parser.add_argument(
        "--accept-below", type=_accepted, action="append", default=[], metavar="[NAME=]F",
        help="the lowest floor, as a share of the hardware's best: of all measurements, or of the "
        f"one that is named; may be repeated (default: {SHARE_MIN:g})",
    )  # fmt: skip
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE",
        help="thresholds/NAME.json: the platform is named NAME (default: stdout, the old name)",
    )  # fmt: skip
    replacing.add_argument(parser)


def _accepted(word: str) -> tuple[str, float]:
    """A share and the measurement that it is for; ``""`` for all."""
    name, _, share = word.rpartition("=")
    return name, arguments.share(share)


def run(options: argparse.Namespace) -> int:
    """Write the proposal to the file or to stdout, and print the result for each limit."""
    if options.output:
        replacing.refuse_existing(options.output, options)
    schema = options.root / "thresholds" / "schema.json"
    fleet, document = _same_limits(options.runs)
    platform = _checked(document, schema, str(options.runs[0] / PLATFORM))
    runs = PROGRESS_OF_PROCESS.counted("run", options.runs)
    values = [value for folder in runs for value in _values(folder)]
    strictness = _strictness(options, platform)
    proposal, outcomes = derive(platform, document, values, fleet.evidence, strictness)
    if not any(outcome.now for outcome in outcomes):
        reasons = dict.fromkeys(outcome.stays for outcome in outcomes)
        raise BadInput(f"no limit can be derived: {'; '.join(reasons)}")
    if options.output:
        _rename(proposal, options.output.stem)
    _checked(proposal, schema, "the proposal")
    _hand_over(proposal, outcomes, options)
    return _SOME_STAY if any(outcome.stays for outcome in outcomes) else 0


def _strictness(options: argparse.Namespace, platform: Platform) -> Strictness:
    """The strictness as asked. Raises ``BadInput`` for a measurement that does not exist."""
    shares = dict(options.accept_below)
    every = shares.pop("", SHARE_MIN)
    if unknown := sorted(set(shares) - set(platform.measurements)):
        raise BadInput(
            f"--accept-below {unknown[0]}: {platform.name} has no such measurement",
            remedy=f"it has {naming.listed(sorted(platform.measurements))}",
        )
    return Strictness(options.fraction, every, shares)


def _rename(proposal: dict[str, Any], name: str) -> None:
    """Give the platform the name of its file; ``trend`` still connects it with its old runs."""
    was, proposal["platform"] = proposal["platform"], name
    if name != was:
        proposal.setdefault(CALIBRATED_FROM, was)


def _same_limits(folders: Sequence[Path]) -> tuple[Fleet, dict[str, Any]]:
    """Return the cluster and the platform file, which must be the same for all runs."""
    nights = [night_of(folder) for folder in folders]
    _refuse_repeats(folders, nights)
    for folder, night in zip(folders, nights, strict=True):
        if night.is_replay:
            what = "is a replay, which would count a measurement again: name the run that measured"
            raise BadInput(what, where=str(folder))
    documents = [_document(folder / PLATFORM) for folder in folders]
    for folder, night, document in zip(folders, nights, documents, strict=True):
        if (night.fleet.platform, night.fleet.evidence) != _kind(nights[0].fleet):
            raise BadInput(
                f"is of platform {night.fleet.platform} and {night.fleet.evidence} evidence, "
                f"but {folders[0]} is not",
                where=str(folder),
            )
        if document != documents[0]:
            raise BadInput(
                f"was judged by other limits than {folders[0]}",
                where=str(folder),
                remedy="derive from runs with one platform file",
            )
    return nights[0].fleet, documents[0]


def _refuse_repeats(folders: Sequence[Path], nights: Sequence[Night]) -> None:
    """Raise ``BadInput`` for runs with measurements in common, which would count twice."""
    for folder, (run, other) in with_repeats(zip(folders, nights, strict=True)).items():
        raise BadInput(
            f"has measurements of {run}, as {other} has",
            where=str(folder),
            remedy="name each run once, and of runs that carry one another on only the last",
        )


def _kind(fleet: Fleet) -> tuple[str, str]:
    return fleet.platform, fleet.evidence


def _document(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(f"cannot be read: {type(error).__name__}", where=str(path)) from None
    if not isinstance(data, dict):
        raise BadInput("is not a platform file", where=str(path))
    return data


def _checked(document: Mapping[str, Any], schema: Path, where: str) -> Platform:
    """Load the document as a platform, with the same checks as every platform file."""
    name = document.get("platform")
    if not isinstance(name, str):
        raise BadInput("is not a platform file", where=where)
    with TemporaryDirectory(prefix="railgauge-") as folder:
        if not schema.is_file():
            raise BadInput("does not exist", where=str(schema), remedy="name the root with --root")
        shutil.copyfile(schema, Path(folder, "schema.json"))
        path = Path(folder, f"{Path(name).name or 'unnamed'}.json")
        path.write_text(json.dumps(document), encoding="utf-8")
        try:
            platform = thresholds.load(path.stem, Path(folder))
        except ThresholdError as error:
            what = str(error).replace(str(path), where)
            raise BadInput(what) from None
    if complaints := list(plan.complaints(platform)):
        raise Uncovered(complaints[0], where=where)
    return platform


def _values(folder: Path) -> Iterator[Value]:
    """Yield every sample of a run that was compared with a limit; other lines are skipped."""
    refuse_newer(folder)
    run_id = night_of(folder).run_id
    lines, _ = Store(folder).lines(MEASUREMENTS)
    for line in lines:
        if isinstance(line, dict) and _is_measurement(line):
            for value in line["values"]:
                yield Value(
                    run=run_id,
                    pointer=line["pointer"],
                    size_bytes=line["size_bytes"],
                    nodes=tuple(line["nodes"]),
                    value=float(value),
                    best=line.get("ideal") or line["physical_ceiling"],
                    missed=line["outcome"] == "failed",
                )


_NUMBER = (int, float)
_TYPES: Mapping[str, Any] = {
    "pointer": str, "outcome": str, "nodes": list, "values": list,
    "size_bytes": (int, type(None)), "physical_ceiling": (*_NUMBER, type(None)),
}  # fmt: skip


def _is_measurement(line: Mapping[str, Any]) -> bool:
    typed = all(isinstance(line.get(name, ...), kind) for name, kind in _TYPES.items())
    ideal = line.get("ideal")  # runs of earlier versions have none
    typed = typed and isinstance(ideal, (*_NUMBER, type(None)))
    return typed and all(
        isinstance(v, _NUMBER) and math.isfinite(v) and v > 0 for v in line["values"]
    ) and all(isinstance(node, str) for node in line["nodes"])  # fmt: skip


def _hand_over(
    proposal: Mapping[str, Any], outcomes: Sequence[DerivedLimit], options: argparse.Namespace
) -> None:
    if options.output:
        write_whole(options.output, json.dumps(proposal, indent=2, ensure_ascii=False) + "\n")
    if options.json:
        listed = [asdict(outcome) for outcome in outcomes]
        text.print_json({"limits": listed, "proposal": proposal})
    elif options.output:
        print("\n".join(_lines(outcomes)))
        print(f"written: {options.output}; in the hostfile: platform: {proposal['platform']}")
    else:
        text.print_json(proposal)


def _lines(outcomes: Sequence[DerivedLimit]) -> Iterator[str]:
    for one in outcomes:
        if one.now:
            yield f"{one.pointer} {one.metric}: {one.now}, was {one.was}"
    for one in outcomes:
        if one.stays:
            yield f"NOT DERIVED {one.pointer} {one.metric} ({one.was}): {one.stays}"
