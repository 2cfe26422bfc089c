"""``railgauge inventory``, and the inventory in bundles: compared, redacted, forged, hostile."""

from __future__ import annotations

import csv
import io
import json
import shutil

import pytest
from testing import bundle_bench as bench

from railgauge.cli import main
from railgauge.run.store import Store

NODES = 3


@pytest.fixture
def inventory(capsys):
    """``inventory(*arguments)`` returns exit code, stdout and stderr."""

    def inventory(*arguments):
        capsys.readouterr()
        code = main(["inventory", *map(str, arguments)])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        assert len(err.splitlines()) <= 1
        return code, out, err

    return inventory


@pytest.fixture
def copied(healthy, tmp_path):
    return shutil.copytree(healthy.run.latest.resolve(), tmp_path / "later")


def facts(run, change):
    """Change ``environment.json`` of a run."""
    path = run / "environment.json"
    data = json.loads(path.read_text())
    change(data["nodes"])
    path.write_text(json.dumps(data))


def part(nodes, node, name):
    (found,) = [one for one in nodes[node]["facts"]["parts"] if one["name"] == name]
    return found


def test_a_run_and_its_bundle_have_one_inventory(healthy, inventory):
    code, out, err = inventory(healthy.run.latest)
    assert (code, err) == (0, "")
    assert "(SIMULATED)" in out.splitlines()[0]
    assert inventory(healthy.path)[1] == out
    text = inventory(healthy.run.latest, "--csv")[1]
    assert text == (healthy.run.latest / "inventory.csv").read_text()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert {row["node"] for row in rows} == set(bench.HOSTS)
    assert all(
        row["serial"] for row in rows if row["kind"] in ("node", "nic") and row["part_number"]
    )
    data = json.loads(inventory(healthy.path, "--json")[1])
    assert len(data["parts"]) == len(rows)
    assert data["evidence"] == "simulated"


def test_the_serial_numbers_of_the_lab_are_alike_in_every_run(healthy, red):
    first, second = (one.run.latest / "inventory.csv" for one in (healthy, red))
    assert first.read_text() == second.read_text()


def test_two_runs_of_one_machine_park_do_not_differ(healthy, red, inventory):
    code, out, _ = inventory(healthy.run.latest, red.path)
    assert (code, "no difference" in out) == (0, True)


def test_an_exchanged_part_is_named(healthy, copied, inventory):
    facts(copied, lambda nodes: part(nodes, "viper", "mlx5_0").update(serial="MT99X1"))
    code, out, err = inventory(healthy.run.latest, copied)
    assert code == 1
    assert "exchanged  viper mlx5_0: serial number MT" in out
    assert "-> serial number MT99X1" in out
    assert "environment.json was CHANGED after the run" in err
    data = json.loads(inventory(healthy.run.latest, copied, "--json")[1])
    assert [change["kind"] for change in data["changes"]] == ["exchanged"]


def test_a_run_of_an_earlier_version_reports_that_it_has_no_inventory(copied, inventory):
    def without(nodes):
        for entry in nodes.values():
            del entry["facts"]["parts"]

    facts(copied, without)
    (copied / "inventory.csv").unlink()
    code, out, _ = inventory(copied)
    assert code == 0
    assert "no part is known" in out
    assert out.count("did not collect this one") == NODES


def test_the_text_of_a_node_cannot_control_the_terminal(copied, inventory):
    hostile = "\x1b]0;owned\x07$(reboot)\u202e"
    facts(copied, lambda nodes: part(nodes, "viper", "node").update(serial=hostile))
    for options in ((), ("--csv",), ("--json",)):
        out = inventory(copied, *options)[1]
        assert not {"\x1b", "\x07"} & set(out)
    assert "\u202e" not in inventory(copied)[1]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("nowhere",), "nowhere: does not exist"),
        (("{file}",), "is not an evidence bundle"),
        (("{empty}",), "has no environment.json"),
        (("{run}", "--json", "--csv"), "--json and --csv exclude each other"),
        (("{run}", "{run}", "--csv"), "--csv prints one inventory"),
        (("{run}", "nowhere"), "nowhere: does not exist"),
        (("{newer}",), "schema"),
        (("{broken}",), "environment.json"),
    ],
)
def test_bad_input_is_one_line(arguments, says, copied, tmp_path, inventory):
    places = {"run": copied, "file": tmp_path / "f", "empty": tmp_path / "empty"}
    places["file"].write_text("x")
    places["empty"].mkdir()
    for name in ("newer", "broken"):
        places[name] = shutil.copytree(copied, tmp_path / name)
    path = places["newer"] / "environment.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "schema_version": 99}))
    (places["broken"] / "environment.json").write_text("{")
    code, out, err = inventory(*(word.format(**places) for word in arguments))
    assert (code, out) == (2, "")
    assert says in err


# --- in bundles ---


def test_an_inventory_that_is_not_that_of_the_facts_is_refused(healthy, tmp_path, verify):
    def lie(content):
        text = content["run/inventory.csv"].decode()
        content["run/inventory.csv"] = text.replace(",MT24", ",MT99", 1).encode()

    code, _, err = verify(bench.forged(healthy.path, tmp_path / "b.railgauge", lie))
    assert code == 1
    assert "run/inventory.csv: differs from the parts that the survey found" in err


def test_a_bundle_without_an_inventory_verifies_as_before(healthy, tmp_path, verify):
    def old(content):
        del content["run/inventory.csv"]
        data = json.loads(content["run/environment.json"])
        for entry in data["nodes"].values():
            del entry["facts"]["parts"]
        content["run/environment.json"] = json.dumps(data).encode()

    code, _, err = verify(bench.forged(healthy.path, tmp_path / "b.railgauge", old))
    assert (code, err) == (0, "")


def test_serial_numbers_are_redacted_on_request(healthy, tmp_path, verify, inventory):
    path = tmp_path / "b.railgauge"
    bench.bundle(healthy.run.latest, path, "--unsigned", "--redact", "serials,hosts")
    content = bench.files(path)
    text = b"\n".join(content.values())
    rows = list(csv.DictReader(io.StringIO((healthy.run.latest / "inventory.csv").read_text())))
    gone = {row["serial"] for row in rows} | {r["uuid"] for r in rows if r["kind"] != "nic"}
    assert len(gone - {""}) > NODES
    for word in gone - {""}:
        assert word.encode() not in text, word
    code, out, _ = verify(path, "--json")
    assert code == 0
    assert json.loads(out)["redacted"]["on_request"] == ["hosts", "serials"]
    assert json.loads(out)["redacted"]["counts"]["serial number"] > NODES
    assert "SERIAL00" in inventory(path, "--csv")[1]


def test_a_serial_number_too_short_to_be_redacted_is_refused(copied, tmp_path, capsys):
    facts(copied, lambda nodes: part(nodes, "viper", "node").update(serial="mlx5"))
    Store(copied).write_manifest({})
    target = tmp_path / "b.railgauge"
    options = ["--unsigned", "--redact", "serials"]
    assert main(["bundle", str(copied), "-o", str(target), *options]) == 2
    assert "viper node: 'mlx5' is too short to be redacted" in capsys.readouterr().err
    assert not target.exists()
