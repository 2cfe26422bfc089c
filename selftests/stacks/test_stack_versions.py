"""Versions of collective libraries and fabric manager: the installed one, or why it is unknown."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from railgauge.stacks import Section, stack
from railgauge.stacks.versions import library_files, library_version


def installed(root: Path, *files: str) -> Section:
    """The probe's result for libnccl in a root with these files."""
    for file in files:
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).touch()
    command = ["sh", "-c", library_files("libnccl")]
    done = subprocess.run(
        command, env={"R": str(root), "PATH": "/usr/bin:/bin"}, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    return Section("nvidia-nccl", done.stdout + done.stderr, done.returncode)


@pytest.mark.parametrize(
    "folder",
    ["usr/lib/x86_64-linux-gnu", "usr/lib64", "usr/local/lib", "usr/local/nccl/lib", "opt/nccl/lib",
     "usr/local/cuda-12.4/lib64", "opt/hpcx/nccl/lib"],
)  # fmt: skip
def test_a_library_is_found_wherever_it_is_installed(tmp_path: Path, folder: str) -> None:
    printed = installed(tmp_path, f"{folder}/libnccl.so.2.22.3", f"{folder}/libnccl.so.2")
    assert library_version(printed, "libnccl")[0] == "2.22.3"


def test_all_versions_are_reported_in_order_and_once(tmp_path: Path) -> None:
    files = ("usr/lib64/libnccl.so.2.22.3", "opt/x/lib/libnccl.so.2.9.1",
             "usr/local/lib/libnccl.so.2.22.3", "usr/lib64/libnccl-net.so.2.1.1")  # fmt: skip
    assert library_version(installed(tmp_path, *files), "libnccl")[0] == "2.9.1, 2.22.3"


def test_a_library_without_a_version_in_its_name_is_not_known(tmp_path: Path) -> None:
    version, why = library_version(installed(tmp_path, "usr/lib64/libnccl.so.2"), "libnccl")
    assert (version, why) == (
        None,
        "no libnccl.so with a version in its name under /usr/lib, /usr/local or /opt",
    )


def software(**printed: Section) -> tuple[dict[str, str], dict[str, str]]:
    sections = {name.replace("_", "-"): section for name, section in printed.items()}
    facts = stack("nvidia").parse(sections)
    return dict(facts.software), dict(facts.missing)


def test_the_fabric_manager_shows_its_version() -> None:
    printed = Section("nvidia-fabricmanager", "Fabric Manager version is : 550.90.07\n")
    assert software(nvidia_fabricmanager=printed)[0] == {"fabric_manager": "550.90.07"}


@pytest.mark.parametrize(
    ("text", "code", "why"),
    [
        ("sh: 1: nv-fabricmanager: not found\n", 127, "nv-fabricmanager: command not found"),
        ("Fabric Manager\n", 0, "nv-fabricmanager --version: shows no version"),
    ],
)
def test_a_fabric_manager_that_shows_nothing_is_not_healthy(text: str, code: int, why: str) -> None:
    known, missing = software(nvidia_fabricmanager=Section("nvidia-fabricmanager", text, code))
    assert "fabric_manager" not in known
    assert why in missing["gpu_software.fabric_manager"]
