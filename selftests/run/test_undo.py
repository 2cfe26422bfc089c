"""``railgauge undo`` on an untrusted folder: no command of it is run, and it chooses neither nodes
nor settings."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from testing.places import ROOT

from railgauge.config import hostfile, thresholds
from railgauge.config.thresholds import Platform
from railgauge.core.run_files import MANIFEST
from railgauge.planning.soundness import spliced
from railgauge.run.invocation import hostfile_sha256
from railgauge.run.prepare import JOURNAL
from railgauge.run.store import Store

BALANCING = "proc/sys/kernel/numa_balancing"


class Site:
    """A hostfile of this machine as a node with its files below ``root``, and a run's folder."""

    def __init__(self, folder: Path, railgauge: Any) -> None:
        self.folder, self._railgauge = folder, railgauge
        self.file = folder / "root" / BALANCING
        self.hostfile = folder / "mine.yaml"
        self.hostfile.write_text(
            "cluster: mine\nplatform: mi300x\ntransport: local\n"
            f"nodes: [n1]\nrootfs: {folder / 'root'}\n"
        )
        self.run = folder / "run"
        self.file.parent.mkdir(parents=True)
        self.file.write_text("0\n")
        sha256 = hostfile_sha256(hostfile.load(self.hostfile, schema_file=SCHEMA))
        self.write("invocation.json", {"schema_version": 1, "hostfile_sha256": sha256})
        self.journal()

    def write(self, name: str, data: object) -> None:
        Store(self.run).write_json(name, data)

    def journal(self, **fields: object) -> None:
        change = {"node": "n1", "step": "numa_balancing", "before": "1", "after": "0"}
        change |= {"saved": "1", "undone": False}
        whole = {key: value for key, value in {**change, **fields}.items() if value is not None}
        self.write(JOURNAL, {"changes": [whole]})

    def undo(self, *more: str) -> tuple[object, str, str]:
        words = ("--hostfile", str(self.hostfile), "--root", str(ROOT), *more, str(self.run))
        found: tuple[object, str, str] = self._railgauge("undo", *words)
        return found

    def assert_refused(self, says: str, *more: str) -> None:
        code, out, err = self.undo(*more)
        assert (code, out, len(err.splitlines())) == (2, "", 1), (code, out, err)
        assert says in err
        assert self.file.read_text() == "0\n"


SCHEMA = ROOT / "hostfiles" / "schema.json"


@pytest.fixture
def site(tmp_path: Path, railgauge: Any) -> Site:
    return Site(tmp_path, railgauge)


def test_undo_prints_its_commands_and_leaves_the_run_as_its_manifest_says(site: Site) -> None:
    Store(site.run).write_manifest({})
    code, out, err = site.undo()
    assert (code, err, site.file.read_text()) == (0, "", "1\n")
    first, last = out.splitlines()
    assert first.startswith("n1: sh -c ")
    assert first.endswith(f"{site.folder / 'root'} 1")
    assert last == "1 settings put back, 0 not"
    site.file.write_text("0\n")
    assert site.undo()[:2] == (0, "0 settings put back, 0 not\n")
    assert site.file.read_text() == "0\n"


def test_undo_lists_its_commands_in_json_beside_the_result(site: Site) -> None:
    code, out, err = site.undo("--json")
    assert (code, json.loads(out)) == (0, {"undone": 1, "complaints": []})
    assert err.startswith("n1: sh -c ")


def test_words_in_the_folder_are_not_run(site: Site) -> None:
    """Those of ``exec`` in its cluster, and a command in its journal."""
    evil = ["sh", "-c", f"touch {site.folder / 'ran'}"]
    node = {"name": "n1", "address": "n1", "data_address": "n1", "exec": evil}
    site.write("cluster.json", {"name": "mine", "transport": "exec", "nodes": [node]})
    assert site.undo()[0] == 0
    site.file.write_text("0\n")
    site.journal(undo=evil)
    site.assert_refused("undo")
    site.write(JOURNAL, {"schema_version": 1, "changes": [{"undo": evil}]})
    site.assert_refused("is of an earlier version of railgauge")
    assert not (site.folder / "ran").exists()


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"node": "n2"}, "'n2' is no node of the hostfile"),
        ({"step": "hostname"}, "no step that sets 'hostname' to '0'"),
        ({"after": "2"}, "no step that sets 'numa_balancing' to '2'"),
        ({"saved": None}, "saved"),
    ],
)
def test_a_change_that_no_preparation_makes_is_refused(site: Site, fields: Any, says: str) -> None:
    site.journal(**fields)
    site.assert_refused(says)


def test_another_hostfile_is_refused(site: Site) -> None:
    with site.hostfile.open("a") as file:
        file.write("# edited\n")
    site.assert_refused("is not the hostfile of that run, or was changed since")
    (site.run / "invocation.json").unlink()
    site.assert_refused("invocation.json cannot be read")


def test_a_file_that_was_changed_after_the_run_is_refused(site: Site) -> None:
    Store(site.run).write_manifest({})
    site.journal(saved="2")
    site.assert_refused("prepared.json: was changed after the run wrote it")
    (site.run / MANIFEST).write_text("{}")
    site.assert_refused("manifest.json: has no digests")


def test_a_folder_of_another_user_is_refused(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: site.run.stat().st_uid + 1)
    site.assert_refused("is another user's")


def test_a_lab_that_has_ended_is_refused(site: Site) -> None:
    path = ROOT / "hostfiles" / "lab-mi300x.yaml"
    sha256 = hostfile_sha256(hostfile.load(path, schema_file=SCHEMA))
    site.write("invocation.json", {"schema_version": 1, "hostfile_sha256": sha256})
    site.journal(node="mi01")
    site.hostfile = path
    site.assert_refused("the lab has ended with its run")


# --- what a former value can do ---


def governors() -> Platform:
    return thresholds.load("h200", ROOT / "thresholds")


@pytest.fixture
def cpus(tmp_path: Path) -> Path:
    """The root of a node whose two CPUs are prepared."""
    for number in range(2):
        path = tmp_path / f"sys/devices/system/cpu/cpu{number}/cpufreq/scaling_governor"
        path.parent.mkdir(parents=True)
        path.write_text("powersave\n")
    return tmp_path


def carried_out(argv: tuple[str, ...], root: Path, before: str = "") -> str:
    words = [word.replace("{rootfs}", str(root)).replace("{before}", before) for word in argv]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else "failed"


def read(root: Path) -> list[str]:
    return [path.read_text() for path in sorted(root.rglob("scaling_governor"))]


def test_the_governor_of_each_cpu_comes_back(cpus: Path) -> None:
    (step,) = [step for step in governors().preparations if step.name == "cpu_governor"]
    (cpus / "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor").write_text("schedutil\n")
    before = carried_out(step.save, cpus)
    carried_out(step.apply, cpus)
    assert read(cpus) == ["performance\n"] * 2
    assert carried_out(step.undo, cpus, before) == ""
    assert read(cpus) == ["powersave\n", "schedutil\n"]


@pytest.mark.parametrize(
    "line",
    [
        "{root}/etc/core_pattern:|/tmp/evil",
        "{root}/sys/devices/system/cpu/cpu0/../../../../../etc/core_pattern:x",
        "{root}/sys/devices/system/cpu/cpu0/cpufreq/../../../../../../etc/core_pattern:x",
        "/etc/core_pattern:x",
    ],
)
def test_a_former_value_chooses_no_file(cpus: Path, line: str) -> None:
    (step,) = [step for step in governors().preparations if step.name == "cpu_governor"]
    (cpus / "etc").mkdir()
    assert carried_out(step.undo, cpus, line.format(root=cpus) + "\n") == "failed"
    assert not list((cpus / "etc").iterdir())
    assert read(cpus) == ["powersave\n"] * 2


def test_a_former_value_is_no_part_of_shell_code() -> None:
    platform = governors()
    assert not list(spliced(platform))
    first = platform.preparations[0]
    bad = replace(first, undo=("sh", "-c", "echo {before} >/proc/x"))
    (line,) = spliced(replace(platform, preparations=(bad,)))
    assert f"/prepare/{first.name}: undo" in line
