"""A merged run: what follows from the runs that it was merged from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from railgauge.config.thresholds import Platform
from railgauge.core.errors import BadInput, FactMissing
from railgauge.core.model import Cluster
from railgauge.core.progress import PROGRESS_OF_PROCESS
from railgauge.core.question import FACT
from railgauge.core.run_files import PARTS
from railgauge.facts import NodeAnswer
from railgauge.judging.assessor import Assessor
from railgauge.judging.record import ItemRecord
from railgauge.planning import part as parts_of_a_level
from railgauge.run.run_folder import RunFolder
from railgauge.verdict import decision
from railgauge.verdict.decision import RunPlan
from railgauge.verdict.earlier import EarlierResults
from railgauge.verdict.history import MergedPart
from railgauge.verdict.merged import PartRun, assemble, gated

Judge = Callable[[ItemRecord, Assessor], ItemRecord]
"""Judges an item again."""


@dataclass(frozen=True, slots=True)
class Remade:
    """A merged run as its parts give it: its records, in the order of its plan, and the parts."""

    records: Mapping[str, ItemRecord]
    parts: tuple[MergedPart, ...]


def remade(contents: RunFolder, run: RunPlan, platform: Platform, judge: Judge) -> Remade:
    """Make the records anew from the parts, by the limits of ``platform``. Raises ``BadInput``."""
    found = assemble([part.as_part() for part in contents.parts])
    fabric = contents.cluster().fabric
    # Facts are compared among all nodes of the merged run.
    surveyed = contents.found
    assessors = [Assessor(platform, surveyed, part.result, fabric) for part in contents.parts]
    before = [EarlierResults(part.earlier_results(platform)) for part in contents.parts]
    judged = {
        name: before[of](judge(item, assessors[of]))
        for name, item in PROGRESS_OF_PROCESS.counted("item", found.records.items())
        for of in (found.part_of[name],)
    }
    of_tests = {
        name: _linked(item, found.parts[found.part_of[name]].run_id)
        for name, item in gated(found, judged, platform).items()
    }
    return Remade(_with_others(contents, run, platform, of_tests), found.parts)


def _linked(item: ItemRecord, run_id: str) -> ItemRecord:
    """The item with the path of its transcript in the merged run."""
    if not item.transcript:
        return item
    return replace(item, transcript=f"{PARTS}/{run_id}/{item.transcript}")


def _with_others(
    contents: RunFolder, run: RunPlan, platform: Platform, of_tests: Mapping[str, ItemRecord]
) -> dict[str, ItemRecord]:
    """Add the items that no test made: what was not measured, and the end-of-run checks."""
    planned = replace(run, planned=tuple(of_tests))
    results = contents.results(of_tests, platform)
    records = {**of_tests, **{item.id: item for item in decision.not_run(planned, results)}}
    planned = replace(run, planned=tuple(records))
    last = decision.closed(planned, replace(results, records=records))
    return {**records, **{item.id: item for item in last}}


def plan_of(run_id: str, parts: Sequence[RunFolder], listed: Sequence[MergedPart]) -> RunPlan:
    """The plan of the merged run, without its items; ``listed`` are the parts that it names."""
    plans = [part.plan() for part in parts]
    operators = dict.fromkeys(plan.operator for plan in plans if plan.operator)
    return replace(
        plans[0],
        run_id=run_id,
        planned=(),
        ended=max((plan.ended for plan in plans), key=datetime.fromisoformat),
        operator=", ".join(operators),
        part=None,
        sampled=any(plan.sampled for plan in plans),
        parts=tuple(listed),
    )


# --- the cluster and the facts of its nodes ---


def cluster_of(parts: Sequence[RunFolder]) -> Cluster:
    """The cluster of the merged run: every node as the latest run that used it reached it."""
    plans = [part.plan() for part in parts]
    clusters = [part.cluster() for part in parts]
    known = {node.name: node for cluster in clusters for node in cluster.nodes}
    first = next((plan.part for plan in plans if plan.part), None)
    whole = next((c for c, plan in zip(clusters, plans, strict=True) if not plan.part), clusters[0])
    every = parts_of_a_level.whole_cluster(first, whole) if first else whole
    return replace(every, nodes=tuple(known.get(node.name, node) for node in every.nodes))


def found_of(cluster: Cluster, parts: Sequence[RunFolder]) -> dict[str, NodeAnswer]:
    """The survey of the merged run: each node's answer in the latest run that judged its facts."""
    runs = [part.as_part() for part in parts]
    judged = [_judged_facts(run) for run in runs]
    return {
        node.name: _answer(node.name, parts, [node.name in names for names in judged])
        for node in cluster.nodes
    }


def _judged_facts(run: PartRun) -> set[str]:
    every = (q for item in run.records.values() for q in item.questions if q.kind == FACT)
    return {question.fact.node for question in every if question.fact}


def _answer(node: str, parts: Sequence[RunFolder], judged: Iterable[bool]) -> NodeAnswer:
    """The answer in the latest run that judged the node's facts, else in the latest survey."""
    surveyed = [one for one in zip(judged, parts, strict=True) if node in one[1].found]
    if not surveyed:
        return FactMissing("no run that was merged has surveyed it", where=node)
    _, chosen = max(enumerate(surveyed), key=lambda one: (one[1][0], one[0]))
    return chosen[1].found[node]


def refuse_apart(parts: Sequence[RunFolder]) -> None:
    """Raise ``BadInput``, naming the run, unless all are of one cluster, plan and limits."""
    due, name = _alike(parts[0]), parts[0].plan().run_id
    for part in parts[1:]:
        for what, value in _alike(part).items():
            if value != due.setdefault(what, value):
                raise BadInput(
                    f"has another {what} than {name}{_shown(value, due[what])}",
                    where=part.plan().run_id,
                    remedy="merge runs of one cluster, under one plan and its limits",
                )


def _shown(value: object, due: object) -> str:
    is_short = all(isinstance(one, (str, int)) and len(str(one)) <= _SHORT for one in (value, due))
    return f": {value}, not {due}" if is_short else ""


_SHORT = 40


def _alike(part: RunFolder) -> dict[str, object]:
    """What all runs of a merged one have in common, by name."""
    plan, cluster, asked = part.plan(), part.cluster(), part.invocation()
    if asked is None:
        raise BadInput("does not say how it was started", where=plan.run_id)
    nodes = plan.part.nodes if plan.part else tuple(node.name for node in cluster.nodes)
    groups = plan.part.groups if plan.part else cluster.groups
    shards = plan.part.of if plan.part else 0
    return {
        "cluster": cluster.name,
        "set of nodes": (nodes, {name: tuple(group) for name, group in groups.items()}),
        "hostfile": asked.hostfile_sha256,
        "platform file": asked.thresholds_sha256,
        "platform": part.platform().name,
        "level": plan.level,
        "number of rounds": plan.rounds,
        "scheme of directions": plan.directions,
        "set of tests": plan.tests,
        "version of railgauge": plan.software,
        "kind of evidence": str(plan.evidence),
        "size of the lab": asked.lab_nodes or 0,
        "seed of the lab": asked.lab_seed or 0,
        "set of deviations": part.deviations(),
        "soak": plan.soak,
        **({"number of shards": shards} if shards else {}),
    }
