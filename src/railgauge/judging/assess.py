"""Turn evidence into judgements, for live runs, replays and the verifier alike. Pure.

Every function here gives the same answer for the same transcripts, facts and limits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from railgauge.config.thresholds import (
    Measurement,
    Platform,
    ideal,
    in_its_unit,
    limit_for,
    physical_ceiling,
    whole,
)
from railgauge.config.thresholds.model import Assertion
from railgauge.core.errors import MetricMissing, NoEvidence, Uncovered
from railgauge.core.limits import Limit
from railgauge.core.model import Case, Fabric, Judgement, Outcome, Parsed, Sample, Transcript
from railgauge.core.question import (
    CaseResult,
)
from railgauge.core.terms import BESIDE_ROLES, Role
from railgauge.facts import FactsByNode
from railgauge.judging.agreement import agreed
from railgauge.judging.correctness import judge_correct
from railgauge.judging.evidence import (
    frequency_doubt,
    refuse_failure,
    refuse_other_sizes,
    samples_of,
    stability_doubt,
    whole_doubt,
)
from railgauge.judging.judge import judge, judge_proven, judge_transport
from railgauge.judging.links import Scan, judge_scan
from railgauge.judging.naming import declared
from railgauge.judging.results import judge_results
from railgauge.judging.slots import in_its_slot
from railgauge.judging.traffic import judge_traffic, moved
from railgauge.tools import declared_metric, tool
from railgauge.tools.metric import SCALING, Metric
from railgauge.tools.output_checks import ToolRequest


@dataclass(frozen=True, slots=True)
class Measured:
    """A case that was measured and parsed without errors, with one ``Parsed`` for each run.

    ``is_planned``: the suite itself chose how the case was measured; see ``CaseResult``.
    """

    case: Case
    measurement: Measurement
    runs: tuple[Parsed, ...]
    transcripts: tuple[tuple[Transcript, ...], ...]
    is_planned: bool = True


@dataclass(frozen=True, slots=True)
class Assessment:
    """The answer to a question: judgements, and an error for each part that has no judgement."""

    judgements: tuple[Judgement, ...] = ()
    errors: tuple[NoEvidence, ...] = ()

    @property
    def final(self) -> bool:
        """Whether an item ends here, because no later answer could improve its outcome."""
        return bool(self.errors) or any(
            judged.outcome in (Outcome.FAILED, Outcome.RECORD_ONLY) for judged in self.judgements
        )


# --- judgements of one measured case ---


def read(
    platform: Platform, case: Case, result: CaseResult, found: FactsByNode = MappingProxyType({})
) -> Measured:
    """Parse the runs of a case, and check them against the case and the facts of its nodes.

    Raises ``NoEvidence`` if they cannot be judged, ``DataCorrupted`` if results are wrong.
    """
    measurement = platform.measurements.get(case.measurement)
    if measurement is None:
        raise MetricMissing(f"platform {platform.name} has no measurement {case.measurement}")
    if result.error:
        raise result.error
    asked = ToolRequest(case, measurement, platform, found, result.is_planned)
    runs = tuple(_read(asked, run) for run in result.runs)
    if len(runs) != case.repeats:
        raise MetricMissing(f"{len(runs)} of {case.repeats} runs of {case.key} are there")
    return Measured(case, measurement, runs, result.runs, result.is_planned)


def _read(asked: ToolRequest, run: Sequence[Transcript]) -> Parsed:
    """The parsed output of a run's reporting command; raises ``NoEvidence`` if any side failed."""
    measurement, nodes = asked.measurement, asked.case.nodes
    parse = tool(measurement.tool).parse
    sides = [transcript for transcript in run if transcript.role not in BESIDE_ROLES]
    if not sides:
        raise MetricMissing(f"a run of {measurement.name} has no transcript")
    # The suite stops a service at the end; a service that is alone here ended too early by itself.
    transcripts = [transcript for transcript in sides if transcript.role != Role.SERVICE] or sides
    outputs = [parse(_printed(transcript)) for transcript in transcripts]
    if transcripts[0].exit_code == 0:
        # A client that printed nothing left its server waiting: the error names the client.
        refuse_failure(transcripts[:1], outputs[:1], nodes)
    refuse_failure(transcripts, outputs, nodes)
    return declared(
        agreed(asked, transcripts, outputs), asked.platform.devices, transcripts[0].node
    )


def _printed(transcript: Transcript) -> str:
    """Everything that a command printed. Stdout's last line may be torn, so it stays a line."""
    errors = f"\n{transcript.stderr}" if transcript.stderr else ""
    return f"{transcript.stdout}{errors}"


def limits(
    platform: Platform,
    measured: Measured,
    size_bytes: int | None,
    placement: str | None = None,
    found: FactsByNode = MappingProxyType({}),
) -> Assessment:
    """Judge each metric that is asserted for a size, a link, a GPU or the run against its limit.

    ``found`` holds the facts of the nodes, for limits that are a share of a slot's bandwidth.
    """
    judgements: list[Judgement] = []
    errors: list[NoEvidence] = []
    case, measurement = measured.case, measured.measurement
    asserted = measurement.asserted(_per(size_bytes, placement), size_bytes, case.sizes)
    for metric in asserted:
        try:
            limit = limit_for(measurement, metric, case.pairing, size_bytes)
            limit, slot = in_its_slot(limit, case.nodes[0], placement, found)
            of = (platform, measurement, case.pairing, limit, len(case.nodes))
            physical, best = slot or physical_ceiling(*of), ideal(*of)
            limit = in_its_unit(limit, whole(*of))
            judged = _judged(measured, limit, size_bytes, placement, physical)
            is_own = best is not None and best != physical
            judgements.append(replace(judged, ideal=best) if is_own else judged)
        except NoEvidence as error:
            errors.append(error)
    return Assessment(tuple(judgements), tuple(errors))


def _per(size_bytes: int | None, placement: str | None) -> str:
    if size_bytes is not None:
        return "size"
    if placement is None:
        return "run"
    return "link" if ">" in placement else "gpu"


def _judged(
    measured: Measured,
    limit: Limit,
    size_bytes: int | None,
    placement: str | None,
    physical: float | None,
) -> Judgement:
    refuse_other_sizes(measured.runs, limit)
    samples = samples_of(measured.runs, limit.metric, size_bytes, placement)
    judged = judge(samples, limit, _declared(measured, limit), size_bytes, physical)
    not_shown = _not_shown(measured)
    judgement = replace(judged, not_shown=not_shown) if not_shown else judged
    doubt = stability_doubt(
        measured.runs,
        limit,
        size_bytes,
        measured.measurement.options,
        is_planned=measured.is_planned,
    )
    doubts = (doubt, whole_doubt(measured.runs), frequency_doubt(measured.runs, judgement))
    return judge_proven(judgement, next(filter(None, doubts), None))


def _declared(measured: Measured, limit: Limit) -> Metric:
    """The tool's declaration of a metric: is higher or lower better. Raises ``Uncovered``."""
    tool_name = measured.measurement.tool
    found = declared_metric(tool_name, limit.metric)
    if found is None:
        raise Uncovered(f"{tool_name} declares no {limit.metric}", where=limit.pointer)
    return found


def _not_shown(measured: Measured) -> tuple[str, ...]:
    """The requested items that the output of some run does not show, each once."""
    return tuple(dict.fromkeys(item for run in measured.runs for item in run.not_shown))


def traffic(platform: Platform, measured: Measured) -> Assessment:
    """Judge whether the payload went over the NICs that should carry it, and over no others."""
    spec, case = measured.measurement.traffic, measured.case
    if spec is None:
        return _nothing(measured.measurement, "the NICs' counters")
    fabric = [nic.name for nic in platform.fabric_nics]
    carriers = {n: [path.nic] if (path := case.path_at(n)) else fabric for n in case.nodes}
    payload_bytes = tool(measured.measurement.tool).payload_bytes

    def of_node(parsed: Parsed, run: Sequence[Transcript], node: str) -> Iterator[Judgement]:
        one = moved(run, node, fabric, platform.devices)
        yield from judge_traffic(one, payload_bytes(parsed), spec, carriers[node])

    return _collected(
        of_node(parsed, run, node)
        for parsed, run in zip(measured.runs, measured.transcripts, strict=True)
        for node in carriers
    )


def transport(measured: Measured) -> Assessment:
    """Judge whether the library's log names the transport that it should use."""
    spec = measured.measurement.transport
    if spec is None:
        return _nothing(measured.measurement, "the transport")
    return _collected(map(judge_transport, [parsed], [spec]) for parsed in measured.runs)


def results(platform: Platform, measured: Measured) -> Assessment:
    """Judge whether a diagnostic printed each expected test for every GPU, and each passed."""
    spec = measured.measurement.results
    if spec is None:
        return _nothing(measured.measurement, "named tests")
    gpus, node = platform.gpus.count if platform.gpus else 0, measured.case.nodes[0]
    found = [judge_results(parsed, spec, gpus, node) for parsed in measured.runs]
    return Assessment(
        tuple(judgement for judgements, _ in found for judgement in judgements),
        tuple(error for _, errors in found for error in errors),
    )


def correct(measured: Measured) -> Assessment:
    """Judge only whether the results of a collective are right."""
    return _collected(map(judge_correct, [parsed]) for parsed in measured.runs)


def ratio(one: Measured, other: Measured, metric: str) -> Assessment:
    """Judge the metric of ``one`` divided by that of ``other`` against the limit of ``scaling``.

    The platform file names the sizes of ``one``, and the metric of ``other`` if it is another one.
    """

    def judged() -> Iterable[Judgement]:
        limit = limit_for(one.measurement, SCALING.name, None, None)
        asserted = (a for a in one.measurement.asserts if a.of == metric)
        asked = next(asserted, Assertion(SCALING.name, of=metric))
        divisor = Assertion(SCALING.name, of=asked.by or metric)
        value = _worst(one, asked, min) / _worst(other, divisor, max)
        judgement = judge([Sample(SCALING.name, "1", value)], limit, SCALING, None, None)
        not_shown = tuple(dict.fromkeys((*_not_shown(one), *_not_shown(other))))
        yield replace(judgement, not_shown=not_shown) if not_shown else judgement

    return _collected([judged()])


def fabric(
    declared: Fabric | None,
    measured: Measured,
    switch: str | None = None,
    since: Measured | None = None,
) -> Assessment:
    """Judge the cables of ``switch`` by a scan, or by the counters that grew ``since`` another."""
    measurement = measured.measurement
    if measurement.fabric is None or declared is None:
        return _nothing(measurement, "the subnet")
    try:
        judgements, errors = judge_scan(
            (measurement.tool, switch or ""),
            declared,
            measurement.fabric,
            _scan(measured),
            _scan(since) if since else None,
        )
    except NoEvidence as error:
        return Assessment(errors=(error,))
    return Assessment(tuple(judgements), tuple(errors))


def _scan(measured: Measured) -> Scan:
    first = measured.transcripts[0][0]
    return Scan(_printed(first), first.started_at)


def _worst(measured: Measured, asked: Assertion, choose: Callable[[list[float]], float]) -> float:
    """The sample that ``choose`` selects: the one that makes the ratio least favourable."""
    metric = asked.of
    found = [one for one in samples_of(measured.runs, metric, None) if asked.at(one.size_bytes)]
    if not found:
        raise MetricMissing(f"{metric} of {measured.case.key}: not at the sizes of the ratio")
    value = choose([sample.value for sample in found])
    if value <= 0:
        raise MetricMissing(f"{metric} of {measured.case.key} is {value:g}: no data was moved")
    return value


def _collected(parts: Iterable[Iterable[Judgement]]) -> Assessment:
    """The judgements of all parts; a part that cannot be judged ends with its error."""
    judgements: list[Judgement] = []
    errors: list[NoEvidence] = []
    for part in parts:
        try:
            judgements.extend(part)
        except NoEvidence as error:
            errors.append(error)
    return Assessment(tuple(judgements), tuple(errors))


def _nothing(measurement: Measurement, what: str) -> Assessment:
    missing = f"the platform file sets no expectation on {what} of {measurement.name}"
    return Assessment(errors=(MetricMissing(missing),))
