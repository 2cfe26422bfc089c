"""A package is missing, too old or broken: exit code 3 or 4 and one line, never a verdict."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from importlib import metadata
from pathlib import Path

import pytest
from testing.acceptance import BARE_SMOKE, HOMELAB, Project, environment, make_project

from railgauge.site import installed

NO_VERDICT = (3, 4)
TIME_LIMIT_S = 120.0


# A hostfile with a complaint: only for its words jsonschema is imported.
WRONG = ("--hostfile", "wrong.yaml")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    made = make_project(tmp_path_factory.mktemp("installed") / "site")
    made.write(WRONG[1], "cluster: c\nplatform: connectx4-homelab\nnodse: n1\n")
    return made


def hostfile_for(module: str) -> tuple[str, str]:
    """The options with a hostfile that makes a run import this package."""
    return WRONG if module == "jsonschema" else HOMELAB


def started(
    project: Project, python: tuple[str, ...], first: Path, words: tuple[str, ...]
) -> subprocess.CompletedProcess[str]:
    """A program of Python that looks for modules in ``first`` before all other places."""
    return subprocess.run(
        [*python, *words],
        cwd=project.folder,
        env=environment() | {"PYTHONPATH": str(first)},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=TIME_LIMIT_S,
        check=False,
    )


def lines_of(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in (done.stdout + done.stderr).splitlines() if "railgauge:" in line]


def broken(folder: Path, module: str, how: str = "raise ImportError('broken on purpose')") -> Path:
    (folder / f"{module}.py").write_text(f"{how}\n")
    return folder


# --- a package that cannot be imported ---


@pytest.mark.parametrize(
    "module",
    ["fabric", "jsonschema", "cattrs", "asyncssh", "jinja2"],
)
def test_a_broken_package_is_no_verdict(project: Project, tmp_path: Path, module: str) -> None:
    before = sorted((project.folder / "reports").glob("*/verdict.json"))
    hostfile = hostfile_for(module)
    words = ("-m", "pytest", "-p", "no:hypothesispytest", *hostfile, *BARE_SMOKE)
    done = started(project, (sys.executable,), broken(tmp_path, module), words)
    assert done.returncode in NO_VERDICT, done.stdout + done.stderr
    (line,) = lines_of(done)
    assert "broken on purpose" in line
    assert "Traceback" not in done.stdout + done.stderr
    assert sorted((project.folder / "reports").glob("*/verdict.json")) == before


# Imported with the plugin, when a hostfile is refused, and when the nodes are reached.
@pytest.mark.parametrize("module", ["ClusterShell", "jsonschema", "fabric"])
@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("def (", "SyntaxError: invalid syntax"),
        ("1 / 0", "ZeroDivisionError: division by zero ({module}.py:1)"),
        ("raise SystemExit(1)", "SystemExit: 1 ({module}.py:1)"),
    ],
)
def test_a_damaged_package_is_reported_in_one_line(
    project: Project, tmp_path: Path, module: str, how: str, says: str
) -> None:
    """It gave a traceback of pytest, some with a verdict below it, or nothing and exit code 1."""
    hostfile = hostfile_for(module)
    words = ("-m", "pytest", "-p", "no:hypothesispytest", *hostfile, *BARE_SMOKE)
    done = started(project, (sys.executable,), broken(tmp_path, module, how), words)
    printed = done.stdout + done.stderr
    assert done.returncode in NO_VERDICT, printed
    (line,) = lines_of(done)
    assert f"an import failed: {says.format(module=module)}" in line
    assert not any(word in printed for word in ("Traceback", "INTERNALERROR", "INCOMPLETE"))


@pytest.mark.parametrize("how", ["def (", "1 / 0", "raise SystemExit(1)"])
def test_a_command_reports_a_damaged_package_in_one_line(
    project: Project, tmp_path: Path, how: str
) -> None:
    command = ("-c", "import sys; from railgauge.cli import main; sys.exit(main())", "plan")
    done = started(
        project, (sys.executable,), broken(tmp_path, "jsonschema", how), (*command, *WRONG)
    )
    assert done.returncode in NO_VERDICT, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("railgauge: an import failed: ")


def test_an_error_that_is_none_of_an_import_stays_what_it_is() -> None:
    for error in (ValueError("x"), SystemExit(2), SyntaxError("of a document")):
        assert installed.failed_import(error) is None


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("ClusterShell", ("plan", *HOMELAB)),
        ("securesystemslib", ("verify", "nothing")),
        ("asyncssh", ("lab", "up", "--hostfile", HOMELAB[1])),
    ],
)
def test_a_broken_package_is_no_rejection_by_a_command(
    project: Project, tmp_path: Path, module: str, words: tuple[str, ...]
) -> None:
    command = ("-c", "import sys; from railgauge.cli import main; sys.exit(main())", *words)
    done = started(project, (sys.executable,), broken(tmp_path, module), command)
    assert done.returncode in (2, *NO_VERDICT), done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("railgauge: ")
    assert "broken on purpose" in line


def test_a_broken_packaging_is_reported_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check of the versions needs it itself, and gave a traceback in place of the line."""
    monkeypatch.setitem(sys.modules, "packaging.requirements", None)
    (line,) = installed.explained(ImportError("first")).splitlines()
    assert line.startswith("packaging cannot be imported: ")
    with pytest.raises(ImportError, match="packaging cannot be imported"):
        installed.refuse_unusable()


# --- a package that is too old ---


def with_version(folder: Path, name: str, version: str) -> Path:
    """A folder that says that this version of a package is installed."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    return folder


def test_a_package_that_is_too_old_is_named(project: Project, tmp_path: Path) -> None:
    first = with_version(tmp_path, "fabric", "2.7.1")
    words = ("-m", "pytest", "-p", "no:hypothesispytest", *HOMELAB, *BARE_SMOKE)
    done = started(project, (sys.executable,), first, words)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR, done.stdout + done.stderr
    (line,) = lines_of(done)
    assert "fabric 2.7.1 is installed, but railgauge needs fabric>=" in line


def test_an_old_xdist_is_named_although_its_import_fails_first(
    project: Project, tmp_path: Path
) -> None:
    """The plugin could not be imported with it, and pytest ended with 1: rejected."""
    first = with_version(tmp_path, "pytest-xdist", "3.5.0")
    (first / "sitecustomize.py").write_text(
        "import xdist.workermanage as old\ndel old.parse_tx_spec_config\n"
    )
    words = ("-m", "pytest", "-p", "no:hypothesispytest", *HOMELAB, *BARE_SMOKE)
    done = started(project, (sys.executable,), first, words)
    assert done.returncode in NO_VERDICT, done.stdout + done.stderr
    (line,) = lines_of(done)
    assert "pytest-xdist 3.5.0 is installed, but railgauge needs pytest-xdist>=3.6" in line
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("needed", "found", "says"),
    [
        (["pytest>=8.2"], {"pytest": "8.1.9"},
         ("pytest 8.1.9 is installed, but railgauge needs pytest>=8.2",)),
        (["pytest>=8.2"], {"pytest": "8.10"}, ()),
        (["pytest>=8.2"], {"pytest": "9.0.0rc1"}, ()),
        (["fabric>=3.2"], {}, ("fabric is not installed",)),
        (["mpi4py>=4.0; extra == 'selftest'"], {}, ()),
        (["tomli>=2; python_version < '3.0'"], {}, ()),
        (["securesystemslib[crypto]>=1.0"], {"securesystemslib": "0.9"},
         ("securesystemslib 0.9 is installed, but railgauge needs securesystemslib>=1.0",)),
    ],
)  # fmt: skip
def test_versions_are_compared(
    monkeypatch: pytest.MonkeyPatch,
    needed: list[str],
    found: dict[str, str],
    says: tuple[str, ...],
) -> None:
    def version(name: str) -> str:
        if name not in found:
            raise metadata.PackageNotFoundError(name)
        return found[name]

    monkeypatch.setattr(metadata, "requires", lambda _: needed)
    monkeypatch.setattr(metadata, "version", version)
    assert installed.complaints() == says


def test_what_is_installed_here_is_as_needed() -> None:
    assert installed.complaints() == ()
    installed.refuse_unusable()


# --- railgauge itself is not installed ---


def test_no_run_without_railgauge_looks_rejected(project: Project, tmp_path: Path) -> None:
    packages = tmp_path / "packages"
    packages.mkdir()
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "railgauge" not in path.name and path.suffix != ".pth":
            (packages / path.name).symlink_to(path)
    words = ("-S", "-m", "pytest", "-p", "no:hypothesispytest", "--level", "smoke")
    done = started(project, (sys.executable,), packages, words)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR, done.stdout + done.stderr
    assert "railgauge is not installed" in done.stderr
    assert "Traceback" not in done.stderr


def test_another_project_keeps_its_own_errors(tmp_path: Path) -> None:
    """Pytest itself reports an import that fails in a project without the suite."""
    (tmp_path / "conftest.py").write_text("import not_there\n")
    (tmp_path / "test_one.py").write_text("def test_one():\n    pass\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q"],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=TIME_LIMIT_S,
        env={**os.environ, "PYTEST_ADDOPTS": "-p no:hypothesispytest"},
    )  # fmt: skip
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "railgauge:" not in done.stdout + done.stderr
