"""A level that a measurement does not name leaves that measurement out."""

from dataclasses import replace

import pytest
from testing.core_values import PLATFORMS, ROOT, cluster, document, put

from railgauge.config import thresholds
from railgauge.core.errors import BadInput
from railgauge.planning import forecast, plan, soundness
from railgauge.planning.required import LevelScope, count, required_checks, ways
from railgauge.verdict.decision import not_applicable

NAME = "host_write_bandwidth"


def loaded(folder, *without):
    doc = document()
    for level in without:
        del doc["measurements"][NAME]["levels"][level]
    return thresholds.load("bench", put(folder / "thresholds", doc))


def scope_of(platform, level):
    declared = cluster("n1", "n2", no_fabric="no switch here can be scanned")
    return LevelScope(platform, declared, plan.level(platform, declared, level))


def test_a_left_out_measurement_is_not_planned_or_required_and_has_a_reason(tmp_path):
    platform = loaded(tmp_path, "smoke")
    scope = scope_of(platform, "smoke")
    assert not list(plan.cases(platform, scope.level))
    assert {check.rung for check in required_checks(scope)} == {0}
    assert count(scope) == len(list(required_checks(scope)))
    assert forecast.takes_s(forecast.work(platform, scope.level)) == 0
    assert not forecast.rails(platform, scope.level)
    reasons = not_applicable(platform, scope.level)
    assert reasons[NAME] == "measured only at level nightly and signoff"


def test_other_levels_still_have_the_measurement(tmp_path):
    platform = loaded(tmp_path, "smoke")
    for level in ("nightly", "signoff"):
        scope = scope_of(platform, level)
        assert any(check.key.subject == NAME for check in required_checks(scope))
        assert NAME not in not_applicable(platform, scope.level)
    assert list(plan.complaints(platform)) == []
    assert ways(platform.measurements[NAME], "smoke") == ()
    assert ways(platform.measurements[NAME], "signoff") == ways(platform.measurements[NAME])


def test_signoff_cannot_be_left_out(tmp_path):
    with pytest.raises(BadInput, match="'signoff' is missing"):
        loaded(tmp_path, "signoff")


@pytest.mark.parametrize("name", PLATFORMS)
def test_no_platform_compares_with_a_left_out_measurement(name):
    assert list(soundness.dangling(thresholds.load(name, ROOT / "thresholds"))) == []


def test_a_comparison_with_a_left_out_measurement_is_reported():
    platform = thresholds.load("h200", ROOT / "thresholds")
    scan = platform.measurements["fabric_errors"]
    del scan.extents["signoff"]
    (line,) = soundness.dangling(platform)
    assert line.endswith("is compared with fabric_errors, which is not made at level signoff")


def test_a_ladder_is_compared_with_two_nodes_of_a_ladder():
    platform = thresholds.load("h200", ROOT / "thresholds")
    tree = platform.measurements["scaling_all_reduce_tree"]
    for other in ("group_all_reduce", "scaling_all_reduce_nvls"):
        asserts = tuple(replace(one, over=other) for one in tree.asserts)
        changed = {**platform.measurements, tree.name: replace(tree, asserts=asserts)}
        (line,) = soundness.dangling(replace(platform, measurements=changed))
        assert line.endswith("which is no ladder that is compared with its own smallest step")
