"""The alert rules for Prometheus: what they name is printed, and promtool fires them on it."""

from __future__ import annotations

import json
import re
import subprocess
from datetime import datetime, timezone

import pytest
import yaml
from test_dashboard import complaints
from test_metrics_command import INVENTORY, cause, folder_of, item, parsed, put
from testing import programs
from testing.places import ROOT

from railgauge.core.model import Outcome
from railgauge.judging.stamp import Evidence

FILE = ROOT / "examples" / "prometheus-alerts.yml"
RULES = {
    rule["alert"]: rule
    for group in yaml.safe_load(FILE.read_text(encoding="utf-8"))["groups"]
    for rule in group["rules"]
}
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)  # at which promtool's clock begins
WHOSE = {"cluster": "mine", "level": "smoke"}
FAULTY = {
    **WHOSE, "cause": "slow-gpu", "confidence": "likely", "node": "mx01", "device": "gpu3",
    "UUID": "GPU-604ac76c", "serial": "SN-3",
}  # fmt: skip
OF_DCGM = {"gpu": "3", "Hostname": "host-7", "device": "nvidia3", "modelName": "NVIDIA H200"}


@pytest.fixture
def run(tmp_path):
    """``run(name, outcome, *causes)``: the folder of a run that ended in 1970."""

    def run(name, outcome, *causes, evidence=Evidence.HARDWARE, cluster="mine"):
        items = [item(1, outcome, -0.1 if outcome is Outcome.FAILED else 0.1), item(2)]
        made = folder_of(tmp_path / name, items, causes, cluster, began=EPOCH, evidence=evidence)
        put(made, "inventory.csv", INVENTORY)
        return made

    return run


@pytest.fixture
def fired(railgauge, tmp_path):
    """``fired({alert: its label sets}, *runs)``: what promtool fires on their metrics, no more."""

    def fired(due, *runs, after="15m", beside=(), value=""):
        series = [*beside]
        for one in runs:
            for name, points in parsed(railgauge("metrics", one)[1]).items():
                series += [(name, dict(labels), value) for labels, value in points.items()]
        tests = [
            {"eval_time": after, "alertname": name, "exp_alerts": [
                {"exp_labels": {**labels, **rule["labels"]},
                 "exp_annotations": {key: filled_in(text, labels, value) for key, text in
                                     rule["annotations"].items()}}
                for labels in due.get(name, ())
            ]}
            for name, rule in RULES.items()
        ]  # fmt: skip
        written = [
            {"series": f"{name}{{{selected(labels)}}}", "values": f"{value:g}+0x2000"}
            for name, labels, value in series
        ]
        file = tmp_path / "test.yml"
        document = {"rule_files": [str(FILE)], "evaluation_interval": "1m"}
        one = {"interval": "1m", "input_series": written, "alert_rule_test": tests}
        file.write_text(json.dumps({**document, "tests": [one]}), encoding="utf-8")
        asked = (programs.asked("promtool"), "test", "rules", file)
        done = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    return fired


def selected(labels):
    return ",".join(f"{name}={json.dumps(text)}" for name, text in labels.items() if text)


def filled_in(text, labels, value):
    """The annotation with the labels and the value of the alert in it."""
    text = re.sub(r"{{ \$value[^}]*}}", value, text)
    return re.sub(r"{{ \$labels\.(\w+) }}", lambda found: labels.get(found[1], ""), text)


def test_promtool_takes_the_rules():
    asked = (programs.asked("promtool"), "check", "rules", FILE)
    done = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_promtool_takes_the_metrics(run, railgauge):
    out = railgauge("metrics", run("run", Outcome.FAILED, cause("slow-gpu", device="gpu3")))[1]
    asked = (programs.asked("promtool"), "check", "metrics")
    done = subprocess.run(asked, input=out, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_an_accepted_run_raises_nothing(run, fired):
    fired({}, run("run", Outcome.PASSED))


def test_a_rejected_run_and_each_faulty_part_raise_an_alert(run, fired):
    state = {**WHOSE, "state": "rejected"}
    suspected = cause("slow-gpu", "mx02|mx03", "gpu1")
    made = run("run", Outcome.FAILED, cause("slow-gpu", device="gpu3"), suspected)
    verdict = json.loads((made / "verdict.json").read_text(encoding="utf-8"))
    verdict["causes"][1]["confidence"] = "open"
    put(made, "verdict.json", json.dumps(verdict))
    fired({"RailgaugeRejected": [state], "RailgaugeCause": [FAULTY]}, made)


def test_an_alert_that_is_not_expected_is_seen(run, fired):
    with pytest.raises(AssertionError, match="RailgaugeRejected"):
        fired({}, run("run", Outcome.FAILED))


def test_a_run_that_decided_nothing_raises_an_alert(run, fired):
    fired({"RailgaugeIncomplete": [{**WHOSE, "state": "incomplete"}]}, run("r", Outcome.ERROR))


@pytest.mark.parametrize("evidence", [Evidence.SIMULATED, Evidence.REPLAYED])
def test_a_simulated_run_raises_nothing_beside_a_hardware_run(run, fired, evidence):
    at_fault = cause("slow-gpu", device="gpu3")
    lab = run("lab", Outcome.FAILED, at_fault, evidence=evidence, cluster="lab")
    fired({}, lab, run("run", Outcome.PASSED))


def test_a_gpu_with_a_fault_that_works_is_found_by_its_uuid(run, fired):
    name = "DCGM_FI_DEV_GPU_UTIL"
    faulty = {**OF_DCGM, "UUID": "GPU-604ac76c"}
    due = {
        "RailgaugeRejected": [{**WHOSE, "state": "rejected"}],
        "RailgaugeCause": [FAULTY],
        "RailgaugeFaultyGpuInUse": [faulty],
    }
    other = {**OF_DCGM, "UUID": "GPU-7"}
    made = run("run", Outcome.FAILED, cause("slow-gpu", device="gpu3"))
    fired(due, made, beside=[(name, faulty, 40.0), (name, other, 90.0)])
    idle = {name: labels for name, labels in due.items() if name != "RailgaugeFaultyGpuInUse"}
    fired(idle, made, beside=[(name, faulty, 0.0), (name, other, 90.0)])


def test_a_night_without_a_run_raises_an_alert(run, fired):
    fired({}, run("run", Outcome.PASSED), after="25h")
    due, age = {"RailgaugeNoRunSinceYesterday": [WHOSE]}, "1d 2h 58m 29s"
    fired(due, run("later", Outcome.PASSED), after="27h", value=age)


def test_two_versions_of_the_suite_raise_an_alert(run, fired):
    other = ("railgauge_build_info", {"cluster": "c", "level": "smoke", "version": "0.0"}, 1.0)
    fired({}, run("run", Outcome.PASSED), after="20h", beside=[other])
    due = {"RailgaugeVersionsDiffer": [{}]}
    fired(due, run("later", Outcome.PASSED), after="25h", beside=[other], value="2")


# --- what the rules name is printed ---


@pytest.fixture
def printed(run, railgauge):
    """``{metric: its labels}`` of a run that has all of them."""
    out = railgauge("metrics", run("all", Outcome.FAILED, cause("slow-gpu", device="gpu3")))[1]
    return {name: set(dict(next(iter(points)))) for name, points in parsed(out).items()}


@pytest.mark.parametrize("name", RULES)
def test_a_rule_asks_for_what_is_printed(printed, name):
    rule = RULES[name]
    texts = " ".join(rule["annotations"].values())
    of_alert = set(re.findall(r"\$labels\.(\w+)", texts))
    if "DCGM" in rule["expr"]:
        assert of_alert <= OF_DCGM.keys()
        of_alert = set()
    legend = " ".join(f"{{{{{label}}}}}" for label in sorted(of_alert))
    assert complaints({"expr": rule["expr"], "legendFormat": legend}, printed) == []


@pytest.mark.parametrize(
    ("expr", "says"),
    [
        ("railgauge_causes and on (cluster) railgauge_run_infos", ["railgauge_run_infos"]),
        ("railgauge_causes and on (uuid) railgauge_run_info", ["uuid"]),
    ],
)
def test_a_wrong_name_in_a_rule_is_seen(printed, expr, says):
    assert complaints({"expr": expr}, printed) == says


def test_the_page_names_the_file():
    assert "examples/prometheus-alerts.yml" in (ROOT / "docs" / "nightly.md").read_text()
