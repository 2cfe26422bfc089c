"""The Makefile starts the scripts of its longer targets, and signs a release."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from testing.places import ROOT
from testing.programs import asked, cannot_run, machine

from railgauge.bundle import signers


@pytest.mark.parametrize(
    "target", ["healthy", "stragglers", "blind", "blind-quick", "kills", "bench"]
)
def test_the_script_of_a_target_starts(target: str, tmp_path: Path) -> None:
    if not shutil.which("make", path=machine()):
        cannot_run("make is not on this machine")
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    (tmp_path / ".ready").touch()
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    made = subprocess.run(
        ["make", "--silent", target, f"VENV={tmp_path}", "ARGS=--help"],
        cwd=ROOT, env=env, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    assert made.stdout.startswith("usage: ")


# --- make release ---


@pytest.fixture
def release(tmp_path: Path) -> Path:
    folder = tmp_path / "dist"
    folder.mkdir()
    for name in ("railgauge-1.tar.gz", "railgauge-1-py3-none-any.whl", "railgauge-1.cdx.json"):
        (folder / name).write_text(name)
    return folder


def key_of(folder: Path, *kind: str) -> Path:
    path = folder / "key"
    made = (asked("ssh-keygen"), "-q", *kind, "-N", "", "-C", "somebody@somewhere", "-f", path)
    subprocess.run(made, check=True)
    return path


def summed(release: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [asked("make"), "--silent", "sums", f"DIST={release}", *words],
        cwd=ROOT, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def verified(release: Path) -> subprocess.CompletedProcess[str]:
    """The commands of ``SECURITY.md``, as a user gives them."""
    page = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    (commands,) = re.findall(r"^```\n(ssh-keygen .*?)```$", page, re.MULTILINE | re.DOTALL)
    return subprocess.run(
        ["sh", "-e", "-c", commands],
        cwd=release, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def test_a_release_is_signed_and_verifies(release: Path, tmp_path: Path) -> None:
    done = summed(release, f"KEY={key_of(tmp_path, '-t', 'ed25519')}")
    assert done.returncode == 0, done.stderr
    assert 'Good "railgauge" signature' in done.stdout
    assert verified(release).returncode == 0, verified(release).stderr
    (signer,) = signers.load(release / "allowed_signers", time.time())
    assert (signer.name, signer.unfit) == ("railgauge", "")
    assert "somebody" not in (release / "allowed_signers").read_text()


@pytest.mark.parametrize("changed", ["railgauge-1.tar.gz", "SHA256SUMS", "allowed_signers"])
def test_a_changed_release_does_not_verify(release: Path, tmp_path: Path, changed: str) -> None:
    summed(release, f"KEY={key_of(tmp_path, '-t', 'ed25519')}")
    other = tmp_path / "other"
    other.mkdir()
    key_of(other, "-t", "ed25519")
    public = (other / "key.pub").read_text()
    with (release / changed).open("r+") as file:
        text = file.read()
        file.seek(0)
        file.write(f"railgauge {public}" if changed == "allowed_signers" else f"{text}x")
        file.truncate()
    assert verified(release).returncode != 0


def test_a_release_without_a_key_says_that_nothing_is_signed(release: Path) -> None:
    (release / "SHA256SUMS.sig").write_text("of an earlier release")
    done = summed(release)
    assert done.returncode == 0, done.stderr
    assert "NOTHING IS SIGNED" in done.stdout
    assert {path.name for path in release.iterdir()} - {"SHA256SUMS"} == {
        line.split()[1] for line in (release / "SHA256SUMS").read_text().splitlines()
    }


@pytest.mark.parametrize("kind", [("-t", "ecdsa"), ()])
def test_a_key_that_signs_no_bundle_signs_no_release(
    release: Path, tmp_path: Path, kind: tuple[str, ...]
) -> None:
    key = key_of(tmp_path, *kind) if kind else tmp_path / "missing"
    done = summed(release, f"KEY={key}")
    assert done.returncode != 0
    assert f"KEY={key} is no private Ed25519 key; make one with: ssh-keygen" in done.stderr
    assert not (release / "SHA256SUMS.sig").exists()
