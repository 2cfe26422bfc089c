"""A form of an expectation, or of a growth limit, replaces the inherited one, whatever each is."""

import itertools
import json

import pytest
from testing.core_values import document, put

from railgauge.config import thresholds
from railgauge.core.errors import BadInput

MADE_UP = "derived: made up for a test"
FORMS = {
    "equals": "7", "one_of": ["1", "2"], "contains": ["x"], "at_least": 1, "at_most": 2,
    "as_declared": True, "alike": "model", "distinct": "nodes", "within": 3,
    "by_model": {"MT4129": "28.39"},
}  # fmt: skip


def load(tmp_path, below, above, section="expected", name="nic_firmware"):
    doc = document()
    doc["extends"] = ["below"]
    doc[section] = {**doc.get(section, {}), name: above}
    folder = put(tmp_path / "thresholds", doc)
    other = {"templates": {section: {name: below}}}
    (folder / "below.json").write_text(json.dumps(other), encoding="utf-8")
    return thresholds.load("bench", folder)


@pytest.mark.parametrize(("below", "above"), [*itertools.permutations(FORMS, 2)])
def test_any_form_replaces_any_other(tmp_path, below, above):
    shared = {below: FORMS[below], "basis": MADE_UP}
    found = load(tmp_path, shared, {above: FORMS[above]}).expected["nic_firmware"]
    assert (found.rule, found.value) == (above, FORMS[above])
    assert found.basis.says == "made up for a test"


@pytest.mark.parametrize("form", sorted(set(FORMS) - {"equals"}))
def test_null_removes_a_form_and_one_must_take_its_place(tmp_path, form):
    shared = {form: FORMS[form], "basis": MADE_UP}
    found = load(tmp_path, shared, {form: None, "equals": "7"}).expected["nic_firmware"]
    assert (found.rule, found.value) == ("equals", "7")
    with pytest.raises(BadInput, match="nic_firmware"):
        load(tmp_path, shared, {form: None})


def test_versions_that_were_measured_go_with_the_form_that_has_them(tmp_path):
    shared = {"alike": "model", "measured_with": ["1.2"], "basis": MADE_UP}
    assert load(tmp_path, shared, {}).expected["nic_firmware"].measured_with == ("1.2",)
    found = load(tmp_path, shared, {"one_of": ["1.2", "1.3"]}).expected["nic_firmware"]
    assert (found.rule, found.measured_with) == ("one_of", ())
    found = load(tmp_path, {"alike": "model", "basis": MADE_UP}, {"measured_with": ["1"]})
    assert found.expected["nic_firmware"].rule == "alike"


def test_two_forms_in_one_entry_are_refused(tmp_path):
    with pytest.raises(BadInput, match="nic_firmware"):
        load(tmp_path, {"basis": MADE_UP}, {"equals": "7", "one_of": ["7"]})


@pytest.mark.parametrize(
    ("below", "above"), [({"per_hour": 10}, {"ceiling": 0}), ({"ceiling": 0}, {"per_hour": 10})]
)
def test_a_growth_limit_is_a_number_or_a_rate(tmp_path, below, above):
    shared = {**below, "basis": MADE_UP}
    growth = load(tmp_path, shared, above, "growth", "port_errors").growth
    found = growth["port_errors"]
    assert (found.ceiling, found.per_hour) == (above.get("ceiling"), above.get("per_hour"))
