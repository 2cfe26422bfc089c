"""Platform files: any damage is one error with file and JSON path."""

import copy
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from testing.core_values import (
    PLATFORMS,
    ROOT,
    document,
    limit_of,
    lines_of,
    measurement_of,
    put,
    with_gpus,
)

from railgauge.config import thresholds
from railgauge.core.errors import BadInput, ThresholdError
from railgauge.core.limits import Basis, Curve, Dispersion

LIMIT = "$/measurements/host_write_bandwidth/limits/0"


def load(tmp_path, doc, name="bench"):
    return thresholds.load(name, put(tmp_path / "thresholds", doc))


def refusal(tmp_path, doc, name="bench"):
    with pytest.raises(BadInput) as caught:
        load(tmp_path, doc, name)
    return "\n".join(lines_of(caught.value))


def changed(*steps, to):
    """The document with one place set to a value."""
    doc = document()
    place = doc
    for step in steps[:-1]:
        place = place[step]
    place[steps[-1]] = to
    return doc


def without(*steps):
    doc = document()
    place = doc
    for step in steps[:-1]:
        place = place[step]
    del place[steps[-1]]
    return doc


IN_LIMIT = ("measurements", "host_write_bandwidth", "limits", 0)
IN_NIC = ("hardware", "nics", 0)


def test_the_sound_document_is_read(tmp_path):
    platform = load(tmp_path, document())
    measurement = platform.measurements["host_write_bandwidth"]
    assert platform.path.endswith("bench.json")
    assert measurement.extents["signoff"].sizes == (65536, 1048576, 8388608)
    assert measurement.extents["signoff"].repeats == 3
    assert measurement.extents["smoke"].pairings == "all"
    assert measurement.limits[0].basis == Basis("derived", "made up for a test")
    assert measurement.limits[0].pointer == LIMIT[1:]
    assert platform.expected["memlock"].rule == "equals"
    assert platform.nics[0].data_rate_gbps == platform.nics[0].rate_gbps == 400


def test_every_part_of_a_limit_is_kept(tmp_path):
    doc = document()
    limit_of(doc).update(
        floor={"curve": {"8MiB": 372, "64KiB": 340}},
        ceiling=399,
        marginal=0.01,
        dispersion={"cv_max": 0.02, "groups_apart_max": 0.05},
        sizes=["64KiB", "8MiB"],
        pairings=["host"],
        record_only=True,
    )
    limit = load(tmp_path, doc).measurements["host_write_bandwidth"].limits[0]
    assert limit.floor == Curve(((65536, 340.0), (8388608, 372.0)))
    assert (limit.ceiling, limit.marginal, limit.record_only) == (399.0, 0.01, True)
    assert limit.dispersion == Dispersion(cv_max=0.02, groups_apart_max=0.05)
    assert (limit.sizes, limit.pairings) == ((65536, 8388608), ("host",))


@pytest.mark.parametrize(
    ("doc", "path", "says"),
    [
        (without(*IN_LIMIT, "basis"), LIMIT, "'basis' is missing"),
        (without(*IN_NIC, "basis"), "$/hardware/nics/0", "'basis' is missing"),
        (without("expected", "memlock", "basis"), "$/expected/memlock", "basis"),
        (changed(*IN_LIMIT, "basis", "says", to=""), f"{LIMIT}/basis/says", "short"),
        (changed(*IN_LIMIT, "basis", "source", to="a feeling"), f"{LIMIT}/basis/source", "allowed"),
        (changed(*IN_LIMIT, "flor", to=1), f"{LIMIT}/flor", "unknown key 'flor'"),
        (changed("platfrom", to="x"), "$/platfrom", "unknown key 'platfrom'"),
        (changed(*IN_LIMIT, "floor", to=-1), f"{LIMIT}/floor", "-1 is less than"),
        (changed(*IN_LIMIT, "floor", to=0), f"{LIMIT}/floor", "0 is less than"),
        (changed(*IN_LIMIT, "floor", to="300"), f"{LIMIT}/floor", "300"),
        (changed(*IN_LIMIT, "floor", to=True), f"{LIMIT}/floor", "true"),
        (changed(*IN_LIMIT, "floor", to={"curve": {"8MiB": 1}}), f"{LIMIT}/floor/curve", ""),
        (changed(*IN_LIMIT, "marginal", to=1.5), f"{LIMIT}/marginal", "1.5"),
        (changed(*IN_LIMIT, "dispersion", to={}), f"{LIMIT}/dispersion", ""),
        (
            changed(*IN_LIMIT, "dispersion", to={"groups_apart_max": 1}),
            f"{LIMIT}/dispersion/groups_apart_max",
            "",
        ),
        (changed(*IN_LIMIT, "sizes", to=["64KiB"]), f"{LIMIT}/sizes", ""),
        (changed(*IN_LIMIT, "sizes", to=["64 KB", "8MiB"]), f"{LIMIT}/sizes/0", "64 KB"),
        (without(*IN_LIMIT, "floor"), LIMIT, ""),
        (changed("schema_version", to=2), "$/schema_version", "1"),
        (changed("expected", "memlock", "at_least", to=1), "$/expected/memlock", ""),
        (changed(*IN_NIC, "link_layer", to="Token Ring"), "$/hardware/nics/0/link_layer", "one of"),
        (changed("hardware", "nics", to=[]), "$/hardware/nics", ""),
        (without("levels", "signoff"), "$/levels", "'signoff' is missing"),
        ([], "$", "type object"),
        ("null", "$", "type object"),
        (changed("platform", to="other"), "$/platform", "is 'other', but the file is named"),
    ],
)  # fmt: skip
def test_damage_is_named_with_file_and_path(tmp_path, doc, path, says):
    message = refusal(tmp_path, doc)
    assert "bench.json" in message
    assert f": {path}:" in message
    assert says in message


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not valid JSON"),
        ("", "not valid JSON"),
        ('{"platform": "bench" "title": "x"}', "not valid JSON"),
        ('{"platform": "a", "platform": "b"}', "key 'platform' is given twice"),
        ("[" * 100_000, "not valid JSON"),
    ],
)
def test_text_that_is_no_json_is_refused(tmp_path, text, says):
    message = refusal(tmp_path, text)
    assert says in message
    assert "bench.json" in message


@pytest.mark.parametrize("literal", ["NaN", "Infinity", "-Infinity", "1e999", "1" + "0" * 400])
@pytest.mark.parametrize("key", ["floor", "ceiling"])
def test_a_limit_that_no_value_can_miss_or_meet_is_refused(tmp_path, literal, key):
    text = json.dumps(changed(*IN_LIMIT, key, to="@")).replace('"@"', literal)
    assert "not a number that a limit can have" in refusal(tmp_path, text)


def test_a_limit_given_twice_under_one_key_does_not_vanish(tmp_path):
    text = json.dumps(document()).replace('"floor": 300', '"floor": 300, "floor": 1')
    assert "key 'floor' is given twice" in refusal(tmp_path, text)


def test_two_points_of_a_curve_at_one_size_are_refused(tmp_path):
    doc = changed(*IN_LIMIT, "floor", to={"curve": {"1MiB": 300, "1024KiB": 200, "8MiB": 300}})
    message = refusal(tmp_path, doc)
    assert "two points of the curve are at the same size" in message
    assert LIMIT in message


@pytest.mark.parametrize("sizes", [["8MiB", "64KiB"], ["1MiB", "1024KiB"]])
def test_sizes_of_a_level_must_rise(tmp_path, sizes):
    doc = document()
    measurement_of(doc)["levels"]["smoke"]["sizes"] = sizes
    assert "sizes must rise" in refusal(tmp_path, doc)


def test_nothing_is_measured_or_limited_at_size_0(tmp_path):
    curve = changed(*IN_LIMIT, "floor", to={"curve": {"0B": 1, "8MiB": 300}})
    assert "0B" in refusal(tmp_path, curve)
    doc = document()
    measurement_of(doc)["levels"]["smoke"]["sizes"] = ["0B", "8MiB"]
    assert "0B" in refusal(tmp_path, doc)


def test_gpus_must_be_declared_whole(tmp_path):
    doc = with_gpus(document())
    doc["hardware"]["gpus"]["bus_ids"] = ["0000:08:00.0"]
    assert "1 bus ids for 2 GPUs" in refusal(tmp_path, doc)
    doc = with_gpus(document())
    del doc["hardware"]["affinity"]["1"]
    assert "GPU 1 has no link to mlx5_0" in refusal(tmp_path, doc)


def test_an_unknown_platform_names_the_known_ones(tmp_path):
    put(tmp_path / "thresholds", document(), "a100")
    message = refusal(tmp_path, document(), "bnech")
    assert "unknown platform 'bnech'" in message
    assert "known: a100, bench" in message


def test_a_folder_without_platforms_asks_for_the_root(tmp_path):
    with pytest.raises(ThresholdError, match="--root"):
        thresholds.load("bench", tmp_path)


def test_a_missing_or_damaged_schema_is_reported(tmp_path):
    folder = put(tmp_path / "thresholds", document())
    (folder / "schema.json").write_text("{", encoding="utf-8")
    with pytest.raises(BadInput, match=r"schema\.json"):
        thresholds.load("bench", folder)
    (folder / "schema.json").unlink()
    with pytest.raises(BadInput, match="cannot read the schema"):
        thresholds.load("bench", folder)


def test_a_changed_schema_is_checked_again(tmp_path):
    """Equal documents are checked once, but not against another schema, nor is a finding lost."""
    folder = put(tmp_path / "thresholds", document())
    schema = json.loads((folder / "schema.json").read_text(encoding="utf-8"))
    thresholds.load("bench", folder)
    strict = {**schema, "required": [*schema.get("required", ()), "owner"]}
    (folder / "schema.json").write_text(json.dumps(strict), encoding="utf-8")
    for _ in range(2):
        with pytest.raises(BadInput, match="'owner' is missing"):
            thresholds.load("bench", folder)
    (folder / "schema.json").write_text(json.dumps(schema), encoding="utf-8")
    assert thresholds.load("bench", folder).name == "bench"


def test_a_file_that_is_not_text_is_refused(tmp_path):
    folder = put(tmp_path / "thresholds", document())
    (folder / "bench.json").write_bytes(b"\xff\xfe\x00{")
    with pytest.raises(ThresholdError, match="not valid JSON"):
        thresholds.load("bench", folder)


@pytest.mark.parametrize("name", PLATFORMS)
def test_the_real_platforms_are_read(name):
    platform = thresholds.load(name, ROOT / "thresholds")
    assert platform.measurements
    assert platform.expected


def test_every_platform_file_is_among_those_tested():
    assert set(PLATFORMS) <= set(thresholds.available(ROOT / "thresholds"))


def _places(value, path=()):
    """Every location of a document, outermost first."""
    yield path
    if isinstance(value, dict):
        for key, entry in value.items():
            yield from _places(entry, (*path, key))
    if isinstance(value, list):
        for index, entry in enumerate(value):
            yield from _places(entry, (*path, index))


PLACES = [place for place in _places(document()) if place]
JUNK = [None, "", "x", 0, -1, 10**400, [], {}, True, ["8MiB"], {"curve": {}}, {"a": 1}]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(st.sampled_from(PLACES), st.sampled_from(JUNK))
def test_junk_in_any_place_is_read_or_refused_without_a_traceback(tmp_path, place, junk):
    doc = copy.deepcopy(document())
    inner = doc
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = junk
    try:
        platform = load(tmp_path, doc)
        list(thresholds.uncovered(platform))
    except BadInput:
        return


def test_the_package_has_a_current_copy_of_the_schema():
    """A bundle can be verified without a project folder."""
    package = Path(thresholds.__file__).with_name("schema.json")
    assert package.read_bytes() == (ROOT / "thresholds" / "schema.json").read_bytes()
