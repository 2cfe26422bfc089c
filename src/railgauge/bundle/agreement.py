"""Checks that files of a run that hold the same facts agree. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

from railgauge.bundle.statement import NAME
from railgauge.core import chain
from railgauge.core.codec import to_plain
from railgauge.core.errors import NotVerified
from railgauge.core.model import Cluster, Outcome
from railgauge.core.run_files import FACTS, MEASUREMENTS, RUN
from railgauge.facts import FactsByNode, NodeFacts
from railgauge.judging import inventory, record, stamp
from railgauge.judging.record import ItemRecord
from railgauge.run.untrusted import SurveyHeader
from railgauge.verdict.decision import FILE as PLAN
from railgauge.verdict.decision import RunPlan

_LISTS = ("result", "configuration", "passedTests", "warnedTests", "failedTests")


def refuse_other_stamp(run: RunPlan, cluster: Cluster, found: Mapping[str, object]) -> None:
    """Raise ``NotVerified`` unless the run's kind of evidence agrees with its nodes' facts."""
    if why := stamp.contradiction(run.evidence, found.values(), cluster.transport):
        _fail(PLAN, why)


def refuse_other_survey(
    run: RunPlan,
    cluster: Cluster,
    platform: str,
    surveyed: SurveyHeader,
    found: Mapping[str, object],
) -> None:
    """Raise ``NotVerified`` unless the survey is of this run and of exactly its nodes."""
    wanted = SurveyHeader(run.evidence, cluster.name, platform)
    for name in ("evidence", "cluster", "platform"):
        recorded, due = getattr(surveyed, name), getattr(wanted, name)
        if recorded != due:
            _fail(FACTS, f"has {name} {recorded[:80]!r}, but the run has {str(due)!r}")
    names = {node.name for node in cluster.nodes}
    if odd := sorted(set(found) ^ names):
        what = (
            "lacks a node of the cluster" if odd[0] in names else "has a node outside the cluster"
        )
        _fail(FACTS, f"{what}: {odd[0][:80]!r}")
    for name, facts in found.items():
        if isinstance(facts, NodeFacts) and facts.node != name:
            _fail(FACTS, f"has the facts of {facts.node[:80]!r} under the name {name!r}")


def refuse_other_inventory(recorded: bytes, found: FactsByNode) -> None:
    """Raise ``NotVerified`` unless the inventory is that of the nodes' facts."""
    if recorded != inventory.inventory(found).csv().encode():
        _fail(inventory.FILE, "differs from the parts that the survey found")


def refuse_other_measurements(
    run: RunPlan,
    ended: Iterable[ItemRecord],
    lines: Mapping[str, Sequence[Mapping[str, Any]]],
) -> None:
    """Raise ``NotVerified`` unless ``measurements.jsonl`` has exactly the records' judgements.

    Lines of a planned item without a record, or of one that was *not run*, are accepted: the item
    was interrupted.
    """
    due: dict[str, list[Any]] = {}
    for item in (one for one in ended if one.outcome is not Outcome.NOT_RUN):
        made = [
            {**record.measurement(item, one), "evidence": run.evidence} for one in item.judgements
        ]
        due.setdefault(item.id, []).extend(map(to_plain, made))
    planned = set(run.planned)
    for item_id, found in lines.items():
        if item_id not in planned:
            _fail(MEASUREMENTS, f"has lines of {item_id[:200]}, which was not planned")
        if item_id in due and [_unchained(line) for line in found] != due[item_id]:
            _fail(MEASUREMENTS, f"has lines that differ from the record of {item_id}")
    if silent := next((i for i, judged in due.items() if judged and i not in lines), ""):
        _fail(MEASUREMENTS, f"has no line of {silent}, which has a record")


def _unchained(line: Mapping[str, Any]) -> dict[str, Any]:
    """The line without its chain digest."""
    return {name: value for name, value in line.items() if name != chain.FIELD}


def refuse_other_lists(recorded: Mapping[str, Any], made: Mapping[str, Any]) -> None:
    """Raise ``NotVerified`` unless in-toto's own fields agree with the records."""
    for name in _LISTS:
        if recorded.get(name) != made[name]:
            raise NotVerified(f"has a {name} that differs from the records", where=NAME)
    if surplus := sorted(set(recorded) - set(made)):
        raise NotVerified(f"has the unknown field {surplus[0][:80]!r}", where=NAME)


def _fail(file: str, what: str) -> NoReturn:
    raise NotVerified(what, where=f"{RUN}{file}")
