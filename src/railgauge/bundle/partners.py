"""The nodes with which others can be qualified: those that an earlier run shows to be good."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from railgauge.config.thresholds import Platform
from railgauge.core.errors import BadInput
from railgauge.core.model import Cluster
from railgauge.report.certificate.certified import CertifiedRun
from railgauge.verdict import known_good


def run_named(named: str, folders: Iterable[Path], where: str) -> Path:
    """Return the run or the bundle of that name in one of the folders. Raises ``BadInput``."""
    for path in (folder / named for folder in folders):
        if path.exists():
            return path.resolve()
    raise BadInput(f"{named} is neither a run nor a bundle", where=where)


def shown_good(
    run: CertifiedRun, cluster: Cluster, platform: Platform, only: Sequence[str], where: str
) -> tuple[str, ...]:
    """Return the nodes that a run of this cluster, under these limits, shows to be good.

    Measurements with a node of ``only`` are ignored. Raises ``BadInput``, also if no node is shown
    to be good.
    """
    if run.plan.evidence.is_of_another_run:  # it may be of a bundle that does not verify
        raise BadInput("is a replay: name the run that measured", where=where)
    for what, was, now in (
        ("cluster", run.cluster.name, cluster.name),
        ("platform file", run.platform.text, platform.text),
    ):
        if was != now:
            raise BadInput(f"is of another {what}", where=where)
    decided = known_good.DecidedRun(run.plan, run.verdict, run.records)
    shown = set(known_good.good(decided, only))
    if found := tuple(node.name for node in cluster.nodes if node.name in shown):
        return found
    doubts = known_good.doubts(decided, only)
    first = next(iter(sorted(doubts.items())), ("no node", known_good.UNMEASURED))
    raise BadInput(f"shows no node to be good: {first[0]}: {first[1]}", where=where)
