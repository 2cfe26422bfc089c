"""Sixty kinds of secret where a site may have them: in nothing that a run leaves, and in no list of
processes while it goes."""

from __future__ import annotations

import json
import stat
import threading
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from testing import programs
from testing.acceptance import SMOKE, Run, make_project
from testing.archives import unpack
from testing.fewer import EXPECTED, measuring
from testing.secret_kinds import KINDS, NAMES
from testing.standing_lab import StandingLab, standing_lab

from railgauge.cli import main
from railgauge.core.secret_forms import MASK

BY_NAME = {planted.kind: planted.value for planted in KINDS if planted.kind in NAMES}
# Programs of the nodes that say all kinds: beside their output, in place of it, as the kernel.
_BESIDE = '#!/bin/sh\ncat {said} >&2\nexec {real} "$@"\n'
_INSTEAD = "#!/bin/sh\ncat {said}\ncat {said} >&2\ntail -n 1 {said} >&2\nexit 3\n"
_KERNEL = """#!/bin/sh
case "$*" in *kmsg*) cat {kernel} ;; esac
exec {real} "$@"
"""
_PROGRAMS = {"ib_write_bw": _BESIDE, "mpirun": _BESIDE, "nvbandwidth": _INSTEAD, "dd": _KERNEL}


# All that these programs are asked for, by one measurement each.
FEW = measuring(
    "h200",
    *("host_write_bandwidth", "gpu_write_bandwidth", "gpu_copy_bandwidth"),
    *("node_all_reduce", "pair_all_reduce"),
    expected=(*EXPECTED, "cpu_model", "gpu_model", "gpu_count"),
)


@dataclass
class Watch:
    """The arguments of all processes of this machine, on which all nodes of the lab are."""

    wanted: tuple[str, ...]
    found: set[str] = field(default_factory=set)
    looks: int = 0
    seen: set[str] = field(default_factory=set)
    known: set[bytes] = field(default_factory=set)
    over: threading.Event = field(default_factory=threading.Event)

    def look(self) -> None:
        while not self.over.is_set():
            for path in Path("/proc").iterdir():
                if path.name.isdecimal():
                    self._read(path)
            self.looks += 1
            self.over.wait(0.1)

    def _read(self, process: Path) -> None:
        try:
            given = (process / "cmdline").read_bytes()
        except OSError:
            return
        if given in self.known:
            return
        self.known.add(given)
        said = given.decode(errors="replace")
        self.seen.update(word for word in ("mpirun", "ib_write_bw") if word in said)
        self.found.update(value for value in self.wanted if value in said)


@dataclass(frozen=True)
class Ended:
    run: Run
    watch: Watch
    folder: Path
    bundle: Path


def plant(lab: StandingLab, folder: Path) -> None:
    """Plant every kind in what the nodes' tools, their kernels and their hardware say."""
    said, kernel = folder / "said.txt", folder / "kernel.txt"
    said.write_text("".join(f"{planted.text}\n" for planted in KINDS))
    records = (f"4,{10**6 + n},{10**6 + n},-;{p.text}\n" for n, p in enumerate(KINDS))
    kernel.write_text("".join(records))
    for node in lab.logins:
        home = lab.home(node)
        (home / "real").mkdir()
        (home / "bin" / "bash").symlink_to(programs.asked("bash"))  # for the lines of setup
        for name, text in _PROGRAMS.items():
            tool, real = home / "bin" / name, home / "real" / name
            real.symlink_to(tool.readlink())
            tool.unlink()
            tool.write_text(text.format(said=said, kernel=kernel, real=real))
            tool.chmod(0o755)
        with lab.file(node, "proc/cpuinfo").open("a") as file:
            file.writelines(f"model name\t: {planted.text}\n" for planted in KINDS)


def setup() -> list[str]:
    """Lines that hold each kind, and one that fails on no node."""
    quoted = ((p.text, '"' if "'" in p.text else "'") for p in KINDS if "$" not in p.text)
    return [f": {mark}{text}{mark}" for text, mark in quoted]


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    folder = tmp_path_factory.mktemp("secrets")
    project, watch = make_project(folder / "project"), Watch(tuple(p.value for p in KINDS))
    FEW(project)
    more = f"environment: {json.dumps(BY_NAME)}\nsetup: {json.dumps(setup())}\n"
    more += "fabric: {none: a lab has no switches}"
    with standing_lab(folder / "lab", "h200") as lab:
        plant(lab, folder)
        thread = threading.Thread(target=watch.look)
        thread.start()
        try:
            run = project.run(*lab.hostfile(project, more), *SMOKE, "-rA", "--tb=short")
        finally:
            watch.over.set()
            thread.join()
    bundle = folder / "unpacked"
    bundle.mkdir()
    made = folder / "made.tar.gz"
    assert main(["bundle", str(run.latest.resolve()), "-o", str(made), "--unsigned"]) == 0
    unpack(made, bundle)
    return Ended(run, watch, run.latest.resolve(), bundle)


def test_every_kind_was_said_at_every_place(ended: Ended) -> None:
    """Nothing is proved by a run in which nobody said anything."""
    for name in ("host_write", "node_all_reduce", "gpu_copy", "kernel_log"):
        found = [p.read_text() for p in (ended.folder / "transcripts").glob(f"*{name}*.json")]
        assert max(text.count(MASK) for text in found) >= 60, name
    assert (ended.folder / "environment.json").read_text().count(MASK) >= 60
    assert (ended.folder / "cluster.json").read_text().count(MASK) >= 60
    assert ended.watch.seen == {"mpirun", "ib_write_bw"}
    assert ended.watch.looks >= 3


@pytest.mark.parametrize("place", ["folder", "bundle"])
def test_no_secret_is_left_in_any_file(ended: Ended, place: str) -> None:
    folder = getattr(ended, place)
    left = {
        (path.relative_to(folder).as_posix(), planted.kind)
        for path in folder.rglob("*")
        if path.is_file()
        for text in [path.read_bytes().decode(errors="replace")]
        for planted in KINDS
        if planted.value in text
    }
    assert sorted(left) == []


def test_no_secret_is_printed(ended: Ended) -> None:
    printed = ended.run.stdout + ended.run.stderr
    assert [p.kind for p in KINDS if p.value in printed] == []


def test_no_secret_is_in_the_arguments_of_a_process(ended: Ended) -> None:
    assert ended.watch.found == set()


def test_the_report_counts_what_was_masked(ended: Ended) -> None:
    report = (ended.folder / "report.html").read_text()
    assert "secrets masked: " in report
    assert "secrets masked: " in ended.run.stdout


def test_only_its_owner_may_read_a_run(ended: Ended) -> None:
    modes = {
        path: stat.S_IMODE(path.lstat().st_mode)
        for path in (ended.folder, *ended.folder.rglob("*"))
        if not path.is_symlink()
    }
    assert {p.name: oct(m) for p, m in modes.items() if m & 0o077} == {}
