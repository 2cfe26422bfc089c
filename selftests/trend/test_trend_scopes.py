"""What a change is attributed to: the cluster, a metric, node, NIC, pair, or one series."""

from dataclasses import replace

import pytest
from testing.histories import FLEET, NODES, history, series, step

from railgauge.core.errors import BadInput
from railgauge.trend import Night, Rules, findings
from railgauge.trend.sentences import metric_changes, sentence, summary
from railgauge.trend.values import Fleet, SeriesKey


def found(nights, rules=None):
    trend = findings(nights[:-1], nights[-1], rules or Rules())
    return [
        (f.verdict, f.kind, f.scope.nodes, f.scope.subject, f.scope.pairing, f.since[6:8])
        for f in trend.findings
    ]


def of_node(key):
    return "n02" in key.nodes


def of_metric(key):
    return key.subject == "host_write_bandwidth"


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(
    ("which", "nodes", "subject", "pairing"),
    [
        (lambda key: True, (), "", ""),
        (of_metric, (), "host_write_bandwidth", ""),
        (of_node, ("n02",), "", ""),
        (lambda key: of_node(key) and of_metric(key), ("n02",), "host_write_bandwidth", ""),
        (lambda key: of_node(key) and key.pairing == "mlx5_1", ("n02",), "", "mlx5_1"),
        (lambda key: key.nodes == ("n02", "n03"), ("n02", "n03"), "", ""),
        (
            lambda key: key.nodes == ("n03",) and key.pairing == "gpu1",
            ("n03",), "gpu_copy", "gpu1",
        ),
    ],
    ids=["cluster", "metric", "node", "node-metric", "nic", "pair", "series"],
)  # fmt: skip
def test_one_change_is_one_finding_at_the_right_place(seed, which, nodes, subject, pairing):
    nights = history(seed, change=step(14, 0.04, which))
    assert found(nights) == [("regression", "step", nodes, subject, pairing, "14")]


def test_two_nodes_at_different_nights_are_two_findings():
    def change(night, key):
        first = 0.96 if night >= 9 and key.nodes == ("n01",) else 1.0
        return first * (0.95 if night >= 15 and key.nodes == ("n03",) else 1.0)

    assert sorted(found(history(1, change=change))) == [
        ("regression", "step", ("n01",), "gpu_copy", "", "09"),
        ("regression", "step", ("n03",), "gpu_copy", "", "15"),
    ]


def test_a_node_that_lost_more_than_the_cluster_is_named_too():
    def change(night, key):
        return (0.96 if night >= 10 else 1.0) * (0.9 if night >= 10 and of_node(key) else 1.0)

    assert sorted(found(history(1, change=change))) == [
        ("regression", "step", (), "", "", "10"),
        ("regression", "step", ("n02",), "", "", "10"),
    ]


def test_the_node_in_the_middle_of_all_pairs_is_named_not_the_cluster():
    keys = [
        SeriesKey("host_write_bandwidth", "bw_average", "Gb/s", ("n01", other), "mlx5_0", 8)
        for other in ("n02", "n03", "n04")
    ]
    nights = history(1, change=step(14, 0.04, lambda key: True), keys=keys)
    assert [scope for *_, scope, _, _, _ in found(nights)] == [("n01",)]


def test_the_pair_is_named_if_the_cluster_has_two_nodes():
    keys = series(("n01", "n02"))[:2] + series(("n01", "n02"))[4:6]
    nights = history(1, change=step(14, 0.04, lambda key: True), keys=keys)
    assert [scope for *_, scope, _, _, _ in found(nights)] == [("n01", "n02")]


def test_a_pair_is_the_same_whichever_node_sends():
    there = [key for key in series() if key.nodes == ("n02", "n03")]
    back = [replace(key, nodes=("n03", "n02")) for key in there]
    nights = history(1, change=step(14, 0.04, lambda k: k in there + back), keys=series() + back)
    assert found(nights) == [("regression", "step", ("n02", "n03"), "", "", "14")]


def test_a_drift_is_no_step():
    nights = history(1, 24, lambda night, key: 1 - 0.002 * night if of_node(key) else 1.0)
    assert found(nights) == [("regression", "drift", ("n02",), "", "", "01")]
    (finding,) = findings(nights[:-1], nights[-1]).findings
    assert finding.worse == pytest.approx(0.046, abs=0.006)


def test_a_gain_is_no_regression():
    nights = history(1, change=step(14, -0.04, of_node))
    assert found(nights) == [("improvement", "step", ("n02",), "", "", "14")]
    assert not findings(nights[:-1], nights[-1]).regressions


def test_a_recovered_loss_is_reported_and_is_no_regression():
    nights = history(1, change=step(7, 0.04, of_node, until=14))
    verdicts = {(verdict, since) for verdict, *_, since in found(nights)}
    assert verdicts == {("recovered", "07")}, "the gain of night 14 is the end of the loss"


def test_one_bad_night_is_noise():
    assert found(history(1, change=step(14, 0.3, lambda key: True, until=15))) == []
    assert found(history(1, change=step(20, 0.3, lambda key: True))) == []


def test_one_series_alone_needs_three_nights():
    def alone(key):
        return key.nodes == ("n03",) and key.pairing == "gpu1"

    assert found(history(1, 15, step(14, 0.1, alone))) == []
    assert len(found(history(1, 16, step(14, 0.1, alone)))) == 1


def test_five_nights_are_enough_for_a_quiet_node_and_four_never():
    """So early only the size of the change can show it."""
    assert found(history(1, 5, step(4, 0.3, of_node), noise=0.001))[0][2] == ("n02",)
    four = history(1, 4, step(3, 0.5, of_node), noise=0.001)
    trend = findings(four[:-1], four[-1])
    assert (trend.findings, trend.judged, trend.too_few) == ((), 0, len(series()))
    assert summary(trend).endswith("with too few nights to tell: needs 5: 0 regressions")


def test_rounding_is_no_step():
    """A latency between two printed digits, where one digit is 3 %."""
    key = SeriesKey("send_latency", "lat_avg", "us", ("n01", "n02"), "mlx5_0", 2, "lower")
    values = [0.33] * 10 + [0.34] * 10
    nights = [Night(f"202601{i:02}-020000", FLEET, "", {key: v}) for i, v in enumerate(values, 1)]
    assert found(nights) == []
    wide = [
        Night(night.run_id, FLEET, "", {key: 0.33 if i < 10 else 0.36})
        for i, night in enumerate(nights)
    ]
    assert len(found(wide)) == 1


def smoke(night):
    values = {key: value for key, value in night.values.items() if of_metric(key)}
    return Night(night.run_id, FLEET, "smoke", values)


def test_intermittent_series_are_no_change():
    """Every third night is a signoff run, with series that the others do not have."""
    nights = history(1, 21)
    thinned = [night if i % 3 == 2 else smoke(night) for i, night in enumerate(nights)]
    assert found(thinned) == []
    trend = findings(thinned[:-1], thinned[-1])
    assert (trend.judged, trend.too_few) == (len(series()), 0)


def test_a_step_is_seen_through_nights_without_the_series():
    nights = history(1, 24, step(13, 0.04, of_node))
    thinned = [
        Night(n.run_id, FLEET, "", {k: v for k, v in n.values.items() if i % 2 or not of_node(k)})
        for i, n in enumerate(nights)
    ]
    assert found(thinned) == [("regression", "step", ("n02",), "", "", "14")]


@pytest.mark.parametrize(
    "other",
    [
        Fleet("alpha", "h200", "simulated"),
        Fleet("alpha", "metax-c500", "hardware"),
        Fleet("beta", "h200", "hardware"),
    ],
)
def test_nights_of_another_fleet_are_never_compared(other):
    """Ten nights on another cluster, then five here at 60 % of that: nothing has changed here."""
    elsewhere = history(1, 10, fleet=other)
    here = history(2, 15, step(1, 0.4, lambda key: True))[10:]
    trend = findings([*elsewhere, *here[:-1]], here[-1])
    assert (trend.findings, len(trend.nights)) == ((), 5)
    mixed = [Night(n.run_id, FLEET, n.level, n.values) for n in elsewhere]
    assert findings([*mixed, *here[:-1]], here[-1]).regressions, "the same, taken for one fleet"


def test_the_order_of_the_earlier_nights_does_not_matter():
    nights = history(1, change=step(14, 0.04, of_node))
    assert findings(nights[-2::-1], nights[-1]) == findings(nights[:-1], nights[-1])


def test_a_run_counts_once():
    nights = history(1, 6)
    with pytest.raises(BadInput, match="the same run is given twice"):
        findings(nights, nights[-1])


def test_a_finding_is_one_sentence():
    nights = history(1, change=step(14, 0.04, lambda key: key.pairing == "gpu0" and of_node(key)))
    (finding,) = findings(nights[:-1], nights[-1]).findings
    move = finding.series[0]
    assert sentence(finding) == (
        f"regression since 20260114-020000-alpha: n02, gpu_copy copy_bw over gpu0: "
        f"{finding.worse:.1%} worse ({move.before:.4g} GB/s to {move.after:.4g} GB/s, 1 series)"
    )
    assert (finding.nights, round(move.change, 2)) == (7, -0.04)
    assert finding.chance < Rules().false_alarm_rate


def test_tonight_is_compared_with_the_median_of_the_earlier_nights():
    nights = history(1, 9, step(9, 0.1, of_node))
    trend = findings(nights[:-1], nights[-1])
    by_name = {(s.subject, s.metric): s for s in metric_changes(nights, trend)}
    late = by_name["send_latency", "lat_avg"]
    assert late.worst == pytest.approx(0.11, abs=0.02), "a latency that rose is worse"
    assert "n02" in late.where
    write = by_name["host_write_bandwidth", "bw_average"]
    assert (write.series, write.unit) == (2 * len(NODES), "Gb/s")
    assert write.worst == pytest.approx(-0.1, abs=0.02)
    assert metric_changes(nights[:1], findings((), nights[0]))[0].change is None
