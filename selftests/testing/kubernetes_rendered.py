"""The example for Kubernetes, as the real kubectl renders it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from testing.places import ROOT
from testing.programs import cannot_run, machine

EXAMPLE = ROOT / "examples" / "kubernetes"

Objects = Sequence[Mapping[str, Any]]


def kubectl() -> str:
    """The one that pip installed, or that of this machine."""
    path = f"{Path(sys.executable).parent}:{machine()}"
    return shutil.which("kubectl", path=path) or cannot_run(f"kubectl is not here: {REMEDY}")


REMEDY = "make .venv/.ready-lint"


@cache
def rendered(folder: str) -> Objects:
    argv = [kubectl(), "kustomize", str(EXAMPLE / folder)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return list(yaml.safe_load_all(done.stdout))


def only(objects: Objects, kind: str) -> Mapping[str, Any]:
    """The one object of this kind."""
    (found,) = (one for one in objects if one["kind"] == kind)
    return found
