"""``railgauge init``: makes a site, compares an older one, and changes nothing unasked."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from testing.places import ROOT

from railgauge.site import contents, folder

Railgauge = Callable[..., tuple[int, str, str]]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that the package gives to sites; a test may change them, as a new version does."""
    source = tmp_path / "package"
    for name in contents.names(ROOT):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, source / name)
    monkeypatch.setattr(contents, "source", lambda: source)
    return source


@pytest.fixture
def site(package: Path, tmp_path: Path, railgauge: Railgauge) -> Path:
    code, out, err = railgauge("init", tmp_path / "site")
    assert (code, err) == (0, ""), out
    return tmp_path / "site"


def snapshot(site: Path) -> dict[str, str]:
    paths = sorted(path for path in site.rglob("*") if ".venv" not in path.parts)
    return {str(path): path.read_text() for path in paths if path.is_file()}


def test_a_site_has_what_a_run_needs(site: Path) -> None:
    for name in ("tests", "thresholds", "hostfiles", "conftest.py", "tox.ini"):
        assert (site / name).exists()
    schemas = ("thresholds/schema.json", "hostfiles/schema.json", "examples/nightly.sh")
    assert all((site / name).is_file() for name in (*schemas, "Jenkinsfile", "reports/README.md"))
    assert (site / "examples" / "nightly.sh").stat().st_mode & 0o111
    assert (site / ".venv").resolve() == Path(sys.prefix).resolve()
    assert not list(site.rglob("__pycache__"))


def test_the_same_version_changes_nothing(site: Path, railgauge: Railgauge) -> None:
    before = snapshot(site)
    for more in ((), ("--update",)):
        code, out, _ = railgauge("init", site, *more)
        assert (code, "is up to date" in out) == (0, True)
    assert snapshot(site) == before


def test_an_existing_folder_without_files_of_a_site_becomes_one(
    package: Path, tmp_path: Path, railgauge: Railgauge
) -> None:
    (tmp_path / "here" / ".git").mkdir(parents=True)
    (tmp_path / "here" / "notes.txt").write_text("mine")
    assert railgauge("init", tmp_path / "here")[0] == 0
    assert (tmp_path / "here" / "tests").is_dir()
    assert (tmp_path / "here" / "notes.txt").read_text() == "mine"


def newer(package: Path) -> None:
    """A version with a new file, a changed one, a removed one, and one that users change too."""
    (package / "tests" / "network" / "test_new.py").write_text("new")
    (package / "tox.ini").write_text("[pytest]\n")
    (package / "tests" / "network" / "test_tcp.py").unlink()
    (package / "hostfiles" / "lab-h200.yaml").write_text("cluster: newer\n")


def test_an_older_site_is_compared_and_not_touched(
    package: Path, site: Path, railgauge: Railgauge
) -> None:
    newer(package)
    (site / "hostfiles" / "lab-h200.yaml").write_text("cluster: ours\n")
    (site / "thresholds" / "h200.json").write_text("{}")
    (site / "hostfiles" / "mine.yaml").write_text("cluster: mine\n")
    before = snapshot(site)
    code, out, _ = railgauge("init", site)
    assert code == 1
    assert snapshot(site) == before
    assert "nothing was changed" in out
    listed = {line.strip() for line in out.splitlines() if re.match(r"    \w", line)}
    assert listed == {
        "tests/network/test_new.py", "tox.ini", "tests/network/test_tcp.py",
        "hostfiles/lab-h200.yaml", "thresholds/h200.json",
    }  # fmt: skip
    code, out, _ = railgauge("init", site, "--json")
    files = json.loads(out)["files"]
    assert code == 1
    assert (files["new"], files["older"]) == (["tests/network/test_new.py"], ["tox.ini"])
    assert (files["gone"], files["yours"]) == (
        ["tests/network/test_tcp.py"],
        ["thresholds/h200.json"],
    )
    assert files["both"] == ["hostfiles/lab-h200.yaml"]


def test_an_update_keeps_what_the_user_changed(
    package: Path, site: Path, railgauge: Railgauge
) -> None:
    newer(package)
    ours = site / "hostfiles" / "lab-h200.yaml"
    ours.write_text("cluster: ours\n")
    (site / "thresholds" / "h200.json").write_text("{}")
    (site / "Jenkinsfile").unlink()
    code, out, _ = railgauge("init", site, "--update")
    assert (code, "yours stays: hostfiles/lab-h200.yaml" in out) == (1, True), out
    assert ours.read_text() == "cluster: ours\n"
    assert ours.with_name("lab-h200.yaml.new").read_text() == "cluster: newer\n"
    assert (site / "thresholds" / "h200.json").read_text() == "{}"
    assert (site / "tox.ini").read_text() == "[pytest]\n"
    assert (site / "tests" / "network" / "test_new.py").exists()
    assert not (site / "tests" / "network" / "test_tcp.py").exists()
    assert not (site / "Jenkinsfile").exists()
    assert railgauge("init", site)[0] == 0  # reported once, then it is the user's


def test_only_the_named_file_is_overwritten(
    package: Path, site: Path, railgauge: Railgauge
) -> None:
    newer(package)
    (site / "thresholds" / "h200.json").write_text("{}")
    code, out, _ = railgauge("init", site, "--overwrite", "thresholds/h200.json")
    assert (code, "nothing was changed" in out) == (1, False)  # the rest still waits
    assert (site / "thresholds/h200.json").read_text() == (
        package / "thresholds/h200.json"
    ).read_text()
    assert not (site / "tests" / "network" / "test_new.py").exists()


def test_a_folder_that_others_made_is_theirs(
    package: Path, tmp_path: Path, railgauge: Railgauge
) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "conftest.py").write_text("theirs")
    code, out, _ = railgauge("init", theirs)
    assert (code, "not made by railgauge init" in out) == (1, True)
    assert [path.name for path in theirs.iterdir()] == ["conftest.py"]
    assert railgauge("init", theirs, "--update")[0] == 1
    assert (theirs / "conftest.py").read_text() == "theirs"


def test_a_broken_link_to_an_environment_is_mended(
    site: Path, tmp_path: Path, railgauge: Railgauge
) -> None:
    (site / ".venv").unlink()
    (site / ".venv").symlink_to(tmp_path / "deleted")
    assert railgauge("init", site)[0] == 0
    assert (site / ".venv").resolve() == Path(sys.prefix).resolve()


@pytest.mark.parametrize(
    ("manifest", "says"),
    [
        ("{", "cannot be read"),
        ('{"version": "1", "files": {"../../x": "1"}}', "is outside the site"),
        ('{"version": "1", "files": {"/etc/passwd": "1"}}', "is outside the site"),
        ('{"version": "1", "files": 3}', "files"),
    ],
)
def test_a_manifest_that_cannot_be_trusted(
    site: Path, railgauge: Railgauge, manifest: str, says: str
) -> None:
    (site / folder.MANIFEST).write_text(manifest)
    code, _, err = railgauge("init", site, "--update")
    assert (code, says in err, len(err.splitlines())) == (2, True, 1), err


def test_bad_usage_is_one_line(site: Path, tmp_path: Path, railgauge: Railgauge) -> None:
    code, _, err = railgauge("init", site, "--overwrite", "hostfiles/mine.yaml")
    assert (code, "railgauge has no such file" in err) == (2, True)
    (tmp_path / "file").write_text("")
    assert railgauge("init", tmp_path / "file")[::2] == (
        2,
        f"railgauge: {tmp_path}/file: is not a folder\n",
    )
    (site / "tox.ini").unlink()
    (site / "tox.ini").mkdir()
    code, _, err = railgauge("init", site)
    assert (code, "tox.ini: cannot be read" in err) == (2, True), err


def test_a_full_disk_is_one_line(package: Path, railgauge: Railgauge) -> None:
    code, _, err = railgauge("init", "/proc/site")
    assert (code, len(err.splitlines())) == (2, 1), err
