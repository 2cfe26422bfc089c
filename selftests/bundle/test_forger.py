"""A forger with a trusted key: verify still detects what was not measured.

Every bundle here is whole: hashes, lines of measurements, verdict, statement and signature were
made anew from what was forged, by the suite's own code.
"""

from __future__ import annotations

import json

import pytest
from testing import bundle_bench as bench
from testing import forger_bench as forger
from testing.bundle_bench import edit_records
from testing.forger_bench import edited, of, transcripts, without_unused

from railgauge.planning.pairing import ALTERNATING

STATE = "test_nics.py::test_port_state[{}-mlx5_0]"
FACTS = "run/environment.json"
LAYER = "test_nics.py::test_link_layer[{}-mlx5_0]"
HOSTS = bench.HOSTS


def test_an_unchanged_bundle_of_the_forger_is_accepted(healthy, refused, verify, tmp_path):
    """A rebuilt bundle without a forgery verifies, so the refusals below are due to the forgery."""
    path = forger.sealed(healthy.path, tmp_path / "b", refused.key, lambda content: None)
    code, out, _ = verify(path, "--key", refused.public)
    assert (code, "accepted: it stands" in out) == (0, True)


def test_two_names_of_one_machine_contradict_the_records(healthy, refused, verify, tmp_path):
    def change(environment):
        nodes = environment["nodes"]
        nodes["viper"]["facts"]["boot_id"] = nodes["columbia"]["facts"]["boot_id"]

    path = forger.sealed(healthy.path, tmp_path / "b", refused.key, edited(FACTS, change))
    code, out, err = verify(path, "--key", refused.public)
    assert code not in (0, 11)
    assert "test_boot_id[viper]" in out + err
    code, out, _ = verify(healthy.path)
    assert (code, "ONE MACHINE" in out) == (0, False)


def test_a_fact_that_was_taken_out_leaves_its_item_without_evidence(
    healthy, refused, verify, tmp_path
):
    """Facts of earlier versions lack it; a run that was asked for it does not."""

    def change(environment):
        del environment["nodes"]["viper"]["facts"]["clock_offset_s"]

    path = forger.sealed(healthy.path, tmp_path / "b", refused.key, edited(FACTS, change))
    code, out, err = verify(path, "--key", refused.public)
    assert code not in (0, 11)
    assert "test_clock[viper]" in out + err


# --- records ---


def copied(records, *, fitted=()):
    """Every failed item gets the record of a passed one."""
    good = of(records, STATE.format("columbia"))
    for bad in records:
        if bad["outcome"] != "passed":
            kept = {name: bad[name] for name in ("id", *fitted)}
            bad.update({**json.loads(json.dumps(good)), **kept})


ABOUT = ("rung", "subject", "title", "nodes", "pairing", "size_bytes")


@pytest.mark.parametrize(
    ("fitted", "why"),
    [((), "has the record of columbia-mlx5_0"), (ABOUT, "asks for a ")],
    ids=["as it is", "fitted"],
)
def test_copies_of_a_record_that_passed_are_refused(red, refused, fitted, why):
    def change(content):
        edit_records(lambda records: copied(records, fitted=fitted))(content)
        without_unused(content)

    message = refused(red, change)
    assert "run/records.jsonl: tests/" in message
    assert why in message


def another_question(records):
    """The node whose port is down is asked only for values that it still has."""
    bad, good = of(records, STATE.format("viper")), of(records, LAYER.format("viper"))
    bad.update({**good, "id": bad["id"]})


def the_same_question(records):
    for host in HOSTS:
        bad, good = of(records, STATE.format(host)), of(records, LAYER.format(host))
        bad.update({**good, "id": bad["id"]})


def another_path(records):
    for host in HOSTS:
        fact = of(records, STATE.format(host))["questions"][0]["fact"]
        fact["paths"] = ["nics.mlx5_0.physical_state"]


def another_port(records):
    fact = of(records, STATE.format("viper"))["questions"][0]["fact"]
    fact["paths"] = ["nics.mlx5_1.port_state"]


def on_another_rung(records):
    for one in records:
        if "::test_port_state[" in one["id"]:
            one["rung"] = 1


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (another_question, "but other items of its test are not"),
        (the_same_question, "asks the same as tests/preflight/test_nics.py::test_"),
        (another_path, "asks for nics.mlx5_0.physical_state, which is not port_state"),
        (another_port, "which is not port_state of mlx5_0"),
        (on_another_rung, "is on rung 1, but its subject is on rung 0"),
    ],
)
def test_an_item_that_asks_something_else_is_refused(red, refused, change, why):
    assert why in refused(red, edit_records(change))


def the_other_way(records):
    """The pair that the level measures, in the direction that it measures."""
    for one in records:
        if one["nodes"] == ["viper", "columbia"] or one["nodes"] == ["columbia", "viper"]:
            a, b = one["nodes"]
            one["nodes"] = [b, a]
            one["id"] = one["id"].replace(f"{a}:{b}", f"{b}:{a}")
            for question in one["questions"]:
                question["case"]["nodes"] = [b, a]


def without_size(records):
    for one in records:
        if "::test_bandwidth[host_write_bandwidth-" in one["id"]:
            one["questions"][-1]["size_bytes"] = None


def of_another_member(records):
    """A member of a family gets the record of another one, under its own id."""
    for one in records:
        if "::test_bandwidth[host_write_bandwidth-" in one["id"]:
            like = one["id"].replace("host_write_bandwidth", "host_read_bandwidth")
            one.update({**of(records, like), "id": one["id"]})


def another_text(records):
    one, two, *_ = [r for r in records if "::test_bandwidth[host_write_bandwidth-" in r["id"]]
    one["transcript"] = two["transcript"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (the_other_way, "asks for a measurement that level smoke does not make there"),
        (without_size, "asks for a measurement that it is not about"),
        (of_another_member, "has the record of "),
        (another_text, "links to transcripts/host_write_bandwidth_"),
    ],
)
def test_an_item_that_was_measured_elsewhere_is_refused(healthy, refused, change, why):
    def both(content):
        edit_records(change)(content)
        known = [json.loads(line)["id"] for line in content[forger.RECORDS].splitlines()]
        edited("run/run.json", lambda run: run.update(planned=known))(content)

    assert why in refused(healthy, both)


# --- transcripts ---


def two_of(content, word):
    one, two, *_ = [name for name in transcripts(content) if f"/{word}_" in name]
    return one, two


def swapped(content):
    """Two pairs swap their transcripts; each file keeps the name of its case."""
    one, two = two_of(content, "host_write_bandwidth")
    a, b = json.loads(content[one]), json.loads(content[two])
    a["runs"], b["runs"] = b["runs"], a["runs"]
    content[one], content[two] = (json.dumps(data).encode() for data in (a, b))


def copied_runs(content):
    """The output of one pair, under the commands of the other pair."""
    one, two = two_of(content, "host_write_bandwidth")
    a, b = json.loads(content[one]), json.loads(content[two])
    for good, bad in zip(a["runs"], b["runs"], strict=True):
        for from_, to in zip(good, bad, strict=True):
            to.update({name: from_[name] for name in ("stdout", "started_at", "duration_s")})
    content[two] = json.dumps(b).encode()


def other_word(content):
    name = two_of(content, "host_write_bandwidth")[0]
    data = json.loads(content[name])
    data["runs"][0][0]["argv"].insert(1, "--connection=UD")
    content[name] = json.dumps(data).encode()


def other_environment(content):
    name = two_of(content, "host_write_bandwidth")[0]
    data = json.loads(content[name])
    data["runs"][0][0]["environment"]["MLX5_SINGLE_THREADED"] = "1"
    content[name] = json.dumps(data).encode()


def other_reading(role):
    """Another command in place of the last one with this role."""

    def forge(content):
        name = two_of(content, "host_write_bandwidth")[0]
        data = json.loads(content[name])
        (*_, last) = (one for one in data["runs"][0] if one["role"] == role)
        last["argv"][-1] = "/elsewhere"
        content[name] = json.dumps(data).encode()

    return forge


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (swapped, "(run 1) is not the command of host_write_bandwidth["),
        (copied_runs, "has the same output as run/transcripts/host_write_bandwidth_"),
        (other_word, "--connection=UD"),
        (other_environment, "is not the command of host_write_bandwidth["),
        (other_reading("counters-after"), "does not read the counters of "),
        (other_reading("control-host"), "does not read the load of the control host once"),
    ],
)
def test_transcripts_of_something_else_are_refused(healthy, refused, change, why):
    message = refused(healthy, change)
    assert "NOT VERIFIED: run/transcripts/host_write_bandwidth_" in message
    assert why in message


# --- the plan of the run ---


def without_a_pair(content):
    """The pair is removed from the plan, the records and the transcripts."""
    gone = "columbia:viper" if b"columbia:viper" in content[forger.RECORDS] else "viper:columbia"
    edit_records(lambda records: _take_out(records, gone))(content)
    planned = [json.loads(line)["id"] for line in content[forger.RECORDS].splitlines()]
    edited("run/run.json", lambda run: run.update(planned=planned))(content)
    for name in transcripts(content):
        if gone in json.loads(content[name])["case"]["key"]:
            del content[name]


def _take_out(records, gone):
    records[:] = [one for one in records if gone not in one["id"]]


def test_a_pair_that_is_left_out_of_the_plan_is_missed(healthy, refused):
    assert "which the level requires" in refused(healthy, without_a_pair)


def test_directions_of_another_scheme_are_refused(healthy, refused):
    """An earlier version chose other directions; its scheme does not fit the pairs of this run."""
    change = edited("run/run.json", lambda run: run.update(directions=ALTERNATING))
    assert "asks for a measurement that level smoke does not make there" in refused(healthy, change)


@pytest.mark.parametrize("level", ["nightly", "signoff"])
def test_a_level_that_was_not_measured_is_refused(healthy, refused, level):
    message = refused(healthy, edited("run/run.json", lambda run: run.update(level=level)))
    assert f"level {level}" in message


# --- evidence ---


def everywhere(content):
    edited("run/run.json", lambda run: run.update(evidence="hardware"))(content)
    edited("run/environment.json", lambda found: found.update(evidence="hardware"))(content)


def one_more_node(content):
    """A fact that must be alike is compared with the value of most nodes."""
    edited(FACTS, lambda d: d["nodes"].update(zeus=d["nodes"]["viper"]))(content)


def no_node(content):
    edited(FACTS, lambda d: d["nodes"].pop("columbia"))(content)


def others_facts(content):
    edited(FACTS, lambda d: d["nodes"].update(viper=d["nodes"]["columbia"]))(content)


def in_a_line(content):
    content[forger.MEASUREMENTS] = content[forger.MEASUREMENTS].replace(
        b'"evidence": "simulated"', b'"evidence": "hardware"', 1
    )


@pytest.mark.parametrize(
    ("change", "after", "why"),
    [
        (everywhere, None, "run/run.json: claims hardware evidence, but by the facts of its nodes"),
        (
            edited("run/environment.json", lambda found: found.update(evidence="hardware")),
            None,
            "run/environment.json: has evidence 'hardware', but the run has 'simulated'",
        ),
        (
            edited("run/environment.json", lambda found: found.update(cluster="another")),
            None,
            "run/environment.json: has cluster 'another', but the run has 'lab-conn",
        ),
        (one_more_node, None, "run/environment.json: has a node outside the cluster: 'zeus'"),
        (no_node, None, "run/environment.json: lacks a node of the cluster: 'columbia'"),
        (others_facts, None, "has the facts of 'columbia' under the name 'viper'"),
        (
            lambda content: None,
            in_a_line,
            "run/measurements.jsonl: has lines that differ from the record of tests/",
        ),
    ],
)
def test_a_stamp_that_is_not_the_nodes_own_is_refused(healthy, refused, change, after, why):
    assert why in refused(healthy, change, after=after or (lambda content: None))


def a_value(lines):
    lines[0]["measured"] = "much better"


def fewer(lines):
    del lines[0]


def surplus(lines):
    lines.append({**lines[0], "id": "tests/x.py::test_y[z]"})


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (a_value, "has lines that differ from the record of tests/"),
        (fewer, "has "),
        (surplus, "has lines of tests/x.py::test_y[z], which was not planned"),
    ],
)
def test_measurements_without_a_record_are_refused(healthy, refused, change, why):
    def after(content):
        lines = [json.loads(line) for line in content[forger.MEASUREMENTS].splitlines()]
        change(lines)
        content[forger.MEASUREMENTS] = "".join(json.dumps(one) + "\n" for one in lines).encode()

    message = refused(healthy, lambda content: None, after=after)
    assert f"run/measurements.jsonl: {why}" in message


# --- hostile ---


@pytest.mark.parametrize(
    "suspects",
    [["a[0-999999999]"], ["viper|prometheus"], ["nobody"], ["prometheus", "prometheus2"]],
)
def test_a_suspect_outside_its_measurement_is_refused(red, verify, tmp_path, suspects):
    def change(content):
        records = [json.loads(line) for line in content[forger.RECORDS].splitlines()]
        asked = next(q for r in records for q in r["questions"] if q["kind"] == "limits")
        line = {"suspects": suspects, "question": asked}
        content["run/confirmations.jsonl"] = (json.dumps(line) + "\n").encode()

    code, out, err = verify(bench.forged(red.path, tmp_path / "b", change))
    assert (code, out) == (1, "")
    assert err.startswith("railgauge: NOT VERIFIED: run/confirmations.jsonl: ")


def test_a_request_of_an_earlier_version_is_read_and_its_cause_left_out(red, verify, tmp_path):
    """A request of an earlier version named the cause to confirm, which is no longer used."""

    def change(content):
        records = [json.loads(line) for line in content[forger.RECORDS].splitlines()]
        asked = next(q for r in records for q in r["questions"] if q["kind"] == "limits")
        line = {"suspects": asked["case"]["nodes"][:1], "question": asked}
        line |= dict.fromkeys(("cause", "node", "device", "peer"), "a[0-999999999]")
        content["run/confirmations.jsonl"] = (json.dumps(line) + "\n").encode()

    code, out, err = verify(bench.forged(red.path, tmp_path / "b", change))
    assert (code, err) == (1, "")
    assert "rejected" in out
