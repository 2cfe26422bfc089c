"""What is slower than the errors of a link explain."""

from __future__ import annotations

from dataclasses import replace

import pytest
from test_growth_causes import grown
from testing.diagnose_scenes import causes, counters, named, path, record

from railgauge.core.model import Judgement, Outcome
from railgauge.judging.record import ItemRecord

NIC = "mlx5_0"
SLOW = 392.0 * 0.6
WITH_ERRORS = 392.0 * 0.91
PAIRS = [("n1", "n2"), ("n3", "n1"), ("n4", "n3"), ("n2", "n4")]


def read_counters(pair: tuple[str, str], subject: str, outcome: Outcome) -> ItemRecord:
    """The traffic item of a measurement, without errors or with some."""
    item = record(1, subject, *pair, part=NIC, ways=("traffic",))
    judged = Judgement("link_errors", outcome, "0 counters moved", "no error", "001: x")
    name = item.id.replace("::test_", "::test_traffic_")
    return replace(item, id=name, judgements=(judged,), outcome=outcome)


def over_errors(
    slow: float,
    outcome: Outcome = Outcome.PASSED,
    subjects: int = 2,
    others: float = WITH_ERRORS,
) -> list[ItemRecord]:
    """n1 has errors on its link; its write to n2 reaches ``slow``, all else ``others``."""
    found = [counters(("n3", "n1"), "link_errors", ("n1", NIC), f"{NIC} of n1 grew", part=NIC)]
    for subject in ["host_write_bandwidth", "host_send_bandwidth"][:subjects]:
        for pair in PAIRS:
            is_worst = (subject, pair) == ("host_write_bandwidth", ("n1", "n2"))
            reached = slow if is_worst else others if "n1" in pair else 392.0
            found.append(path(*pair, NIC, reached, subject))
    return [*found, read_counters(("n1", "n2"), "host_write_bandwidth", outcome)]


ERRORS = ("link-error-rate", f"n1, {NIC}")


def test_a_measurement_that_lost_far_more_while_no_error_was_counted_has_another_cause():
    first, second = causes(over_errors(SLOW))
    assert named([first, second]) == [ERRORS, ("slow-path", f"n1 and n2, {NIC}")]
    assert second.confidence == "open"
    assert "lost at most 9 %; n2 or the path" in second.says


@pytest.mark.parametrize(
    ("why", "items"),
    [
        ("as slow as the others", over_errors(WITH_ERRORS)),
        ("within its limit", over_errors(392.0 * 0.955, others=392.0)),
        ("not twice as slow", over_errors(392.0 * 0.85)),
        ("errors may come in a burst, and are counted then", over_errors(SLOW, Outcome.FAILED)),
        ("nobody read the counters", over_errors(SLOW)[:-1]),
        ("too few others to know what the errors cost", over_errors(SLOW, subjects=1)),
    ],
)
def test_errors_explain_everything_else(why: str, items: list[ItemRecord]) -> None:
    assert named(causes(items)) == [ERRORS], why


def test_a_partner_that_is_slow_without_the_errors_has_a_cause_of_its_own():
    """n2 is slow with n4 as well."""
    with_n4 = [path("n2", "n4", NIC, SLOW, f"host_{what}_bandwidth") for what in ("write", "send")]
    found = causes([*over_errors(SLOW), *with_n4])
    assert ERRORS in named(found)
    assert not [cause for cause in found if "no error was counted" in cause.says]


def test_errors_that_the_end_of_the_run_shows_explain_no_more():
    """Their item is about the node's counters; the same measurements are slow."""
    end = grown("n1", ("port_errors", NIC, 4))
    first, second = causes([*over_errors(SLOW)[1:], end])
    assert named([first, second]) == [ERRORS, ("slow-path", f"n1 and n2, {NIC}")]
    assert second.confidence == "open"
