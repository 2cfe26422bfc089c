"""Nights made up by seed: in memory, and as folders from one real run of the lab."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from railgauge.trend import Night
from railgauge.trend.values import Fleet, SeriesKey

FLEET = Fleet("alpha", "h200", "hardware")
BANDWIDTHS = (("host_write_bandwidth", 391.5), ("host_read_bandwidth", 380.25))
NODES = ("n01", "n02", "n03", "n04")

Change = Callable[[int, SeriesKey], float]
"""By night (from 1) and series: what the value is multiplied by."""
Noise = Callable[[random.Random], float]


def unchanged(night: int, key: SeriesKey) -> float:
    return 1.0


def step(at: int, loss: float, which: Callable[[SeriesKey], bool], until: int = 10_000) -> Change:
    """From night ``at`` on (before ``until``) the chosen series lose a share."""
    return lambda night, key: 1 - loss if at <= night < until and which(key) else 1.0


def normal(rng: random.Random) -> float:
    return rng.gauss(0, 1)


def heavy(rng: random.Random) -> float:
    """Student's t with three degrees of freedom, at a standard deviation of 1."""
    return rng.gauss(0, 1) / (sum(rng.gauss(0, 1) ** 2 for _ in range(3)) / 3) ** 0.5 / 3**0.5


def skewed(rng: random.Random) -> float:
    """Never much above the usual, now and then far below: as bandwidth is."""
    return 1 - rng.expovariate(1)


def dipping(rng: random.Random) -> float:
    """One night of fifty goes wrong altogether."""
    return rng.gauss(0, 1) - (20 if rng.random() < 0.02 else 0)


def series(nodes: Sequence[str] = NODES, nics: int = 2) -> list[SeriesKey]:
    """Two bandwidths of every path of a ring of nodes, one of every GPU, two latencies of pairs."""
    pairs = [(a, nodes[(i + 1) % len(nodes)]) for i, a in enumerate(nodes)]
    paths = [
        SeriesKey(subject, "bw_average", "Gb/s", pair, f"mlx5_{nic}", 8388608)
        for subject, _ in BANDWIDTHS
        for pair in pairs
        for nic in range(nics)
    ]
    gpus = [
        SeriesKey("gpu_copy", "copy_bw", "GB/s", (node,), f"gpu{i}")
        for node in nodes
        for i in (0, 1)
    ]
    late = [
        SeriesKey("send_latency", "lat_avg", "us", pair, "mlx5_0", 2, "lower") for pair in pairs
    ]
    return [*paths, *gpus, *late]


_LEVELS = {**dict(BANDWIDTHS), "gpu_copy": 350.4, "send_latency": 1.15}


def history(
    seed: int,
    nights: int = 20,
    change: Change = unchanged,
    *,
    noise: float = 0.003,
    law: Noise = normal,
    keys: Sequence[SeriesKey] = tuple(series()),
    fleet: Fleet = FLEET,
) -> list[Night]:
    """Values as tools print them: two decimals, never 0."""
    rng = random.Random(seed)
    return [
        Night(
            f"202601{night:02}-020000-{fleet.cluster}",
            fleet,
            "nightly",
            {k: _value(rng, k, change(night, k), noise, law) for k in keys},
        )
        for night in range(1, nights + 1)
    ]


def _value(rng: random.Random, key: SeriesKey, factor: float, noise: float, law: Noise) -> float:
    worse = -1 if key.lower_is_better else 1
    level = _LEVELS[key.subject] * factor**worse
    return max(round(level * (1 + noise * law(rng)), 2), 0.01)


# --- on disk ---

# The noise of the lab's own figures: 0.1 % at large messages (src/railgauge_lab/sim/figures.py),
# and for latencies what 20 seeds of it printed: a digit up or down.
_RUN_NOISE = {"bw_average": 0.001, "lat_avg": 0.005, "lat_typical": 0.005, "lat_max": 0.005}


@dataclass(frozen=True)
class Template:
    """What one real run left: its verdict and its lines."""

    verdict: dict[str, Any]
    lines: tuple[dict[str, Any], ...]

    @classmethod
    def of(cls, folder: Path) -> Template:
        text = (folder / "measurements.jsonl").read_text(encoding="utf-8")
        verdict = json.loads((folder / "verdict.json").read_text(encoding="utf-8"))
        return cls(verdict, tuple(map(json.loads, text.splitlines())))

    @property
    def measured(self) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["values"]]


def write_nights(
    root: Path, template: Template, seed: int, nights: int, change: Change = unchanged
) -> Path:
    """``reports/`` below ``root`` with copies of the run, each with noise of its own."""
    rng = random.Random(seed)
    for night in range(1, nights + 1):
        lines = [_again(line, rng, night, change) for line in template.lines]
        name = f"202601{night:02}-020000-{template.verdict['cluster']}"
        write_run(root / "reports" / name, {**template.verdict, "run_id": name}, lines)
    return root


def write_run(folder: Path, verdict: object, lines: Sequence[dict[str, Any]]) -> Path:
    folder.mkdir(parents=True)
    (folder / "verdict.json").write_text(json.dumps(verdict), encoding="utf-8")
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "measurements.jsonl").write_text(text, encoding="utf-8")
    return folder


def _again(line: dict[str, Any], rng: random.Random, night: int, change: Change) -> dict[str, Any]:
    if not line["values"]:
        return line
    key = key_of(line)
    factor = change(night, key) ** (-1 if line["unit"] == "us" else 1)
    noise = _RUN_NOISE[line["metric"]]
    values = [round(v * factor * (1 + rng.gauss(0, noise)), 2) for v in line["values"]]
    return {**line, "values": values}


def key_of(line: dict[str, Any]) -> SeriesKey:
    names = ("subject", "metric", "unit", "pairing", "size_bytes", "better")
    return SeriesKey(**{name: line[name] for name in names}, nodes=tuple(line["nodes"]))


def below_limits(root: Path) -> Iterator[str]:
    """Every line of a bandwidth below its floor, or a time above its ceiling."""
    for path in root.glob("reports/*/measurements.jsonl"):
        for line in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            for value in line["values"]:
                late = line["unit"] == "us"
                if value > line["ceiling"] if late else value < line["floor"]:
                    yield f"{path.parent.name}: {line['id']}: {value}"
