"""Rungs 4 and 5: the way of the payload, and collectives that swing or do not scale."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from railgauge.core.model import Judgement
from railgauge.core.terms import Rung
from railgauge.diagnosis.facts.host import listed, running_diagnostics
from railgauge.diagnosis.facts.pattern import (
    Pattern,
    between_nodes,
    has_value,
    passed_pairs,
    swing_in,
)
from railgauge.diagnosis.model import CauseRule, Context, Finding, Where, missed, worst_of
from railgauge.judging.record import ItemRecord
from railgauge.planning.variables import differs
from railgauge.tools.metric import SCALING

_PAIR = 2


def link_errors(context: Context) -> Iterator[Finding]:
    """Error counters that grew during a measurement, on any rung."""
    yield from _pointed_at(context, "link_errors", "link-error-rate")


def idle_nics(context: Context) -> Iterator[Finding]:
    """NICs that carried less than the mean of the NICs that should share the traffic."""
    yield from _pointed_at(context, "traffic_spread", "nic-idle")


def past_gpu_memory(context: Context) -> Iterator[Finding]:
    """NICs whose driver counted no packets into GPU memory: plain sockets carried the payload."""
    yield from _pointed_at(context, "devmem", "wrong-transport")


def _pointed_at(context: Context, metric: str, cause: str) -> Iterator[Finding]:
    """One finding for each part that failed judgements of this metric name."""
    found: dict[tuple[str, str], list[tuple[ItemRecord, Judgement]]] = {}
    for record, judged in context.judged(metric):
        for part in (at for at in judged.points_at if at[0] in record.nodes):
            found.setdefault(part, []).append((record, judged))
    for (node, device), seen in found.items():
        says = "; ".join(dict.fromkeys(_shown_by(judged, node, device) for _, judged in seen[:3]))
        records = tuple(dict.fromkeys(record for record, _ in seen))
        yield Finding(cause, Where(node, device), says, records)


def _shown_by(judged: Judgement, node: str, device: str) -> str:
    """The clauses of the reason that are about this part."""
    clauses = [c for c in judged.reason.split("; ") if f"{node}" in c and device in c.split()]
    return ", ".join(clauses) or judged.reason


def transports(context: Context) -> Iterator[Finding]:
    """Transports in the library's log: sockets, or InfiniBand without access to GPU memory."""
    failed = [record for record, _ in context.judged(_TRANSPORT)]
    sockets = [record for record in failed if _names_refused(context, record)]
    rest = [record for record in failed if record not in sockets]
    for records, cause in ((sockets, "wrong-transport"), (rest, "gpudirect-rdma-disabled")):
        pattern = Pattern(cause, says=_shown_by_log, shows=_shows_transport)
        yield from between_nodes(context, records, pattern)


_TRANSPORT = "transport"


def _shown_by_log(records: Sequence[ItemRecord]) -> str:
    return next(j.reason for r in records for j in missed(r) if j.metric == _TRANSPORT)


def _shows_transport(record: ItemRecord) -> bool:
    return any(judged.metric == _TRANSPORT for judged in record.judgements)


def _names_refused(context: Context, record: ItemRecord) -> bool:
    measurement = context.results.platform.measurements.get(record.subject)
    spec = measurement.transport if measurement else None
    transports = {word for judged in missed(record) for word in judged.measured.split(", ")}
    return spec is not None and bool(transports.intersection(spec.refused))


def tuning(context: Context) -> Iterator[Finding]:
    """The hostfile overrides the platform file's environment, and no pair reaches its limit."""
    cluster, platform = context.results.cluster, context.results.platform
    nodes, have = [node.name for node in cluster.nodes], cluster.environment
    wrong_values = {
        name: values
        for name, values in _asked_for(context).items()
        if name in have and differs(name, have[name], values, platform, nodes)
    }
    slow = [r for r in context.open if r.rung >= Rung.COLLECTIVE and missed(r)]
    failing = [r for r in slow if len(r.nodes) == _PAIR]
    # A pair is cleared only if all its values of a measurement reach their limits.
    wrong = {(record.subject, record.nodes) for record in failing}
    subjects = {subject for subject, _ in wrong}
    cleared = [
        record
        for record in passed_pairs(context)
        if record.subject in subjects and has_value(record)
        if (record.subject, record.nodes) not in wrong
    ]
    if wrong_values and failing and not cleared:
        names = ", ".join(
            f"{name}={have[name] or '(empty)'} instead of {' or '.join(values)}"
            for name, values in wrong_values.items()
        )
        says = f"{worst_of(slow)}; the hostfile sets {names}"
        yield Finding(
            "collective-tuning-missing", Where("", ",".join(wrong_values)), says, tuple(slow)
        )


def _asked_for(context: Context) -> Mapping[str, Sequence[str]]:
    """The accepted values of each variable: a measurement may set another than the platform."""
    platform = context.results.platform
    own = [m.environment for m in platform.measurements.values() if m.rung >= Rung.COLLECTIVE]
    found: dict[str, list[str]] = {}
    for environment in (platform.environment, *own):
        for name, value in environment.items():
            found.setdefault(name, []).append(value)
    return found


def unstable(context: Context) -> Iterator[Finding]:
    """Iterations that form two groups.

    The facts may explain them: GPU diagnostics that run, where no test asked for them.
    """
    swinging = [r for r in context.open if r.rung >= Rung.COLLECTIVE and swing_in([r])]
    for finding in between_nodes(context, swinging, Pattern("unstable-collective")):
        diagnostics = running_diagnostics(context.facts(finding.where.node))
        says = f"running on the GPUs: {listed(diagnostics)}; {finding.says}"
        known = replace(finding, cause="background-gpu-diagnostics", says=says)
        yield known if diagnostics else finding


def poor_scaling(context: Context) -> Iterator[Finding]:
    """Nodes that serve well alone and badly together: none of them is a slow node."""
    missing = {
        (record.subject, record.nodes)
        for record, _ in context.judged(SCALING.name)
        if record.rung == Rung.APPLICATION
    }
    slow = [r for r in context.open if (r.subject, r.nodes) in missing and missed(r)]
    yield from between_nodes(context, slow, Pattern("poor-scaling", shows=_shows_scaling))


def _shows_scaling(record: ItemRecord) -> bool:
    return any(judged.metric == SCALING.name for judged in record.judgements)


FACTS: tuple[CauseRule, ...] = (link_errors,)
PAYLOAD: tuple[CauseRule, ...] = (
    tuning, transports, past_gpu_memory, idle_nics, unstable, poor_scaling,
)  # fmt: skip
"""Which way the payload of collectives went, which a slow part may explain."""
