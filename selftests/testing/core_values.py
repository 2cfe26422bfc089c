"""Small valid values that the tests of the core change one thing of."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from railgauge.config import thresholds
from railgauge.config.thresholds import Platform
from railgauge.core.errors import BadInput
from railgauge.core.limits import Basis, Dispersion, Limit
from railgauge.core.model import (
    Case,
    Cluster,
    Judgement,
    Node,
    Outcome,
    Pairing,
    Sample,
    Transcript,
)
from railgauge.judging.record import ItemRecord
from testing.places import ROOT, SHARED

TRANSCRIPTS = SHARED / "transcripts"
PLATFORMS = thresholds.available(ROOT / "thresholds")
HOSTFILE_SCHEMA = ROOT / "hostfiles" / "schema.json"

needs_transcripts = pytest.mark.skipif(
    not TRANSCRIPTS.is_dir(), reason="the recorded transcripts are not beside this checkout"
)


def without_closing_items(platform: Platform) -> Platform:
    """The platform without items whose evidence comes from nodes and not from records."""
    return replace(platform, kernel_log=None, telemetry=None, growth=None)


def limit(**changes: Any) -> Limit:
    """100 Gb/s or more, whatever the size."""
    plain = Limit("bw_average", "Gb/s", 100.0, None, Basis("derived", "a round number"))
    return replace(plain, **changes)


def dispersed(
    cv_max: float | None = None, worst: float | None = None, apart: float | None = None
) -> Limit:
    return limit(dispersion=Dispersion(cv_max, worst, apart))


def latency(**changes: Any) -> Limit:
    """2 us or less, and not below 0.5."""
    return limit(metric="lat_avg", unit="us", floor=0.5, ceiling=2.0, **changes)


def sample(value: float, unit: str = "Gb/s", **changes: Any) -> Sample:
    return replace(Sample("bw_average", unit, value, 8388608), **changes)


def samples(*values: float) -> list[Sample]:
    return [sample(value) for value in values]


def document() -> dict[str, Any]:
    """A platform file with one NIC, no GPU and one measurement."""
    basis = {"source": "derived", "says": "made up for a test"}
    made = {
        "schema_version": 1,
        "platform": "bench",
        "title": "A platform for tests",
        "hardware": {
            "nics": [
                {
                    "name": "mlx5_0",
                    "model": "MT4129",
                    "rate_gbps": 400,
                    "link_layer": "InfiniBand",
                    "pcie": {"generation": 5, "width": 16},
                    "basis": basis,
                }
            ]
        },
        "expected": {"memlock": {"equals": "unlimited", "basis": basis}},
        "levels": {
            "smoke": {"scheme": "tournament", "rounds": 1},
            "nightly": {"scheme": "ring"},
            "signoff": {"scheme": "all"},
        },
        "measurements": {
            "host_write_bandwidth": {
                "rung": 1,
                "tool": "perftest",
                "command": "ib_write_bw",
                "asserts": ["bw_average"],
                "time_limit_s": 60,
                "typical_s": 10,
                "levels": {
                    "smoke": {"sizes": ["8MiB"]},
                    "nightly": {"sizes": ["64KiB", "8MiB"]},
                    "signoff": {"sizes": ["64KiB", "1MiB", "8MiB"], "repeats": 3},
                },
                "limits": [{"metric": "bw_average", "unit": "Gb/s", "floor": 300, "basis": basis}],
            }
        },
    }
    copy: dict[str, Any] = json.loads(json.dumps(made))  # no part of it is shared
    return copy


def long_form(platform: str) -> dict[str, Any]:
    """The JSON of a platform of the suite, as a run keeps it."""
    found: dict[str, Any] = json.loads(thresholds.load(platform, ROOT / "thresholds").text)
    return found


def measurement_of(doc: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = doc["measurements"]["host_write_bandwidth"]
    return found


def limit_of(doc: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = measurement_of(doc)["limits"][0]
    return found


def with_gpus(doc: dict[str, Any]) -> dict[str, Any]:
    """Two GPUs, the first beside the NIC, the second far from it."""
    doc["hardware"]["gpus"] = {
        "vendor": "metax", "model": "MetaX C500", "count": 2, "memory_mib": 65536,
    }  # fmt: skip
    doc["hardware"]["affinity"] = {"0": {"mlx5_0": "PIX"}, "1": {"mlx5_0": "SYS"}}
    measurement_of(doc)["memory"] = "gpu"
    return doc


def put(folder: Path, doc: object, name: str = "bench") -> Path:
    """A folder of platform files with ``doc`` (or text) in it."""
    folder.mkdir(exist_ok=True)
    shutil.copyfile(ROOT / "thresholds" / "schema.json", folder / "schema.json")
    text = doc if isinstance(doc, str) else json.dumps(doc)
    (folder / f"{name}.json").write_text(text, encoding="utf-8")
    return folder


def cluster(*names: str, **changes: Any) -> Cluster:
    nodes = tuple(Node(name, name, name) for name in names or ("n1", "n2"))
    return replace(Cluster("bench-cluster", "bench", "ssh", nodes, "bench.yaml"), **changes)


def case(*nodes: str, **changes: Any) -> Case:
    plain = Case("host_write_bandwidth", nodes or ("n1", "n2"), Pairing("mlx5_0"), (8388608,))
    return replace(plain, **changes)


def transcript(node: str = "n1", **changes: Any) -> Transcript:
    return replace(Transcript(node, ("ib_write_bw", "n2"), 0, "said\n", "", 1.5), **changes)


def judgement(outcome: Outcome = Outcome.PASSED, **changes: Any) -> Judgement:
    return replace(Judgement("bw_average", outcome, "390 Gb/s", ">= 372", "000: 4.1"), **changes)


def item(name: str, outcome: Outcome = Outcome.PASSED, **changes: Any) -> ItemRecord:
    plain = ItemRecord(name, 1, "host_write_bandwidth", "A title", outcome, ("n1", "n2"))
    return replace(plain, **changes)


def lines_of(error: BadInput) -> list[str]:
    """The complaints about an input, each in a line of its own."""
    lines = [str(one) for one in getattr(error, "complaints", (error,))]
    assert not any("\n" in line for line in lines)
    assert all(line in str(error) for line in lines)
    return lines


def one_line(err: str) -> str:
    """What the console command says of bad input: one line, and that it says it."""
    assert err.startswith("railgauge: ")
    assert err.count("\n") == 1
    return err
