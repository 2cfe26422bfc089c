"""Triage of hand-made verdicts: what is listed where, what is drained, and hostile text."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from testing.node_conditions import conditions

from railgauge.core.errors import BadInput
from railgauge.diagnosis.catalogue import CATALOGUE
from railgauge.diagnosis.catalogue.kind import AMONG_NODES
from railgauge.diagnosis.left_open.unplanned import OUTSIDE, not_asked
from railgauge.report.triage import cells, commands, printed
from railgauge.report.triage.reading import read
from railgauge.report.triage.sheet import TriageSheet, sheet

HEAD = {
    "run_id": "20260131-020000-prod", "cluster": "prod", "platform": "bench",
    "evidence": "hardware", "level": "smoke", "verdict": "rejected",
}  # fmt: skip
NODES = ("n1", "n2", "n3", "n4")


def cause(name: str, node: str, device: str = "", peer: str = "", **changes: Any) -> dict[str, Any]:
    kind = CATALOGUE.get(name)
    own = {} if kind is None else {"severity": kind.severity, "action": kind.action}
    where = {"node": node, "device": device, "peer": peer}
    fields = {"says": "why it is so", "confidence": "certain", "remedy": "do it", "basis": "001: x"}
    return {"cause": name, "where": where, **own, **fields, **changes}


def unknown(nodes: str, why: str, *what: str) -> dict[str, Any]:
    return {"nodes": nodes, "what": list(what or ("the paths",)), "why": why}


SUSPECT = cause("slow-nic", "n1|n2", "mlx5_0", confidence="open")
BLOCKED = unknown("n[2-3]", "blocked by link-down (n1, mlx5_0)")


def sheet_of(
    folder: Path,
    *causes: dict[str, Any],
    open_: tuple[dict[str, Any], ...] = (),
    nodes: tuple[str, ...] | None = None,
    suspects: bool = False,
    **head: Any,
) -> TriageSheet:
    data = {**HEAD, "causes": causes, "unknown": open_, **head}
    (folder / "verdict.json").write_text(json.dumps(data), encoding="utf-8")
    made = sheet(read(folder), suspects=suspects)
    if nodes is None:
        return made
    run = read(folder)
    return sheet(type(run)(run.run, run.causes, run.unknown, nodes), suspects=suspects)


def places(made: TriageSheet) -> list[tuple[str, str]]:
    return [(row.node, row.cause) for row in made.rows]


def all_formats(made: TriageSheet) -> list[str]:
    lines = (printed.table(made), commands.slurm(made), commands.kubernetes(made))
    return [*("\n".join(each) for each in lines), cells.lines(made)]


def scontrol(made: TriageSheet) -> list[list[str]]:
    """The words that a shell would make of each line that is no comment."""
    return [shlex.split(line) for line in commands.slurm(made) if not line.startswith("#")]


# --- what is listed where ---


def test_rows_are_worst_first_and_a_setting_of_several_nodes_is_a_row_of_each(tmp_path):
    made = sheet_of(tmp_path, cause("cpu-governor", "n[1-2]"), cause("link-down", "n2", "mlx5_0"))
    assert places(made) == [("n2", "link-down"), ("n1", "cpu-governor"), ("n2", "cpu-governor")]
    assert [row.drains for row in made.rows] == [True, False, False]


def test_suspects_are_counted_and_listed_only_if_asked_for(tmp_path):
    made = sheet_of(tmp_path, SUSPECT, nodes=NODES)
    assert (made.rows, made.elsewhere, made.left_out) == ((), (), 1)
    assert made.without == ("n3", "n4")
    made = sheet_of(tmp_path, SUSPECT, nodes=NODES, suspects=True)
    assert places(made) == [("n1", "slow-nic"), ("n2", "slow-nic")]
    assert made.left_out == 0
    assert "n1 or n2  major     exchange part  slow-nic (suspect)  mlx5_0" in all_formats(made)[0]


def test_a_suspect_is_never_drained(tmp_path):
    made = sheet_of(tmp_path, SUSPECT, suspects=True)
    assert not scontrol(made)
    line = "# not drained: n1 or n2: suspect, major, exchange part: slow-nic mlx5_0\n"
    assert all(line in text for text in all_formats(made)[1:3])


def test_two_causes_with_suspects_are_two_rows_and_many_nodes_are_folded(tmp_path):
    other = {**SUSPECT, "where": {"node": "n3|n4", "device": "mlx5_0", "peer": ""}, "says": "other"}
    many = cause("slow-nic", "n[1-9]", "mlx5_1", confidence="open")
    table = all_formats(sheet_of(tmp_path, SUSPECT, other, many, suspects=True))[0]
    assert "\nn1 or n2 " in table
    assert "\nn3 or n4 " in table
    assert "\none of n[1-9] " in table


@pytest.mark.parametrize(
    ("where", "place"),
    [
        (("n1", "", "n2"), "n1 and n2"),
        (("", "mlx5_0"), "the cluster"),
        (("leaf01", "port 3", "spine01"), "leaf01 and spine01"),
        (("MF0;sw-1:MQM9700/U1", "port 3"), "MF0;sw-1:MQM9700/U1"),
        (("n1|n2",), "n1 or n2"),
    ],
)
def test_a_path_a_switch_and_the_cluster_are_not_one_node(tmp_path, where, place):
    made = sheet_of(tmp_path, cause("link-error-rate", *where), nodes=NODES)
    assert not made.rows
    assert [row.place for row in made.elsewhere] == [place]
    assert not scontrol(made)
    assert not {"n1", "n2"}.intersection(made.without) or "n1" not in place


def test_a_name_that_the_cluster_does_not_have_is_no_node_to_drain(tmp_path):
    made = sheet_of(tmp_path, cause("link-down", "leaf01", "mlx5_0"), nodes=NODES)
    assert not scontrol(made)
    assert made.elsewhere[0].place == "leaf01"


@pytest.mark.parametrize("name", sorted(AMONG_NODES))
def test_a_difference_between_nodes_blames_none_of_them(tmp_path, name):
    made = sheet_of(tmp_path, cause(name, "n[1-2]"), nodes=NODES)
    assert (made.rows, made.elsewhere[0].place, made.without) == ((), "n[1-2]", ("n3", "n4"))
    assert places(sheet_of(tmp_path, cause(name, "n1"))) == [("n1", name)]


def test_undiagnosed_causes_are_always_shown(tmp_path):
    one = cause("undiagnosed", "n1", confidence="open")
    assert places(sheet_of(tmp_path, one)) == [("n1", "undiagnosed")]
    for several in ("n1|n2", "n[1-9]"):
        made = sheet_of(tmp_path, cause("undiagnosed", several, confidence="open"))
        assert (made.rows, len(made.elsewhere), made.left_out) == ((), 1, 0)


# --- what is not known ---


def test_a_node_that_was_not_measured_is_not_free_of_causes(tmp_path):
    made = sheet_of(tmp_path, cause("link-down", "n1", "mlx5_0"), open_=(BLOCKED,), nodes=NODES)
    assert [one.node for one in made.open] == ["n2", "n3"]
    assert made.without == ("n4",)
    for text in all_formats(made)[:3]:
        assert "n[2-3]" in text
        assert "no cause at n4" in text
    rows = list(csv.DictReader(io.StringIO(all_formats(made)[3])))
    assert [(row["node"], row["severity"], row["cause"]) for row in rows] == [
        ("n1", "critical", "link-down"), ("n2", "unknown", "not known"),
        ("n3", "unknown", "not known"),
    ]  # fmt: skip


def test_unknowns_of_a_drained_node_are_not_repeated_but_a_setting_hides_none(
    tmp_path,
):
    made = sheet_of(tmp_path, cause("link-down", "n2"), open_=(BLOCKED,))
    assert [one.node for one in made.open] == ["n3"]
    made = sheet_of(tmp_path, cause("cpu-governor", "n2"), open_=(BLOCKED,))
    assert [one.node for one in made.open] == ["n2", "n3"]


def test_parts_that_the_level_leaves_out_are_one_remark(tmp_path):
    made = sheet_of(tmp_path, open_=(unknown("n[1-4]", not_asked("smoke"), "gpu0 alone"),))
    assert (made.open, made.has_more) == ((), True)
    assert "level smoke does not measure all of a node" in all_formats(made)[0]


def test_a_node_outside_of_the_sample_is_not_known(tmp_path):
    made = sheet_of(tmp_path, open_=(unknown("n4", not_asked("smoke"), OUTSIDE),), nodes=NODES)
    assert [one.node for one in made.open] == ["n4"]
    assert "n4" not in made.without


def test_unknowns_of_the_subnet_are_listed(tmp_path):
    made = sheet_of(tmp_path, open_=(unknown("", "not run: no scan"),))
    assert "the subnet\n    the paths; not run: no scan" in all_formats(made)[0]


def test_no_node_is_called_free_of_causes_without_the_list_of_nodes(tmp_path):
    made = sheet_of(tmp_path)
    assert made.without is None
    assert "the nodes of the cluster are not in verdict.json" in all_formats(made)[0]


# --- runs of other versions ---


def test_a_verdict_without_severity_and_action_has_those_of_its_causes(tmp_path):
    older = {k: v for k, v in cause("link-down", "n1").items() if k not in ("severity", "action")}
    made = sheet_of(tmp_path, older)
    assert made.rows[0].triage == CATALOGUE["link-down"].triage
    assert scontrol(made)[0][2] == "nodename=n1"


def test_severity_and_action_are_those_that_the_run_recorded(tmp_path):
    made = sheet_of(tmp_path, cause("link-down", "n1", severity="minor", action="ask vendor"))
    assert (made.rows[0].triage.severity, made.rows[0].triage.action) == ("minor", "ask vendor")
    assert not made.drained


def test_a_cause_of_another_version_keeps_its_severity_or_is_unknown(tmp_path):
    newer = cause("gpu-melted", "n1", severity="critical", action="exchange part", score=3)
    assert sheet_of(tmp_path, newer).rows[0].drains
    older = sheet_of(tmp_path, cause("gone-since", "n1"))
    assert older.rows[0].triage == CATALOGUE["undiagnosed"].triage


def test_a_run_without_unknowns_on_record_has_a_remark(tmp_path):
    data = {**HEAD, "causes": []}
    (tmp_path / "verdict.json").write_text(json.dumps(data))
    assert (
        "the run did not keep what is not known"
        in all_formats(sheet(read(tmp_path), suspects=False))[0]
    )


# --- commands ---


def test_a_node_is_drained_once_with_its_causes_in_the_reason(tmp_path):
    causes = [cause("link-down", "n1", f"mlx5_{nic}") for nic in range(5)]
    made = sheet_of(tmp_path, *causes, cause("cpu-governor", "n1"))
    reason = "link-down mlx5_0, link-down mlx5_1, link-down mlx5_2 and 2 more"
    assert scontrol(made) == [
        ["scontrol", "update", "nodename=n1", "state=drain",
         f"reason=railgauge: {reason}, run 20260131-020000-prod"],
    ]  # fmt: skip
    cordon = [line for line in commands.kubernetes(made) if not line.startswith("#")]
    assert cordon == ["kubectl cordon n1"]
    assert any(line.startswith("# n1: railgauge: link-down") for line in commands.kubernetes(made))


def test_each_list_of_commands_notes_that_nothing_was_run(tmp_path):
    made = sheet_of(tmp_path)
    for text in all_formats(made)[1:3]:
        assert "# Nothing was run." in text
        assert "# No node has a cause for which it should be drained." in text
        assert all(line.startswith("# ") for line in text.splitlines())


def test_if_most_nodes_are_to_be_drained_a_shared_reason_comes_first(tmp_path):
    expected = "look for a reason that they share"
    few = sheet_of(tmp_path, cause("node-unreachable", "n1"), nodes=NODES)
    less = sheet_of(tmp_path, cause("node-unreachable", "n[1-2]"), nodes=(*NODES, "n5"))
    many = sheet_of(tmp_path, cause("node-unreachable", "n[1-2]"), nodes=NODES)
    assert [expected in all_formats(made)[1] for made in (few, less, many)] == [False, False, True]


@pytest.mark.parametrize("evidence", ["hardware", "simulated", "replayed"])
def test_evidence_that_is_not_of_hardware_is_named(tmp_path, evidence):
    made = sheet_of(tmp_path, cause("link-down", "n1"), evidence=evidence)
    is_said = f"({evidence.upper()} evidence)" in all_formats(made)[1]
    assert is_said is (evidence != "hardware")
    assert ("there is nothing to drain" in all_formats(made)[1]) is (evidence == "simulated")


@pytest.mark.parametrize("name", ["ALL", "all", "All"])
def test_a_node_called_all_does_not_drain_the_cluster(tmp_path, name):
    made = sheet_of(tmp_path, cause("link-down", name))
    assert not scontrol(made)
    assert (
        f"# {name} is not drained: scontrol takes this name for every node" in all_formats(made)[1]
    )


# --- hostile verdicts ---

STEERING = (
    "x\nscontrol update nodename=n9 state=drain\r\x1b[2J\u2028; rm -rf $HOME `id` 'q' \"q\" !1"
)


HOSTILE_NAMES = [
    "-n1", "n1;id", "n1 n2", "$(id)", "n1\nn2", "../n1", "n1`id`", "n" * 300, "n\u202e1", "n1'",
    "@n", "n1\x00", "n1|$(id)", "n[1-2];id", "n[1-2],$(id)",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE_NAMES)
@pytest.mark.parametrize("confidence", ["certain", "open"])
@pytest.mark.parametrize("suspects", [False, True])
def test_a_name_that_no_hostfile_allows_is_refused(tmp_path, name, confidence, suspects):
    one = cause("link-down", name, confidence=confidence)
    with pytest.raises(BadInput, match="cannot be a node's name") as refused:
        sheet_of(tmp_path, one, suspects=suspects)
    assert refused.value.where == "verdict.json"
    assert str(refused.value).isprintable()


def with_cluster(folder: Path, name: str) -> Path:
    sheet_of(folder)
    nodes = [{"name": name, "address": "a", "data_address": "a"}]
    own = {"name": "c", "platform": "bench", "transport": "ssh", "nodes": nodes, "source": "x"}
    (folder / "cluster.json").write_text(json.dumps(own), encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_such_a_name_among_the_nodes_of_the_cluster_is_refused(tmp_path, name):
    assert read(with_cluster(tmp_path, "n1")).nodes == ("n1",)
    with pytest.raises(BadInput, match="cannot be a node's name"):
        read(with_cluster(tmp_path, name))


@pytest.mark.parametrize("name", ["n[1-999999999]", "n[1-20001]", "n[1-9", "n[1-5/0]", "x[a-b]"])
def test_a_set_of_nodes_that_no_cluster_has_is_refused(tmp_path, name):
    for data in ({"causes": [cause("link-down", name)]}, {"unknown": [unknown(name, "blocked")]}):
        (tmp_path / "verdict.json").write_text(json.dumps({**HEAD, "causes": [], **data}))
        with pytest.raises(BadInput, match=r"nodes|range"):
            sheet(read(tmp_path), suspects=False)


def test_many_causes_at_many_nodes_are_refused(tmp_path):
    with pytest.raises(BadInput, match="more than 100000 entries"):
        sheet_of(tmp_path, *[cause("link-down", "n[1-4096]")] * 25)
    with pytest.raises(BadInput, match="more than 100000 entries"):
        sheet_of(tmp_path, open_=(unknown("n[1-4096]", "blocked"),) * 25)


def hostile(text: str) -> list[dict[str, Any]]:
    return [
        cause("link-down", "n1", text, says=text, remedy=text),
        cause("link-down", "n2", "mlx5_0", text, says=text, remedy=text),
        cause(text, "n3", text, severity="critical", action="drain"),
        cause("slow-nic", "n1|n2", text, confidence="open"),
    ]


def assert_harmless(made: TriageSheet) -> None:
    table, slurm, kubernetes, spread = all_formats(made)
    for line in f"{table}\n{slurm}\n{kubernetes}".split("\n"):
        assert line.isprintable()
    for line in slurm.split("\n"):
        if not line.startswith("# "):
            words = shlex.split(line)
            assert words[:2] == ["scontrol", "update"]
            assert words[2] in {"nodename=n1", "nodename=n2", "nodename=n3"}
            assert words[3] == "state=drain"
            assert words[4].startswith("reason=railgauge: ")
            assert len(words[4]) <= 170
            assert not set(words[4]) & set("\"'`$!\\;&|<>*?{}~#")
            assert len(words) == 5
    for line in kubernetes.split("\n"):
        assert line.startswith("# ") or line in {f"kubectl cordon n{n}" for n in (1, 2, 3)}
    for node, one in conditions(made).items():
        assert node in {"n1", "n2", "n3", "n4"}
        assert re.fullmatch("[A-Za-z0-9]{1,60}", one["reason"])
        assert one["message"].startswith("railgauge: ")
        assert not set(one["message"]) & set("\"'`$!\\;&|<>*?{}~#")
    rows = list(csv.reader(io.StringIO(spread)))
    assert {len(row) for row in rows} == {len(cells.COLUMNS)}
    for cell in (cell for row in rows for cell in row):
        assert not cell.startswith(("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠"))
        assert cell == "" or cell.isprintable()


@pytest.mark.parametrize(
    "text",
    [STEERING, "=1+1", "+1", "-1", "@x", "\t=1", " =1+1", "＝1", '"', "'", "#", "a,b;c", "%s"],
)
def test_hostile_text_stays_text_in_every_format(tmp_path, text):
    head = {"cluster": text or "x", "run_id": text, "platform": text, "level": text}
    open_ = (unknown("n4", text, text),)
    assert_harmless(sheet_of(tmp_path, *hostile(text), open_=open_, suspects=True, **head))


@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_any_text_stays_text_in_every_format(tmp_path_factory, text):
    folder = tmp_path_factory.mktemp("any")
    assert_harmless(sheet_of(folder, *hostile(text), open_=(unknown("n4", text, text),)))


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@x", "＝1"])
def test_a_cell_that_would_be_a_formula_is_text(tmp_path, cell):
    made = sheet_of(tmp_path, cause("link-down", "n1", cell, remedy=cell))
    row = next(csv.DictReader(io.StringIO(cells.lines(made))))
    assert (row["part"], row["do"]) == (f"'{cell}", f"'{cell}")
