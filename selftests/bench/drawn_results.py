"""Results of a large cluster with slow parts, drawn from the forms of the tools; and what it costs
to find those parts.

    python selftests/bench/drawn_results.py NODES FAULTS SEED

Prints processor seconds and MiB of memory that the model takes beside the results, the readings,
and how many of the slow parts it names.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from bench_planning import hostfile as big_hostfile
from testing.drawn_figures import DrawnFigures
from testing.places import ROOT

from railgauge.config import hostfile, thresholds
from railgauge.diagnosis.slow import inferred
from railgauge.tools.form import KindOfPart

_CASES, _LEAST, _MOST = 14, 0.05, 0.25


def big_cluster(nodes: int, faults: int, seed: int) -> DrawnFigures:
    """H200 nodes of which some parts are slow."""
    platform = thresholds.with_model(thresholds.load("h200", ROOT / "thresholds"), "some-model")
    with TemporaryDirectory() as folder:
        path = big_hostfile(Path(folder), nodes)
        cluster = hostfile.load(path, schema_file=ROOT / "hostfiles" / "schema.json")
    drawn = DrawnFigures(platform, cluster, seed)
    # a path over one NIC may be in collectives alone, which use all of them
    some = [part for part in drawn.parts if part.kind is not KindOfPart.PATH]
    chosen = drawn.random.sample(some, faults)
    drawn.faults = {part: -drawn.random.uniform(_LEAST, _MOST) for part in chosen}
    return drawn


def costs(nodes: int, faults: int, seed: int) -> Mapping[str, float]:
    """What a run asks of the model: inference, causes, and what to measure next."""
    cluster = big_cluster(nodes, faults, seed)
    results = cluster.results()
    before, began = _peak_mib(), time.process_time()
    found = inferred(results)
    found.findings()
    found.asked(_CASES)
    seconds = time.process_time() - began
    named = {one.part for one in found.found_parts if one.is_decided}
    return {
        "seconds": seconds,
        "mib": _peak_mib() - before,
        "readings": sum(len(one.readings) for one in found.model.evidence.executions),
        "named": len(named.intersection(cluster.faults)),
        "wrong": len(named.difference(cluster.faults)),
    }


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    print(json.dumps(costs(*map(int, sys.argv[1:]))))
