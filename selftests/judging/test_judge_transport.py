"""The transport that a collective used, from its own log: a silent log proves nothing."""

import pytest

from railgauge.config.thresholds.model import Transport
from railgauge.core.errors import MetricMissing
from railgauge.core.limits import Basis
from railgauge.core.model import Outcome, Parsed
from railgauge.judging.judge import judge_transport

WANTED = Transport(("GDRDMA",), ("Socket",), Basis("000", "5.1: made up for a test"))


def log(named, key="transports"):
    return Parsed("ccl-tests", None, (), {key: named})


def judged(named, spec=WANTED):
    return judge_transport(log(named), spec)


@pytest.mark.parametrize("named", [(), [], {}, None, "", 0, 7])
def test_a_log_that_names_no_transport_proves_nothing(named):
    with pytest.raises(MetricMissing, match="names no transport"):
        judged(named)


def test_an_empty_log_proves_nothing():
    with pytest.raises(MetricMissing) as caught:
        judge_transport(log(("GDRDMA",), key="other"), WANTED)
    assert "INFO" in caught.value.remedy


def test_nothing_refused_does_not_make_silence_a_proof():
    with pytest.raises(MetricMissing):
        judged((), Transport((), ("Socket",), WANTED.basis))


@pytest.mark.parametrize("named", [("GDRDMA",), ("GDRDMA", "IB", "P2P"), {"GDRDMA": 16, "SHM": 8}])
def test_the_wanted_transport_passes(named):
    found = judged(named)
    assert (found.outcome, found.reason, found.metric) == (Outcome.PASSED, "", "transport")
    assert found.measured == ", ".join(sorted(named))
    assert (found.limit, found.basis) == ("GDRDMA, not Socket", str(WANTED.basis))


@pytest.mark.parametrize(
    ("named", "reason"),
    [
        (("IB",), "the log does not name GDRDMA"),
        (("P2P", "SHM"), "the log does not name GDRDMA"),
        (("Socket",), "the log does not name GDRDMA; the log names Socket"),
        (("GDRDMA", "Socket"), "the log names Socket"),
    ],
)
def test_another_transport_and_a_refused_one_fail(named, reason):
    found = judged(named)
    assert (found.outcome, found.reason) == (Outcome.FAILED, reason)


def test_every_wanted_transport_must_be_named():
    both = Transport(("GDRDMA", "NVLS"), (), WANTED.basis)
    assert judged(("GDRDMA",), both).reason == "the log does not name NVLS"
    assert judged(("NVLS", "GDRDMA"), both).outcome is Outcome.PASSED
    assert judged(("NVLS", "GDRDMA"), both).limit == "GDRDMA, NVLS"
