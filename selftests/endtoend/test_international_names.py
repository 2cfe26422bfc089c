"""Nodes with internationalized names, in two shards: from the hostfile to the customer's laptop."""

import json

import pytest
from testing import bundle_bench as bench
from testing.acceptance import BARE, Run, make_project
from testing.fewer import measuring

from railgauge.cli import main

NODES = ("bücher", "ノード1", "Viper_X.example", "xn--1-pgu0a")
HOSTFILE = f"""cluster: idn
platform: connectx4-homelab
transport: lab
nodes: [{", ".join(NODES)}]
fabric: {{none: "a lab simulates nodes and links, and no switches"}}
"""
RUN = ("--hostfile", "idn.yaml", "--level", "smoke", *BARE)
FAULT = ("--lab-fault", "slow-send@bücher:mlx5_0=30%", "--lab-fault", "governor@ノード1")


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    made = make_project(tmp_path_factory.mktemp("names") / "site")
    measuring("connectx4-homelab", "host_send_bandwidth", expected=("cpu_governor", "kernel"))(made)
    made.write("idn.yaml", HOSTFILE)
    return made


@pytest.fixture(scope="module")
def shards(project) -> list[Run]:
    return [project.run(*RUN, *FAULT, "--no-gates", "--shard", f"{i}/2") for i in (1, 2)]


@pytest.fixture(scope="module")
def merged(project, shards):
    assert [run.code for run in shards] == [1, 10], shards[0].output[-3000:]
    folders = sorted((project.folder / "reports").glob("2*"))
    into = project.folder / "reports" / "20300101-000000-merged"
    assert main(["merge", *map(str, folders), "--into", str(into)]) == 1
    return into


def records(folder):
    return [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]


def test_ids_files_and_causes_have_the_names_as_they_are(merged):
    ids = {record["id"] for record in records(merged)}
    assert "tests/preflight/test_host.py::test_cpu_governor[ノード1]" in ids
    assert not any("\\" in one or "@" in one or "~" in one for one in ids)
    causes = json.loads((merged / "verdict.json").read_text())["causes"]
    assert ("cpu-governor", "ノード1") in {(c["cause"], c["where"]["node"]) for c in causes}
    files = [path.name for path in merged.rglob("*")]
    assert all(name.isascii() and len(name.encode()) <= 255 for name in files)


def test_items_are_selected_by_their_names(project):
    found = project.run(*RUN, "--collect-only", "-q", "-k", "ノード1 and governor")
    assert "test_cpu_governor[ノード1]" in found.output
    assert "[bücher]" not in found.output


def test_a_bundle_of_them_verifies_and_names_no_host_if_asked(merged, tmp_path, capsys):
    plain, redacted = tmp_path / "a.railgauge", tmp_path / "b.railgauge"
    bench.bundle(merged, plain, "--unsigned")
    bench.bundle(merged, redacted, "--unsigned", "--redact", "hosts,addresses,serials")
    for path in (plain, redacted):
        assert main(["verify", str(path), "--unsigned"]) == 1
    held = b"".join(name.encode() + data for name, data in bench.files(redacted).items())
    for name in (*NODES, "xn--", "\\xfc", "u30ce"):
        assert name.encode() not in held
    capsys.readouterr()
