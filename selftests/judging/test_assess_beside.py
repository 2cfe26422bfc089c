"""What runs show beside their values: NIC counters, the transport, a diagnostic's tests."""

from dataclasses import replace

import pytest
from testing.assess_values import (
    BASIS,
    CASE,
    PLATFORM,
    made_up_tool,
    measured,
    out,
    outcomes,
    platform,
)
from testing.core_values import transcript
from testing.nic_counters import hca

from railgauge.config.thresholds.model import Gpus, Results, Traffic, Transport
from railgauge.core.errors import MetricMissing
from railgauge.core.model import Fabric
from railgauge.core.question import CaseResult
from railgauge.core.terms import COUNTER_ROLES
from railgauge.judging import assess
from railgauge.judging.assess import Assessment, fabric, read, traffic
from railgauge.judging.assess import results as judge_named
from railgauge.judging.assess import transport as judge_transport


@pytest.fixture(autouse=True)
def made_up(monkeypatch):
    return made_up_tool(monkeypatch)


# --- the NICs' counters ---


TWO_NICS = tuple(replace(PLATFORM.nics[0], name=name) for name in ("mlx5_0", "mlx5_1"))


def counted(*shares, nodes=CASE.nodes):
    """Counters before and after: each NIC sends this share of a payload of 1 MB."""
    texts = [
        "".join(hca(f"mlx5_{i}", port_xmit_data=int(s * 250_000)) for i, s in enumerate(each))
        for each in ([0] * len(shares), shares)
    ]
    return [
        transcript(node, role=role, stdout=text)
        for node in nodes
        for role, text in zip(COUNTER_ROLES, texts, strict=True)
    ]


def counters(*runs_of, pairing=CASE.pairing):
    spec = Traffic((0.9, 1.2), 0.1, BASIS)
    on = replace(platform(traffic=spec), nics=TWO_NICS)
    of = replace(CASE, pairing=pairing, repeats=len(runs_of))
    return traffic(on, read(on, of, CaseResult(tuple((out(), *run) for run in runs_of))))


def test_the_nic_of_the_path_must_have_carried_the_payload_and_no_other():
    assert set(outcomes(counters(counted(1.0, 0.0)))[0]) == {"passed"}
    for shares in ((0.5, 0.0), (0.0, 1.0), (1.0, 1.0)):
        assert "failed" in outcomes(counters(counted(*shares)))[0]


def test_without_a_path_all_nics_share_the_payload():
    assert set(outcomes(counters(counted(0.5, 0.5), pairing=None))[0]) == {"passed"}
    assert "failed" in outcomes(counters(counted(1.0, 0.0), pairing=None))[0]


def test_the_counters_of_every_run_are_judged():
    good, bad = counted(1.0, 0.0), counted(0.0, 0.0)
    assert len(counters(good, good).judgements) == 2 * len(counters(good).judgements)
    for order in ((good, bad), (bad, good)):
        assert "failed" in outcomes(counters(*order))[0]


def test_counters_that_were_not_read_are_an_error(made_up):
    assert outcomes(counters([])) == ([], ["fact-missing"] * 2)
    made_up.payload_bytes = lambda parsed: 0.0
    assert outcomes(counters(counted(1.0, 0.0))) == ([], ["metric-missing"] * 2)


def test_a_node_of_which_no_counters_were_read_is_an_error_beside_the_others():
    found = counters(counted(1.0, 0.0, nodes=["n1"]))
    assert set(outcomes(found)[0]) == {"passed"}
    (error,) = found.errors
    assert (error.kind, error.where) == ("fact-missing", "n2")
    assert "failed" in outcomes(counters(counted(0.0, 0.0, nodes=["n2"])))[0]


def test_no_run_is_left_out_where_counters_and_outputs_differ_in_number():
    on = replace(platform(traffic=Traffic((0.9, 1.2), None, BASIS)), nics=TWO_NICS)
    one = read(on, CASE, CaseResult(((out(), *counted(1.0, 0.0)),)))
    with pytest.raises(ValueError, match="argument 2"):
        traffic(on, replace(one, transcripts=one.transcripts * 2))


def test_a_question_that_the_file_does_not_ask_is_an_error_that_names_it():
    one = measured(out())
    for found, what in (
        (traffic(PLATFORM, one), "the NICs' counters"),
        (judge_transport(one), "the transport"),
        (judge_named(PLATFORM, one), "named tests"),
        (fabric(Fabric("n1", "topology", "file"), one), "the subnet"),
    ):
        assert outcomes(found) == ([], ["metric-missing"])
        assert what in str(found.errors[0])


# --- transport, named tests ---


def test_the_transport_of_every_run_is_judged():
    on = platform(transport=Transport(("IB",), ("Socket",), BASIS))
    logs = {name: transcript("n1", stdout=f"transport {name}") for name in ("IB", "Socket")}
    assert outcomes(judge_transport(measured(logs["IB"], on=on))) == (["passed"], [])
    both = judge_transport(measured(logs["IB"], logs["Socket"], on=on))
    assert outcomes(both) == (["passed", "failed"], [])
    silent = judge_transport(measured(logs["IB"], out(), on=on))
    assert outcomes(silent) == (["passed"], ["metric-missing"])
    later = judge_transport(measured(out(), logs["Socket"], on=on))
    assert outcomes(later) == (["failed"], ["metric-missing"])


NAMED = Results(("pcie",), BASIS)


def test_the_named_tests_of_every_run_are_judged_of_all_gpus_on_the_first_node(monkeypatch):
    calls, missed = [], MetricMissing("torn")

    def judge_results(parsed, spec, gpus, node):
        calls.append((parsed.samples[0].value, spec, gpus, node))
        return (f"judged {len(calls)}",), (missed,)

    monkeypatch.setattr(assess, "judge_results", judge_results)
    on, of = platform(results=NAMED), replace(CASE, nodes=("n1", "n2", "n3"))
    bare = judge_named(on, measured(out(1), out(2), on=on, of=of))
    assert bare == Assessment(("judged 1", "judged 2"), (missed, missed))
    assert calls == [(1, NAMED, 0, "n1"), (2, NAMED, 0, "n1")]
    gpus = Gpus("metax", "MetaX C500", 8, 65536)
    judge_named(replace(on, gpus=gpus), measured(out(3), on=on))
    assert calls[2] == (3, NAMED, 8, "n1")
