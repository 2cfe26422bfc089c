"""``railgauge triage``: its formats, its exit codes, and one line for what is no run."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest
from testing.core_values import one_line

from railgauge.core.terms import Verdict
from railgauge.diagnosis import CATALOGUE, OPEN, Cause
from railgauge.diagnosis.model import Where

NODES = [{"name": f"n{n}", "address": f"10.0.0.{n}", "data_address": "a"} for n in (1, 2, 3)]
CLUSTER = {"name": "prod", "platform": "bench", "transport": "ssh", "source": "x", "nodes": NODES}
FORMATS = ("table", "csv", "slurm", "kubernetes", "npd")


def cause(name, node, device="", confidence="certain"):
    remedy = CATALOGUE[name].remedy
    where = Where(node, device)
    return Cause(name, where, "why", ("a",), (), confidence, "", remedy, "001: x").to_json()


CAUSES = [
    cause("link-down", "n2", "mlx5_0"),
    cause("cpu-governor", "n[1-2]"),
    cause("slow-node", "n1|n3", confidence=OPEN),
]


@pytest.fixture
def run_folder(tmp_path):
    """``run_folder(**changes)``: the folder of a run with three causes."""

    def write(**changes):
        folder = tmp_path / "reports" / "20260131-020000-prod"
        folder.mkdir(parents=True, exist_ok=True)
        data = {
            "schema_version": 2, "run_id": folder.name, "cluster": "prod", "platform": "bench",
            "evidence": "hardware", "level": "smoke", "verdict": "rejected", "causes": CAUSES,
            "counts": {}, "coverage": {}, "unknown": [],
        }  # fmt: skip
        (folder / "verdict.json").write_text(json.dumps({**data, **changes}), encoding="utf-8")
        (folder / "cluster.json").write_text(json.dumps(CLUSTER), encoding="utf-8")
        latest = folder.parent / "latest"
        latest.unlink(missing_ok=True)
        latest.symlink_to(folder.name)
        return folder

    return write


def test_the_table_lists_what_to_do_at_each_node(railgauge, run_folder):
    code, out, err = railgauge("triage", run_folder())
    assert (code, err) == (1, "")
    assert out.splitlines() == [
        "prod (bench), level smoke: REJECTED, run 20260131-020000-prod",
        "",
        "NODE    SEVERITY  ACTION             CAUSE         PART",
        "n2      critical  repair the link    link-down     mlx5_0",
        f"    do: {CATALOGUE['link-down'].remedy}",
        "n[1-2]  minor     correct a setting  cpu-governor",
        f"    do: {CATALOGUE['cpu-governor'].remedy}",
        "",
        "critical: the part does not work, or its results are wrong: jobs fail there",
        "minor: costs nothing that was measured, or little: it can wait for the next maintenance",
        "1 cause is left out: several parts are suspects, see --suspects",
    ]


def test_the_newest_run_is_the_default_and_a_verdict_alone_is_enough(railgauge, run_folder):
    folder = run_folder()
    named = railgauge("triage", folder)
    assert railgauge("triage", "--root", folder.parents[1]) == named
    code, out, _ = railgauge("triage", folder / "verdict.json")
    assert code == 1
    assert out.splitlines()[:7] == named[1].splitlines()[:7]
    assert "the nodes of the cluster are not in verdict.json" in out


def test_suspects_are_listed_on_demand_and_marked(railgauge, run_folder):
    out = railgauge("triage", run_folder(), "--suspects")[1]
    assert re.search(r"^n1 or n3 +major +drain +slow-node \(suspect\)$", out, re.MULTILINE)
    assert "left out" not in out
    slurm = railgauge("triage", run_folder(), "--suspects", "--format", "slurm")[1]
    assert [line for line in slurm.splitlines() if line[0] != "#"] == [
        "scontrol update nodename=n2 state=drain "
        "reason='railgauge: link-down mlx5_0, run 20260131-020000-prod'"
    ]


def test_csv_has_a_row_for_each_cause_at_each_node(railgauge, run_folder):
    out = railgauge("triage", run_folder(), "--format", "csv", "--suspects")[1]
    rows = [(r["node"], r["cause"], r["suspect"]) for r in csv.DictReader(io.StringIO(out))]
    assert rows == [
        ("n2", "link-down", "no"), ("n1", "slow-node", "yes"), ("n3", "slow-node", "yes"),
        ("n1", "cpu-governor", "no"), ("n2", "cpu-governor", "no"),
    ]  # fmt: skip


def test_csv_prints_on_stderr_what_is_left_out(railgauge, run_folder):
    _, out, err = railgauge("triage", run_folder(), "--format", "csv")
    assert "1 cause is left out: several parts are suspects" in err
    assert "left out" not in out


def test_kubernetes_nodes_are_cordoned(railgauge, run_folder):
    out = railgauge("triage", run_folder(), "--format", "kubernetes")[1]
    assert [line for line in out.splitlines() if line[0] != "#"] == ["kubectl cordon n2"]


def test_json_has_the_same_as_plain_data(railgauge, run_folder):
    code, out, _ = railgauge("triage", run_folder(), "--json")
    data = json.loads(out)
    assert code == 1
    assert [(one["node"], one["cause"], one["drain"]) for one in data["causes"]] == [
        ("n2", "link-down", True), ("n1", "cpu-governor", False), ("n2", "cpu-governor", False),
    ]  # fmt: skip
    assert (data["left_out"], data["without_cause"]) == (1, [])
    for row in data["causes"]:
        assert data["severities"][row["severity"]]
        assert data["actions"][row["action"]]


@pytest.mark.parametrize("verdict", Verdict)
@pytest.mark.parametrize("form", FORMATS)
def test_the_exit_code_is_that_of_the_verdict(railgauge, run_folder, verdict, form):
    assert (
        railgauge("triage", run_folder(verdict=verdict), "--format", form)[0] == verdict.exit_code
    )


def test_an_accepted_run_has_nothing_to_do(railgauge, run_folder):
    code, out, _ = railgauge("triage", run_folder(verdict="accepted", causes=[]))
    assert code == 0
    assert "no cause at a single node" in out
    assert "no cause at n[1-3]" in out


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"causes": {}}, "causes: should be a list"),
        ({"causes": ["x"]}, "causes[0]: should be an object"),
        ({"causes": [{**CAUSES[0], "where": "n1"}]}, "causes[0]: where: should be an object"),
        ({"causes": [{**CAUSES[0], "severity": "doom"}]}, "severity: 'doom' is none of critical"),
        ({"causes": [{**CAUSES[0], "action": "rm"}]}, "action: 'rm' is none of drain"),
        ({"causes": [{**CAUSES[0], "remedy": 3}]}, "causes[0]: remedy: should be text"),
        ({"causes": [{}]}, "causes[0]: "),
        ({"unknown": [{"nodes": "n1", "what": "x", "why": "y"}]}, "unknown[0]: what: should be"),
        ({"verdict": "splendid"}, "verdict: 'splendid' is none of accepted"),
        ({"verdict": None}, "verdict.json: verdict: "),
        ({"run_id": 3}, "verdict.json: run_id: should be text"),
    ],
)
def test_a_verdict_that_is_none_gives_one_line(railgauge, run_folder, change, expected):
    code, out, err = railgauge("triage", run_folder(**change))
    assert (code, out) == (2, "")
    assert expected in one_line(err)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", "is no JSON"), ("[]", "is no object"), ("3", "is no object"), ("{", "is no JSON"),
     ('"too large"', "is no object"), ("[" * 100_000, "is no JSON"), ("\xff", "is no JSON")],
)  # fmt: skip
@pytest.mark.parametrize("name", ["verdict.json", "cluster.json"])
def test_a_file_that_is_no_object_gives_one_line(railgauge, run_folder, name, text, expected):
    folder = run_folder()
    (folder / name).write_bytes(text.encode("latin-1"))
    code, out, err = railgauge("triage", folder)
    assert (code, out) == (2, "")
    assert expected in one_line(err)
    assert name in err


def test_a_run_without_a_verdict_gives_one_line_with_the_remedy(railgauge, run_folder, tmp_path):
    folder = run_folder()
    (folder / "verdict.json").unlink()
    for path in (folder, tmp_path / "gone"):
        code, out, err = railgauge("triage", path)
        assert (code, out) == (2, "")
        assert "a run that reached a verdict" in one_line(err)


def test_a_huge_verdict_is_not_read(railgauge, run_folder, monkeypatch):
    monkeypatch.setattr("railgauge.report.triage.reading._MOST_BYTES", 100)
    code, _, err = railgauge("triage", run_folder())
    assert code == 2
    assert "is larger than 0 MiB" in one_line(err)


def test_json_and_a_format_exclude_each_other(railgauge, run_folder):
    code, out, err = railgauge("triage", run_folder(), "--json", "--format", "csv")
    assert (code, out) == (2, "")
    assert "--json and --format exclude each other" in one_line(err)
