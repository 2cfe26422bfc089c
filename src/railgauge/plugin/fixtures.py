"""The words that tests are written in: ``fact``, ``expect``, ``measure`` and ``check``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from railgauge import plan
from railgauge.errors import FactMissing, LimitMissed, NoEvidence
from railgauge.evidence import refuse_failure, samples_of
from railgauge.facts import NodeFacts, require
from railgauge.judge import judge, judge_fact
from railgauge.model import Case, Judgement, Outcome, Pair, Pairing, Parsed
from railgauge.plugin.context import CONTEXT, Context
from railgauge.plugin.items import ABOUT
from railgauge.plugin.recording import DRAFT, note
from railgauge.report import allure
from railgauge.thresholds import Measurement, Platform, limit_for, physical_ceiling
from railgauge.tools import tool


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


@pytest.fixture
def measure(
    request: pytest.FixtureRequest, context: Context
) -> Callable[[Pair, Pairing], Measured]:
    """``measure(pair, pairing)``: run the test's measurement there, or take it from this run."""
    item = request.node

    def measure(pair: Pair, pairing: Pairing) -> Measured:
        measurement = context.platform.measurements[item.stash[ABOUT].subject.name]
        case = plan.pair_case(measurement, context.level.name, pair, pairing)
        item.stash[DRAFT].transcript = context.store.transcript_name(case)
        with allure.step(f"{measurement.command} {pair} over {pairing}"):
            result = context.runner.measure(case)
            allure.attach(context.store.folder / context.store.transcript_name(case))
        if result.error:
            raise result.error
        parse = tool(measurement.tool).parse
        parsed = [[parse(f"{t.stdout}\n{t.stderr}") for t in run] for run in result.runs]
        for transcripts, outputs in zip(result.runs, parsed, strict=True):
            if transcripts[0].exit_code == 0:
                # A client that ended without a word leaves its server waiting: not its fault.
                refuse_failure(transcripts[:1], outputs[:1])
            refuse_failure(transcripts, outputs)
        return Measured(case, measurement, tuple(outputs[0] for outputs in parsed))

    return measure


@pytest.fixture
def check(request: pytest.FixtureRequest, context: Context) -> Callable[[Measured, int], None]:
    """``check(measured, size)``: every asserted metric at that size must keep to its limit."""
    item = request.node

    def check(measured: Measured, size: int) -> None:
        judgements: list[Judgement] = []
        errors: list[NoEvidence] = []
        for metric in measured.measurement.asserts:
            try:
                judgements.append(_judged(context.platform, measured, metric, size))
            except NoEvidence as error:
                errors.append(error)
        _conclude(item, context, judgements, errors)

    return check


def _judged(platform: Platform, measured: Measured, metric: str, size: int) -> Judgement:
    measurement, pairing = measured.measurement, measured.case.pairing
    limit = limit_for(measurement, metric, pairing, size)
    physical = physical_ceiling(platform, measurement, pairing, limit.unit)
    return judge(samples_of(measured.runs, metric, size), limit, size, physical)


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
