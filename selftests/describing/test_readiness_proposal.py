"""The hostfile that a check proposes: the user's own text, with the lines in it."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from testing.acceptance import ROOT

from railgauge.config import hostfile
from railgauge.describing.readiness.model import HostfileLine
from railgauge.describing.readiness.proposal import applied, of_plain, written

SCHEMA = ROOT / "hostfiles" / "schema.json"
TEXT = """\
# Our cluster.
cluster: c   # its name
platform: h200
setup:
  - module load a
  # before the nodes
nodes: gpu[01-04]
environment: {A: "1"}
"""
SETUP = HostfileLine(("setup",), ["export PATH=/opt/x/bin:$PATH"])
BECOME = HostfileLine(("become",), "sudo -n")


def node(name: str, address: str) -> HostfileLine:
    return HostfileLine(("nodes", name, "data_address"), address)


def test_the_user_s_text_stays_and_new_keys_come_last() -> None:
    text = written(TEXT, [SETUP, BECOME, node("gpu02", "10.0.0.2")])
    assert "# Our cluster.\n" in text
    assert "cluster: c   # its name\n" in text
    assert text.endswith("become: sudo -n\n")
    assert yaml.safe_load(text) == {
        "cluster": "c",
        "platform": "h200",
        "setup": ["module load a", "export PATH=/opt/x/bin:$PATH"],
        "nodes": ["gpu01", {"name": "gpu02", "data_address": "10.0.0.2"}, "gpu[03-04]"],
        "environment": {"A": "1"},
        "become": "sudo -n",
    }


def test_nothing_to_write_leaves_the_text_and_lines_are_written_once() -> None:
    assert written(TEXT, []).endswith(TEXT)
    once = written(TEXT, [SETUP])
    assert written(once, [SETUP]) == once


def test_one_line_of_flow_style_is_written_too() -> None:
    made = yaml.safe_load(written('{"cluster": "c", "nodes": ["n1", "n2"]}', [BECOME]))
    assert made == {"cluster": "c", "nodes": ["n1", "n2"], "become": "sudo -n"}


def test_settings_of_nodes_are_joined() -> None:
    document = {"nodes": [{"name": "n1", "ssh": {"port": 2222}}, "n[2-3]"], "devices": {"n2": {}}}
    lines = [node("n1", "10.0.0.1"), HostfileLine(("devices", "n1"), {"mlx5_0": "bond"})]
    assert applied(document, lines) == {
        "nodes": [{"name": "n1", "ssh": {"port": 2222}, "data_address": "10.0.0.1"}, "n[2-3]"],
        "devices": {"n2": {}, "n1": {"mlx5_0": "bond"}},
    }


@pytest.mark.parametrize("plain", ["n1 slots=8\nn2 slots=8\n", "ana@n2:2222\nn1\n", "b\na\n"])
def test_a_plain_list_becomes_a_hostfile_of_the_same_nodes(tmp_path: Path, plain: str) -> None:
    path, made = tmp_path / "hosts", tmp_path / "hosts.yaml"
    path.write_text(plain)
    before = hostfile.load(path, schema_file=SCHEMA, unnamed="p")
    made.write_text(written(of_plain(before, "p"), [BECOME]))
    after = hostfile.load(made, schema_file=SCHEMA)
    assert [(n.name, n.ssh) for n in after.nodes] == [(n.name, n.ssh) for n in before.nodes]
    assert after.nodes[0].become == ("sudo", "-n")


def test_a_hostfile_without_a_platform_loads_where_a_name_stands_in(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("cluster: c\nnodes: n1\n")
    assert hostfile.load(path, schema_file=SCHEMA, unnamed="x").platform == "x"
    path.write_text("cluster: c\nplatform: h200\nnodes: n1\n")
    assert hostfile.load(path, schema_file=SCHEMA, unnamed="x").platform == "h200"
