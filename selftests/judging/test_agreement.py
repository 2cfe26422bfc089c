"""A run counts if no output contradicts the command; what the output does not show is listed."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from testing.core_values import case, transcript

from railgauge.core.errors import OtherThanAsked
from railgauge.core.model import Parsed
from railgauge.core.problems import Problem, ProblemKind
from railgauge.core.terms import Severity
from railgauge.judging import agreement
from railgauge.tools.output_checks import OutputCheck, SideOutput, ToolRequest

OUTPUTS = (Parsed("tool", "1", ()), Parsed("tool", "2", ()))
PRINTED = (transcript("n1"), transcript("n2", role="server", argv=("/opt/ib_server",)))


@pytest.fixture
def agreed(monkeypatch):
    """``agreed(*checks)`` for a tool that makes these checks; the tool must get all its output."""

    def run(*checks, outputs=OUTPUTS, is_planned=True):
        def check(asked, sides):
            assert sides == (
                SideOutput("n1", "client", outputs[0], PRINTED[0].argv, PRINTED[0].duration_s),
                SideOutput("n2", "server", outputs[1], PRINTED[1].argv, PRINTED[1].duration_s),
            )
            return checks

        monkeypatch.setattr(
            agreement, "tool", lambda name: SimpleNamespace(output_checks=check, joined=None)
        )
        measurement = SimpleNamespace(tool="tool")
        asked = ToolRequest(case(), measurement, None, is_planned=is_planned)
        return agreement.agreed(asked, PRINTED, outputs)

    return run


AGREED = OutputCheck("size", "8", "8")


def test_the_output_of_the_reporting_command_is_what_counts(agreed):
    assert agreed(AGREED) == OUTPUTS[0]
    assert agreed() == OUTPUTS[0]


def test_items_that_are_not_shown_are_listed_once_and_in_order(agreed):
    checks = (
        OutputCheck("MTU", "4096", None),
        AGREED,
        OutputCheck("GID", "3", None),
        OutputCheck("MTU", "1", None),
    )
    assert agreed(*checks).not_shown == ("MTU", "GID")


@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_denied_check_is_an_error_in_any_place(agreed, place):
    checks = [AGREED, AGREED]
    checks.insert(place, OutputCheck("qps", "4", "1", agrees=False))
    with pytest.raises(OtherThanAsked, match="qps: asked for 4, the tool says 1") as raised:
        agreed(*checks)
    assert raised.value.where == "n1: ib_write_bw"
    assert "by hand" in raised.value.remedy


def test_all_denials_are_named_and_the_node_is_that_of_the_first(agreed):
    denied = (
        OutputCheck("qps", "4", "1", agrees=False, node="n2"),
        OutputCheck("MTU", "1", "2", agrees=False),
    )
    with pytest.raises(OtherThanAsked) as raised:
        agreed(*denied)
    assert raised.value.what == "; ".join(map(str, denied))
    assert raised.value.where == "n2: ib_write_bw"


def test_each_command_must_have_an_output(agreed):
    asked = ToolRequest(case(), SimpleNamespace(tool="perftest"), None)
    with pytest.raises(ValueError, match="shorter"):
        agreement.agreed(asked, PRINTED, OUTPUTS[:1])


def test_the_warnings_of_every_side_are_kept_and_the_errors_of_the_reporting_one(agreed):
    problems = [
        tuple(Problem(ProblemKind.TOOL_WARNING, severity, side) for severity in severities)
        for side, severities in (
            ("client", (Severity.WARNING, Severity.ERROR)),
            ("server", (Severity.ERROR, Severity.WARNING)),
        )
    ]
    client, server = (
        replace(output, problems=own) for output, own in zip(OUTPUTS, problems, strict=True)
    )
    assert agreed(AGREED, outputs=(client, server)).problems == (*problems[0], problems[1][1])


def test_iterations_are_binding_if_the_suite_chose_them(agreed):
    often = OutputCheck("iterations", "5000", "100", agrees=False)
    assert agreed(often, is_planned=False) == OUTPUTS[0]
    with pytest.raises(OtherThanAsked, match="iterations: asked for 5000, the tool says 100"):
        agreed(often)


@pytest.mark.parametrize("item", ["GID", "qps"])
def test_all_other_checks_are_always_binding(agreed, item):
    with pytest.raises(OtherThanAsked, match=f"^n1: ib_write_bw: {item}: asked for 4"):
        agreed(OutputCheck(item, "4", "1", agrees=False), is_planned=False)
