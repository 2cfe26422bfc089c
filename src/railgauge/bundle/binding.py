"""Checks that every record agrees with its id, and that no two items ask the same. Pure.

An id names a file, a test, and in brackets the place, the part of the node and the message size; in
a family of subjects these follow the name of the subject. A record that differs from its id is the
record of another item.

Example: a record about ``a:b``, ``mlx5_0`` and 8 MiB belongs under an id that ends in
``[a:b-mlx5_0-8MiB]``; under ``[a:c-mlx5_0-8MiB]`` it is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NoReturn

from railgauge.config.thresholds import Measurement, Platform
from railgauge.core.errors import NotVerified
from railgauge.core.model import Case, Pairing
from railgauge.core.question import CORRECT, FACT, READ, Question
from railgauge.core.run_files import RUN
from railgauge.core.terms import Rung
from railgauge.core.units import format_size
from railgauge.judging import record
from railgauge.judging.record import ItemRecord
from railgauge.planning import expectations, plan, scaling
from railgauge.planning.plan import Level
from railgauge.planning.required import NOWHERE, SUBNET, part_label, scan_rung
from railgauge.run.case_files import text_file
from railgauge.verdict import at_end

_ID = re.compile(r"(?P<test>[^:\[\]]+::[^\[\]]+)(?:\[(?P<words>.*)\])?", re.DOTALL)
# Several items of one measurement ask these.
_SHARED = (READ, CORRECT)
# Where a level makes a measurement: the sets of nodes, and the pairings on each.
_Extent = tuple[set[tuple[str, ...]], set[Pairing | None]]


def refuse_other_items(records: Iterable[ItemRecord], platform: Platform, wanted: Level) -> None:
    """Raise ``NotVerified`` for a record that does not fit its id, or a repeated question."""
    binding = _Binding(platform, wanted)
    for item in records:
        binding.refuse(item)


class _Binding:
    def __init__(self, platform: Platform, wanted: Level) -> None:
        self._platform = platform
        self._level = wanted
        self._groups: dict[tuple[str, ...], set[str]] = {}
        for name, nodes in wanted.collectives:
            self._groups.setdefault(nodes, set()).add(name)
        self._extents: dict[tuple[str, bool], _Extent] = {}
        self._tests: dict[tuple[str, str], tuple[int, str, str]] = {}
        self._asked: dict[Question, str] = {}
        self._parts: dict[str, dict[str, expectations.NodePart]] = {}

    def refuse(self, item: ItemRecord) -> None:
        named = _ID.fullmatch(item.id)
        if named is None:
            _fail(item, "has an id that is not a test's")
        self._refuse_other_words(item, (named["words"] or "").removeprefix(item.member))
        self._refuse_other_rung(item)
        self._refuse_other_test(item, named["test"])
        for question in item.questions:
            self._refuse_other_question(item, question)
        _refuse_other_transcript(item)

    def _refuse_other_words(self, item: ItemRecord, words: str) -> None:
        """Raise unless the brackets of the id hold the record's place, part and size."""
        size = "" if item.size_bytes is None else format_size(item.size_bytes)
        fitting = {"-".join(filter(None, (p, item.pairing, size))) for p in self._names(item.nodes)}
        if words not in fitting:
            _fail(item, f"has the record of {min(fitting, default='') or 'no place'}")

    def _names(self, nodes: tuple[str, ...]) -> set[str]:
        """The names of a place in ids: those of a node or pair, and of equal groups."""
        if not nodes:
            return {NOWHERE} if self._level.scan.is_missing else set()
        most = 2
        own = {":".join(nodes)} if len(nodes) <= most else set()
        return own | self._groups.get(nodes, set())

    def _refuse_other_rung(self, item: ItemRecord) -> None:
        measurement = self._platform.measurements.get(item.subject)
        rungs = {measurement.rung} if measurement else set()
        kind = at_end.kind_of(item.id)
        rungs |= {kind.items.rung} if kind and kind.asked_by(self._platform) else set()
        rungs |= {Rung.PREFLIGHT} if item.subject in self._platform.expected else set()
        if self._level.scan.is_missing and item.subject in SUBNET:
            rungs = {scan_rung(self._platform, item.subject)}
        if not rungs:
            _fail(item, f"is about {item.subject[:80]!r}, which is not in the platform file")
        if item.rung not in rungs:
            _fail(item, f"is on rung {item.rung}, but its subject is on rung {min(rungs)}")

    def _refuse_other_test(self, item: ItemRecord, test: str) -> None:
        """Raise unless all items of a test, or of a member of a family, have the same rung, subject
        and title."""
        about = (item.rung, item.subject, item.title)
        if self._tests.setdefault((test, item.member), about) != about:
            _fail(item, f"is about {item.subject}, but other items of its test are not")

    def _refuse_other_question(self, item: ItemRecord, question: Question) -> None:
        if question.kind == FACT:
            self._refuse_other_fact(item, question)
        elif question.kind in at_end.question_kinds():
            _refuse_other_node(item, question)
        else:
            self._refuse_other_measurement(item, question)
        if question.kind in _SHARED:
            return
        first = self._asked.setdefault(question, item.id)
        if first != item.id:
            _fail(item, f"asks the same as {first}")

    def _refuse_other_fact(self, item: ItemRecord, question: Question) -> None:
        fact = question.fact
        if fact is None or question.metric != item.subject or (fact.node,) != item.nodes:
            _fail(item, "asks for a fact that it is not about")
        part = self._parts_of(item).get(item.pairing)
        if part is None:
            _fail(item, f"is about {item.pairing or 'the node'}, which has no {item.subject}")
        if fact != expectations.fact_at(self._platform, item.subject, fact.node, part):
            where = f" of {item.pairing}" if item.pairing else ""
            asked = ", ".join(fact.paths)[:200]
            _fail(item, f"asks for {asked}, which is not {item.subject}{where}")

    def _parts_of(self, item: ItemRecord) -> dict[str, expectations.NodePart]:
        """The parts of a node that the item's expectation is about, by their names in ids."""
        if item.subject not in self._parts:
            expectation = self._platform.expected.get(item.subject)
            if expectation is None:
                _fail(item, f"is about {item.subject[:80]!r}, which nothing expects")
            parts = expectations.parts(self._platform, expectation)
            self._parts[item.subject] = {part_label(part): part for part in parts}
        return self._parts[item.subject]

    def _refuse_other_measurement(self, item: ItemRecord, question: Question) -> None:
        case = question.case
        if case is None:
            _fail(item, "asks for no measurement")
        self._refuse_other_case(item, case)
        if question.other:
            self._refuse_other_case(item, question.other)
            made = self._platform.measurements[question.other.measurement]
            if made.ladder and question.other != self._smallest_step(made):
                _fail(item, "compares a step with another one than the smallest")
            own = self._platform.measurements.get(case.measurement)
            if own and own.ladder and made.name != scaling.base(own):
                _fail(item, f"compares a step with one of {made.name}, not {scaling.base(own)}")
        if question.kind not in _SHARED and (
            (case.measurement, case.nodes) != (item.subject, item.nodes)
            or question.size_bytes != item.size_bytes
            or (question.placement or str(case.pairing or "")) != item.pairing
        ):
            _fail(item, "asks for a measurement that it is not about")

    def _refuse_other_case(self, item: ItemRecord, case: Case) -> None:
        """Raise unless the level makes this case: its place, pairing, sizes and repeats."""
        measurement = self._platform.measurements.get(case.measurement)
        if measurement and measurement.ladder and case == self._smallest_step(measurement):
            return
        if measurement is None or not set(case.nodes) <= set(item.nodes):
            _fail(item, "asks for a measurement that the platform file does not have there")
        level = self._level.name
        extent = measurement.extents.get(level)
        if extent is None:
            _fail(item, f"asks for a measurement that level {level} does not make")
        if (case.sizes, case.repeats) != (extent.sizes, extent.repeats):
            _fail(item, f"asks for other sizes or repeats than level {level} has")
        places, paths = self._extent(measurement, own=measurement.name == item.subject)
        if case.nodes not in places:
            _fail(item, f"asks for a measurement that level {level} does not make there")
        if case.pairing not in paths:
            _fail(item, f"asks for a pairing that level {level} does not measure")

    def _smallest_step(self, measurement: Measurement) -> Case | None:
        """The case that the steps of a scaling ladder are compared with; a part has the same."""
        level = self._level.whole or self._level
        if not measurement.made_at(level.name):
            return None
        return plan.case_on(measurement, level.name, level.ladder.smallest, None)

    def _extent(self, measurement: Measurement, *, own: bool) -> _Extent:
        """Where the level makes a measurement; a part also makes what its own are compared with."""
        key = (measurement.name, own)
        if key not in self._extents:
            level = self._level if own else self._level.whole or self._level
            places = plan.places(measurement, level)
            paths = plan.paths(self._platform, measurement, level.name)
            self._extents[key] = ({plan.nodes_of(p) for p in places}, set(paths))
        return self._extents[key]


def _refuse_other_node(item: ItemRecord, question: Question) -> None:
    """Raise unless it is the question of an end-of-run check about its own node."""
    kind = at_end.kind_of(item.id)
    if kind is None or [question] != [kind.items.question_of(node) for node in item.nodes]:
        _fail(item, "asks about another node")


def _refuse_other_transcript(item: ItemRecord) -> None:
    """Raise unless the record links to the readable transcript of its last case."""
    if not item.by_evidence:
        return
    read = [question.case for question in item.questions if question.kind in _SHARED]
    due = text_file(read[-1]) if read and read[-1] else ""
    if item.transcript != due:
        shown = item.transcript[:200] or "no transcript"
        _fail(item, f"links to {shown}, but is based on {due or 'none'}")


def _fail(item: ItemRecord, what: str) -> NoReturn:
    raise NotVerified(f"{item.id} {what}", where=f"{RUN}{record.FILE}")
