"""Platform files of fewer measurements and expectations, for tests that look at these alone.

A run costs by what its platform file asks for, and most of what a test asserts is the same with a
tenth of it. Hardware, levels, limits and end-of-run checks stay. A test that counts what the file
of a platform asks for, or that compares whole runs of different kinds, uses the whole file.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from functools import cache
from typing import Any

from testing.acceptance import Change, Project
from testing.core_values import long_form

# Of a host and of its NICs: what faults of the labs change, and what stays as it is.
EXPECTED = ("cpu_governor", "kernel", "memlock", "nic_present", "port_state", "clock")


def measuring(
    platform: str,
    *measurements: str,
    repeats: int | None = None,
    expected: Collection[str] = EXPECTED,
    more: Change | None = None,
) -> Change:
    """Leave these measurements in the user's platform file, and of ``expected`` what it has.

    ``repeats`` hold for each measurement at each level; ``more`` changes the project after that.
    """

    def change(project: Project) -> None:
        path = project.folder / "thresholds" / f"{platform}.json"
        path.write_text(_text(platform, measurements, tuple(expected), repeats), encoding="utf-8")
        if more:
            more(project)

    return change


@cache
def _text(
    platform: str, measurements: tuple[str, ...], expected: tuple[str, ...], repeats: int | None
) -> str:
    document: dict[str, Any] = long_form(platform)
    every = document["measurements"]
    for level in (one for name in measurements for one in every[name]["levels"].values()):
        if repeats:
            level["repeats"] = repeats
    return json.dumps(
        document
        | {
            "measurements": {name: _alone(every[name], measurements) for name in measurements},
            "expected": {
                name: one for name, one in document["expected"].items() if name in expected
            },
        }
    )


def _alone(one: dict[str, Any], kept: Collection[str]) -> dict[str, Any]:
    """Leave out what compares the measurement with one that is left out."""
    asserted = (each for each in one.get("asserts", ()) if isinstance(each, dict))
    gone = {each["metric"] for each in asserted if "over" in each and each["over"] not in kept}
    return {
        name: [each for each in value if _metric(each) not in gone]
        if name in ("asserts", "limits")
        else value
        for name, value in one.items()
    }


def _metric(one: dict[str, Any] | str) -> str:
    return one if isinstance(one, str) else str(one["metric"])
