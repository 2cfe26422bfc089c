"""``railgauge judge``: one tool's output against the limits of a platform."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from railgauge import inputs, thresholds, tools
from railgauge.cli import text
from railgauge.cli.match import fits
from railgauge.errors import BadInput, NoEvidence, Uncovered
from railgauge.evidence import samples_of, stability_doubt
from railgauge.judge import judge, judge_stability
from railgauge.model import Judgement, Outcome, Pairing, Parsed
from railgauge.slotlimit import in_its_slot
from railgauge.thresholds import LEVELS, Measurement, Platform
from railgauge.thresholds.model import NEAR_LINKS
from railgauge.units import format_size
from railgauge.verdict import ACCEPTED, EXIT_CODES, INCOMPLETE, REJECTED

NAME = "judge"
HELP = "judge what a tool printed by the limits of a platform"
EXAMPLE = "example: railgauge judge --platform metax-c500 --tool perftest ib_write_bw.log"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--platform", required=True, metavar="P", help="thresholds/P.json")
    parser.add_argument(
        "--tool", required=True, metavar="TOOL", help=f"one of: {', '.join(tools.NAMES)}"
    )
    parser.add_argument(
        "--level",
        choices=LEVELS,
        default="smoke",
        help="whose message sizes must all be there; others are judged too (default: smoke)",
    )
    parser.add_argument(
        "--measurement",
        metavar="NAME",
        help="the platform's measurement, if the output fits several",
    )
    parser.add_argument("file", metavar="FILE", help="a log, or - for standard input")


@dataclass(frozen=True, slots=True)
class Findings:
    """What came of judging one output. ``errors`` are the reasons why something is not judged."""

    measurement: str
    pairing: Pairing | None
    judgements: tuple[Judgement, ...]
    errors: tuple[str, ...]

    @property
    def verdict(self) -> str:
        outcomes = {judgement.outcome for judgement in self.judgements}
        if Outcome.FAILED in outcomes:
            return REJECTED
        whole = outcomes and not self.errors and Outcome.RECORD_ONLY not in outcomes
        return ACCEPTED if whole else INCOMPLETE


def run(options: argparse.Namespace) -> int:
    platform = inputs.platform(options.platform, options.root)
    parsed = tools.tool(options.tool).parse(text.read(options.file))
    measurement = _measurement(platform, options, parsed)
    findings = _find(platform, measurement, parsed, options.level)
    (_print_json if options.json else _print_text)(findings)
    return EXIT_CODES[findings.verdict]


def _measurement(platform: Platform, options: argparse.Namespace, parsed: Parsed) -> Measurement:
    """The platform's measurement that the output is one of."""
    of_tool = [m for m in platform.measurements.values() if m.tool == options.tool]
    if options.measurement:
        found = [m for m in of_tool if m.name == options.measurement]
    else:
        found = [m for m in of_tool if fits(platform, m, parsed)]
    if len(found) != 1:
        said = parsed.summary.get("command") or parsed.summary.get("collective") or "no known test"
        remedy = f"name one with --measurement: {', '.join(m.name for m in of_tool) or 'none'}"
        what = f"the output ({said}) fits {len(found)} measurements of {platform.name}"
        raise BadInput(what, where=options.file, remedy=remedy)
    return found[0]


def _find(platform: Platform, measurement: Measurement, parsed: Parsed, level: str) -> Findings:
    pairing = (
        _pairing(platform, measurement, parsed.summary) if measurement.scope == "path" else None
    )
    judgements: list[Judgement] = []
    errors = [f"{problem.message} ({problem.kind})" for problem in parsed.errors]
    for metric, size, placement in _wanted(platform, measurement, parsed, level):
        try:
            limit = thresholds.limit_for(measurement, metric, pairing, size)
            limit, _ = in_its_slot(limit, "the output", placement, {})
            physical = thresholds.physical_ceiling(platform, measurement, pairing, limit)
            samples = samples_of([parsed], metric, size, placement)
            judged = judge(samples, limit, size, physical)
            doubt = stability_doubt([parsed], limit, size, measurement.options, is_planned=False)
            judged = judge_stability(judged, doubt)
            judgements.append(replace(judged, metric=_named(metric, placement)))
            # A limit is missed, and yet the rows prove less than they should.
            errors += [str(doubt)] if doubt else []
        except (NoEvidence, Uncovered) as error:
            errors.append(str(error))
    return Findings(measurement.name, pairing, tuple(judgements), tuple(errors))


def _named(metric: str, placement: str | None) -> str:
    return f"{metric} {placement}" if placement else metric


def _wanted(
    platform: Platform, measurement: Measurement, parsed: Parsed, level: str
) -> Iterator[tuple[str, int | None, str | None]]:
    """Metric, size and placement of all that must be there or is there, as far as it is asserted.

    A size that was printed, is asserted and has no limit is an error: it is not passed over.
    """
    required = set(measurement.extents[level].sizes)
    printed = {sample.size_bytes for sample in parsed.samples if sample.size_bytes is not None}
    for size in sorted(required | printed):
        for metric in measurement.asserted("size", size):
            yield metric, size, None
    for per, placements in (("link", _links(platform)), ("gpu", _gpus(platform)), ("run", [None])):
        for metric in measurement.asserted(per):
            yield from ((metric, None, placement) for placement in placements)


def _gpus(platform: Platform) -> list[str | None]:
    return [f"gpu{index}" for index in range(platform.gpus.count if platform.gpus else 0)]


def _links(platform: Platform) -> list[str | None]:
    return [f"{a}>{b}" for a in _gpus(platform) for b in _gpus(platform) if a != b]


def _pairing(
    platform: Platform, measurement: Measurement, summary: Mapping[str, object]
) -> Pairing:
    """The path that the output names; what it does not name is taken as the platform's first."""
    declared = [nic.name for nic in platform.fabric_nics]
    nic = str(summary.get("device"))
    if nic not in declared:
        nic = declared[0]
    gpu = summary.get("gpu")
    if measurement.memory == "host":
        return Pairing(nic)
    if not isinstance(gpu, int) or gpu not in platform.affinity:
        return Pairing(nic, 0, "near")
    near = platform.affinity[gpu][nic] in NEAR_LINKS
    return Pairing(nic, gpu, "near" if near else "far")


def _print_json(findings: Findings) -> None:
    data: dict[str, Any] = {
        "verdict": findings.verdict,
        "measurement": findings.measurement,
        "pairing": str(findings.pairing) if findings.pairing else None,
        "judgements": [{**asdict(j), "outcome": str(j.outcome)} for j in findings.judgements],
        "errors": list(findings.errors),
    }
    text.print_json(data)


def _print_text(findings: Findings) -> None:
    over = f" over {findings.pairing}" if findings.pairing else ""
    print(f"{findings.measurement}{over}")
    for judged in findings.judgements:
        size = "" if judged.size_bytes is None else format_size(judged.size_bytes)
        margin = "" if judged.margin is None else f"{judged.margin:+.1%}"
        print(
            f"  {size:>7} {judged.metric:<20} {judged.measured:>16}  {judged.limit:<18}"
            f"{margin:>8}  {judged.outcome}"
        )
    for reason in (j.reason for j in findings.judgements if j.outcome is Outcome.FAILED):
        print(f"  failed: {reason}")
    for basis in dict.fromkeys(judged.basis for judged in findings.judgements):
        print(f"  basis {basis}")
    for error in findings.errors:
        print(f"  error: {error}")
    asserted, errors = len(findings.judgements), len(findings.errors)
    print(f"{findings.verdict}: asserted {asserted} values, {errors} errors")
