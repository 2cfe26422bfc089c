"""A run counts if no output of it denies what was asked for, and says what it does not show."""

from types import SimpleNamespace

import pytest
from testing.core_values import case, transcript

from railgauge.core.errors import OtherThanAsked
from railgauge.core.model import Parsed
from railgauge.judging import agreement
from railgauge.tools.claims import Asked, Claim, Heard

OUTPUTS = (Parsed("tool", "1", ()), Parsed("tool", "2", ()))
SAID = (transcript("n1"), transcript("n2", role="server", argv=("/opt/ib_server",)))


@pytest.fixture
def held(monkeypatch):
    """``held(*claims)`` of a tool that claims just these; the tool must be given all it said."""

    def run(*claims):
        def claim(asked, heard):
            assert heard == (Heard("n1", "client", OUTPUTS[0]), Heard("n2", "server", OUTPUTS[1]))
            return claims

        monkeypatch.setattr(agreement, "tool", lambda name: SimpleNamespace(claims=claim))
        measurement = SimpleNamespace(tool="tool")
        return agreement.held(Asked(case(), measurement, None), SAID, OUTPUTS)

    return run


AGREED = Claim("size", "8", "8")


def test_the_output_of_the_reporting_command_is_what_counts(held):
    assert held(AGREED) == OUTPUTS[0]
    assert held() == OUTPUTS[0]


def test_what_is_not_shown_is_told_once_and_in_order(held):
    claims = (Claim("MTU", "4096", None), AGREED, Claim("GID", "3", None), Claim("MTU", "1", None))
    assert held(*claims).not_shown == ("MTU", "GID")


@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_denial_is_enough_wherever_it_stands(held, place):
    claims = [AGREED, AGREED]
    claims.insert(place, Claim("qps", "4", "1", agrees=False))
    with pytest.raises(OtherThanAsked, match="qps: asked for 4, the tool says 1") as raised:
        held(*claims)
    assert raised.value.where == "n1: ib_write_bw"
    assert "by hand" in raised.value.remedy


def test_all_denials_are_named_and_the_node_is_that_of_the_first(held):
    denied = Claim("qps", "4", "1", agrees=False, node="n2"), Claim("MTU", "1", "2", agrees=False)
    with pytest.raises(OtherThanAsked) as raised:
        held(*denied)
    assert raised.value.what == "; ".join(map(str, denied))
    assert raised.value.where == "n2: ib_write_bw"


def test_each_command_must_have_an_output(held):
    asked = Asked(case(), SimpleNamespace(tool="perftest"), None)
    with pytest.raises(ValueError, match="shorter"):
        agreement.held(asked, SAID, OUTPUTS[:1])
