"""``railgauge metrics``: strict text, hostile names, broken files, one-step writing, dashboard."""

import json
import os
import re
import subprocess
import sys
from dataclasses import asdict
from datetime import datetime, timezone

import pytest
from testing.core_values import ROOT

from railgauge.core.model import Judgement, Outcome
from railgauge.core.terms import Rung, Verdict
from railgauge.diagnosis.model import Cause, Where
from railgauge.judging.record import ItemRecord
from railgauge.judging.stamp import Evidence
from railgauge.report import junit, openmetrics
from railgauge.report.lines import of_items
from railgauge.verdict.counts import RunVerdict, count, verdict_of

BEGAN = datetime(2026, 1, 31, 2, 0, tzinfo=timezone.utc)
START_S = 1769824800.0
_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"(,|$)')
_VALUE = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?")
_ESCAPED = {r"\\": "\\", r"\"": '"', r"\n": "\n"}


def parsed(text):
    """``{metric: {labels: value}}`` of an exposition that both formats allow."""
    assert text.endswith("# EOF\n")
    found, kinds, current = {}, {}, ""
    for line in text.split("\n")[:-2]:
        if line.startswith("# "):
            what, name, rest = line[2:].split(" ", 2)
            assert _NAME.fullmatch(name)
            assert rest
            seen = kinds.setdefault(name, [])
            seen.append(what)
            assert seen == ["TYPE", "UNIT", "HELP"][:1] + seen[1:]
            assert what != "TYPE" or rest == "gauge"  # 0.0.4 has no info and no stateset
            assert what != "UNIT" or name.endswith(f"_{rest}")
            assert "\\" not in rest
            assert what != "TYPE" or name not in found
            found.setdefault(name, {})
            current = name
        else:
            name, labels, value = point(line)
            assert name == current, "interleaved"
            assert labels not in found[name], f"twice: {line}"
            found[name][labels] = value
    assert all(k in (["TYPE", "HELP"], ["TYPE", "UNIT", "HELP"]) for k in kinds.values()), kinds
    return found


def point(line):
    name, _, rest = line.partition("{")
    inner, _, value = rest.rpartition("} ")
    assert _VALUE.fullmatch(value), line
    labels, at = {}, 0
    while at < len(inner):
        one = _LABEL.match(inner, at)
        assert one, line
        assert one[1] not in labels
        labels[one[1]] = re.sub(r"\\.", lambda e: _ESCAPED[e[0]], one[2])
        at = one.end()
    return name, frozenset(labels.items()), float(value)


def values(text, name, label):
    """``{value of one label: value}`` of a metric."""
    return {dict(labels)[label]: value for labels, value in parsed(text)[name].items()}


def item(number, outcome=Outcome.PASSED, margin=0.25, subject="host_write_bandwidth"):
    judged = Judgement(
        metric="bw_average", unit="Gb/s", outcome=outcome, measured="x", limit="y", basis="z",
        margin=margin,
    )  # fmt: skip
    return ItemRecord(f"t::{number}", Rung.NETWORK, subject, "", outcome, judgements=(judged,))


def cause(name="slow-nic", node="mx01", device="mlx5_0"):
    where = Where(node, device)
    return Cause(name, where, "says", (), (), "likely", "", "repair", "a basis")


def folder_of(
    path,
    items=(),
    causes=(),
    cluster="mine",
    software="0.3.0",
    *,
    began=BEGAN,
    evidence=Evidence.HARDWARE,
):
    """The folder of a run, its files written by what writes them in a run."""
    path.mkdir()
    records = {one.id: one for one in items or (item(1), item(2))}
    counts = count(records, records)
    verdict = RunVerdict(
        "20260131-020000-mine", cluster, "h200", evidence, "smoke", verdict_of(counts),
        counts, {}, {}, causes=causes,
    )  # fmt: skip
    put(path, "verdict.json", json.dumps(verdict.to_json()))
    put(path, "run.json", json.dumps({"schema_version": 2, "software": software}))
    lines = ({"schema_version": 2, **one.to_json()} for one in records.values())
    put(path, "records.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    session = junit.SessionInfo(began, 90.5, "host", "hardware")
    put(path, "junit.xml", junit.document(of_items(records), session))
    return path


def put(folder, name, text):
    (folder / name).write_text(text, encoding="utf-8")


def changed(folder, **more):
    data = json.loads((folder / "verdict.json").read_text(encoding="utf-8"))
    put(folder, "verdict.json", json.dumps({**data, **more}))
    return folder


def test_the_metrics_of_a_good_run_are_complete(railgauge, tmp_path):
    code, out, err = railgauge("metrics", folder_of(tmp_path / "run"))
    assert (code, err) == (0, "")
    assert values(out, "railgauge_verdict", "state") == {
        "accepted": 1, "accepted with deviations": 0, "rejected": 0, "incomplete": 0,
    }  # fmt: skip
    assert values(out, "railgauge_items", "outcome")["passed"] == 2
    assert values(out, "railgauge_run_start_time_seconds", "cluster") == {"mine": START_S}
    assert values(out, "railgauge_run_end_time_seconds", "cluster") == {"mine": START_S + 90.5}
    info = dict(*parsed(out)["railgauge_run_info"])
    assert info == {
        "cluster": "mine", "level": "smoke", "platform": "h200", "evidence": "hardware",
        "run_id": "20260131-020000-mine", "version": "0.3.0",
    }  # fmt: skip
    assert parsed(out)["railgauge_causes"] == {}


def test_deviations_are_counted_by_what_they_do(railgauge, tmp_path):
    run = folder_of(tmp_path / "run", (item(1, Outcome.FAILED, -0.4), item(2)))
    applied = {"state": "applied", "covers": ["1"], "says": "", "subject": "mx01"}
    data = json.loads((run / "verdict.json").read_text(encoding="utf-8"))
    (failed,) = (one.id for one in (item(1),))
    given = [{**applied, "covers": [failed]}, {**applied, "state": "expired", "covers": []}]
    assert data["verdict"] == "rejected"
    changed(run, verdict="accepted with deviations", deviations=given)
    code, out, _ = railgauge("metrics", run)
    assert code == 0
    assert values(out, "railgauge_verdict", "state")["accepted with deviations"] == 1
    counted = values(out, "railgauge_deviations", "state")
    assert (counted["applied"], counted["expired"], counted["matches nothing"]) == (1, 1, 0)
    changed(run, deviations=[{**applied, "covers": []}])
    code, _, err = railgauge("metrics", run)
    assert code == 2
    assert "does not follow from its counts" in err


def test_a_rejected_run_has_its_cause_and_the_worst_margin_of_each_subject(railgauge, tmp_path):
    items = (
        item(1, Outcome.FAILED, -0.4), item(2, margin=0.1), item(3, margin=0.2, subject="latency"),
    )  # fmt: skip
    _, out, _ = railgauge("metrics", folder_of(tmp_path / "run", items, (cause(), cause())))
    assert values(out, "railgauge_verdict", "state")["rejected"] == 1
    assert values(out, "railgauge_verdict", "state")["accepted"] == 0
    assert values(out, "railgauge_items", "outcome")["failed"] == 1
    assert values(out, "railgauge_causes", "node") == {"mx01": 2}
    margins = values(out, "railgauge_worst_margin_ratio", "subject")
    assert margins == {"host_write_bandwidth": -0.4, "latency": 0.2}


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ('a"} 1\nrailgauge_verdict{state="accepted"} 1', None),
        ("back\\slash", None),
        ("ends\\", None),
        ("\\n is not a newline", None),
        ("a\rb\x1b[2Jc\0", "a\ufffdb\ufffd[2Jc\ufffd"),
        ("half \ud800", "half \ufffd"),
        ("é世", None),
        ("x" * 10_000, "x" * 199 + "…"),
    ],
)
def test_names_of_a_run_forge_no_line(railgauge, tmp_path, name, shown):
    items = (item(1, Outcome.FAILED, -0.4, subject=name), item(2, subject="sound"))
    run = folder_of(tmp_path / "run", items, (cause("slow-nic", name, name),), "sound", name)
    (report,) = json.loads((run / "verdict.json").read_text(encoding="utf-8"))["causes"]
    changed(run, cluster=name, run_id=name, causes=[{**report, "cause": name}])
    _, out, _ = railgauge("metrics", run)
    due = name if shown is None else shown
    assert values(out, "railgauge_verdict", "state") == {
        "accepted": 0, "accepted with deviations": 0, "rejected": 1, "incomplete": 0,
    }  # fmt: skip
    for metric, label in (
        ("railgauge_verdict", "cluster"), ("railgauge_causes", "cause"),
        ("railgauge_causes", "node"), ("railgauge_run_info", "version"),
    ):  # fmt: skip
        assert set(values(out, metric, label)) == {due}
    assert set(values(out, "railgauge_worst_margin_ratio", "subject")) == {due, "sound"}


INVENTORY = """\
node,kind,name,address,slot,model,part_number,serial,uuid,firmware,odd,not_read
mx01,node,node,,,X,,SN-1,4c4c4544,1.2,,
mx01,gpu,gpu3,,,H200,,SN-3,GPU-604ac76c,96.00,,
mx01,nic,mlx5_0,,,CX7,,SN-7,0x0002c903000010ae,28.4,,
"""


def test_a_part_at_fault_has_the_names_that_other_exporters_know(railgauge, tmp_path):
    causes = (cause("slow-gpu", device="gpu3"), cause(), cause("slow-node", device=""),
              cause("slow-gpu", "mx02", "gpu3"))  # fmt: skip
    run = folder_of(tmp_path / "run", causes=causes)
    put(run, "inventory.csv", INVENTORY)
    found = [dict(labels) for labels in parsed(railgauge("metrics", run)[1])["railgauge_causes"]]
    assert [(one["cause"], one["UUID"], one["serial"]) for one in found] == [
        ("slow-gpu", "GPU-604ac76c", "SN-3"), ("slow-nic", "", "SN-7"), ("slow-node", "", "SN-1"),
        ("slow-gpu", "", ""),
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["", "node,kind\nmx01,gpu\n", "{", INVENTORY[:-60], "a\0b"])
def test_a_broken_inventory_is_one_line_or_gives_fewer_labels(railgauge, tmp_path, text):
    run = folder_of(tmp_path / "run", causes=(cause("slow-gpu", device="gpu3"),))
    put(run, "inventory.csv", text)
    code, out, err = railgauge("metrics", run)
    assert (code, out.count("\n") > 9) == ((0, True) if not err else (2, False))
    assert err.count("\n") <= 1
    assert not err or "inventory.csv: is no inventory of a run" in err


def test_names_that_look_alike_are_one_series(railgauge, tmp_path):
    causes = (cause(node="a\0"), cause(node="a\1"))
    _, out, _ = railgauge("metrics", folder_of(tmp_path / "run", causes=causes))
    assert values(out, "railgauge_causes", "node") == {"a\ufffd": 2}


def test_too_many_causes_and_subjects_are_left_out_and_counted(railgauge, tmp_path):
    items = [item(n, subject=f"s{n}", margin=n / 1000) for n in range(210)]
    causes = tuple(cause(node=f"n{n}") for n in range(57))
    _, out, _ = railgauge("metrics", folder_of(tmp_path / "run", items, causes))
    assert set(values(out, "railgauge_causes", "node")) == {f"n{n}" for n in range(50)}
    assert len(values(out, "railgauge_worst_margin_ratio", "subject")) == 200
    assert values(out, "railgauge_left_out", "of") == {"causes": 7, "subjects": 10}


@pytest.mark.parametrize("name", ["verdict.json", "run.json", "records.jsonl", "junit.xml"])
@pytest.mark.parametrize("text", [None, "", "{", "[]", "[" * 100_000, '{"schema_version": 99}'])
def test_a_missing_or_broken_file_is_one_line(railgauge, tmp_path, name, text):
    run, kept = folder_of(tmp_path / "run"), tmp_path / "out.prom"
    kept.write_text("earlier", encoding="utf-8")
    if text is None:
        (run / name).unlink()
    else:
        put(run, name, text)
    code, out, err = railgauge("metrics", run, "-o", kept)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert name in err
    assert kept.read_text(encoding="utf-8") == "earlier"


@pytest.mark.parametrize(
    "more",
    [
        {"verdict": "accepted"}, {"verdict": "fine"}, {"cluster": 1}, {"causes": [1]},
        {"causes": None}, {"causes": [{"cause": "x"}]}, {"counts": {}}, {"level": None},
    ],
)  # fmt: skip
def test_a_verdict_that_contradicts_itself_is_refused(railgauge, tmp_path, more):
    run = folder_of(tmp_path / "run", [item(1, Outcome.FAILED, -0.1)])
    assert railgauge("metrics", run)[0] == 0
    code, out, err = railgauge("metrics", changed(run, **more))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "verdict.json" in err


@pytest.mark.parametrize("counts", [{"passed": 3}, {"passed": 3, "not_run": -1}, {"planned": 1}])
def test_counts_that_do_not_add_up_are_refused(railgauge, tmp_path, counts):
    run = folder_of(tmp_path / "run")
    sound = json.loads((run / "verdict.json").read_text(encoding="utf-8"))["counts"]
    code, out, _ = railgauge("metrics", changed(run, counts={**sound, **counts}))
    assert (code, out) == (2, "")


@pytest.mark.parametrize(
    "head",
    [
        "<testsuites><testsuite/></testsuites>",
        '<testsuites><testsuite timestamp="2026-01-31T02:00:00" time="1"/></testsuites>',
        '<testsuites><testsuite timestamp="2026-01-31T02:00:00+00:00" time="nan"/></testsuites>',
        '<testsuites><testsuite timestamp="2026-01-31T02:00:00+00:00" time="-1"/></testsuites>',
        '<testsuites><testsuite timestamp="yesterday" time="1"/></testsuites>',
        '<!DOCTYPE t [<!ENTITY a "1">]><testsuites>'
        '<testsuite timestamp="2026-01-31T02:00:00+00:00" time="&a;"/></testsuites>',
    ],
)
def test_a_run_without_a_sound_time_is_refused(railgauge, tmp_path, head):
    run = folder_of(tmp_path / "run")
    put(run, "junit.xml", head)
    code, out, err = railgauge("metrics", run)
    assert (code, out) == (2, "")
    assert "junit.xml" in err


def test_the_file_is_replaced_in_one_step(railgauge, tmp_path, monkeypatch):
    """Whoever has the old file open reads it to its end: nothing is written into it."""
    kept = tmp_path / "textfile" / "railgauge-mine.prom"
    kept.parent.mkdir()
    kept.write_text("earlier", encoding="utf-8")
    run = folder_of(tmp_path / "run")
    with kept.open(encoding="utf-8") as reader:
        assert railgauge("metrics", run, "-o", kept) == (0, "", "")
        assert reader.read() == "earlier"
    assert kept.read_text(encoding="utf-8") == railgauge("metrics", run)[1]
    assert list(kept.parent.iterdir()) == [kept]

    def refuse(*_args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(kept), "replace", refuse)
    code, _, err = railgauge("metrics", run, "-o", kept)
    assert (code, err.count("\n")) == (2, 1)
    assert "No space left" in err
    assert [path.name for path in kept.parent.iterdir()] == [kept.name]


def test_json_holds_the_same_values(railgauge, tmp_path):
    run = folder_of(tmp_path / "run", causes=(cause(),))
    found = json.loads(railgauge("metrics", run, "--json")[1])
    expected = {
        family["name"]: {frozenset(p["labels"].items()): p["value"] for p in family["points"]}
        for family in found
    }
    assert expected == parsed(railgauge("metrics", run)[1])


def test_the_metrics_are_utf_8_in_any_locale(tmp_path):
    run = changed(folder_of(tmp_path / "run"), cluster="é")
    done = subprocess.run(
        [sys.executable, "-c", "from railgauge.cli import main; main()", "metrics", str(run)],
        capture_output=True, timeout=30, check=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )  # fmt: skip
    assert set(values(done.stdout.decode("utf-8"), "railgauge_verdict", "cluster")) == {"é"}


@pytest.fixture
def printed(tmp_path, railgauge):
    """``{metric: its labels}`` of a run that has all of them."""
    items = [item(1, Outcome.FAILED, -0.4)]
    out = railgauge("metrics", folder_of(tmp_path / "run", items, (cause(),)))[1]
    return {name: set(dict(next(iter(points)))) for name, points in parsed(out).items()}


def test_the_page_names_every_metric_and_label(printed):
    text = (ROOT / "docs" / "nightly.md").read_text(encoding="utf-8")
    page = text.partition("\n## Metrics for Prometheus")[2]
    for name, labels in printed.items():
        assert f"`{name}`" in page
        assert all(f"`{label}`" in page for label in labels)
    assert f"at most {openmetrics.MOST_CAUSES} " in page
    assert f"At most {openmetrics.MOST_SUBJECTS} " in page
    assert {str(one) for one in Verdict} <= set(re.findall(r"`([\w ]+)`", page))


def test_each_outcome_of_a_run_is_a_series(railgauge, tmp_path):
    run = folder_of(tmp_path / "run", [item(n, one) for n, one in enumerate(Outcome)])
    counted = values(railgauge("metrics", run)[1], "railgauge_items", "outcome")
    assert counted == {str(one): 1 for one in Outcome}
    assert asdict(count([], {})).keys() - {"planned", "asserted"} == counted.keys()
