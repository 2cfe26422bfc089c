"""``railgauge judge``: compare one tool's output with the limits of a platform."""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass, replace
from typing import Any

from railgauge import tools
from railgauge.cli import text
from railgauge.cli.match import chosen
from railgauge.cli.recorded import RecordedEvidence, questions, recorded, unanswered
from railgauge.config.thresholds import LEVELS, Measurement, Platform
from railgauge.core.errors import BadInput
from railgauge.core.model import Judgement, Outcome, Pairing, Parsed
from railgauge.core.question import READ
from railgauge.core.terms import Verdict
from railgauge.core.units import format_size
from railgauge.judging.assessor import Assessor
from railgauge.run import inputs
from railgauge.tools.finding import failure, text_of
from railgauge.verdict.deviations import DeviationEffect, loose_limits

HELP = "judge the output of a tool by the limits of a platform"
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
        help="the level whose message sizes must all be present; others are judged too "
        "(default: smoke)",
    )
    parser.add_argument(
        "--measurement",
        metavar="NAME",
        help="the platform's measurement, if the output matches several",
    )
    parser.add_argument(
        "--pairing",
        default="",
        metavar="PATH",
        help="the path as ids show it, if the output names only one of its two ends: "
        "gpu4-mlx5_1:gpu0-mlx5_0",
    )
    parser.add_argument("file", metavar="FILE", help="a log, or - for standard input")


@dataclass(frozen=True, slots=True)
class JudgedOutput:
    """The result of judging one output.

    ``errors`` are the reasons why something could not be judged. ``unanswered`` are questions of a
    run that an output alone cannot answer. ``loose`` are its limits that the platform file declares
    as loose.
    """

    measurement: str
    pairing: Pairing | None
    judgements: tuple[Judgement, ...]
    errors: tuple[str, ...]
    unanswered: tuple[str, ...]
    loose: tuple[DeviationEffect, ...] = ()

    @property
    def verdict(self) -> Verdict:
        outcomes = {judgement.outcome for judgement in self.judgements}
        if Outcome.FAILED in outcomes:
            return Verdict.REJECTED
        whole = outcomes and not self.errors and Outcome.RECORD_ONLY not in outcomes
        if not whole:
            return Verdict.INCOMPLETE
        return Verdict.WITH_DEVIATIONS if self.loose else Verdict.ACCEPTED


def run(options: argparse.Namespace) -> int:
    platform = inputs.platform(options.platform, options.root)
    tool = tools.tool(options.tool)
    printed = text.read(options.file)
    parsed = tool.parse(printed)
    try:
        measurement = chosen(platform, options.tool, options.measurement, parsed)
        path = options.pairing
        evidence = recorded(platform, measurement, options.level, parsed, printed, path=path)
    except BadInput as error:
        what = "; ".join(filter(None, (text_of(failure(parsed)), error.what)))
        raise BadInput(what, where=options.file, remedy=error.remedy) from None
    output = _find(platform, measurement, parsed, evidence)
    (_print_json if options.json else _print_text)(output)
    return output.verdict.exit_code


def _find(
    platform: Platform, measurement: Measurement, parsed: Parsed, evidence: RecordedEvidence
) -> JudgedOutput:
    """Judge the evidence with the code of a run, for every question that a run would ask."""
    assessor = Assessor(platform, {}, evidence.result)
    judgements: list[Judgement] = []
    errors: list[str] = []
    for question in questions(platform, measurement, evidence.case, parsed):
        found = assessor.answer(question)
        judgements += [_named(judged, question.placement) for judged in found.judgements]
        errors += map(str, found.errors)
        if question.kind == READ and found.final:
            break  # every further question would have the same error
    return JudgedOutput(
        measurement.name,
        evidence.case.pairing,
        tuple(judgements),
        tuple(errors),
        tuple(unanswered(measurement, evidence.case, parsed)),
        _loose(platform, measurement),
    )


def _loose(platform: Platform, measurement: Measurement) -> tuple[DeviationEffect, ...]:
    """The loose limits of this measurement; its output does not concern the others."""
    own = f"/measurements/{measurement.name}/"
    return tuple(one for one in loose_limits(platform) if one.deviation.item.startswith(own))


def _named(judged: Judgement, placement: str | None) -> Judgement:
    return replace(judged, metric=f"{judged.metric} {placement}") if placement else judged


def _print_json(output: JudgedOutput) -> None:
    data: dict[str, Any] = {
        "verdict": output.verdict,
        "measurement": output.measurement,
        "pairing": str(output.pairing) if output.pairing else None,
        "judgements": [{**asdict(j), "outcome": str(j.outcome)} for j in output.judgements],
        "errors": list(output.errors),
        "not_judged": list(output.unanswered),
        **({"deviations": [one.to_json() for one in output.loose]} if output.loose else {}),
    }
    text.print_json(data)


def _print_text(output: JudgedOutput) -> None:
    over = f" over {output.pairing}" if output.pairing else ""
    print(f"{output.measurement}{over}")
    for judged in output.judgements:
        size = "" if judged.size_bytes is None else format_size(judged.size_bytes)
        margin = "" if judged.margin is None else f"{judged.margin:+.1%}"
        print(
            f"  {size:>7} {judged.metric:<20} {judged.measured:>16}  {judged.limit:<18}"
            f"{margin:>8}  {judged.outcome}"
        )
    for reason in (j.reason for j in output.judgements if j.outcome is Outcome.FAILED):
        print(f"  failed: {reason}")
    for basis in dict.fromkeys(judged.basis for judged in output.judgements):
        print(f"  basis {basis}")
    for error in output.errors:
        print(f"  error: {error}")
    for what in output.unanswered:
        print(f"  not judged: {what}")
    for one in output.loose:
        print(f"  {one.head}: {one.effect}; {one.signature}")
    asserted, errors = len(output.judgements), len(output.errors)
    print(f"{output.verdict}: asserted {asserted} values, {errors} errors")
