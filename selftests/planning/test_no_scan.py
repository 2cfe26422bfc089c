"""A sign-off without a scan of the InfiniBand subnet: incomplete unless there is a reason."""

from dataclasses import replace
from pathlib import Path

import pytest
from testing.core_values import ROOT, cluster, item, without_closing_items

from railgauge.bundle.binding import refuse_other_items
from railgauge.cli import main
from railgauge.config import hostfile, thresholds
from railgauge.core.errors import BadInput, BadInputs, NotVerified
from railgauge.core.model import Fabric, Outcome
from railgauge.diagnosis import RunResults
from railgauge.planning import plan
from railgauge.planning.pairing import DIRECTED
from railgauge.planning.required import NOT_SCANNED, SUBNET, LevelScope, count, required_checks
from railgauge.run import inputs
from railgauge.verdict.decision import RunPlan, decide, not_applicable, not_run, subnet_notes

REASON = "the provider runs the subnet and lets no customer ask it"
NODES = ("n1", "n2")
INFINIBAND = ("connectx4-homelab", "h200", "metax-c500", "mi300x")
OTHERS = ("h100-tcpx", "localhost-gpu", "tcp-lab")


def scope_of(name="h200", level="signoff", **changes):
    platform = without_closing_items(thresholds.load(name, ROOT / "thresholds"))
    declared = cluster(*NODES, **changes)
    return LevelScope(platform, declared, plan.level(platform, declared, level))


def scanned(scope):
    return [check for check in required_checks(scope) if check.key.subject in SUBNET]


def decided(scope):
    """The verdict of a run in which all possible items passed."""
    asked = [check for check in required_checks(scope) if not check.why_not]
    records = {
        f"{number}": item(
            f"{number}", rung=d.rung, subject=d.key.subject, nodes=d.key.nodes, ways=(d.key.way,),
            pairing=d.key.part, size_bytes=d.key.size_bytes, questions=(d.question,),
        )
        for number, d in enumerate(asked)
    }  # fmt: skip
    run = RunPlan(
        2, "run-1", "simulated", scope.level.name, None, tuple(records), "0", directions=DIRECTED
    )
    return decide(run, RunResults(records, {}, scope.platform, scope.cluster))


@pytest.mark.parametrize("name", INFINIBAND)
def test_a_sign_off_requires_the_scan_of_an_infiniband_subnet(name):
    scope = scope_of(name)
    assert [check.key.subject for check in scanned(scope)] == list(SUBNET)
    assert count(scope) == len(list(required_checks(scope)))


@pytest.mark.parametrize("name", OTHERS)
def test_platforms_without_a_subnet_do_not_require_the_scan(name):
    assert not scanned(scope_of(name))


@pytest.mark.parametrize("level", ["smoke", "nightly"])
def test_lower_levels_do_not_require_the_scan(level):
    scope = scope_of(level=level)
    assert not scanned(scope)
    assert set(SUBNET) <= set(not_applicable(scope.platform, scope.level))


def test_a_sign_off_without_the_scan_is_incomplete_with_the_reason():
    verdict = decided(scope_of())
    assert (verdict.verdict, verdict.exit_code) == ("incomplete", 10)
    assert verdict.counts.not_run == len(SUBNET)
    assert not set(SUBNET) & set(verdict.not_applicable)
    assert NOT_SCANNED in verdict.notes[0]
    assert verdict.notes[0].startswith("SUBNET NOT SCANNED")


def test_items_of_the_missing_scan_have_a_reason_for_the_reports():
    scope = scope_of()
    run = RunPlan(2, "run-1", "simulated", "signoff", None, (), "0", directions=DIRECTED)
    left = not_run(run, RunResults({}, {}, scope.platform, scope.cluster))
    reasons = {one.subject: (one.outcome, one.reason) for one in left if one.subject in SUBNET}
    assert reasons == dict.fromkeys(SUBNET, (Outcome.NOT_RUN, NOT_SCANNED))


def test_with_a_reason_a_sign_off_can_be_accepted_and_shows_it():
    verdict = decided(scope_of(no_fabric=REASON))
    assert (verdict.verdict, verdict.counts.not_run) == ("accepted", 0)
    assert all(REASON in verdict.not_applicable[name] for name in SUBNET)
    assert verdict.notes == (f"subnet not scanned: {REASON}",)


def test_a_declared_subnet_is_scanned_and_needs_no_note():
    scope = scope_of(fabric=Fabric("n1", "", "fabric.topo"))
    assert not scope.level.scan.is_missing
    assert not subnet_notes(scope.level)


# --- in the hostfile ---

PLAIN = "cluster: c\nplatform: h200\nnodes: n[1-2]\n"


def loaded(folder, more=""):
    path = Path(folder) / "c.yaml"
    path.write_text(PLAIN + more, encoding="utf-8")
    return hostfile.load(path, schema_file=ROOT / "hostfiles" / "schema.json")


def test_the_hostfile_gives_the_reason_and_it_comes_back_from_json(tmp_path):
    found = loaded(tmp_path, f"fabric: {{none: {REASON}}}\n")
    assert (found.fabric, found.no_fabric) == (None, REASON)
    assert hostfile.cluster_from_json(hostfile.cluster_to_json(found)) == found
    assert not loaded(tmp_path).no_fabric


@pytest.mark.parametrize(
    "entry",
    ["none: short", f"none: {REASON}, node: n1", "none: null", "node: n1", "{}", "none: ''"],
)
def test_an_incomplete_reason_is_refused(tmp_path, entry):
    with pytest.raises((BadInput, BadInputs), match="fabric"):
        loaded(tmp_path, f"fabric: {{{entry.strip('{}')}}}\n")


def test_the_plan_reports_a_missing_scan_or_its_reason(tmp_path, capsys):
    loaded(tmp_path)
    plain = ["plan", "--root", str(ROOT), "--hostfile", str(tmp_path / "c.yaml")]
    assert main([*plain, "--level", "signoff"]) == 0
    assert NOT_SCANNED in capsys.readouterr().out
    loaded(tmp_path, f"fabric: {{none: {REASON}}}\n")
    assert main([*plain, "--level", "signoff"]) == 0
    out = capsys.readouterr().out
    assert NOT_SCANNED not in out
    assert f"subnet not scanned: {REASON}" in out


@pytest.mark.parametrize("path", sorted((ROOT / "hostfiles").glob("*.yaml")), ids=lambda p: p.stem)
def test_the_projects_hostfiles_declare_a_subnet_or_give_a_reason(path):
    declared, platform = inputs.site(path, ROOT, None)
    assert not plan.level(platform, declared, "signoff").scan.is_missing


def test_the_scan_is_required_even_if_the_platform_has_no_such_measurement():
    scope = scope_of()
    bare = replace(
        scope.platform,
        measurements={n: m for n, m in scope.platform.measurements.items() if n not in SUBNET},
    )
    assert [d.key.subject for d in scanned(replace(scope, platform=bare))] == list(SUBNET)


@pytest.mark.parametrize("without", [False, True])
def test_a_bundle_may_hold_records_of_a_missing_scan(without):
    """It is refused with other records, and if the hostfile gives a reason."""
    scope = scope_of()
    measured = {n: m for n, m in scope.platform.measurements.items() if n not in SUBNET}
    platform = replace(scope.platform, measurements=measured) if without else scope.platform
    run = RunPlan(2, "run-1", "simulated", "signoff", None, (), "0", directions=DIRECTED)
    records = [
        record
        for record in not_run(run, RunResults({}, {}, platform, scope.cluster))
        if record.subject in SUBNET
    ]
    assert len(records) == len(SUBNET)
    for record in records:
        refuse_other_items([record], platform, scope.level)
        with pytest.raises(NotVerified):
            refuse_other_items([record], platform, scope_of(no_fabric=REASON).level)
        with pytest.raises(NotVerified):
            refuse_other_items([replace(record, rung=3)], platform, scope.level)
