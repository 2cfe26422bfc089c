"""The values of the certificate's template. Pure: everything is from the record of the run."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from railgauge.config.thresholds.model import SIGNOFF
from railgauge.core import pages
from railgauge.core.naming import listed, shortened
from railgauge.core.terms import Rung, Verdict
from railgauge.facts.parts import PartKind
from railgauge.judging.inventory import Inventory, InventoryRow, inventory
from railgauge.judging.stamp import Evidence
from railgauge.report.causes import printable
from railgauge.report.certificate import summary
from railgauge.report.certificate.certified import CertifiedRun, duration, moment
from railgauge.verdict.counts import Counts as Outcomes
from railgauge.verdict.counts import RunVerdict, left_out
from railgauge.verdict.deviations import DeviationState

_MOST = 20
_UNSAFE = re.compile(r"[^A-Za-z0-9 .,_-]")
# The two who sign what was accepted, and what was not.
_ROLES = {True: ("Handed over by", "Accepted by"), False: ("For the vendor", "For the customer")}
_TITLES = {
    Verdict.ACCEPTED: "Acceptance certificate",
    Verdict.WITH_DEVIATIONS: "Acceptance certificate, with deviations",
    Verdict.REJECTED: "Test certificate: not accepted",
    Verdict.INCOMPLETE: "Test certificate: not accepted, incomplete",
    Verdict.QUALIFIED: "Qualification of nodes, no acceptance of their cluster",
    Verdict.QUALIFIED_WITH_DEVIATIONS: "Qualification of nodes, with deviations, no acceptance",
    Verdict.NOT_QUALIFIED: "Test certificate of nodes: not qualified",
}


def page(run: CertifiedRun, paper: str = "") -> str:
    """Return the certificate as a page of its own. ``paper`` is ``A4``, ``Letter`` or empty."""
    numbers: dict[str, int] = {}
    shown = sections(run, numbers)
    return pages.render(
        "report/templates/certificate.html.j2",
        paper=paper,
        bases=[(number, basis) for basis, number in numbers.items()],
        **shown,
    )


def _mark(verdict: RunVerdict) -> str:
    """The text beside the number of every printed page."""
    text = f"railgauge {verdict.cluster}, run {verdict.run_id}, {verdict.verdict}"
    # It is text in a style sheet, which must not end there.
    return _UNSAFE.sub("_", f"{text}, {verdict.evidence} evidence")


def sections(run: CertifiedRun, numbers: dict[str, int]) -> dict[str, Any]:
    """Return the values of the sections, which ``report.html`` shows too.

    ``numbers`` are those of the bases; one that has none yet gets the next one.
    """
    verdict = run.verdict
    items = tuple(run.records.values())
    parts = inventory(run.found)
    measured = [(row, _reference(row.basis, numbers)) for row in summary.measured(items)]
    checked = [(row, _reference(row.basis, numbers)) for row in summary.checked(items)]
    names = [node.name for node in run.cluster.nodes]
    return {
        "mark": _mark(verdict),
        "verdict": verdict,
        "is_hardware": verdict.evidence == Evidence.HARDWARE,
        "title": "; ".join(filter(None, (_TITLES[verdict.verdict], _reduced(run)))),
        "scope": scope(verdict),
        "about": about(run),
        "coverage": _coverage(verdict),
        "found": [_cause(number, one) for number, one in enumerate(verdict.causes[:_MOST], 1)],
        "more_found": max(0, len(verdict.causes) - _MOST),
        "measured": _by_rung(measured),
        "checked": checked,
        "nodes": summary.nodes(names, items, verdict.causes),
        "accepted": [_deviation(one) for one in verdict.deviations],
        "exclusions": exclusions(verdict),
        "absent": left_out(items) if verdict.counts.not_run else [],
        "open": [(one.place, ", ".join(one.what), one.why) for one in verdict.unknown],
        "notes": verdict.notes,
        "alike": _alike(parts),
        "serials": _serials(parts, names),
        "odd": [(row.place, "; ".join(row.odd)) for row in parts.odd],
        "lacking": [*_by_what(parts.lacking), *_unread(parts)],
        "documents": sorted(run.documents.items()),
        "hashes": run.hashes,
        "seals": run.seals,
        "roles": _ROLES[verdict.verdict.is_accepted],
    }


def _by_what(lacking: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Fold what is missing alike on many nodes into one row."""
    places: dict[str, list[str]] = {}
    for place, what in lacking:
        places.setdefault(what, []).append(place)
    return [(_folded(where), what) for what, where in places.items()]


def _reference(basis: str, numbers: dict[str, int]) -> tuple[str, int] | None:
    """Return source and number of a basis."""
    return (basis.partition(":")[0], numbers.setdefault(basis, len(numbers) + 1)) if basis else None


# --- the verdict in one sentence ---


def scope(verdict: RunVerdict) -> str:
    """The verdict with what it covers: ``REJECTED: 48 failed, 779 passed``."""
    counts = verdict.counts
    counted = _counted(counts)
    every = f"all {counts.planned} checks passed"
    what = ", ".join(counted) if counted else every
    if verdict.verdict in (Verdict.WITH_DEVIATIONS, Verdict.QUALIFIED_WITH_DEVIATIONS):
        covered = len({one for effect in verdict.deviations for one in effect.covers})
        were = "was" if covered == 1 else "were"
        failed = f"{covered} failed and {were} accepted in writing, {_passed(counts)}"
        what = ", ".join(filter(None, (failed if covered else every, _weak(verdict))))
    reservation = f", {verdict.reservation}" if verdict.reservation else ""
    return f"{verdict.heading}: {what}{reservation}{_limits_of(verdict)}"


def _weak(verdict: RunVerdict) -> str:
    """How many limits the platform file declares as loose; empty if none."""
    weak = sum(effect.state is DeviationState.LOOSE for effect in verdict.deviations)
    are = f"{weak} limits are" if weak > 1 else "1 limit is"
    return f"{are} loose" if weak else ""


def _limits_of(verdict: RunVerdict) -> str:
    """The limits of a verdict about a part of a cluster; empty for a whole cluster."""
    return "; the rest of the cluster was not measured" if verdict.part else ""


def _counted(counts: Outcomes) -> list[str]:
    wrong = counts.failed + counts.error
    rows = [
        (counts.failed, "failed"),
        (counts.error, "not decided because of an error"),
        (counts.blocked, f"not measured because of {'it' if wrong == 1 else 'them'}"),
        (counts.flaky, "passed only at a second try"),
        (counts.record_only, "recorded without a limit"),
        (counts.not_run, "not run"),
    ]
    words = [f"{number} {word}" for number, word in rows if number]
    return [*words, _passed(counts)] if words else []


def _passed(counts: Outcomes) -> str:
    return f"{counts.passed + counts.marginal} passed"


# --- identity ---


def about(run: CertifiedRun) -> dict[str, str]:
    """Return what identifies cluster and run, by label."""
    verdict, plan, cluster = run.verdict, run.plan, run.cluster
    names = [node.name for node in cluster.nodes]
    return {
        "Cluster": f"{cluster.name}, {len(names)} node{'s' * (len(names) > 1)}: {_folded(names)}",
        "Platform": f"{run.platform.title} ({run.platform.name})",
        "Run": verdict.run_id,
        "Begin": moment(plan.began),
        "End": moment(plan.ended),
        "Duration": duration(plan.began, plan.ended),
        "Operator": printable(plan.operator) or "not recorded",
        "Level": f"{verdict.level}{_no_signoff(run)}",
        "Evidence": _evidence(verdict),
        "Made with": f"railgauge {plan.software}",
    }


def _folded(names: Sequence[str]) -> str:
    from railgauge.core.naming import folded  # noqa: PLC0415 - imports ClusterShell

    return shortened(folded(names))


def _reduced(run: CertifiedRun) -> str:
    return run.plan.reduced(run.platform, run.cluster)


def _no_signoff(run: CertifiedRun) -> str:
    if run.verdict.level != SIGNOFF:
        return f", which is no sign-off (that is level {SIGNOFF})"
    less = run.plan.reduction(run.platform, run.cluster)
    return f", which is no sign-off ({less})" if less else ""


def _evidence(verdict: RunVerdict) -> str:
    if verdict.evidence == Evidence.HARDWARE:
        return "measured on hardware"
    return f"{verdict.evidence}: no hardware was measured"


def _coverage(verdict: RunVerdict) -> list[tuple[str, str, str]]:
    """Return what, how many of how many, and the share; all are counted by asserted items."""
    shares = ((name, one["tested"], one["declared"]) for name, one in verdict.coverage.items())
    counts = verdict.counts
    rows = [("checks", counts.asserted, counts.planned), *shares]
    return [
        (name.replace("_", " "), f"{tested} of {of}", _share(tested, of))
        for name, tested, of in rows
    ]


def _share(tested: int, of: int) -> str:
    """Return whole percent, rounded down, so that only a complete count is 100 %."""
    if not of:
        return ""
    percent = 100 * tested // of
    return "under 1%" if tested and not percent else f"{percent}%"


def _cause(number: int, cause: Any) -> tuple[str, ...]:
    place = f"{cause.where}"
    return (f"{number}", cause.cause, place, printable(cause.headline), printable(cause.remedy))


def _deviation(one: Any) -> tuple[str, ...]:
    accepted = one.deviation
    return (
        accepted.subject,
        accepted.what,
        accepted.reason,
        accepted.who,
        accepted.until,
        one.effect,
    )


def exclusions(verdict: RunVerdict) -> list[tuple[str, str]]:
    """Return what this verdict does not cover, and why; subjects with one reason share a row."""
    by_reason: defaultdict[str, list[str]] = defaultdict(list)
    for subject, reason in verdict.not_applicable.items():
        by_reason[reason].append(subject)
    for subject in verdict.not_limited or ():
        by_reason["it could be tested here, and the platform file has no limit"].append(subject)
    rows = [(", ".join(sorted(subjects)), reason) for reason, subjects in by_reason.items()]
    return sorted(rows, key=lambda row: (-row[0].count(","), row))


def _by_rung(rows: Iterable[tuple[Any, Any]]) -> list[tuple[str, list[tuple[Any, Any]]]]:
    found: defaultdict[int, list[tuple[Any, Any]]] = defaultdict(list)
    for row, basis in rows:
        found[row.rung].append((row, basis))
    return [(f"Rung {rung}: {Rung(rung).folder}", made) for rung, made in sorted(found.items())]


# --- inventory ---


_WORDS = {
    PartKind.NODE: "node",
    PartKind.BMC: "BMC",
    PartKind.GPU: "GPU",
    PartKind.NIC: "NIC",
    PartKind.DISK: "disk",
}


def _alike(parts: Inventory) -> list[tuple[str, ...]]:
    """Return kind, model, part number, firmware and number of all parts that are alike in these."""
    ones = (row.part for row in parts.rows)
    counts = Counter(
        (one.kind, one.model or "", one.part_number or "", one.firmware or "") for one in ones
    )
    kinds = list(PartKind)
    rows = sorted(counts.items(), key=lambda row: (kinds.index(row[0][0]), -row[1]))
    return [(_WORDS[kind], *key, f"{number}") for (kind, *key), number in rows]


def _serials(parts: Inventory, names: Sequence[str]) -> list[tuple[str, str, str, str]]:
    """Return the serial numbers of each node, of its GPUs and of its NICs."""
    of: defaultdict[str, list[InventoryRow]] = defaultdict(list)
    for row in parts.rows:
        of[row.node].append(row)
    return [
        (
            name,
            _serial_numbers(of[name], PartKind.NODE),
            _serial_numbers(of[name], PartKind.GPU),
            _serial_numbers(of[name], PartKind.NIC),
        )
        for name in names
    ]


def _serial_numbers(rows: Sequence[InventoryRow], kind: PartKind) -> str:
    shown = [row.part for row in rows if row.part.kind is kind]
    words = (one.serial or one.uuid or "not read" for one in shown)
    if kind is PartKind.NODE:
        return ", ".join(words)
    # Name and number stay on one line.
    return ", ".join(
        f"{one.name}\N{NO-BREAK SPACE}{w}" for one, w in zip(shown, words, strict=True)
    )


def _unread(parts: Inventory) -> list[tuple[str, str]]:
    return [(listed(places), what) for what, places in parts.unread]
