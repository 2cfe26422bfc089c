"""Sixty kinds of secret where a site may have them: in nothing that a run leaves, and in no list of
processes while it goes."""

from __future__ import annotations

import json
import os
import stat
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from testing.acceptance import H200, SMOKE, Project, Run, make_project
from testing.secret_kinds import KINDS, NAMES, Planted

from railgauge.core.redaction import MASK

BY_NAME = {planted.kind: planted.value for planted in KINDS if planted.kind in NAMES}
# Said by the tools of the nodes and by what fails there: all kinds at every place.
_WRAPPER = """#!/bin/sh
cat {said} >&2
exec {program} "$@"
"""
_REFUSING = """#!/bin/sh
cat {said} >&2
echo "{error}" >&2
exit 3
"""


@dataclass
class Watch:
    """The arguments of all processes of this machine, on which all nodes of the lab are."""

    wanted: tuple[str, ...]
    found: set[str] = field(default_factory=set)
    looks: int = 0
    seen: set[str] = field(default_factory=set)
    over: threading.Event = field(default_factory=threading.Event)

    def look(self) -> None:
        while not self.over.is_set():
            for name in os.listdir("/proc"):
                if name.isdecimal():
                    self._read(name)
            self.looks += 1
            time.sleep(0.02)

    def _read(self, pid: str) -> None:
        try:
            said = Path("/proc", pid, "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            return
        self.seen.update(word for word in ("mpirun", "ib_write_bw") if word in said)
        self.found.update(value for value in self.wanted if value in said)


@dataclass(frozen=True)
class Ended:
    run: Run
    watch: Watch
    folder: Path
    bundle: bytes


def planted_in(project: Project, lines: list[Planted]) -> None:
    """Plant every kind: by name in the environment, as lines of setup, and in what tools say."""
    said = project.write("said.txt", "\n".join(p.text for p in lines) + "\n")
    programs = project.folder / "wrapped"
    programs.mkdir()
    node = "$(command -v {name} | tail -n 1)"
    for name in ("ib_write_bw", "ibstat"):
        text = _WRAPPER.format(said=said, program=f'"$HOME/bin/{name}"')
        (programs / name).write_text(text)
    error = "cannot open: " + KINDS[-3].text
    (programs / "ib_send_lat").write_text(_REFUSING.format(said=said, error=error))
    for program in programs.iterdir():
        program.chmod(0o755)
    del node
    setup = [f": '{p.text}'" if "'" not in p.text else f': "{p.text}"' for p in lines[:-1]]
    hostfile = project.folder / H200[1]
    hostfile.write_text(
        hostfile.read_text()
        + f"environment: {json.dumps(BY_NAME)}\n"
        + f"setup: {json.dumps([*setup, f'export PATH={programs}:$PATH'])}\n"
    )


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ended]:
    project = make_project(tmp_path_factory.mktemp("secrets") / "project")
    planted_in(project, KINDS)
    watch = Watch(tuple(p.value for p in KINDS))
    thread = threading.Thread(target=watch.look)
    thread.start()
    try:
        run = project.run(*H200, *SMOKE, "--lab-nodes", "2", "-rA", "--tb=short")
    finally:
        watch.over.set()
        thread.join()
    made = project.execute(("railgauge", "bundle", "latest", "-o", "made.tar.gz"))
    folder = (project.folder / "reports" / "latest").resolve()
    bundle = project.folder / "made.tar.gz"
    yield Ended(run, watch, folder, bundle.read_bytes() if bundle.exists() else made.err.encode())


def test_every_kind_was_planted_and_the_tools_said_it(ended: Ended) -> None:
    """Nothing is proved by a run in which nobody said anything."""
    texts = "\n".join(p.read_text() for p in (ended.folder / "transcripts").glob("*.json"))
    assert texts.count(MASK) > 60
    assert ended.watch.seen == {"mpirun", "ib_write_bw"}
    assert ended.watch.looks > 20


def test_no_secret_is_left_in_any_file(ended: Ended) -> None:
    left = {
        (path.relative_to(ended.folder).as_posix(), planted.kind)
        for path in ended.folder.rglob("*")
        if path.is_file()
        for text in [path.read_bytes().decode(errors="replace")]
        for planted in KINDS
        if planted.value in text
    }
    assert sorted(left)[:20] == []


def test_no_secret_is_printed(ended: Ended) -> None:
    printed = ended.run.out + ended.run.err
    assert [p.kind for p in KINDS if p.value in printed] == []


def test_no_secret_is_in_the_arguments_of_a_process(ended: Ended) -> None:
    assert ended.watch.found == set()


def test_the_report_counts_what_was_masked(ended: Ended) -> None:
    report = (ended.folder / "report.html").read_text()
    assert "secrets masked: " in report
    assert "secrets masked: " in ended.run.out


def test_only_its_owner_may_read_a_run(ended: Ended) -> None:
    modes = {
        path: stat.S_IMODE(path.lstat().st_mode)
        for path in (ended.folder, *ended.folder.rglob("*"))
        if not path.is_symlink()
    }
    assert {p.name: oct(m) for p, m in modes.items() if m & 0o077} == {}
