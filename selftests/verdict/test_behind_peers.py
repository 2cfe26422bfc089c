"""A site's limit on stragglers is an item of each node: failed, marginal, in doubt, or passed."""

from dataclasses import replace
from datetime import datetime, timezone
from xml.etree import ElementTree as Xml

import pytest
from test_decision import ONE, answering, run_plan
from testing.core_values import cluster, document, put
from testing.diagnose_scenes import collective, names, path, platform
from testing.straggler_scenes import GOOD, rates, run

from railgauge.bundle.binding import refuse_other_items
from railgauge.config import thresholds
from railgauge.config.thresholds.model import Peers
from railgauge.core.errors import BadInput, NotVerified
from railgauge.core.limits import Basis
from railgauge.core.model import Outcome
from railgauge.core.question import PEERS, Question
from railgauge.diagnosis import RunResults
from railgauge.diagnosis.behind_peers import compared
from railgauge.planning import plan
from railgauge.report import junit
from railgauge.report.lines import of_items
from railgauge.verdict import decision
from railgauge.verdict.at_end import is_at_end

BASIS = Basis("site", "no node may be more than 3 % slower than the others")
THREE = names(3)
H200 = platform("h200")
# Measured at no level, so that the records of this file answer everything.
MEASURED = {name: replace(one, extents={}) for name, one in H200.measurements.items()}
FREE = replace(ONE, measurements=MEASURED, nics=H200.nics, gpus=H200.gpus, affinity=H200.affinity)
LIMITED = replace(FREE, peers=Peers(0.03, BASIS))


def results(records, on=LIMITED, nodes=THREE):
    answered = {} if nodes != THREE else answering()
    found = {**answered, **{item.id: item for item in records}}
    return RunResults(found, {}, on, cluster(*nodes))


def decided(found, planned=None):
    return decision.decide(run_plan(found.records if planned is None else planned), found)


def items(found):
    return {item.nodes[0]: item for item in compared(found)}


def test_without_a_limit_a_straggler_is_named_and_the_run_accepted():
    result = decided(results(run(THREE, {"n2": 0.955}), FREE))
    assert [(c.cause, c.where.node) for c in result.causes] == [("straggler", "n2")]
    assert (result.verdict, result.exit_code) == ("accepted", 0)
    assert result.reservation.startswith("but n2 is 4.5% behind its peers in 21 of 21 measurements")
    assert ";" not in result.reservation


def test_a_healthy_run_has_no_reservation():
    result = decided(results(run(THREE)))
    assert (result.verdict, result.reservation, result.causes) == ("accepted", "", ())


def test_a_part_further_behind_than_the_limit_fails_the_item_of_its_node():
    found = results(run(THREE, {"n2": 0.955}))
    result = decided(found)
    assert result.verdict == "rejected"
    assert (result.counts.failed, result.counts.planned) == (1, len(found.records) + 3)
    (cause,) = result.causes
    assert (cause.cause, cause.evidence[-1]) == ("straggler", "peers::behind_peers[n2]")
    item = items(found)["n2"]
    (judged,) = item.judgements
    assert (judged.measured, judged.limit, judged.basis) == ("4.5 %", "<= 3 %", str(BASIS))
    assert item.reason.endswith("limit <= 3 %")
    assert {node: one.outcome for node, one in items(found).items()} == {
        "n1": "passed", "n2": "failed", "n3": "passed",
    }  # fmt: skip


def test_a_straggler_within_the_limit_is_marginal():
    found = results(run(THREE, {"n2": 0.975}))
    assert items(found)["n2"].outcome is Outcome.MARGINAL
    result = decided(found)
    assert (result.verdict, result.counts.marginal) == ("accepted", 1)
    assert "n2 is 2.5% behind" in result.reservation


def test_two_suspects_leave_both_in_doubt():
    """They were measured only together, so the run is incomplete and not accepted."""
    nodes = names(8)
    pairs = [("n1", "n2"), ("n3", "n4"), ("n5", "n6"), ("n7", "n8")]
    records = [
        rates(path(a, b, nic, 376.0 if a == "n1" else GOOD, subject))
        for a, b in pairs
        for nic in ("mlx5_0", "mlx5_1")
        for subject in ("host_write_bandwidth", "host_read_bandwidth")
    ]
    found = items(results(records, nodes=nodes))
    doubted = {node for node, item in found.items() if item.outcome is Outcome.ERROR}
    assert doubted == {"n1", "n2"}
    assert found["n1"].remedy.startswith("measure host_")


def test_a_node_that_nothing_was_measured_of_is_not_passed():
    records = [rates(collective((node,), 400.0)) for node in names(4)[:3]]
    found = items(results(records, nodes=names(4)))
    assert found["n4"].outcome is Outcome.ERROR
    assert "nothing was measured" in found["n4"].reason
    assert found["n1"].outcome is Outcome.PASSED


@pytest.mark.parametrize("nodes", [names(1), names(2)])
def test_fewer_than_three_nodes_have_no_peers(nodes):
    assert items(results(run(nodes), nodes=nodes)) == {}


def test_the_items_are_made_anew_and_not_believed():
    """A record that says otherwise, or none, changes nothing."""
    found = results(run(THREE, {"n2": 0.955}))
    honest = decided(found)
    (bad,) = (item for item in compared(found) if item.outcome is Outcome.FAILED)
    forged = replace(bad, outcome=Outcome.PASSED, judgements=(), reason="")
    lied = replace(found, records={**found.records, forged.id: forged})
    assert decided(lied) == honest
    assert decided(lied, planned=list(found.records)) == honest


def test_they_depend_on_no_order():
    found = results(run(THREE, {"n2": 0.955}))
    back = replace(found, records=dict(reversed(found.records.items())))
    assert items(back)["n2"].outcome is Outcome.FAILED


def test_junit_says_the_same():
    records = list(compared(results(run(THREE, {"n2": 0.955}))))
    session = junit.SessionInfo(datetime.now(timezone.utc), 1.0, "here", "simulated")
    (suite,) = Xml.fromstring(junit.document(of_items({one.id: one for one in records}), session))
    assert suite.get("failures") == "1"
    (case,) = (case for case in suite if case.find("failure") is not None)
    assert (case.get("classname"), case.get("name")) == ("peers", "behind_peers[n2]")


# --- bundles ---


def bound(item, platform=LIMITED):
    level = plan.level(platform, cluster(*THREE), "smoke")
    refuse_other_items([item], platform, level)


def test_a_bundle_may_hold_them():
    for item in compared(results(run(THREE))):
        assert is_at_end(item.id)
        bound(item)


@pytest.mark.parametrize(
    ("change", "platform"),
    [
        ({"questions": (Question(PEERS, placement="n3", metric="behind_peers"),)}, LIMITED),
        ({"nodes": ("n1",)}, LIMITED),
        ({"rung": 4}, LIMITED),
        ({}, ONE),
    ],
    ids=["of another node", "under another id", "on another rung", "without a limit"],
)
def test_a_record_that_is_not_its_items_is_refused(change, platform):
    item = items(results(run(THREE)))["n2"]
    with pytest.raises(NotVerified):
        bound(replace(item, **change), platform)


# --- the platform file ---


def loaded(tmp_path, **entry):
    doc = document() | {"peers": entry}
    return thresholds.load("bench", put(tmp_path / "thresholds", doc)).peers


def test_the_limit_is_a_share_with_a_basis(tmp_path):
    limits = loaded(tmp_path, behind_peers_max=3, unit="%", basis="site: no more than 3 % behind")
    assert (limits.behind_max, limits.basis.source) == (0.03, "site")


@pytest.mark.parametrize(
    "entry",
    [
        {"behind_peers_max": 3, "unit": "%"},
        {"behind_peers_max": 3, "basis": "site: no more than 3 % behind"},
        {"behind_peers_max": 1, "unit": "%", "basis": "site: not above the noise"},
        {"behind_peers_max": 3, "unit": "GB/s", "basis": "site: no more than 3 % behind"},
        {"behind_peers": 3, "unit": "%", "basis": "site: no more than 3 % behind"},
    ],
)
def test_a_limit_that_cannot_be_held_is_refused(tmp_path, entry):
    with pytest.raises(BadInput):
        loaded(tmp_path, **entry)


def test_a_kept_platform_file_has_the_limit(tmp_path):
    entry = {"behind_peers_max": 3, "unit": "%", "basis": "site: no more than 3 % behind"}
    platform = thresholds.load("bench", put(tmp_path / "a", document() | {"peers": entry}))
    again = thresholds.load("bench", put(tmp_path / "b", platform.text))
    assert again.peers == platform.peers
