"""Which part is slow: what the model of the diagnosis costs on large clusters."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median

from measuring import Row, python

TITLE = "Slow parts"
ABOUT = """The model that names slow parts, on H200 nodes at level smoke with two rounds and three
slow parts, whose figures are drawn from the forms of the tools (`bench/drawn_results.py`). A
further 64 nodes are 6,400 readings. Processor time of inference, causes and the choice of what to
measure next, and the memory that they take beside the records; the median of three draws."""

NODES = (8, 64, 512)
FAULTS, SEEDS = 3, (1, 2, 3)
_SECONDS: Mapping[int, float] = {64: 3.0, 512: 60.0}
_MIB: Mapping[int, float] = {64: 250.0}
_SCRIPT = Path(__file__).with_name("drawn_results.py")
_NAMED = "every part must be named: a search that gives up is no faster search"


def rows() -> Iterator[Row]:
    for nodes in NODES:
        found = [_cost(nodes, seed) for seed in SEEDS]
        seconds = median(one["seconds"] for one in found)
        mib = median(one["mib"] for one in found)
        shown = f"{median(one['readings'] for one in found):,} readings"
        target = _SECONDS.get(nodes)
        yield Row("time", nodes, "nodes", seconds, "s", target=target, shown=shown, why=_NAMED)
        yield Row("memory", nodes, "nodes", mib, "MiB", target=_MIB.get(nodes), why=_NAMED)


def _cost(nodes: int, seed: int) -> Mapping[str, float]:
    done = python(str(_SCRIPT), str(nodes), str(FAULTS), str(seed))
    found: Mapping[str, float] = json.loads(done.stdout)
    assert found["named"] == FAULTS, f"{nodes} nodes, seed {seed}: {done.stdout}"
    assert not found["wrong"], f"{nodes} nodes, seed {seed}: {done.stdout}"
    return found
