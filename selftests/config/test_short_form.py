"""The short form equals the long form, and errors name the keys of the short form."""

import hashlib
import json
import re

import pytest
from testing.core_values import ROOT, document, limit_of, long_form, measurement_of, put

from railgauge.config import thresholds
from railgauge.core.errors import BadInput
from railgauge.planning import plan

# Digests of the long forms from before the files were shortened.
LONG_FORMS = json.loads((ROOT / "selftests/config/long_forms.json").read_text(encoding="utf-8"))
BASIS = {"source": "derived", "says": "made up for a test"}
MADE_UP = "derived: made up for a test"


def load(tmp_path, doc, **others):
    folder = put(tmp_path / "thresholds", doc)
    for name, other in others.items():
        (folder / f"{name}.json").write_text(json.dumps(other), encoding="utf-8")
    return thresholds.load("bench", folder)


def long(tmp_path, doc, **others):
    return json.loads(load(tmp_path, doc, **others).text)


def refused(tmp_path, doc, **others):
    with pytest.raises(BadInput) as caught:
        load(tmp_path, doc, **others)
    return str(caught.value).replace(f"{tmp_path}/", "")


def nic(**more):
    return {
        "model": "MT4129", "rate_gbps": 400, "link_layer": "InfiniBand", "basis": MADE_UP, **more,
    }  # fmt: skip


def with_nics(nics, **hardware):
    doc = document()
    doc["hardware"] = {"nics": nics, **hardware}
    return doc


def digest(name, part):
    """The digest of the JSON with sorted keys; if the order is that of a run, it counts too."""
    value = [part, list(part)] if name in ("expected", "measurements") else part
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


@pytest.mark.parametrize("platform", sorted(LONG_FORMS))
def test_the_long_form_of_a_shortened_platform_is_unchanged(platform):
    """To change a limit on purpose, replace the digest of the part that differs."""
    parts = long_form(platform).items()
    assert {name: digest(name, part) for name, part in parts} == LONG_FORMS[platform]


@pytest.mark.parametrize("platform", sorted(LONG_FORMS))
def test_a_platform_file_is_short(platform):
    """A fifth of the indented long form, without lines that hold many entries."""
    lines = len(json.dumps(long_form(platform), indent=2).splitlines())
    text = (ROOT / "thresholds" / f"{platform}.json").read_text(encoding="utf-8").splitlines()
    assert len(text) <= lines / 5
    assert max(map(len, text)) <= 110


def test_a_long_file_is_kept_to_the_byte(tmp_path):
    text = json.dumps(document(), indent=7) + "\r\n"
    assert load(tmp_path, text).text == text


def test_the_long_form_is_its_own_long_form(tmp_path):
    text = thresholds.load("h200", ROOT / "thresholds").text
    assert thresholds.load_file(tmp_path / "thresholds.json", text).text == text


def test_equal_nics_are_one_entry_and_a_later_key_adds_to_it(tmp_path):
    doc = with_nics({"mlx5_[0-2],ib9": nic(), "mlx5_1": {"fabric": False, "rate_gbps": 200}})
    nics = load(tmp_path, doc).nics
    assert [one.name for one in nics] == ["mlx5_0", "mlx5_1", "mlx5_2", "ib9"]
    assert [(one.rate_gbps, one.fabric) for one in nics] == [
        (400, True), (200, False), (400, True), (400, True),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("affinity", "links"),
    [
        ({"0": "PIX SYS", "1": "SYS PIX"}, ["PIX SYS", "SYS PIX"]),
        ({"[0-1]": "PIX   NODE"}, ["PIX NODE", "PIX NODE"]),
        ({"[0-1]": {"mlx5_[0-1]": "SYS"}, "1": {"mlx5_1": "PIX"}}, ["SYS SYS", "SYS PIX"]),
    ],
)
def test_affinity_is_a_matrix_or_a_rule(tmp_path, affinity, links):
    gpus = {"vendor": "metax", "model": "MetaX C500", "count": 2, "memory_mib": 65536}
    doc = with_nics({"mlx5_[0-1]": nic()}, gpus=gpus, affinity=affinity)
    found = load(tmp_path, doc).affinity
    assert [" ".join(found[gpu].values()) for gpu in (0, 1)] == links


@pytest.mark.parametrize(
    "written",
    [BASIS, MADE_UP, ["derived: made up", "for a test"], "known"],
)
def test_a_basis_is_written_out_or_referred_to(tmp_path, written):
    doc = document()
    doc["bases"] = {"known": MADE_UP}
    doc["expected"]["memlock"]["basis"] = limit_of(doc)["basis"] = written
    found = long(tmp_path, doc)
    assert limit_of(found)["basis"] == found["expected"]["memlock"]["basis"] == BASIS
    assert "bases" not in found


def test_sweeps_of_sizes_and_equal_levels_are_expanded(tmp_path):
    doc = document()
    sweep = {"from": "2B", "to": "32B", "factor": 4}
    measurement_of(doc)["levels"] = {
        "smoke,nightly,signoff": {"sizes": sweep},
        "signoff": {"repeats": 2},
    }
    levels = measurement_of(long(tmp_path, doc))["levels"]
    sizes = {"sizes": ["2B", "8B", "32B"]}
    assert levels == {"smoke": sizes, "nightly": sizes, "signoff": {**sizes, "repeats": 2}}


def test_limits_inherit_common_keys_and_are_one_for_each_metric(tmp_path):
    doc = document()
    measurement_of(doc).update(
        asserts=[{"metric": "lat_avg,lat_max", "per": "size"}, "lat_typical"],
        limit={"metric": "lat_avg,lat_max", "unit": "us", "marginal": 0.1, "basis": MADE_UP},
        limits=[{"ceiling": 3}, {"metric": "lat_typical", "ceiling": 2, "marginal": None}],
    )
    made = measurement_of(long(tmp_path, doc))
    each = {"unit": "us", "basis": BASIS}
    assert made["limits"] == [
        {"metric": "lat_avg", "ceiling": 3, "marginal": 0.1, **each},
        {"metric": "lat_max", "ceiling": 3, "marginal": 0.1, **each},
        {"metric": "lat_typical", "ceiling": 2, **each},
    ]
    per = [{"metric": "lat_avg", "per": "size"}, {"metric": "lat_max", "per": "size"}]
    assert made["asserts"] == [*per, "lat_typical"]
    assert "limit" not in made


def test_entries_inherit_from_the_template_of_their_name_and_from_named_ones(tmp_path):
    doc = document()
    whole = measurement_of(doc)
    limits = whole.pop("limits")
    below = {
        "measurements": {
            "host_write_bandwidth": {"extends": "bandwidth", "time_limit_s": 7},
            "bandwidth": {**whole, "options": {"qps": 4, "bidirectional": True}},
            "quick": {"typical_s": 1},
        }
    }
    doc["templates"] = below
    own = {"extends": "quick", "options": {"qps": None}, "limits": limits}
    doc["measurements"] = {"host_write_bandwidth": own}
    found = measurement_of(long(tmp_path, doc))
    changed = {"time_limit_s": 7, "typical_s": 1, "options": {"bidirectional": True}}
    assert found == {**whole, "limits": limits, **changed}


def test_hardware_is_that_of_a_data_sheet(tmp_path):
    """The template states its source, which is no part of the platform."""
    doc = with_nics({"mlx5_0": {"extends": "ConnectX-7", "rate_gbps": 200, "basis": MADE_UP}})
    sheet = nic(datasheet="A public document, https://example.org")
    doc["extends"] = "sheets"
    found = long(tmp_path, doc, sheets={"templates": {"nics": {"ConnectX-7": sheet}}})
    assert found["hardware"]["nics"] == [{"name": "mlx5_0", **nic(rate_gbps=200, basis=BASIS)}]


def test_a_platform_extends_another_one(tmp_path):
    """Merged section by section and key by key; ``null`` removes a key; a base is read once."""
    doc = {
        "platform": "bench", "extends": ["twin", "more"],
        "measurements": {"host_write_bandwidth": {"time_limit_s": 5}},
        "expected": {"memlock": None}, "not_applicable": {"memlock": "nobody asks for it here"},
    }  # fmt: skip
    twin = {**document(), "platform": "twin", "extends": "more"}
    found = long(
        tmp_path, doc, twin=twin, more={"not_applicable": {"ofed": ["none of it", "is here"]}}
    )
    expanded = {**document(), "expected": {}}
    measurement_of(expanded)["time_limit_s"] = 5
    expanded["not_applicable"] = {
        "ofed": "none of it is here",
        "memlock": "nobody asks for it here",
    }
    assert found == expanded


def test_preparations_have_a_name_and_a_template(tmp_path):
    doc = document()
    read = {"read": ["a"], "want": "b", "apply": ["c"], "undo": ["d"]}
    doc["templates"] = {"prepare": {"clock": read}}
    doc["prepare"] = {"clock": {"basis": MADE_UP}}
    assert long(tmp_path, doc)["prepare"] == [{"name": "clock", **read, "basis": BASIS}]


# --- complaints: one line, with the file and the key as they were written ---


def changed(change):
    doc = document()
    change(doc)
    return doc


CIRCLE = {"memlock": {"extends": "a"}, "a": {"extends": "b"}, "b": {"extends": "a"}}
HARDWARE, MADE = "bench.json: $/hardware", "bench.json: $/measurements/host_write_bandwidth"
NO_STEP = {"from": "2B", "to": "9B", "factor": 2}
OF_NOTHING = {"extends": "same", "basis": MADE_UP}


def nics(key, **more):
    return lambda doc: doc["hardware"].update(nics={key: nic(**more)})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda doc: doc.update(extend="x"), "bench.json: $/extend: unknown key 'extend'"),
        (lambda doc: doc.update(extends="moer"),
         "bench.json: $/extends: extends 'moer', which cannot be read"),
        (lambda doc: doc.update(extends="../x"),
         'bench.json: $/extends: "../x" is not a list of platform files'),
        (lambda doc: doc.update(extends="bench"),
         "bench.json: $/extends: extends itself: bench -> bench"),
        (lambda doc: doc.update(extends="back"),
         "back.json: $/extends: extends itself: bench -> back -> bench"),
        (lambda doc: doc.update(extends="bad"),
         "bad.json: $/documents/000: 7 should be of type string"),
        (lambda doc: limit_of(doc).update(basis="known"),
         f"{MADE}/limits/0/basis: 'known' is neither a name under bases"),
        (lambda doc: doc["expected"].update(os=OF_NOTHING),
         "bench.json: $/expected/os: extends 'same', but no template has this name; known: none"),
        (lambda doc: doc.update(templates={"expected": CIRCLE}),
         "bench.json: $/expected/memlock: extends itself: memlock -> a -> b -> a"),
        (nics("mlx5_[0-1]", extends="ConnectX-9"),
         f"{HARDWARE}/nics/mlx5_[0-1]: extends 'ConnectX-9', but no template has this name"),
        (nics("mlx5_[0-1]", model=7), f"{HARDWARE}/nics/mlx5_[0-1]/model: 7 should be of type"),
        (nics("mlx5_[3-1]"), f"{HARDWARE}/nics: 'mlx5_[3-1]' is not a set of names"),
        (nics("mlx5_[0-1"),
         f"{HARDWARE}/nics: 'mlx5_[0-1' is not a set of names: write a[0-7] or a,b"),
        (nics("mlx5_[0-99999]"), f"{HARDWARE}/nics: 'mlx5_[0-99999]' is not a set of names"),
        (nics(""), f"{HARDWARE}/nics: '' is not a set of names"),
        (lambda doc: doc["hardware"].update(affinity={"0": "PIX PIX"}),
         f"{HARDWARE}/affinity/0: 2 links for 1 NICs: mlx5_0"),
        (lambda doc: measurement_of(doc)["levels"]["smoke"].update(sizes=NO_STEP),
         f"{MADE}/levels/smoke/sizes: 9B is not reached from 2B in steps of x2"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_where_it_was_written(tmp_path, change, says):
    others = {"back": {"extends": "bench"}, "bad": {"documents": {"000": 7}}}
    message = refused(tmp_path, changed(change), **others)
    assert message.startswith(f"thresholds/{says}")
    assert "\n" not in message


def test_a_key_that_is_missing_in_the_long_form_is_named_where_the_entry_is(tmp_path):
    """The mistake is in the long form only; the error names the key of the short form."""
    doc = document()
    doc["extends"] = "more"
    doc["hardware"]["nics"] = {"mlx5_[0-1]": {"model": "MT4129"}}
    doc["measurements"] = {"host_read_bandwidth,host_send_bandwidth": {"rung": 1}}
    message = refused(tmp_path, doc, more={"title": "Of more than one file"})
    assert (
        "bench.json: $/hardware/nics/mlx5_[0-1]: 'rate_gbps', 'link_layer', 'basis' is missing"
        in message
    )
    assert "bench.json: $/measurements/host_read_bandwidth,host_send_bandwidth: 'tool', " in message


def test_the_file_of_a_run_stands_alone(tmp_path):
    doc = {**document(), "extends": "shared/hosts"}
    with pytest.raises(BadInput) as caught:
        thresholds.load_file(tmp_path / "thresholds.json", json.dumps(doc))
    assert "extends 'shared/hosts', but this file must not extend others" in str(caught.value)
    beside = thresholds.load_file(ROOT / "x.json", json.dumps(doc), ROOT / "thresholds")
    assert json.loads(beside.text) == document()


@pytest.mark.parametrize(
    "name", sorted(path.stem for path in (ROOT / "thresholds/shared").glob("*.json"))
)
def test_a_shared_file_needs_no_other_file(name, tmp_path):
    """A platform may extend one part of a file and gets only what it names."""
    doc = document()
    doc["measurements"] = {"mine": measurement_of(doc)}
    doc["expected"] = {"own": {"fact": "x", **doc["expected"]["memlock"]}}
    shared = json.loads(
        (ROOT / "thresholds" / "shared" / f"{name}.json").read_text(encoding="utf-8")
    )
    assert long(tmp_path, {**doc, "extends": "it"}, it=shared) == doc


def test_the_example_of_the_docs_is_a_platform():
    page = (ROOT / "docs" / "platform-files.md").read_text(encoding="utf-8")
    (text,) = (one for one in re.findall(r"```json\n(.*?)```", page, re.DOTALL) if "extends" in one)
    platform = thresholds.load_file(ROOT / "two-rails.json", text, ROOT / "thresholds")
    assert list(plan.complaints(platform)) == []
    assert {**platform.affinity[0]} == {"mlx5_0": "PXB", "mlx5_1": "SYS"}
    assert (platform.nics[1].numa_node, platform.gpus.count) == (1, 4)
    assert len(text.splitlines()) * 6 < len(platform.text.splitlines())


def test_a_site_may_have_the_earlier_schema(tmp_path):
    """The schema of the short form has nothing that only the long form uses."""
    folder = put(tmp_path / "thresholds", document())
    schema = json.loads((folder / "schema.json").read_text(encoding="utf-8"))
    del schema["$defs"]["complete"]
    (folder / "schema.json").write_text(json.dumps(schema), encoding="utf-8")
    assert thresholds.load("bench", folder).name == "bench"
