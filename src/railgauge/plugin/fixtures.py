"""The words that tests are written in: ``fact``, ``expect``, ``measure`` and ``check``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from railgauge import plan
from railgauge.errors import DataCorrupted, FactMissing, LimitMissed, NoEvidence
from railgauge.evidence import SERVICE, refuse_failure, samples_of
from railgauge.facts import NodeFacts, require
from railgauge.judge import judge, judge_corruption, judge_fact, judge_transport
from railgauge.model import Case, Judgement, Outcome, Pairing, Parsed, Sample, Transcript
from railgauge.plan import Place
from railgauge.plugin.context import CONTEXT, Context
from railgauge.plugin.items import ABOUT
from railgauge.plugin.ranks import refuse_other_ranks
from railgauge.plugin.recording import DRAFT, note
from railgauge.report import allure
from railgauge.thresholds import Measurement, Platform, limit_for, physical_ceiling
from railgauge.tools import tool
from railgauge.traffic import AFTER, BEFORE, judge_traffic, moved


@pytest.fixture(scope="session")
def context(request: pytest.FixtureRequest) -> Context:
    """The session's state; tests of the ladder do not need it."""
    return request.config.stash[CONTEXT]


@pytest.fixture(scope="session")
def platform(context: Context) -> Platform:
    """The platform file: what is declared, expected and limited."""
    return context.platform


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of one node, as the survey found them."""

    node: NodeFacts

    def __getitem__(self, name: str) -> Any:
        """A fact by its path: ``governors``, ``nics.mlx5_0.lid``, ``topology.gpu0.mlx5_0``.

        Raises ``FactMissing`` if the probe could not read it.
        """
        return require(self.node, name)


@pytest.fixture
def facts(context: Context) -> Callable[[str], Facts]:
    """``facts(node)``: what the survey found there. An unreachable node is an error here."""

    def facts(node: str) -> Facts:
        found = context.found[node]
        if isinstance(found, NoEvidence):
            raise found
        return Facts(found)

    return facts


@pytest.fixture
def peers(context: Context) -> Callable[[Callable[[Facts], object]], dict[str, object]]:
    """``peers(read)``: the same fact of every node that has it, by node."""

    def peers(read: Callable[[Facts], object]) -> dict[str, object]:
        values = {}
        for node, found in context.found.items():
            try:
                if not isinstance(found, NoEvidence):
                    values[node] = read(Facts(found))
            except FactMissing:
                continue
        return values

    return peers


@pytest.fixture
def expect(request: pytest.FixtureRequest, context: Context) -> Callable[..., None]:
    """``expect(value)``: the fact must be what the platform file's expectation says."""
    item = request.node

    def expect(
        value: object, *, declared: object = None, peers: Mapping[str, object] | None = None
    ) -> None:
        expectation = context.platform.expected[item.stash[ABOUT].subject.name]
        judgement = judge_fact(expectation, value, declared=declared, peers=peers)
        _conclude(item, context, [judgement])

    return expect


@dataclass(frozen=True, slots=True)
class Measured:
    """A case that was measured, parsed and found free of errors: one ``Parsed`` for each run."""

    case: Case
    measurement: Measurement
    runs: tuple[Parsed, ...]
    transcripts: tuple[tuple[Transcript, ...], ...]


Check = Callable[[Measured], None]


@pytest.fixture
def measure(request: pytest.FixtureRequest, context: Context) -> Callable[..., Measured]:
    """``measure(place[, pairing])``: make the test's measurement there, or take it from this run.

    A place is a pair of nodes, a node, or a group. ``of`` names another measurement of the platform
    file than the test's own, for what is compared.
    """
    item = request.node

    def measure(place: Place, pairing: Pairing | None = None, *, of: str = "") -> Measured:
        name = of or item.stash[ABOUT].subject.name
        measurement = context.platform.measurements[name]
        case = plan.case_at(measurement, context.level.name, place, pairing)
        item.stash[DRAFT].transcript = context.store.transcript_name(case)
        with allure.step(
            f"{measurement.command} on {place}{f' over {pairing}' if pairing else ''}"
        ):
            result = context.runner.measure(case)
            allure.attach(context.store.folder / context.store.transcript_name(case))
        if result.error:
            raise result.error
        try:
            runs = tuple(_read(measurement, run) for run in result.runs)
        except DataCorrupted as error:
            # Whatever else the nodes would measure, they may not be trusted with data.
            item.session.shouldfail = f"data corruption: {error}"
            _conclude(item, context, [judge_corruption(error)])
            raise
        for parsed in runs:
            refuse_other_ranks(parsed, case, measurement, context.platform)
        return Measured(case, measurement, runs, result.runs)

    return measure


def _read(measurement: Measurement, run: Sequence[Transcript]) -> Parsed:
    """What the reporting command of a run said, if nothing went wrong on any side."""
    parse = tool(measurement.tool).parse
    heard = [transcript for transcript in run if transcript.role not in (BEFORE, AFTER)]
    # A service was stopped by us; only if it is all there is did it end by itself, too early.
    said = [transcript for transcript in heard if transcript.role != SERVICE] or heard
    outputs = [parse(f"{transcript.stdout}\n{transcript.stderr}") for transcript in said]
    if said[0].exit_code == 0:
        # A client that ended without a word leaves its server waiting: not its fault.
        refuse_failure(said[:1], outputs[:1])
    refuse_failure(said, outputs)
    return outputs[0]


@pytest.fixture
def check(request: pytest.FixtureRequest, context: Context) -> Callable[..., None]:
    """``check(measured, size)``: every metric asserted at that size must keep to its limit.

    ``link=`` and ``gpu=`` ask for the metrics asserted for each link or GPU; without any of the
    three those asserted once for the run are judged.
    """
    item = request.node

    def check(
        measured: Measured, size: int | None = None, *, link: str = "", gpu: int | None = None
    ) -> None:
        per = (
            "size" if size is not None else "link" if link else "gpu" if gpu is not None else "run"
        )
        placement = link or (f"gpu{gpu}" if gpu is not None else None)
        judgements: list[Judgement] = []
        errors: list[NoEvidence] = []
        for metric in measured.measurement.asserted(per, size):
            try:
                judgements.append(_judged(context.platform, measured, metric, size, placement))
            except NoEvidence as error:
                errors.append(error)
        _conclude(item, context, judgements, errors)

    return check


def _judged(
    platform: Platform, measured: Measured, metric: str, size: int | None, placement: str | None
) -> Judgement:
    measurement, pairing = measured.measurement, measured.case.pairing
    limit = limit_for(measurement, metric, pairing, size)
    physical = physical_ceiling(platform, measurement, pairing, limit)
    return judge(samples_of(measured.runs, metric, size, placement), limit, size, physical)


@pytest.fixture
def check_traffic(request: pytest.FixtureRequest, context: Context) -> Check:
    """``check_traffic(measured)``: the NICs that should carry the payload did, and only they."""
    item = request.node

    def check_traffic(measured: Measured) -> None:
        spec, pairing = measured.measurement.traffic, measured.case.pairing
        assert spec is not None, "items are made only where the platform file asks for it"
        fabric = [nic.name for nic in context.platform.fabric_nics]
        carriers = [pairing.nic] if pairing else fabric
        payload_bytes = tool(measured.measurement.tool).payload_bytes
        judgements = [
            judgement
            for parsed, run in zip(measured.runs, measured.transcripts, strict=True)
            for judgement in judge_traffic(
                moved(run, fabric), payload_bytes(parsed), spec, carriers
            )
        ]
        _conclude(item, context, judgements)

    return check_traffic


@pytest.fixture
def check_transport(request: pytest.FixtureRequest, context: Context) -> Check:
    """``check_transport(measured)``: the library's log names the transport it should use."""
    item = request.node

    def check_transport(measured: Measured) -> None:
        spec = measured.measurement.transport
        assert spec is not None, "items are made only where the platform file asks for it"
        _conclude(item, context, [judge_transport(parsed, spec) for parsed in measured.runs])

    return check_transport


@pytest.fixture
def check_ratio(request: pytest.FixtureRequest, context: Context) -> Callable[..., None]:
    """``check_ratio(one, other, metric)``: the metric of ``one`` over that of ``other``.

    The limit is the one of the metric ``scaling`` in the test's own measurement.
    """
    item = request.node

    def check_ratio(one: Measured, other: Measured, metric: str) -> None:
        measurement = context.platform.measurements[item.stash[ABOUT].subject.name]
        limit = limit_for(measurement, "scaling", None, None)
        ratio = _worst(one, metric, min) / _worst(other, metric, max)
        _conclude(item, context, [judge([Sample("scaling", "1", ratio)], limit, None, None)])

    return check_ratio


def _worst(measured: Measured, metric: str, choose: Callable[[list[float]], float]) -> float:
    """The value that makes the ratio least favourable: no sample is preferred."""
    return choose([sample.value for sample in samples_of(measured.runs, metric, None)])


def _conclude(
    item: pytest.Item,
    context: Context,
    judgements: Sequence[Judgement],
    errors: Sequence[NoEvidence] = (),
) -> None:
    """Record first, then let pytest know: nothing that was measured is lost to an exception.

    A missed limit is not hidden by another metric that could not be judged, nor the reverse by a
    record that does not count.
    """
    for judgement in judgements:
        note(item, judgement, context.store)
        allure.judgement(judgement)
    if failed := [j for j in judgements if j.outcome is Outcome.FAILED]:
        raise LimitMissed("; ".join(f"{j.reason} (basis: {j.basis})" for j in failed))
    if errors:
        raise errors[0]
    if any(j.outcome is Outcome.RECORD_ONLY for j in judgements):
        pytest.skip("record only: " + "; ".join(f"{j.metric} {j.measured}" for j in judgements))
