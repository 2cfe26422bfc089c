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
from railgauge.planning import plan, scaling
from railgauge.planning.plan import Place
from railgauge.planning.required import fact_question
from railgauge.plugin.asking import MeasuredCase, judge, measured
from railgauge.plugin.items import ABOUT
from railgauge.plugin.opening import SETTINGS

Check = Callable[[MeasuredCase], None]


@pytest.fixture(scope="session")
def platform(request: pytest.FixtureRequest) -> Platform:
    """The platform file: declared hardware, expectations and limits."""
    return request.config.stash[SETTINGS].platform


@pytest.fixture
def expect(request: pytest.FixtureRequest, platform: Platform) -> Callable[..., None]:
    """``expect(node, gpu=gpu)``: that part of the node must be as the platform file expects.

    ``railgauge.planning.expectations``, or the expectation in the platform file, names the fact.
    ``nic=`` and ``adapter=`` name other parts. ``of=`` names the expectation of a family that the
    item is about. An unreachable node, or a fact that was not read, raises ``NoEvidence``.
    """
    item = request.node

    def expect(node: str, *, of: str = "", **part: object) -> None:
        name = of or item.stash[ABOUT].subject.name
        judge(item, fact_question(platform, name, node, part))

    return expect


@pytest.fixture
def measure(request: pytest.FixtureRequest, platform: Platform) -> Callable[..., MeasuredCase]:
    """``measure(place[, pairing])``: make the test's measurement, or reuse it from this run.

    A place is a pair of nodes, a node, or a group. ``of`` names the measurement of a family that
    the item is about, or another one of the platform file, if the test compares two.
    """
    item = request.node
    level = request.config.stash[SETTINGS].level

    def measure(place: Place, pairing: Pairing | None = None, *, of: str = "") -> MeasuredCase:
        measurement = platform.measurements[of or item.stash[ABOUT].subject.name]
        case = plan.case_at(measurement, level.name, place, pairing)
        return measured(item, case)

    return measure


@pytest.fixture
def smallest_step(
    request: pytest.FixtureRequest, platform: Platform, measure: Callable[..., MeasuredCase]
) -> Callable[[str], MeasuredCase]:
    """``smallest_step(measurement)``: two nodes, with which the steps of a ladder are compared."""
    place = plan.Group("", request.config.stash[SETTINGS].level.ladder.smallest)

    def smallest_step(measurement: str) -> MeasuredCase:
        return measure(place, of=scaling.base(platform.measurements[measurement]))

    return smallest_step


@pytest.fixture
def check(request: pytest.FixtureRequest) -> Callable[..., None]:
    """``check(measured, size)``: every metric asserted at that size must meet its limit.

    ``link=`` and ``gpu=`` select the metrics asserted for each link or GPU. Without any of the
    three, the metrics asserted once for the run are judged.
    """

    def check(
        measured: MeasuredCase, size: int | None = None, *, link: str = "", gpu: int | None = None
    ) -> None:
        placement = link or (None if gpu is None else f"gpu{gpu}")
        judge(request.node, Question(LIMITS, measured.case, size, placement))

    return check


@pytest.fixture
def check_traffic(request: pytest.FixtureRequest) -> Check:
    """``check_traffic(measured)``: the expected NICs carried the payload, and no other NIC did."""

    def check_traffic(measured: MeasuredCase) -> None:
        judge(request.node, Question(TRAFFIC, measured.case))

    return check_traffic


@pytest.fixture
def check_transport(request: pytest.FixtureRequest) -> Check:
    """``check_transport(measured)``: the library's log names the expected transport."""

    def check_transport(measured: MeasuredCase) -> None:
        judge(request.node, Question(TRANSPORT, measured.case))

    return check_transport


@pytest.fixture
def check_results(request: pytest.FixtureRequest) -> Check:
    """``check_results(measured)``: every named test was printed for every GPU, and passed."""

    def check_results(measured: MeasuredCase) -> None:
        judge(request.node, Question(RESULTS, measured.case))

    return check_results


@pytest.fixture
def check_fabric(request: pytest.FixtureRequest) -> Callable[..., None]:
    """``check_fabric(scan, switch)``: that switch and its cables are as declared.

    With ``since=``, an earlier scan, the growth of the counters between the scans is judged.
    """

    def check_fabric(
        measured: MeasuredCase, switch: str | None = None, *, since: MeasuredCase | None = None
    ) -> None:
        other = since.case if since else None
        judge(request.node, Question(FABRIC, measured.case, placement=switch, other=other))

    return check_fabric


@pytest.fixture
def check_ratio(request: pytest.FixtureRequest) -> Callable[..., None]:
    """``check_ratio(one, other)``: a metric of ``one`` divided by the same one of ``other``.

    The platform file names the metric (``of``) beside the limit of ``scaling``.
    """

    def check_ratio(one: MeasuredCase, other: MeasuredCase) -> None:
        for metric in one.measurement.ratios:
            judge(request.node, Question(RATIO, one.case, other=other.case, metric=metric))

    return check_ratio
