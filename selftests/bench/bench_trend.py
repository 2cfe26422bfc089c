"""Trend: nights of 465 series read and searched."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from measuring import Row, python

from railgauge.core import run_files
from railgauge.trend.values import SeriesKey

TITLE = "Trend"
ABOUT = """`railgauge trend` over nights of 16 nodes: 465 series of three samples and 600 facts a
night, the whole command in CPU seconds. *Still* nights have noise of 0.3 % and nothing else. On
*drifting* ones every series also loses 5 % over all nights, which costs the most: each series is
compared with the line of its scope."""

NIGHTS = (90, 180, 365)
LIMIT_S = 10.0
GROWTH = 1.1
# It ends with 1 where nights drift.
_COMMAND = "import sys; from railgauge.cli import main; sys.exit(main() not in (0, 1))"
_NODES = tuple(f"n{number:02}" for number in range(1, 17))
_FACTS = 600


def series() -> list[SeriesKey]:
    """Two bandwidths of a ring of nodes over eight NICs, and copies of GPUs."""
    ring = [(one, _NODES[(i + 1) % 16]) for i, one in enumerate(_NODES)]
    paths = [
        SeriesKey(f"host_{verb}_bandwidth", "bw_average", "Gb/s", pair, f"mlx5_{nic}", 8388608)
        for verb in ("write", "read")
        for pair in ring
        for nic in range(8)
    ]
    gpus = [
        SeriesKey("gpu_copy", "copy_bw", "Gb/s", (node,), f"gpu{gpu}")
        for node in _NODES
        for gpu in range(14)
    ]
    return [*paths, *gpus][:465]


def rows() -> Iterator[Row]:
    for what, loss in (("still nights", 0.0), ("drifting nights", 0.05)):
        with TemporaryDirectory() as name:
            for nights in NIGHTS:
                root = Path(name, str(nights))
                write(root, nights, loss)
                done = python("-c", _COMMAND, "trend", "--root", str(root), "--json")
                (fleet,) = json.loads(done.stdout)["fleets"]
                assert (len(fleet["nights"]), fleet["judged"]) == (nights, 465)
                yield Row(
                    what, nights, "nights", done.cpu_s, "s", target=LIMIT_S, growth_max=GROWTH
                )


def write(root: Path, nights: int, loss: float) -> None:
    """A reports folder; ``loss`` is that of every series from the first to the last night."""
    rng, keys = random.Random(1), series()
    facts = "".join(_line(_fact(number)) for number in range(_FACTS))
    for night in range(nights):
        run_id = f"{date(2025, 1, 1) + timedelta(days=night):%Y%m%d}-020000-alpha"
        folder = root / "reports" / run_id
        folder.mkdir(parents=True)
        verdict = {"run_id": run_id, "cluster": "alpha", "platform": "h200", "level": "nightly"}
        text = json.dumps(run_files.stamped("verdict.json", {**verdict, "evidence": "hardware"}))
        (folder / "verdict.json").write_text(text, encoding="utf-8")
        level = 391.5 * (1 - loss * night / nights)
        lines = (_line(_measured(key, _values(rng, level))) for key in keys)
        (folder / "measurements.jsonl").write_text(facts + "".join(lines), encoding="utf-8")


def _values(rng: random.Random, level: float) -> list[float]:
    return [round(level * (1 + rng.gauss(0, 0.003)), 2) for _ in range(3)]


def _measured(key: SeriesKey, values: Sequence[float]) -> dict[str, Any]:
    return {
        "subject": key.subject, "metric": key.metric, "unit": key.unit, "nodes": list(key.nodes),
        "pairing": key.pairing, "size_bytes": key.size_bytes, "better": "higher",
        "values": values, "floor": 372.6, "ceiling": None,
    }  # fmt: skip


def _fact(number: int) -> dict[str, Any]:
    return {
        "subject": "memlock", "metric": "memlock", "unit": "", "nodes": [_NODES[number % 16]],
        "pairing": "", "size_bytes": None, "better": "", "values": [], "floor": None,
        "ceiling": None,
    }  # fmt: skip


def _line(printed: dict[str, Any]) -> str:
    """As long as those of a run, most of which is the basis of the limit."""
    more = {"id": "tests/network/test_rdma.py::test", "basis": "x" * 200, "evidence": "hardware"}
    whole = run_files.stamped("measurements.jsonl", {**printed, **more, "outcome": "passed"})
    return json.dumps(whole, sort_keys=True) + "\n"
