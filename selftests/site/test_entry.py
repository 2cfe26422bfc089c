"""pytest finds the site, wherever its hostfile is, and other projects see nothing of the suite."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from testing import prepared
from testing.acceptance import HOMELAB, ONE_PAIR, Project, environment, make_project

from railgauge.plugin import options
from railgauge.site.entry import WITH_VALUE, found, is_astray, joined

TIME_LIMIT_S = 120.0
SEEN = "tests/preflight/test_host.py::test_cpu_governor[viper]"
LISTING = ("--level", "smoke", "--collect-only", "-q", "-p", "no:hypothesispytest")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A site, and beside it ``elsewhere/mine.yaml``, also by a link, and a link to the site."""
    folder = tmp_path_factory.mktemp("sites")
    project = make_project(folder / "site")
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    (project.folder / HOMELAB[1]).rename(elsewhere / "mine.yaml")
    (elsewhere / "link.yaml").symlink_to("mine.yaml")
    (project.folder / "inside.yaml").symlink_to(elsewhere / "mine.yaml")
    (folder / "linked-site").symlink_to("site")
    make_project(folder / "other-site")
    (folder / "other-site" / "hostfiles" / "mine.yaml").symlink_to(elsewhere / "mine.yaml")
    return project


def run_pytest(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return prepared.run(prepared.Request(arguments, folder, environment(), TIME_LIMIT_S))


@pytest.mark.parametrize(
    ("start", "words"),
    [
        ("site", ("--hostfile", "{}/elsewhere/mine.yaml")),
        ("site", ("--hostfile={}/elsewhere/mine.yaml",)),
        ("site", ("--hostfile", "../elsewhere/mine.yaml")),
        ("site", ("--hostfile", "{}/elsewhere/link.yaml")),
        ("site", ("--hostfile", "inside.yaml")),
        ("site", ("--hostfile", "{}/linked-site/inside.yaml")),
        ("site", ("--hostfile", "{}/other-site/hostfiles/mine.yaml")),
        ("site", ("tests/preflight", "--hostfile", "{}/elsewhere/mine.yaml")),
        ("linked-site", ("--hostfile", "../elsewhere/mine.yaml")),
        ("site/tests/preflight", ("--hostfile", "{}/elsewhere/mine.yaml")),
        ("elsewhere", ("{}/site/tests", "--hostfile", "mine.yaml")),
        ("elsewhere", ("--hostfile", "mine.yaml", "{}/linked-site/tests")),
        ("elsewhere", ("-c", "{}/site/tox.ini", "{}/site/tests", "--hostfile", "mine.yaml")),
        ("elsewhere", ("--rootdir", "{}/site", "{}/site/tests", "--hostfile", "mine.yaml")),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value).replace("{}/", ""),
)
def test_a_hostfile_may_be_anywhere(project: Project, start: str, words: tuple[str, ...]) -> None:
    top = project.folder.parent
    done = run_pytest(top / start, *(word.format(top) for word in words), *LISTING)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    # Where the root is not the folder of the start, ids begin elsewhere.
    assert SEEN.removeprefix("tests/preflight/") in done.stdout


def test_options_of_the_site_itself_stay_known(project: Project) -> None:
    conftest = project.folder / "conftest.py"
    before = conftest.read_text(encoding="utf-8")
    conftest.write_text(
        before + "\ndef pytest_addoption(parser):\n    parser.addoption('--ours')\n"
    )
    try:
        done = run_pytest(
            project.folder, "--hostfile", "../elsewhere/mine.yaml", "--ours", "x", *LISTING
        )
    finally:
        conftest.write_text(before, encoding="utf-8")
    assert (done.returncode, SEEN in done.stdout) == (0, True), done.stderr


def test_options_in_the_environment_are_read_too(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", f"--hostfile {project.folder.parent}/elsewhere/mine.yaml")
    command = [sys.executable, "-m", "pytest", *LISTING]
    done = subprocess.run(
        command, cwd=project.folder, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, SEEN in done.stdout) == (0, True), done.stderr


def test_bad_usage_keeps_its_one_clear_line(project: Project) -> None:
    elsewhere = project.folder.parent / "elsewhere"
    (elsewhere / "bad.yaml").write_text("cluster: 1\n", encoding="utf-8")
    done = run_pytest(project.folder, "--hostfile", str(elsewhere / "bad.yaml"))
    assert (done.returncode, "Traceback" in done.stderr) == (4, False)
    assert f"{elsewhere}/bad.yaml" in done.stdout + done.stderr


@pytest.mark.parametrize(
    "words", [("--hostfile", "{}"), ("--hostfile={}",), ("-n", "2", "--hostfile", "{}")]
)
def test_a_start_outside_of_any_site_prints_what_to_do(
    project: Project, tmp_path: Path, words: tuple[str, ...]
) -> None:
    mine = project.folder.parent / "elsewhere" / "mine.yaml"
    done = run_pytest(tmp_path, *(word.format(mine) for word in words))
    output = done.stdout + done.stderr
    assert (done.returncode, "unrecognized arguments" in output) == (4, False)
    assert f"{tmp_path}: neither this folder nor one above it is a site of railgauge" in output
    assert "railgauge init DIR" in output


def test_a_whole_run_with_workers_finds_its_site(project: Project) -> None:
    """The verdict's code comes through, and workers see the same cluster."""
    options = [*ONE_PAIR[2:], "-n", "2", "--lab-fault", "governor@viper"]
    run = project.run("--hostfile", "../elsewhere/mine.yaml", *options, fresh=True)
    assert (run.code, run.verdict["verdict"]) == (1, "rejected"), run.output
    assert run.output.count("test session starts") == 1


def test_a_file_that_the_run_makes_outside_of_the_site_leads_no_worker_astray(
    project: Project,
) -> None:
    """A worker has the same words, and the file is there by then."""
    elsewhere = project.folder.parent / "elsewhere"
    project.write("inside.yaml", (elsewhere / "mine.yaml").read_text(encoding="utf-8"))
    words = ["--hostfile", "inside.yaml", *ONE_PAIR[2:], "-n", "1", "--max-worker-restart", "0"]
    run = project.run(*words, "-k", "cpu_governor", "--run-id-file", "../elsewhere/run.id")
    assert run.is_good, run.output
    assert (elsewhere / "run.id").read_text(encoding="utf-8").strip() == run.latest.resolve().name


# --- other projects ---


Unrelated = Callable[[str], Path]


@pytest.fixture
def unrelated(tmp_path: Path) -> Unrelated:
    """A project of somebody else, whose ``conftest.py`` is this text."""

    def make(conftest: str) -> Path:
        folder = tmp_path / "theirs"
        (folder / "tests").mkdir(parents=True)
        (folder / "conftest.py").write_text(conftest, encoding="utf-8")
        test = "def test_one(request): assert request.config.getoption('--level', 'x')\n"
        (folder / "tests" / "test_theirs.py").write_text(test, encoding="utf-8")
        return folder

    return make


def _lines(done: subprocess.CompletedProcess[str]) -> list[str]:
    """What pytest printed, without times and its own list of the plugins that are installed."""
    lines = (done.stdout + done.stderr).splitlines()
    return [line.split(" in ")[0] for line in lines if not line.startswith("plugins: ")]


@pytest.mark.parametrize("words", [(), ("--help",), ("--markers",), ("--fixtures",), ("-n", "2")])
def test_other_projects_see_nothing_of_it(unrelated: Unrelated, words: tuple[str, ...]) -> None:
    folder = unrelated("")
    without = run_pytest(folder, "-p", "no:railgauge", "-p", "no:randomly", *words)
    done = run_pytest(folder, "-p", "no:randomly", *words)
    assert done.returncode == without.returncode == 0
    assert _lines(done) == _lines(without)
    assert not (folder / "reports").exists()


def test_other_projects_keep_options_of_the_same_names(
    unrelated: Unrelated, tmp_path: Path
) -> None:
    names = [f"--{name}" for name in ("hostfile", "platform", "level", "resume", "rounds")]
    added = "".join(f"    parser.addoption({name!r})\n" for name in names)
    folder = unrelated(f"def pytest_addoption(parser):\n{added}")
    (tmp_path / "theirs.ini").write_text("x", encoding="utf-8")
    words = ["--hostfile", "../theirs.ini", "--level", "theirs", "--rootdir", str(folder)]
    done = run_pytest(folder, "tests", *words)
    assert (done.returncode, "1 passed" in done.stdout) == (0, True), done.stdout + done.stderr


def test_other_projects_do_not_pay_for_it() -> None:
    code = (
        "import sys, pytest; before = set(sys.modules); import railgauge.site.entry; "
        "print(*(name for name in set(sys.modules) - before if not name.startswith('railgauge')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() in ([], ["shlex"])


# --- the words of a command line ---


class _Names:
    """Collects the options that take words as their value, in the place of pytest's parser."""

    def __init__(self) -> None:
        self.found: set[str] = set()

    def getgroup(self, name: str, description: str = "") -> _Names:
        return self

    def addoption(self, name: str, **settings: object) -> None:
        is_flag = str(settings.get("action", "")).startswith("store_")
        if not is_flag and "choices" not in settings and "type" not in settings:
            self.found.add(name)


def test_every_option_with_words_is_known() -> None:
    names = _Names()
    options.add(names)  # type: ignore[arg-type]
    assert names.found == set(WITH_VALUE)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--hostfile", "a b", "-q"], ["--hostfile=a b", "-q"]),
        (["--hostfile=a", "tests"], ["--hostfile=a", "tests"]),
        (["--hostfile"], ["--hostfile"]),
        (["tests", "--", "--hostfile", "a"], ["tests", "--", "--hostfile", "a"]),
        (["--resume", "--hostfile", "x"], ["--resume=--hostfile", "x"]),
    ],
)
def test_options_and_their_values_are_joined(words: list[str], expected: list[str]) -> None:
    assert joined(words) == expected


def test_only_what_leads_out_of_the_site_counts(project: Project) -> None:
    here = project.folder
    assert not is_astray(["--hostfile", "inside.yaml"], here)
    assert is_astray(["--run-id-file", "../elsewhere/missing.id"], here), "the run will make it"
    assert not is_astray(["-q", "../elsewhere/mine.yaml"], here)
    assert not is_astray(["--hostfile", "mine.yaml"], here.parent / "elsewhere")
    assert is_astray(["--hostfile", "../elsewhere/mine.yaml"], here)
    assert found([], here / "tests" / "network") == here
    assert found(["tests/network/test_rdma.py::test_x[a]"], here) == here
    assert found([], here.parent) is None


@pytest.mark.parametrize(
    ("option", "value"),
    [("-k", "not " + "x" * 300), ("-k", " or ".join(f"node{n:04}" for n in range(2000))),
     ("-m", "not " + "x" * 300), ("--hostfile", "x" * 300), ("--hostfile", "a\0b")],
)  # fmt: skip
def test_a_value_that_can_be_no_name_of_a_file_is_none(
    project: Project, option: str, value: str
) -> None:
    """pytest ended with a traceback and 1, the code of a rejected cluster."""
    assert found([option, value], project.folder) == project.folder
    assert not is_astray([option, value], project.folder)


def test_a_long_expression_selects(project: Project) -> None:
    long = "test_cpu_governor and not " + "x" * 300
    done = run_pytest(project.folder, *LISTING, "--hostfile", "inside.yaml", "-k", long)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "test_cpu_governor" in done.stdout
