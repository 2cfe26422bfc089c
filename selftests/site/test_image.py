"""The control image, which podman builds from the source distribution on Debian's packages."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from testing.acceptance import BARE_SMOKE, HOMELAB
from testing.distributions import carry_out, distributions
from testing.places import ROOT
from testing.programs import asked, cannot_run, folder_of, machine

TEXT = (ROOT / "Containerfile").read_text(encoding="utf-8")
# The limits of a container are at most those of this machine.
_ENGINE = """\
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1000:1000"]
[engine]
runtime = "runc"
tmp_dir = "{0}/libpod"
"""
_STORE = """\
[storage]
driver = "overlay"
graphroot = "{0}/store"
runroot = "{0}/run"
"""
# As OpenShift runs it: by a user whom the image does not know, in the group of all its files.
UNKNOWN = "--user=4711:0"
SETTING = "packages.known.example"

Podman = Callable[..., str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("image")


@pytest.fixture(scope="module")
def root(folder: Path, podman: Podman) -> Path:
    """A root file system of the release that the Containerfile takes by itself."""
    (release,) = re.findall(r"^ARG BASE=debian:(\w+)-slim$", TEXT, re.MULTILINE)
    made = [asked("debootstrap"), "--variant=minbase", release, folder / "root"]
    done = subprocess.run(made, capture_output=True, text=True, check=False)
    if done.returncode:
        cannot_run(f"debootstrap makes no root file system: {done.stdout[-300:]}")
    return folder / "root"


@pytest.fixture(scope="module")
def podman(folder: Path) -> Iterator[Podman]:
    """podman with a store of its own: its standard output."""
    asked("runc")
    if os.geteuid() != 0:
        cannot_run("podman and debootstrap need root here")
    variables = {"PATH": machine()}
    for name, text in (("CONTAINERS_CONF", _ENGINE), ("CONTAINERS_STORAGE_CONF", _STORE)):
        (folder / name).write_text(text.format(folder), encoding="utf-8")
        variables[name] = str(folder / name)
    program = asked("podman")

    def run(*words: object, by: object = program, **more: str) -> str:
        return carry_out(by, *words, cwd=folder, **variables, **more)

    yield run
    # podman leaves its store mounted, and pytest could not remove it.
    subprocess.run(["umount", folder / "store" / "overlay"], capture_output=True, check=False)


@pytest.fixture(scope="module")
def base(root: Path, podman: Podman) -> str:
    packed = ["tar", "-C", root, "-c", "-f", root.with_suffix(".tar"), "."]
    subprocess.run(packed, check=True)
    podman("import", "--quiet", root.with_suffix(".tar"), "localhost/base")
    try:
        podman("run", "--rm", "--network=none", "localhost/base", "true")
    except AssertionError as error:
        cannot_run(f"podman runs no container here: {str(error)[-300:]}")
    return "localhost/base"


@pytest.fixture(scope="module")
def image(base: str, podman: Podman, folder: Path) -> str:
    built = distributions(folder)
    (built.source / "dist").mkdir()
    shutil.copy(built.wheel, built.source / "dist")
    script = built.source / "image" / "build.sh"
    settings = {"PYTHON": sys.executable, "PIP_TRUSTED_HOST": SETTING}
    podman("control", f"--build-arg=BASE={base}", by=script, **settings)
    return "railgauge-control"


def test_the_image_accepts_a_lab_without_a_network_and_leaves_the_run_in_the_volume(
    image: str, podman: Podman
) -> None:
    run = ("run", "--rm", "--network=none", "--volume=site:/site", UNKNOWN, image)
    output = podman(*run, "pytest", *HOMELAB, *BARE_SMOKE, "--lab-nodes=2")
    assert "ACCEPTED (SIMULATED evidence)" in output
    (volume,) = json.loads(podman("volume", "inspect", "site"))
    verdict = Path(volume["Mountpoint"], "reports", "latest", "verdict.json")
    assert json.loads(verdict.read_text())["verdict"] == "accepted"


def test_the_user_of_the_image_has_no_rights_and_its_programs_start(
    image: str, podman: Podman
) -> None:
    own = "cd; printf 'ClusterName=c\\nSlurmctldHost=h\\n' >slurm; export SLURM_CONF=$HOME/slurm"
    asked = f"id -u; pip check; ssh -V; {own}; srun -V; mpirun --version; mpiexec.hydra --version"
    output = podman("run", "--rm", "--network=none", image, "sh", "-euc", f"exec 2>&1; {asked}")
    assert output.startswith("1000\n")
    expected = ("No broken requirements", "OpenSSH", "slurm", "Open MPI", "HYDRA")
    assert [words for words in expected if words not in output] == []


def test_the_image_holds_the_tested_packages(image: str, podman: Podman) -> None:
    output = podman("run", "--rm", "--network=none", image, "pip", "freeze")
    tested = re.findall(r"^[\w.-]+==\S+", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    installed = re.findall(r"^[\w.-]+==\S+$", output.lower().replace("_", "-"), re.MULTILINE)
    assert len(installed) > 20
    assert set(installed) <= set(tested)


def test_no_setting_of_pip_stays_in_it(image: str, podman: Podman) -> None:
    look = f"pip config list; grep -rl {SETTING} /etc /home /opt /root /run /site /tmp /var || :"
    run = ("run", "--rm", "--network=none", "--user=0", image, "sh", "-euc", look)
    assert podman(*run) == ""
    assert SETTING not in podman("inspect", image) + podman("history", "--no-trunc", image)


def test_debian_has_every_package_of_the_image_for_nodes(root: Path) -> None:
    (packages,) = re.findall(r"AS node\n.*?--no-install-recommends (.*?)&&", TEXT, re.DOTALL)
    names = packages.replace("\\", "").split()
    assert "perftest" in names
    install = ["apt-get", "install", "--simulate", "--no-install-recommends", *names]
    carry_out("chroot", root, *install, cwd=root, PATH="/usr/sbin:/usr/bin:/sbin:/bin")


# --- make release ---


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """What ``make dist`` leaves, beside a Containerfile of one small file."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copytree(ROOT / "image", tmp_path / "image")
    (tmp_path / "Containerfile").write_text("FROM scratch AS control\nCOPY dist/ /\n")
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / "railgauge-1-py3-none-any.whl").write_text("a wheel")
    return tmp_path


RELEASE = ("release", "--old-file=dist", f"VENV={sys.prefix}")
SUMMED = re.compile(r"^[0-9a-f]{64}  (\S+)$", re.MULTILINE)


def test_a_release_has_the_image_among_its_checksums(release: Path, podman: Podman) -> None:
    podman("-C", release, *RELEASE, by=asked("make"))
    archive = f"railgauge-1-image-{os.uname().machine}.tar"
    summed = (release / "dist" / "SHA256SUMS").read_text()
    assert SUMMED.findall(summed) == [archive, "railgauge-1-py3-none-any.whl"]
    with tarfile.open(release / "dist" / archive) as packed:
        assert {"oci-layout", "index.json"} <= set(packed.getnames())


def test_a_release_where_an_image_cannot_be_built_is_none(release: Path, podman: Podman) -> None:
    (release / "Containerfile").write_text("FROM scratch AS control\nCOPY missing /\n")
    with pytest.raises(AssertionError, match="missing"):
        podman("-C", release, *RELEASE, by=asked("make"))
    assert not (release / "dist" / "SHA256SUMS").exists()


def test_a_release_without_podman_reports_that_there_is_no_image(release: Path) -> None:
    programs = folder_of(release / "bin", "make", "sh", "rm", "sha256sum")
    done = subprocess.run(
        [programs / "make", "-C", release, *RELEASE],
        env={"PATH": str(programs)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "THERE IS NO IMAGE: podman is not installed here" in done.stderr
    summed = (release / "dist" / "SHA256SUMS").read_text()
    assert SUMMED.findall(summed) == ["railgauge-1-py3-none-any.whl"]
