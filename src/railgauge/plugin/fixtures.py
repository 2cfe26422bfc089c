"""The fixtures of the ladder's tests, such as ``expect``, ``measure`` and ``check``.

Example: ``check(measure(pair, pairing), size)`` measures a pair of nodes over one pairing, and
compares the metrics at one message size with their limits.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from railgauge.config.thresholds import Platform
from railgauge.core.model import Pairing
from railgauge.core.question import (
    FABRIC,
    LIMITS,
    RATIO,
    RESULTS,
    TRAFFIC,
    TRANSPORT,
    Question,
)
from railgauge.judging import assess
from railgauge.judging.assess import Measured
from railgauge.judging.assessor import Assessor
from railgauge.planning import plan
from railgauge.planning.demand import fact_question
from railgauge.planning.plan import Place
from railgauge.plugin.asking import conclude, measured
from railgauge.plugin.items import ABOUT
from railgauge.plugin.opening import SERVICES, SETTINGS

Check = Callable[[Measured], None]


@pytest.fixture(scope="session")
def platform(request: pytest.FixtureRequest) -> Platform:
    """The platform file: declared hardware, expectations and limits."""
    return request.config.stash[SETTINGS].platform


@pytest.fixture
def expect(request: pytest.FixtureRequest, platform: Platform) -> Callable[..., None]:
    """``expect(node, gpu=gpu)``: that part of the node must be what the platform file expects.

    ``railgauge.planning.expectations``, or the expectation in the platform file, names the fact.
    ``nic=`` and ``adapter=`` name other parts. An unreachable node, or a fact that was not read,
    raises ``NoEvidence``.
    """
    item, run = request.node, request.config.stash[SERVICES]

    def expect(node: str, **part: object) -> None:
        name = item.stash[ABOUT].subject.name
        question = fact_question(platform, name, node, part)
        conclude(item, question, Assessor(platform, run).answer(question))

    return expect


@pytest.fixture
def measure(request: pytest.FixtureRequest, platform: Platform) -> Callable[..., Measured]:
    """``measure(place[, pairing])``: make the test's measurement, or reuse it from this run.

    A place is a pair of nodes, a node, or a group. ``of`` names another measurement of the platform
    file, if the test compares two.
    """
    item = request.node
    level = request.config.stash[SETTINGS].level

    def measure(place: Place, pairing: Pairing | None = None, *, of: str = "") -> Measured:
        measurement = platform.measurements[of or item.stash[ABOUT].subject.name]
        case = plan.case_at(measurement, level.name, place, pairing)
        return measured(item, case)

    return measure


@pytest.fixture
def check(request: pytest.FixtureRequest, platform: Platform) -> Callable[..., None]:
    """``check(measured, size)``: every metric asserted at that size must meet its limit.

    ``link=`` and ``gpu=`` select the metrics asserted for each link or GPU. Without any of the
    three, the metrics asserted once for the run are judged.
    """
    item, run = request.node, request.config.stash[SERVICES]

    def check(
        measured: Measured, size: int | None = None, *, link: str = "", gpu: int | None = None
    ) -> None:
        placement = link or (None if gpu is None else f"gpu{gpu}")
        question = Question(LIMITS, measured.case, size, placement)
        findings = assess.limits(platform, measured, size, placement, run.found)
        conclude(item, question, findings)

    return check


@pytest.fixture
def check_traffic(request: pytest.FixtureRequest, platform: Platform) -> Check:
    """``check_traffic(measured)``: the expected NICs carried the payload, and no other NIC did."""

    def check_traffic(measured: Measured) -> None:
        findings = assess.traffic(platform, measured)
        conclude(request.node, Question(TRAFFIC, measured.case), findings)

    return check_traffic


@pytest.fixture
def check_transport(request: pytest.FixtureRequest) -> Check:
    """``check_transport(measured)``: the library's log names the expected transport."""

    def check_transport(measured: Measured) -> None:
        question = Question(TRANSPORT, measured.case)
        conclude(request.node, question, assess.transport(measured))

    return check_transport


@pytest.fixture
def check_results(request: pytest.FixtureRequest, platform: Platform) -> Check:
    """``check_results(measured)``: every named test was printed for every GPU, and passed."""

    def check_results(measured: Measured) -> None:
        findings = assess.results(platform, measured)
        conclude(request.node, Question(RESULTS, measured.case), findings)

    return check_results


@pytest.fixture
def check_fabric(request: pytest.FixtureRequest) -> Callable[..., None]:
    """``check_fabric(scan, switch)``: that switch and its cables are as declared.

    With ``since=``, an earlier scan, the growth of the counters between the scans is judged.
    """
    fabric = request.config.stash[SETTINGS].declared.fabric

    def check_fabric(
        measured: Measured, switch: str | None = None, *, since: Measured | None = None
    ) -> None:
        other = since.case if since else None
        question = Question(FABRIC, measured.case, placement=switch, other=other)
        findings = assess.fabric(fabric, measured, switch, since)
        conclude(request.node, question, findings)

    return check_fabric


@pytest.fixture
def check_ratio(request: pytest.FixtureRequest) -> Callable[..., None]:
    """``check_ratio(one, other)``: a metric of ``one`` divided by the same one of ``other``.

    The platform file names the metric (``of``) beside the limit of ``scaling``.
    """

    def check_ratio(one: Measured, other: Measured) -> None:
        for metric in one.measurement.ratios:
            question = Question(RATIO, one.case, other=other.case, metric=metric)
            conclude(request.node, question, assess.ratio(one, other, metric))

    return check_ratio
