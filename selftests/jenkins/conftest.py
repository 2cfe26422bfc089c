"""The recorder, where there is Java."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

import pytest
from nights import GROOVY_4, Build, Request, missing_jars, record, wrong_jars

Recorder = Callable[..., dict[str, Build]]


@pytest.fixture(scope="session")
def recorder(
    cannot_run: Callable[[str], NoReturn], tmp_path_factory: pytest.TempPathFactory
) -> Recorder:
    """``recorder(asked)`` runs Jenkinsfiles and returns their builds by name."""

    def run(asked: Mapping[str, Request], jars: Sequence[str] = GROOVY_4) -> dict[str, Build]:
        if shutil.which("java") is None:
            cannot_run("there is no Java")
        if missing := missing_jars(jars):
            cannot_run(f"there is no {', '.join(missing)}: make jars")
        assert not wrong_jars(jars), "not the jars that jars.txt lists"
        folder: Path = tmp_path_factory.mktemp("recorder")
        return record(folder, jars, asked)

    return run
