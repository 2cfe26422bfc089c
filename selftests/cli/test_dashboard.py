"""The dashboard for Grafana asks for metrics and labels that ``railgauge metrics`` prints."""

import json
import re

import pytest
from test_metrics_command import cause, folder_of, item, parsed
from testing.core_values import ROOT

from railgauge.core.model import Outcome

DASHBOARD = json.loads((ROOT / "examples" / "grafana-dashboard.json").read_text(encoding="utf-8"))


@pytest.fixture
def printed(tmp_path, railgauge):
    """``{metric: its labels}`` of a run that has all of them."""
    made = folder_of(tmp_path / "run", [item(1, Outcome.FAILED, -0.4)], (cause(),))
    found = parsed(railgauge("metrics", made)[1])
    return {name: set(dict(next(iter(points)))) for name, points in found.items()}


def expressions():
    return [target for panel in DASHBOARD["panels"] for target in panel["targets"]]


@pytest.mark.parametrize("target", expressions(), ids=lambda target: target["expr"][:40])
def test_the_dashboard_asks_for_what_is_printed(printed, target):
    unknown = complaints(target, printed)
    assert not unknown


def complaints(target, printed):
    """The metrics and labels of a panel's expression and legend that the command does not print."""
    named = set(re.findall(r"railgauge_\w+", target["expr"]))
    if unknown := named - printed.keys():
        return sorted(unknown)
    labels = {
        *re.findall(r"(\w+)\s*(?:=~|!~|!=|=)\s*\"", target["expr"]),
        *re.findall(r"{{\s*(\w+)\s*}}", target.get("legendFormat", "")),
    }
    for group in re.findall(r"\b(?:by|without|on)\s*\(([^)]*)\)", target["expr"]):
        labels |= {one.strip() for one in group.split(",")}
    return sorted(labels - set().union(*(printed[name] for name in named)))


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ({"expr": "railgauge_verdicts"}, ["railgauge_verdicts"]),
        ({"expr": 'railgauge_verdict{stat="x"}'}, ["stat"]),
        ({"expr": "sum by (cluster, host) (railgauge_items)"}, ["host"]),
        ({"expr": "railgauge_items", "legendFormat": "{{cluster}} {{node}}"}, ["node"]),
    ],
)
def test_a_wrong_name_in_a_dashboard_is_seen(printed, target, says):
    assert complaints(target, printed) == says


def test_the_dashboard_uses_every_part_and_its_choices_are_labels(printed):
    text = json.dumps(DASHBOARD)
    for name in ("verdict", "items", "causes", "worst_margin_ratio", "run_end_time_seconds"):
        assert f"railgauge_{name}" in text
    asked = re.findall(r"label_values\((\w+), (\w+)\)", text)
    assert len(asked) == 2
    assert all(label in printed[metric] for metric, label in asked)
    outcomes = re.search(r'outcome=~\\"([\w|]+)\\"', text)[1].split("|")
    assert set(outcomes) == {"failed", "error", "blocked", "flaky", "not_run"}
