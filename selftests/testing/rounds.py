"""A platform file that asks for fewer rounds of pairs: less work than with ``--rounds``, which asks
for less than the level."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

ONE_ROUND = "--lab-nodes=2"
"""Where the option is spelled so, ``Project`` writes one round into the homelab's file."""


class _WithFolder(Protocol):
    @property
    def folder(self) -> Path: ...


def one_round(platform: str) -> Callable[[_WithFolder], None]:
    """The platform file of a project asks for one round of pairs at smoke."""

    def change(project: _WithFolder) -> None:
        path = project.folder / "thresholds" / f"{platform}.json"
        document = json.loads(path.read_text(encoding="utf-8"))
        levels = document["levels"]
        if both := levels.pop("smoke,nightly", None):
            levels["nightly"] = both
        levels["smoke"] = {"scheme": "tournament", "rounds": 1}
        if (text := json.dumps(document)) != path.read_text(encoding="utf-8"):
            path.write_text(text, encoding="utf-8")

    return change
