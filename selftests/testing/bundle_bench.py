"""Shared by the bundle tests: two small runs, their bundles, and ways to change a bundle."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from railgauge.bundle import archive, check
from railgauge.cli import main
from testing.acceptance import HOMELAB, SMOKE, Project, Run, make_project
from testing.commands import railgauge

STATEMENT = "statement.dsse.json"
SECRET = "correct-horse-battery-staple"
SHORT_SECRET = "pw9"
HOSTS = ("viper", "columbia", "prometheus")
Files = dict[str, bytes]


@dataclass(frozen=True)
class Bundled:
    """A run that has ended, and its unsigned bundle."""

    run: Run
    path: Path

    @property
    def project(self) -> Project:
        return self.run.project


def healthy(folder: Path) -> Bundled:
    """Two of the variables in the hostfile are secrets."""
    project = make_project(folder / "healthy")
    hostfile = project.folder / "hostfiles" / "lab-connectx4-homelab.yaml"
    secrets = f"environment: {{LAB_API_TOKEN: {SECRET}, LAB_PASSWORD: {SHORT_SECRET}}}\n"
    text = hostfile.read_text(encoding="utf-8")
    assert "\nenvironment:" not in text
    hostfile.write_text(text + secrets, encoding="utf-8")
    return _bundled(project, folder / "healthy.railgauge")


def red(folder: Path) -> Bundled:
    """One node has lost its port: facts fail, measurements above are blocked."""
    project = make_project(folder / "red")
    fault = ("--lab-fault", "port-down@viper")
    return _bundled(project, folder / "red.railgauge", *fault)


def _bundled(project: Project, path: Path, *options: str) -> Bundled:
    run = project.run(*HOMELAB, *SMOKE, *options)
    assert run.code in (0, 1), run.output[-3000:]
    bundle(run.latest, path, "--unsigned")
    return Bundled(run, path)


def bundle(run: Path, path: Path, *options: str) -> None:
    assert main(["bundle", str(run), "-o", str(path), *options]) == 0


def key_pair(folder: Path, name: str = "key", passphrase: str = "") -> Path:
    """An OpenSSH key as cryptography writes it; beside it ``.pub``."""
    key = Ed25519PrivateKey.generate()
    lock = form.BestAvailableEncryption(passphrase.encode()) if passphrase else form.NoEncryption()
    path = folder / name
    path.write_bytes(key.private_bytes(form.Encoding.PEM, form.PrivateFormat.OpenSSH, lock))
    public = key.public_key().public_bytes(form.Encoding.OpenSSH, form.PublicFormat.OpenSSH)
    path.with_suffix(".pub").write_bytes(public + b" acceptance@site\n")
    return path


# --- bundles that somebody changed ---


def files(path: Path) -> Files:
    """The files of a bundle; most tests change the same few."""
    return dict(_files(path, path.stat().st_mtime_ns))


@lru_cache(8)
def _files(path: Path, _written_ns: int) -> Files:
    with tarfile.open(path) as tar:
        return {info.name: tar.extractfile(info).read() for info in tar}  # type: ignore[union-attr]


def write(path: Path, content: Mapping[str, bytes]) -> Path:
    with archive.written(path) as writer:
        for name, data in content.items():
            writer.add(name, data)
    return path


def changed(source: Path, path: Path, change: Callable[[Files], object]) -> Path:
    """The bundle with other files, and the statement as it was."""
    content = files(source)
    change(content)
    return write(path, content)


def forged(source: Path, path: Path, change: Callable[[Files], object]) -> Path:
    """The bundle with other files, all hashes made anew: what somebody without a key can do."""
    content = files(source)
    change(content)
    content.pop("signer.pub", None)
    statement = payload(content)
    statement["subject"] = [
        {"name": name, "digest": {"sha256": hashlib.sha256(data).hexdigest()}}
        for name, data in content.items()
        if name != STATEMENT
    ]
    restate(content, statement)
    return write(path, content)


def payload(content: Files) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(base64.b64decode(json.loads(content[STATEMENT])["payload"]))
    return found


def restate(content: Files, statement: Mapping[str, Any]) -> None:
    envelope = {
        "payload": base64.b64encode(json.dumps(statement).encode()).decode(),
        "payloadType": "application/vnd.in-toto+json",
        "signatures": [],
    }
    content[STATEMENT] = json.dumps(envelope).encode()


def edit_json(name: str, change: Callable[[Any], object]) -> Callable[[Files], None]:
    def edit(content: Files) -> None:
        data = json.loads(content[name])
        change(data)
        content[name] = (
            json.dumps(data, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
        ).encode()

    return edit


def edit_records(change: Callable[[list[dict[str, Any]]], object]) -> Callable[[Files], None]:
    def edit(content: Files) -> None:
        records = [json.loads(line) for line in content["run/records.jsonl"].splitlines()]
        change(records)
        lines = [json.dumps(record, sort_keys=True) + "\n" for record in records]
        content["run/records.jsonl"] = "".join(lines).encode()

    return edit


def elsewhere(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """``railgauge`` as a process of its own, in a folder that holds nothing of the project."""
    return railgauge(cwd, *words)


def assert_bundle_names_the_cause(run: Run, folder: Path) -> None:
    """A bundle of the run verifies with its one cause."""
    path = folder / "run.railgauge"
    assert main(["bundle", str(run.latest), "-o", str(path), "--unsigned"]) == 0
    with archive.opened(path) as held:
        (cause,) = check.verify(held).verdict.causes
    assert cause.to_json() == run.verdict["causes"][0]
