"""``railgauge check``: its table, its exit codes, and the hostfile that it writes."""

from __future__ import annotations

import json

import pytest
from testing.acceptance import make_project
from testing.asked_nodes import facts, met, self_report, site
from testing.standing_lab import standing_lab

from railgauge.cli import check as command
from railgauge.cli import check_text, main
from railgauge.config import hostfile
from railgauge.describing.readiness.model import CellState, CheckCell
from railgauge.leases.holder import Unleasable
from railgauge.transport import Entry

HOMELAB = "connectx4-homelab"


@pytest.fixture
def project(tmp_path):
    return make_project(tmp_path / "project")


def check(project, name, *options):
    path = project.folder / name
    return main(["check", str(path), "--root", str(project.folder), *options])


def test_a_healthy_lab_is_ready(project, capsys):
    assert check(project, f"hostfiles/lab-{HOMELAB}.yaml", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["ready"]
    assert report["write"] == {}
    states = {cell["state"] for row in report["nodes"].values() for cell in row.values()}
    assert states == {"ok"}


def test_what_nodes_lack_is_shown_and_written(project, tmp_path, capsys):
    faults = ("--fault", "tool-missing@columbia:ib_write_bw")
    with standing_lab(tmp_path / "lab", HOMELAB, *faults) as lab:
        for node in lab.logins:  # nobody is root there, and all may become it
            program = lab.home(node) / "bin" / "id"
            program.unlink()
            program.write_text("#!/bin/sh\necho 1000\n")
            program.chmod(0o755)
        _, name = lab.hostfile(project, "# the end\n")
        assert check(project, name, "--write", str(project.folder / "new.yaml")) == 1
        output = capsys.readouterr().out
        assert "root   MEND  columbia,viper: sudo -n works and is not in the hostfile" in output
        assert "write: become: sudo -n" in output
        assert (
            "MEND  columbia: not on the PATH of a login without a terminal: ib_write_bw" in output
        )
        assert "do: install ib_write_bw" in output
        text = (project.folder / "new.yaml").read_text()
        assert "# the end" in text
        assert text.endswith("become: sudo -n\n")
        schema = project.folder / "hostfiles" / "schema.json"
        written = hostfile.load(project.folder / "new.yaml", schema_file=schema)
        assert all(node.become == ("sudo", "-n") for node in written.nodes)
        # What it proposed is what was needed: the rest is for the site to install.
        assert check(project, "new.yaml", "--json") == 1
        again = json.loads(capsys.readouterr().out)
        lacks = [
            (node, name)
            for node, row in again["nodes"].items()
            for name, cell in row.items()
            if cell["state"] != "ok"
        ]
        assert lacks == [("columbia", "tools")]


def test_no_node_is_asked_if_the_file_cannot_be_written(project, capsys):
    name = f"hostfiles/lab-{HOMELAB}.yaml"
    there = project.folder / "hostfiles" / "there.yaml"
    there.write_text("mine\n")
    assert check(project, name, "--write", str(there)) == 2
    assert "exists already" in capsys.readouterr().err
    assert there.read_text() == "mine\n"
    assert check(project, name, "--write", str(there.with_suffix(".txt"))) == 2
    assert check(project, name, "--write", str(project.folder / "elsewhere.yaml")) == 2
    assert "relative paths" in capsys.readouterr().err
    assert check(project, "hostfiles/none.yaml") == 2


def test_a_plain_list_without_a_platform_is_written_as_a_hostfile(project, capsys):
    """Nothing listens there: the node is red, but the hostfile can be written."""
    (project.folder / "hosts").write_text("root@localhost:1024 slots=8\n")
    assert check(project, "hosts", "--write", str(project.folder / "hosts.yaml")) == 1
    output = capsys.readouterr().out
    assert "reach  MEND  localhost: no connection to localhost port 1024" in output
    assert "railgauge platform new NAME --hostfile" in output
    assert "port: 1024" in (project.folder / "hosts.yaml").read_text()


def test_no_text_of_a_node_controls_the_terminal(project, monkeypatch, capsys):
    evil = "\x1b]0;owned\x07\r\nready: \u202e128 nodes \x9b2J"
    lying = site(
        entry=Entry(evil, evil),
        self_report=self_report(shell=evil, user=evil, root=f"refused {evil}", programs={}),
        facts=facts("n01", gpus=(), gpu_driver=evil, missing={"gpus": evil}),
        lease=Unleasable(evil),
        met={"n02": met("n01", evil, n01=evil)},
    )
    monkeypatch.setattr(command, "asked", lambda *_: lying)
    (project.folder / "three.yaml").write_text("cluster: c\nnodes: n[01-03]\n")
    for option in ((), ("--json",)):
        assert check(project, "three.yaml", *option) == 1
        shown = capsys.readouterr().out
        assert all(c.isprintable() or c == "\n" for c in shown)
        assert "\nready:" not in shown


def test_a_thousand_answers_are_a_short_table():
    found = {
        f"n{n:04}": {"reach": CheckCell(CellState.MEND if n % 2 else CellState.OK, f"answer {n}")}
        for n in range(1000)
    }
    rows = list(check_text.rows(found))
    assert len(rows) < 25
    assert "488 other answers, which --json shows" in "".join(rows)
    assert rows[-1] == "not ready: of 1000 cells 500 to mend, 0 not known"


def test_the_help_explains_the_exit_codes(capsys):
    with pytest.raises(SystemExit):
        main(["check", "--help"])
    output = " ".join(capsys.readouterr().out.split())
    assert "0 all nodes are ready, 1 something is to be mended or written" in output
