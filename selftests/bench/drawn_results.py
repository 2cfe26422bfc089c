"""Results of a large cluster with slow parts, drawn from the forms of the tools; and what it costs
to find those parts.

    python selftests/bench/drawn_results.py NODES FAULTS SEED

Prints processor seconds and MiB of memory that the model takes beside the results, the readings,
and how many of the slow parts it names.
"""

from __future__ import annotations

import json
import math
import resource
import sys
import time
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from bench_planning import hostfile as big_hostfile
from testing.places import ROOT

from railgauge.config import hostfile, thresholds
from railgauge.core.model import Case, Judgement, Outcome
from railgauge.core.question import LIMITS, Question
from railgauge.diagnosis import RunResults
from railgauge.diagnosis.slow import inferred
from railgauge.diagnosis.slow.places import Places
from railgauge.judging.record import ItemRecord
from railgauge.planning import plan, sample
from railgauge.tools import form
from railgauge.tools.form import ClusterPart, FigureForm, Layout, ToolFigure
from railgauge.tools.metric import HIGHER

HEALTHY, NOISE, LIMIT = 100.0, 0.002, 0.93
_LEVEL, _ROUNDS, _CASES = "smoke", 2, 14
_LEAST, _MOST = 0.05, 0.25


class BigCluster:
    """H200 nodes of which some parts are slow."""

    def __init__(self, nodes: int, faults: int, seed: int) -> None:
        self._random = Random(seed)
        self.platform = thresholds.with_model(_platform(), "some-model")
        with TemporaryDirectory() as folder:
            path = big_hostfile(Path(folder), nodes)
            schema = ROOT / "hostfiles" / "schema.json"
            self.cluster = hostfile.load(path, schema_file=schema)
        self._layout = Layout.of(self.platform)
        parts = sorted({part for *_, one in self._figures for part in _parts(one)})
        chosen = self._random.sample(parts, faults)
        self.faults = {part: -self._random.uniform(_LEAST, _MOST) for part in chosen}

    @cached_property
    def _places(self) -> list[tuple[Case, int | None, str | None]]:
        gpus = range(self.platform.gpus.count if self.platform.gpus else 0)
        each = [("link", f"gpu{a}>gpu{b}") for a in gpus for b in gpus if a != b]
        each += [*(("gpu", f"gpu{gpu}") for gpu in gpus), ("run", None)]
        level = sample.level(self.platform, self.cluster, _LEVEL, _ROUNDS, sampled=False)
        found = []
        for _, case in plan.cases(self.platform, level):
            asserted = self.platform.measurements[case.measurement].asserted
            sizes = [s for s in case.sizes if asserted("size", s, case.sizes)]
            found += [(case, size, None) for size in sizes]
            found += [(case, None, p) for per, p in each if asserted(per, None, case.sizes)]
        return found

    @cached_property
    def _figures(self) -> list[tuple[Case, int | None, str | None, FigureForm]]:
        found = []
        for case, size, placement in self._places:
            measurement = self.platform.measurements[case.measurement]
            metric = measurement.asserts[0].metric
            one = form(ToolFigure(case, measurement, self._layout, metric, placement or ""))
            if one is not None:
                found.append((case, size, placement, one))
        return found

    def results(self) -> RunResults:
        records = {record.id: record for record in self._records()}
        return RunResults(records, {}, self.platform, self.cluster)

    def _records(self) -> Iterator[ItemRecord]:
        number = {part: place for place, part in enumerate(self.faults)}
        losses = tuple((number[part], share) for part, share in self.faults.items())
        for case, size, placement, one in self._figures:
            share, _ = Places.of(one, number).predicted(losses, adds=True)
            value = HEALTHY * math.exp(share) * self._random.gauss(1, NOISE)
            failed = value < LIMIT * HEALTHY
            judged = Judgement(
                self.platform.measurements[case.measurement].asserts[0].metric,
                Outcome.FAILED if failed else Outcome.PASSED,
                "", "", "", unit="GB/s", values=(value,), floor=LIMIT * HEALTHY, better=HIGHER,
            )  # fmt: skip
            yield ItemRecord(
                id=f"{case.key} {size} {placement}",
                rung=self.platform.measurements[case.measurement].rung,
                title="",
                subject=case.measurement,
                outcome=judged.outcome,
                nodes=case.nodes,
                pairing=str(case.pairing) if case.pairing else placement or "",
                size_bytes=size,
                judgements=(judged,),
                questions=(Question(LIMITS, case, size, placement),),
            )


def _platform() -> thresholds.Platform:
    folder = ROOT / "thresholds"
    return thresholds.load("h200", folder)


def _parts(one: FigureForm) -> Iterator[ClusterPart]:
    return (part for stage in one.stages for chain in stage for part in chain)


def costs(nodes: int, faults: int, seed: int) -> Mapping[str, float]:
    """What a run asks of the model: inference, causes, and what to measure next."""
    cluster = BigCluster(nodes, faults, seed)
    results = cluster.results()
    before, began = _peak_mib(), time.process_time()
    found = inferred(results)
    found.claims()
    found.asked(_CASES)
    seconds = time.process_time() - began
    named = {one.part for one in found.findings if one.is_decided}
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
