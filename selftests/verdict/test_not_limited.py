"""A possible test that the platform file does not limit is named in every report."""

import json
from dataclasses import replace
from datetime import datetime
from types import SimpleNamespace

import pytest
from testing.core_values import ROOT, cluster, item

from railgauge.config import thresholds
from railgauge.diagnosis import RunResults
from railgauge.facts import NodeFacts
from railgauge.planning.marks import marked_tests
from railgauge.planning.needs import candidates
from railgauge.planning.pairing import DIRECTED
from railgauge.planning.plan import level
from railgauge.planning.required import LevelScope, required_checks
from railgauge.report import html, junit, terminal
from railgauge.report.allure import surroundings
from railgauge.report.certificate.certified import CertifiedRun
from railgauge.report.lines import of_items
from railgauge.run.settings import RunSettings
from railgauge.verdict.decision import RunPlan, decide

# Kernel logs have a file of their own, test_kernel_items.py.
HOMELAB = thresholds.load("connectx4-homelab", ROOT / "thresholds")
HOMELAB = replace(
    HOMELAB,
    kernel_log=None,
    growth=None,
    not_applicable={
        **HOMELAB.not_applicable,
        **dict.fromkeys(("kernel_log", "growth"), "left out of these tests"),
    },
)
DECLARED = cluster("n1", "n2", no_fabric="nobody is asked here")
TESTS = candidates(marked_tests(ROOT))
FOUND = {name: NodeFacts(name) for name in ("n1", "n2")}
TAKEN = ("host_read_latency", "memlock")
LIST = "possible here, not limited: host_read_latency, memlock"


def taken_out(platform=HOMELAB):
    """The platform file without one measurement and one expectation."""
    return replace(
        platform,
        measurements={k: v for k, v in platform.measurements.items() if k not in TAKEN},
        expected={k: v for k, v in platform.expected.items() if k not in TAKEN},
    )


def answered(platform, name="signoff"):
    """A record that answers each required check of the level."""
    scope = LevelScope(platform, DECLARED, level(platform, DECLARED, name))
    return {
        str(number): item(
            str(number), rung=one.rung, subject=one.key.subject, nodes=one.key.nodes,
            pairing=one.key.part, questions=(one.question,), ways=(one.key.way,),
        )
        for number, one in enumerate(required_checks(scope))
    }  # fmt: skip


def decided(platform=None, tests=TESTS, name="signoff", drop=0):
    platform = platform or taken_out()
    records = dict(list(answered(platform, name).items())[drop:])
    run = RunPlan(2, "run-1", "simulated", name, None, tuple(records), "0", tests, DIRECTED)
    return decide(run, RunResults(records, FOUND, platform, DECLARED))


def test_a_deleted_limit_is_named_and_the_rest_of_the_verdict_is_unchanged():
    verdict = decided()
    assert verdict.verdict == "accepted"
    assert verdict.not_limited == TAKEN
    assert json.loads(json.dumps(verdict.to_json()))["not_limited"] == list(TAKEN)
    assert not set(TAKEN) & verdict.not_applicable.keys()


def test_a_platform_file_that_speaks_of_every_test_has_nothing_to_name():
    verdict = decided(HOMELAB)
    assert verdict.not_limited == ()
    assert verdict.excluded == ""


def test_a_missing_limit_makes_no_run_accepted():
    """A required check without an answer is "not run", whatever else is listed."""
    verdict = decided(drop=1)
    assert (verdict.verdict, verdict.counts.not_run) == ("incomplete", 1)
    assert verdict.not_limited == TAKEN


def test_a_declared_measurement_that_its_level_leaves_out_is_what_it_was():
    one = HOMELAB.measurements["host_read_latency"]
    later = replace(one, extents={k: v for k, v in one.extents.items() if k != "smoke"})
    platform = replace(HOMELAB, measurements={**HOMELAB.measurements, later.name: later})
    verdict = decided(platform, name="smoke")
    assert verdict.not_limited == ()
    assert verdict.not_applicable[later.name].startswith("measured only at level ")


def test_hardware_that_is_lacking_is_the_reason_where_the_file_gives_none():
    silent = replace(HOMELAB, not_applicable={})
    verdict = decided(silent)
    assert verdict.not_applicable["gpu_count"] == "the platform declares no GPU"
    assert "gpu_count" not in verdict.not_limited
    assert HOMELAB.not_applicable["nvme_count"]
    assert "nvme_count" in verdict.not_limited
    ruled = replace(silent, not_applicable={"gpu_count": "sold last week"})
    assert decided(ruled).not_applicable["gpu_count"] == "sold last week"


def test_a_run_that_kept_no_list_of_its_tests_says_nothing_else():
    """A bundle made before the list was kept gives the same bytes."""
    verdict = decided(tests=())
    assert verdict.not_limited is None
    assert "not_limited" not in verdict.to_json()
    assert verdict.excluded == ""


# --- the reports ---


class Screen:
    def __init__(self):
        self.text = ""

    def write_line(self, line, **_):
        self.text += f"{line}\n"

    def section(self, *_, **__):
        pass


@pytest.fixture(params=["nightly", "signoff"])
def verdict(request):
    return decided(name=request.param)


def due(verdict):
    signed = "excluded from this sign-off, " if verdict.level == "signoff" else ""
    return signed + LIST


def test_the_last_screen_names_the_missing_limits(verdict, tmp_path):
    screen = Screen()
    terminal.summary(screen, verdict, {})
    assert f"\n{due(verdict)}\n" in screen.text


def test_the_first_screen_of_the_html_report_names_the_missing_limits(verdict, tmp_path):
    settings = RunSettings(DECLARED, HOMELAB, level(HOMELAB, DECLARED, verdict.level))
    store = SimpleNamespace(folder=tmp_path)
    plan = RunPlan(2, "run-1", "simulated", verdict.level, None, (), "0")
    run = CertifiedRun(verdict, plan, {}, HOMELAB, DECLARED, {}, (), ())
    shown = html.content(run, settings, store, [], None, lines=of_items({}))
    assert f"<dt>Not tested</dt><dd>{due(verdict)}</dd>" in shown
    run = replace(run, verdict=replace(verdict, not_limited=()))
    assert "Not tested" not in html.content(run, settings, store, [], None, lines=of_items({}))


def test_junit_and_allure_name_the_missing_limits(verdict, tmp_path):
    now = datetime.now().astimezone()
    session = junit.SessionInfo(now, 1.0, "h", "simulated", verdict.excluded)
    text = junit.document(of_items({"a": item("a")}), session)
    assert f'<property name="not tested" value="{due(verdict)}"' in text
    assert 'tests="1"' in text
    assert "not tested" not in junit.document(
        of_items({}), junit.SessionInfo(now, 1.0, "h", "simulated")
    )
    surroundings.write(tmp_path, verdict, HOMELAB)
    assert f"Not tested = {due(verdict)}" in (tmp_path / "environment.properties").read_text()
