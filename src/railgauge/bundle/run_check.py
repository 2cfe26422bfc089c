"""Checks of one run by itself: its files agree, and its records follow from its evidence.

A merged run is checked part by part, and then as what follows from its parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import NoReturn

from railgauge import __version__
from railgauge.bundle import again, merged, soak
from railgauge.bundle.again import Judged, judged_anew
from railgauge.bundle.agreement import refuse_other_stamp, refuse_other_survey
from railgauge.bundle.binding import refuse_other_items
from railgauge.bundle.commands import Commands
from railgauge.bundle.completeness import (
    refuse_gaps,
    refuse_left_out,
    refuse_other_confirmations,
    refuse_other_end,
    refuse_unplanned,
)
from railgauge.config.thresholds import Platform
from railgauge.core.codec import to_plain
from railgauge.core.errors import BadInput, NoEvidence, NotVerified
from railgauge.core.run_files import EARLIER, PARTS, PLATFORM, RUN
from railgauge.judging import record
from railgauge.judging.confirmation import FOLDER as AGAIN
from railgauge.judging.record import ItemRecord
from railgauge.planning import part
from railgauge.planning.plan import Level
from railgauge.run.run_folder import RunFolder
from railgauge.run.takeover import is_read_anew
from railgauge.verdict import decision
from railgauge.verdict.at_end import question_kinds
from railgauge.verdict.decision import FILE as PLAN
from railgauge.verdict.decision import RunPlan
from railgauge.verdict.known_good import DecidedRun, refuse_doubtful_partners


def checked(contents: RunFolder, platform: Platform) -> Judged:
    """Make all checks that need the run alone, and judge it anew. Raises ``NotVerified``."""
    run, cluster = contents.plan(), contents.cluster()
    refuse_other_stamp(run, cluster, contents.found)
    if surveyed := contents.surveyed():
        refuse_other_survey(run, cluster, platform.name, surveyed, contents.found)
    records = contents.records()
    refuse_unplanned(run, records.values())
    (_refuse_other_parts if contents.parts else _refuse_other_evidence)(contents, platform)
    own = judged_anew(contents, records, platform)
    refuse_left_out(run, own.results)
    soak.refuse_other_items(records, (item.id for item in decision.closed(run, own.results)))
    _refuse_other_items(records, own.records, is_own=run.software == __version__)
    return own


def _refuse_other_evidence(contents: RunFolder, platform: Platform) -> None:
    """Raise unless the evidence is of the commands and places that the run's level has."""
    run, cluster, records = contents.plan(), contents.cluster(), contents.records()
    level, ladder = run.level_of(platform, cluster), soak.of_ladder(records)
    _refuse_other_part(run, level)
    if run.software == __version__:  # earlier versions kept nothing
        _refuse_other_earlier(contents)
    refuse_other_end(run, contents, records.values())
    refuse_other_items(ladder.values(), platform, level)
    refuse_gaps(run, cluster, ladder, contents.transcripts())
    soak.refuse_other_rounds(run, contents, platform, cluster)
    evidence = contents.transcripts(AGAIN)
    refuse_other_confirmations(run, cluster, platform, contents.asked(), evidence)
    _refuse_other_commands(contents, records.values())


def _refuse_other_earlier(contents: RunFolder) -> None:
    """Raise unless it holds the kept files of exactly the runs that it carries on."""
    due = set[str]()
    asked = contents.invocation()
    while asked and asked.resumes and asked.resumes not in due:
        due.add(asked.resumes)
        one = contents.earlier.get(asked.resumes)
        if one is None:
            _fail(f"{RUN}{EARLIER}/{asked.resumes[:80]}", "is missing: the run carries it on")
        for name in one.manifest() or ():  # a run that was killed has none
            if is_read_anew(name) and name not in one:
                _fail(f"{RUN}{EARLIER}/{asked.resumes}/{name}", "is missing: the run left it")
        asked = one.invocation()
    if asked and (odd := sorted(contents.earlier.keys() - due)):
        _fail(f"{RUN}{EARLIER}/{odd[0]}", "is of no run that this one carries on")


def _refuse_other_part(run: RunPlan, level: Level) -> None:
    """Raise unless a part uses exactly the nodes that its places have."""
    if run.part is not None and set(run.part.uses) != set(part.used(level)):
        _fail(f"{RUN}{PLAN}", f"uses other nodes than {run.part.what} has")


def _refuse_other_parts(contents: RunFolder, platform: Platform) -> None:
    """Raise unless each part verifies by itself, and plan and survey are what the parts give."""
    run, parts, decided = contents.plan(), contents.parts, list[DecidedRun]()
    for one, of in zip(parts, run.parts, strict=True):
        if one.plan().run_id != of.run_id or one.plan().parts:
            _fail(f"{RUN}{PLAN}", f"names {of.run_id}, but its part is another run")
        if one.bytes(PLATFORM) != contents.bytes(PLATFORM):
            _fail(f"{RUN}{PLAN}", f"is merged from {of.run_id}, which has other limits")
        decided.append(_checked_part(one, of.run_id, platform))
    if contents.transcripts() or contents.transcripts(AGAIN):
        _fail(RUN, "has evidence that is of none of its parts")
    try:
        merged.refuse_apart(parts)
        refuse_doubtful_partners(decided)
        made = merged.remade(contents, run, platform, again.judged_again)
    except BadInput as error:
        _fail(f"{RUN}{PLAN}", str(error))
    if run != replace(merged.plan_of(run.run_id, parts, made.parts), planned=tuple(made.records)):
        _fail(f"{RUN}{PLAN}", "differs from the plan that its parts give")
    cluster = merged.cluster_of(parts)
    if to_plain(contents.cluster()) != to_plain(cluster):
        _fail(RUN, "has another cluster than its parts")
    if to_plain(contents.found) != to_plain(merged.found_of(cluster, parts)):
        _fail(RUN, "has another survey than its parts")


def _checked_part(one: RunFolder, run_id: str, platform: Platform) -> DecidedRun:
    """Raise unless a part verifies by itself; the file that is named is that of the part."""
    try:
        return decided_run(one, checked(one, platform))
    except NotVerified as error:
        below = error.where.removeprefix(RUN).removeprefix(f"{PARTS}/{run_id}/")
        raise NotVerified(error.what, where=f"{RUN}{PARTS}/{run_id}/{below}") from None


def decided_run(contents: RunFolder, judged: Judged) -> DecidedRun:
    """A run that was checked, with its verdict."""
    return DecidedRun(contents.plan(), judged.verdict, judged.records)


def _refuse_other_commands(contents: RunFolder, records: Iterable[ItemRecord]) -> None:
    """Raise ``NotVerified`` unless all transcripts that items use are of the planned commands."""
    held = Commands(contents.platform(), contents.cluster(), contents.elsewhere())
    own = (question for item in records for question in item.questions)
    again = (one.question for one in contents.asked())
    for folder, questions in (("", own), (AGAIN, again)):
        measured = (one for one in questions if one.kind not in question_kinds())
        cases = (case for one in measured for case in (one.case, one.other) if case)
        for case in dict.fromkeys(cases):
            with suppress(NoEvidence):  # a missing transcript is reported when its item is judged
                held.refuse_others(case, contents.result(case, folder).runs, folder)


def _refuse_other_items(
    recorded: Mapping[str, ItemRecord], again: Mapping[str, ItemRecord], *, is_own: bool
) -> None:
    """``is_own`` is false for a run of another version of railgauge: its texts may differ."""
    for name, item in recorded.items():
        due = _as_kept(again[name], item)
        if due != item and (is_own or _without_texts(due) != _without_texts(item)):
            made = again[name].outcome
            what = f"{name} is recorded as {item.outcome}, but its evidence gives {made}"
            if made is item.outcome:
                what = f"{name} is recorded with values that differ from its evidence"
            _fail(f"{RUN}{record.FILE}", what)


def _as_kept(item: ItemRecord, recorded: ItemRecord) -> ItemRecord:
    """The item without what could not be judged beside its failure, which early runs did not keep.

    The verdict is made of the items as they are judged again, and never of the recorded ones.
    """
    return item if recorded.beside else replace(item, beside="")


def _without_texts(item: ItemRecord) -> ItemRecord:
    """The record without the texts, whose wording may differ between versions of railgauge."""
    judgements = tuple(replace(judgement, reason="", limit="") for judgement in item.judgements)
    return replace(item, title="", reason="", remedy="", beside="", judgements=judgements)


def _fail(where: str, what: str) -> NoReturn:
    raise NotVerified(what, where=where)
