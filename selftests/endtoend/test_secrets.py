"""Sixty kinds of secret at each place where a site may have them: in nothing that a run leaves or
shows, and in no list of processes while it goes.

Values that are known by the names of their variables stand alone in what the nodes print, also as
parts of addresses and of base64.
"""

from __future__ import annotations

import base64
import json
import stat
import threading
import urllib.parse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from testing.acceptance import SMOKE, Project, Run, make_project
from testing.archives import unpack
from testing.commands import railgauge
from testing.fewer import EXPECTED, measuring
from testing.secret_kinds import KINDS, NAMES
from testing.standing_lab import StandingLab, standing_lab

from railgauge.core.secret_forms import MASK

BY_NAME = {planted.kind: planted.value for planted in KINDS if planted.kind in NAMES}
# Known by their names alone: of the controller, of the hostfile, of one of its lines, of an option.
CONTROLLER, HOSTFILE, LINE, OPTION = (f"{word} q7Z/xy" for word in ("cAr4", "hOst", "lIne", "oPt1"))
ALONE = (CONTROLLER, HOSTFILE, LINE, OPTION)
# What a program makes of such a value; base64 of it within a longer text as well.
WRITTEN = {
    *ALONE,
    *(urllib.parse.quote(value, safe="") for value in ALONE),
    *(base64.b64encode(value.encode()).decode()[:16] for value in ALONE),
    *(base64.b64encode(f"me:{value}".encode()).decode()[4:18] for value in ALONE),
}
# Programs of the nodes that say all kinds: beside their output, in place of it, as the kernel.
# They stand long enough for ``Watch`` to see them.
_BESIDE = '#!/bin/sh\nsleep 0.3\ncat {printed} >&2\nexec {real} "$@"\n'
_INSTEAD = "#!/bin/sh\ncat {printed}\ncat {printed} >&2\ntail -n 1 {printed} >&2\nexit 3\n"
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
        printed = given.decode(errors="replace")
        self.seen.update(word for word in ("mpirun", "ib_write_bw") if word in printed)
        self.found.update(value for value in self.wanted if value in printed)


@dataclass(frozen=True)
class Ended:
    run: Run
    watch: Watch
    folder: Path
    bundle: Path
    project: Project


def plant(lab: StandingLab, folder: Path) -> None:
    """Plant every kind in what the nodes' tools, their kernels and their hardware say."""
    printed, kernel = folder / "said.txt", folder / "kernel.txt"
    alone = "".join(f"it is {value} there\nx{value}x\n" for value in sorted(WRITTEN))
    printed.write_text("".join(f"{planted.text}\n" for planted in KINDS) + alone)
    records = (f"4,{10**6 + n},{10**6 + n},-;{p.text}\n" for n, p in enumerate(KINDS))
    kernel.write_text("".join(records))
    for node in lab.logins:
        home = lab.home(node)
        (home / "real").mkdir()
        for name, text in _PROGRAMS.items():
            tool, real = home / "bin" / name, home / "real" / name
            real.symlink_to(tool.readlink())
            tool.unlink()
            tool.write_text(text.format(printed=printed, kernel=kernel, real=real))
            tool.chmod(0o755)
        with lab.file(node, "proc/cpuinfo").open("a") as file:
            file.writelines(f"model name\t: {planted.text}\n" for planted in KINDS)


def setup() -> list[str]:
    """Lines that hold each kind, and one that fails on no node."""
    quoted = ((p.text, '"' if "'" in p.text else "'") for p in KINDS if "$" not in p.text)
    return [f": {mark}{text}{mark}" for text, mark in quoted]


def in_platform(document: dict[str, Any]) -> None:
    """Plant every kind in all texts of a platform file that a reader is meant to read."""
    texts = [f"see {planted.text}" for planted in KINDS]
    document["title"] += f"; {texts[0]}"
    document["documents"] |= {f"9{n:02}": text for n, text in enumerate(texts)}
    reasons = document["not_applicable"]
    for number, subject in enumerate(reasons):
        reasons[subject] = "; ".join([*texts[number :: len(reasons)]])
    for number, expected in enumerate(document["expected"].values()):
        expected["basis"] = f"site: {texts[number]}"


def deviations(project: Project) -> str:
    """The path of a file with every kind as a reason and as a name."""
    entries = [
        {
            "subject": "h200-01",
            "item": f"tests/x.py::test_x[{n}]",
            "reason": one.text,
            "who": one.text,
        }
        | {"until": "2199-12-31"}
        for n, one in enumerate(KINDS)
    ]
    return str(project.write("deviations.yaml", json.dumps(entries)))


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ended]:
    folder = tmp_path_factory.mktemp("secrets")
    project, watch = make_project(folder / "project"), Watch(tuple(p.value for p in KINDS))
    FEW(project)
    project.edit_platform("h200", in_platform)
    lines = [*setup(), f": --site-password '{LINE}'"]
    given = {**BY_NAME, "SITE_SECRET": HOSTFILE}
    more = f"environment: {json.dumps(given)}\nsetup: {json.dumps(lines)}\n"
    more += "fabric: {none: a lab has no switches}"
    operator = f"ana; {KINDS[0].text}; password='{OPTION}'"
    more_options = ("--operator", operator, "--deviations", deviations(project))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CI_SECRET", CONTROLLER)
        yield _ended(project, folder, watch, more, more_options)


def _ended(
    project: Project, folder: Path, watch: Watch, more: str, options: Sequence[str]
) -> Ended:
    with standing_lab(folder / "lab", "h200") as lab:
        plant(lab, folder)
        thread = threading.Thread(target=watch.look)
        thread.start()
        try:
            given = (*lab.hostfile(project, more), *options, *SMOKE, "-rA", "--tb=short")
            run = project.run(*given)
        finally:
            watch.over.set()
            thread.join()
    assert run.code in (1, 10), run.output[:1500]
    bundle = folder / "unpacked"
    bundle.mkdir()
    made = folder / "made.tar.gz"
    done = railgauge(project.folder, "bundle", "reports/latest", "-o", str(made), "--unsigned")
    assert (done.returncode, done.stderr[:500]) == (0, _UNSIGNED)
    unpack(made, bundle)
    return Ended(run, watch, run.latest.resolve(), bundle, project)


_UNSIGNED = "UNSIGNED: nothing proves who made this bundle\n"


def test_every_kind_was_said_at_every_place(ended: Ended) -> None:
    """Nothing is proved by a run in which no tool printed anything."""
    for name in ("host_write", "node_all_reduce", "gpu_copy", "kernel_log"):
        found = [p.read_text() for p in (ended.folder / "transcripts").glob(f"*{name}*.json")]
        assert max(text.count(MASK) for text in found) >= 60, name
    assert (ended.folder / "environment.json").read_text().count(MASK) >= 60
    for name in ("cluster.json", "thresholds.json", "deviations.json", "verdict.json"):
        assert (ended.folder / name).read_text().count(MASK) >= 60, name
    assert json.loads((ended.folder / "run.json").read_text())["operator"].count(MASK) == 2
    assert ended.watch.seen == {"mpirun", "ib_write_bw"}
    assert ended.watch.looks >= 3


@pytest.mark.parametrize("place", ["folder", "bundle"])
def test_no_secret_is_left_in_any_file(ended: Ended, place: str) -> None:
    folder = getattr(ended, place)
    left = {
        (path.relative_to(folder).as_posix(), secret)
        for path in folder.rglob("*")
        if path.is_file()
        for secret in left_in(path.read_bytes().decode(errors="replace"))
    }
    assert sorted(left) == []


def left_in(text: str) -> list[str]:
    kinds = [planted.kind for planted in KINDS if planted.value in text]
    return [*kinds, *(value for value in WRITTEN if value in text)]


def test_no_secret_is_printed(ended: Ended) -> None:
    assert left_in(ended.run.stdout + ended.run.stderr) == []
    assert MASK in ended.run.stdout


@pytest.mark.parametrize(
    "command",
    [
        "metrics reports/latest", "inventory reports/latest", "inventory reports/latest --csv",
        "triage reports/latest",
        "triage reports/latest --suspects", "trend",
        "certificate reports/latest -o {folder}/certificate.html", "metrics reports/latest --json",
        "plan --hostfile standing.yaml", "limits h200",
    ],
)  # fmt: skip
def test_no_command_prints_or_writes_a_secret(ended: Ended, command: str, tmp_path: Path) -> None:
    done = railgauge(ended.project.folder, *command.format(folder=tmp_path).split())
    assert done.returncode in (0, 1, 3, 10), done.stderr[-2000:]
    assert done.stdout
    assert left_in(done.stdout + done.stderr) == []
    for page in tmp_path.iterdir():
        assert left_in(page.read_text()) == []


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
