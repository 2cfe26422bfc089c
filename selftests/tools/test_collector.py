"""What every parser collects: samples, and a problem for text that is not a sample."""

import math

import pytest
from testing.tool_setting import kinds

from railgauge.core.problems import ProblemKind
from railgauge.core.terms import Severity
from railgauge.tools.collector import OutputCollector


def test_rows_of_one_metric_size_and_placement_are_iterations():
    collector = OutputCollector(8)
    for placement in ("a", "b", "a"):
        collector.add("busbw", "GB/s", 1.0, placement)
    collector.size_bytes = 16
    collector.add("busbw", "GB/s", 1.0, "a")
    found = [(one.size_bytes, one.placement, one.iteration) for one in collector.samples]
    assert found == [(8, "a", 0), (8, "b", 0), (8, "a", 1), (16, "a", 0)]


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (math.nan, "not-a-number"),
        (math.inf, "not-a-number"),
        (-0.5, "not-a-number"),
        (0.0, "zero-value"),
    ],
)
def test_an_invalid_value_is_an_error_and_still_counts_as_a_row(value, kind):
    collector = OutputCollector()
    collector.add("busbw", "GB/s", value)
    collector.add("busbw", "GB/s", 2.0)
    assert kinds(collector) == [kind]
    assert [(one.value, one.iteration) for one in collector.samples] == [(2.0, 1)]


def test_a_valid_zero_is_a_value():
    collector = OutputCollector()
    collector.add("wrong", "count", 0, may_be_zero=True)
    assert (collector.samples[0].value, collector.problems) == (0, [])


def test_errors_come_first_and_one_of_a_kind_counts_the_others():
    collector = OutputCollector()
    collector.warn(ProblemKind.WAIVED, "a case")
    for name in ("first", "second", "third"):
        collector.error(ProblemKind.TRUNCATED, f"the  {name}\nrow")
    found = collector.parsed("t").problems
    assert [(one.kind, one.severity, one.message) for one in found] == [
        (ProblemKind.TRUNCATED, Severity.ERROR, "the first row (and 2 more)"),
        (ProblemKind.WAIVED, Severity.WARNING, "a case"),
    ]


@pytest.mark.parametrize(("text", "kind"), [("", "no-output"), (" \n", "no-output"),
                                            ("words\n", "no-table")])  # fmt: skip
def test_an_empty_output_is_distinguished_from_another_text(text, kind):
    collector = OutputCollector()
    assert collector.is_empty
    collector.nothing(text, "no figure of this tool")
    assert (kinds(collector), collector.is_empty) == ([kind], False)


@pytest.mark.parametrize(
    "message", ["sh: 1: iperf3: not found", "bash: iperf3: command not found",
             "iperf3: error while loading shared libraries: libiperf.so.0"]
)  # fmt: skip
def test_a_program_that_could_not_be_started_is_an_error(message):
    collector = OutputCollector()
    assert not collector.check_started(f"{message}\n", "iperf3")
    assert kinds(collector) == ["tool-missing"]
    assert OutputCollector().check_started("iperf 3.16\n", "iperf3")
