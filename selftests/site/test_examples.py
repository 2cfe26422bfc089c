"""The examples for schedulers, run from elsewhere, through links and with hostfiles elsewhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from testing.acceptance import BARE_SMOKE, HOMELAB, Project, Run, environment, make_project
from testing.places import ROOT

LISTING = ("--level", "smoke", "--collect-only", "-q")
SEEN = "tests/preflight/test_host.py::test_cpu_governor[viper]"
TIME_LIMIT_S = 300.0

Start = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A site with the examples; beside it ``elsewhere``, with a hostfile and links to them."""
    top = tmp_path_factory.mktemp("top")
    project = make_project(top / "site")
    shutil.copytree(ROOT / "examples", project.folder / "examples")
    (project.folder / "reports").mkdir()
    (project.folder / ".venv").symlink_to(sys.prefix)
    elsewhere = top / "elsewhere"
    elsewhere.mkdir()
    shutil.copy(ROOT / HOMELAB[1], elsewhere / "mine.yaml")
    for name in ("nightly.sh", "acceptance.sbatch"):
        (elsewhere / name).symlink_to(project.folder / "examples" / name)
    return project


@pytest.fixture
def start(site: Project) -> Start:
    """``start(folder, *command, **variables)``; ``{}`` in a word is the folder of all folders."""
    top = site.folder.parent

    def run(folder: str, *command: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [word.replace("{}", str(top)) for word in command],
            cwd=top / folder,
            env=environment() | {name: text.replace("{}", str(top)) for name, text in more.items()},
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=TIME_LIMIT_S,
            check=False,
        )

    return run


def test_a_night_can_be_started_by_a_link_from_elsewhere(site: Project, start: Start) -> None:
    options = ("{}/elsewhere/mine.yaml", *BARE_SMOKE, "--lab-nodes", "2")
    done = start("elsewhere", "./nightly.sh", *options)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    run = Run(site, done.returncode, done.stdout, done.stderr, 0.0)
    assert run.verdict["verdict"] == "accepted"
    bundles = [path.name for path in (site.folder / "evidence").iterdir()]
    assert bundles == [f"{run.verdict['run_id']}.railgauge"]


@pytest.mark.parametrize(
    ("folder", "script", "hostfile"),
    [
        ("elsewhere", "{}/site/examples/nightly.sh", "mine.yaml"),
        ("site", "examples/nightly.sh", "../elsewhere/mine.yaml"),
        ("site", "../elsewhere/nightly.sh", "hostfiles/lab-connectx4-homelab.yaml"),
    ],
)
def test_a_night_reads_its_hostfile(start: Start, folder: str, script: str, hostfile: str) -> None:
    done = start(folder, script, hostfile, *LISTING)
    assert SEEN in done.stdout, done.stdout[-2000:] + done.stderr
    assert (done.returncode, "left no verdict" in done.stderr) == (74, True)


def test_a_run_that_is_refused_leaves_no_id_of_an_earlier_one(site: Project, start: Start) -> None:
    """Nor does a list of tests; a file that cannot be written is bad input."""
    file = site.write("id.txt", "20250101-010000-mx")
    pytest_ = (sys.executable, "-m", "pytest", "--run-id-file")
    for refused in (("--hostfile", "nowhere.yaml"), (*HOMELAB, *LISTING)):
        file.write_text("20250101-010000-mx")
        start("site", *pytest_, "id.txt", *refused)
        assert file.read_text() == "", refused
    done = start("site", *pytest_, "id.txt/id.txt", *HOMELAB, *BARE_SMOKE)
    assert (done.returncode, "id.txt/id.txt: cannot be written" in done.stderr) == (4, True)


def test_a_night_without_an_environment_says_what_makes_one(tmp_path: Path, start: Start) -> None:
    (tmp_path / "site" / "reports").mkdir(parents=True)
    shutil.copytree(ROOT / "examples", tmp_path / "site" / "examples")
    done = start("elsewhere", f"{tmp_path}/site/examples/nightly.sh", "mine.yaml")
    assert (done.returncode, "railgauge init" in done.stderr) == (2, True), done.stderr


# --- a batch job: Slurm runs a copy of the script, in the folder of sbatch ---

SCONTROL = '#!/bin/sh\nprintf "JobId=7\\n   Command=%s\\n   WorkDir=/\\n" "$COMMAND"\n'


@pytest.fixture
def spool(tmp_path: Path) -> str:
    """The copy of the script, beside a stand-in for ``scontrol``."""
    shutil.copy(ROOT / "examples" / "acceptance.sbatch", tmp_path / "slurm_script")
    (tmp_path / "scontrol").write_text(SCONTROL)
    (tmp_path / "scontrol").chmod(0o755)
    return str(tmp_path / "slurm_script")


def _job(
    start: Start, spool: str, folder: str, command: str, **more: str
) -> subprocess.CompletedProcess[str]:
    """What the job does that ``sbatch COMMAND`` in this folder submits."""
    words = command.split()[1:]
    return start(
        folder,
        *("bash", spool, *words),
        SLURM_JOB_ID="7",
        SLURM_SUBMIT_DIR="{}/" + folder,
        COMMAND=command,
        PATH=f"{Path(spool).parent}:{os.environ['PATH']}",
        **more,
    )


@pytest.mark.parametrize(
    ("folder", "submitted"),
    [
        ("site", "{}/site/examples/acceptance.sbatch hostfiles/lab-connectx4-homelab.yaml"),
        ("site", "{}/site/examples/acceptance.sbatch {}/elsewhere/mine.yaml"),
        ("elsewhere", "{}/site/examples/acceptance.sbatch mine.yaml"),
        ("elsewhere", "{}/elsewhere/acceptance.sbatch {}/elsewhere/mine.yaml"),
    ],
)
def test_a_job_can_be_submitted_from_anywhere(
    start: Start, spool: str, folder: str, submitted: str
) -> None:
    """A list of tests is no verdict."""
    done = _job(start, spool, folder, " ".join([submitted, *LISTING]))
    assert (done.returncode, SEEN in done.stdout) == (74, True), done.stdout[-2000:] + done.stderr


@pytest.mark.parametrize(
    ("submitted", "says"),
    [
        ("{}/site/examples/acceptance.sbatch", "usage: "),
        ("{}/site/examples/acceptance.sbatch missing.yaml", "missing.yaml: no such hostfile"),
        ("/usr/bin/acceptance.sbatch mine.yaml", "is a site: submit the job from one"),
    ],
)
def test_a_job_that_cannot_start_prints_why(
    start: Start, spool: str, submitted: str, says: str
) -> None:
    done = _job(start, spool, "elsewhere", submitted)
    assert (done.returncode, says in done.stderr) == (2, True), done.stderr


def test_the_merge_takes_the_runs_of_its_jobs(tmp_path: Path, start: Start) -> None:
    """Text in a job's output is no run, and neither is a job that left none."""
    (tmp_path / "railgauge-7.run").write_text("20260101-010000-mx\n")
    (tmp_path / "railgauge-8.run").write_text("")
    (tmp_path / "railgauge-8.out").write_text("reports: reports/20250101-010000-mx\n")
    merge = _stand_in(f"{tmp_path}/.", "railgauge", 'echo "$@"')
    script = ("bash", str(ROOT / "examples" / "shards.sh"), "--merge", "7", "8", "9")
    done = start("elsewhere", *script, SLURM_SUBMIT_DIR=str(tmp_path), RAILGAUGE=merge)
    assert done.stdout == "merge reports/20260101-010000-mx\n", done.stderr
    assert done.stderr.splitlines() == ["job 8 has left no run", "job 9 has left no run"]


def _stand_in(spool: str, name: str, text: str) -> str:
    path = Path(spool).parent / name
    path.write_text(f"#!/bin/bash\n{text}\n")
    path.chmod(0o755)
    return str(path)


# What a run leaves that was asked to write its id, and a replay that somebody began meanwhile.
VERDICT = (
    'for word; do [ "$before" != --run-id-file ] || echo mine >"$word"; before=$word; done; '
    "mkdir -p reports/mine; echo {} >reports/mine/verdict.json"
)
REPLAY = (
    "mkdir -p reports/replay; ln -sfn replay reports/latest; echo {} >reports/latest/verdict.json"
)


@pytest.mark.parametrize("code", [0, 1, 10, 11])
@pytest.mark.parametrize("earlier", [False, True])
def test_a_code_without_a_verdict_is_none(
    start: Start, spool: str, code: int, earlier: bool
) -> None:
    """A broken package ends Python with 1 before anything is measured; latest is another run."""
    if earlier:
        submitted = "{}/site/examples/acceptance.sbatch hostfiles/lab-connectx4-homelab.yaml"
        first = _stand_in(spool, "pytest", f"{VERDICT}; exit 0")
        assert _job(start, spool, "site", submitted, RAILGAUGE_PYTEST=first).returncode == 0
    submitted = "{}/site/examples/acceptance.sbatch hostfiles/lab-connectx4-homelab.yaml"
    broken = _stand_in(spool, "pytest", f"{REPLAY}; exit {code}")
    done = _job(start, spool, "site", submitted, RAILGAUGE_PYTEST=broken)
    assert done.returncode == 74, done.stderr
    assert f"exit code {code}, but the run left no verdict.json: no verdict" in done.stderr


@pytest.mark.parametrize(
    ("left", "code"), [("9:59", 2), ("10:01", 0), ("1-00:00:00", 0), ("UNLIMITED", 0), ("", 0)]
)
def test_a_job_that_must_end_before_it_begins_is_refused(
    start: Start, spool: str, left: str, code: int
) -> None:
    _stand_in(spool, "squeue", f"echo '{left}'")
    ready = _stand_in(spool, "pytest", f"{VERDICT}; exit 0")
    submitted = "{}/site/examples/acceptance.sbatch hostfiles/lab-connectx4-homelab.yaml"
    done = _job(start, spool, "site", submitted, RAILGAUGE_PYTEST=ready)
    assert (done.returncode, "give it more --time" in done.stderr) == (code, code == 2), done.stderr


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("kill -TERM $PPID; sleep 3", 143, "before the run had begun: there is no verdict"),
        (
            f"{VERDICT}; trap 'sleep 0.3; exit 10' TERM; kill -TERM $PPID; sleep 3 & wait; exit 3",
            10,
            "",
        ),
        (
            f"{VERDICT}; trap 'exit 1' TERM"
            "; kill -TERM $PPID; sleep 0.2; kill -TERM $PPID; sleep 3",
            1,
            "",
        ),
    ],
)
def test_the_code_after_slurm_s_signal_is_that_of_the_run(
    start: Start, spool: str, text: str, code: int, says: str
) -> None:
    run = _stand_in(spool, "pytest", text)
    submitted = "{}/site/examples/acceptance.sbatch hostfiles/lab-connectx4-homelab.yaml"
    done = _job(start, spool, "site", submitted, RAILGAUGE_PYTEST=run)
    assert (done.returncode, done.stderr.strip()[-len(says) or None :]) == (
        code,
        says or done.stderr,
    )


@pytest.mark.parametrize("folder", ["site", "elsewhere"])
def test_a_job_started_by_hand_submits_itself_with_usable_nodes(
    start: Start, spool: str, folder: str
) -> None:
    _stand_in(spool, "sbatch", 'printf "%s|" sbatch "$@"')
    nodes = _stand_in(spool, "railgauge", 'echo "left out gpu02: drained" >&2; echo "gpu[01,03]"')
    script, hostfile = "{}/site/examples/acceptance.sbatch", "{}/elsewhere/mine.yaml"
    path = f"{Path(spool).parent}:{os.environ['PATH']}"
    words = ("bash", script, hostfile, "--level", "nightly")
    done = start(folder, *words, RAILGAUGE=nodes, PATH=path)
    fields = done.stdout.split("|")
    assert fields[:2] == ["sbatch", "--nodelist=gpu[01,03]"], done.stdout + done.stderr
    assert fields[2].endswith("/site/examples/acceptance.sbatch")
    assert [word.rpartition("/")[2] for word in fields[3:6]] == ["mine.yaml", "--level", "nightly"]
    assert "gpu02: drained" in done.stderr


# --- the shell steps of the Jenkinsfile, in a workspace that is a site ---


@pytest.mark.parametrize("step", ["plan --hostfile", "-m pytest --hostfile"])
@pytest.mark.parametrize("hostfile", ["{}/elsewhere/mine.yaml", "../elsewhere/mine.yaml"])
def test_the_nightly_job_has_its_steps_in_order(start: Start, step: str, hostfile: str) -> None:
    steps = re.findall(r"script: '''(.*?)'''|sh '''(.*?)'''", _jenkinsfile(), re.DOTALL)
    (text,) = [text for text in map("".join, steps) if step in text]
    done = start(
        "site",
        *("bash", "-ec", text),
        NIGHT_HOSTFILE=hostfile,
        NIGHT_LEVEL="smoke",
        PYTEST_ADDOPTS="-p no:hypothesispytest --collect-only -q",
    )
    plans = "plan" in step  # the other one is only listed here, which is no accepted cluster
    assert done.returncode == (0 if plans else 3), done.stdout[-2000:] + done.stderr
    assert ("lab-connectx4-homelab: " if plans else SEEN) in done.stdout


def _jenkinsfile() -> str:
    return (ROOT / "Jenkinsfile").read_text(encoding="utf-8").replace("\\\\", "\\")
