"""From test functions to items: what each is about, for which hardware, on which rung.

A test says with a mark what it is about: ``measures(NAME)`` a measurement of the platform file,
``expects(NAME)`` an expectation. Its arguments say what it is parametrized over: ``node``, ``nic``,
``gpu``, ``fact``, or ``pair``, ``pairing`` and ``size``. All of it is declared hardware.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from railgauge.model import Pair, Pairing
from railgauge.pairing import choose
from railgauge.plugin.context import Context
from railgauge.units import format_size

MARKS = {
    "measures": "measures(name): the measurement of the platform file that this test judges",
    "expects": "expects(name): the expectation of the platform file that this test judges",
}


@dataclass(frozen=True, slots=True)
class Subject:
    """What a test is about. Expectations stand on rung 0."""

    kind: str
    name: str


SUBJECT = pytest.StashKey[Subject]()

Row = tuple[tuple[object, ...], str]


def subject_of(marks: Sequence[pytest.Mark]) -> Subject | None:
    """The subject that the marks of a test name; ``None`` if there is not exactly one."""
    found = [mark for mark in marks if mark.name in MARKS]
    if len(found) != 1 or len(found[0].args) != 1:
        return None
    return Subject(found[0].name, found[0].args[0])


def applies(context: Context, name: str, marks: Sequence[pytest.Mark]) -> bool:
    """Whether the platform has what this test is about; an unknown subject is a complaint."""
    subject = subject_of(marks)
    if subject is None:
        context.complaints.append(f"{name}: needs one mark, measures(NAME) or expects(NAME)")
        return False
    if subject.name in context.not_applicable:
        return False
    platform = context.platform
    known = platform.measurements if subject.kind == "measures" else platform.expected
    if subject.name not in known:
        section = "measurements" if subject.kind == "measures" else "expected"
        context.complaints.append(
            f"{name}: {subject.name!r} is neither under '{section}' nor under 'not_applicable'"
        )
        return False
    return True


def parametrize(context: Context, metafunc: pytest.Metafunc) -> None:
    """Give a test of the ladder its rows: one item for each piece of declared hardware."""
    subject = subject_of(list(metafunc.definition.iter_markers()))
    if subject is None:
        return
    if subject.kind == "measures":
        names = ["pair", "pairing", "size"]
        rows = list(_measurement_rows(context, subject.name))
    else:
        names = [n for n in ("node", "gpu", "nic", "fact") if n in metafunc.fixturenames]
        rows = list(_node_rows(context, subject.name, names))
    metafunc.parametrize(names, [values for values, _ in rows], ids=[row_id for _, row_id in rows])


def _measurement_rows(context: Context, name: str) -> Iterator[Row]:
    """Round by round, so that neighbours in the order of items use different nodes."""
    measurement = context.platform.measurements[name]
    extent = measurement.extents[context.level.name]
    for pair in context.level.pairs:
        for pairing in choose(context.platform, measurement.memory, extent.pairings):
            for size in extent.sizes:
                yield (pair, pairing, size), f"{pair}-{pairing}-{format_size(size)}"


def _node_rows(context: Context, name: str, names: Sequence[str]) -> Iterator[Row]:
    choices = [_choices(context, name, argument) for argument in names]
    for values in _product(choices):
        shown = [f"gpu{v}" if n == "gpu" else str(v) for n, v in zip(names, values, strict=True)]
        yield tuple(values), "-".join(shown)


def _choices(context: Context, expectation: str, argument: str) -> Sequence[object]:
    platform = context.platform
    if argument == "node":
        return [node.name for node in context.declared.nodes]
    if argument == "gpu":
        return list(range(platform.gpus.count if platform.gpus else 0))
    if argument == "nic":
        return [nic.name for nic in platform.fabric_nics]
    value = platform.expected[expectation].value
    assert isinstance(value, list)
    return value


def _product(choices: Sequence[Sequence[object]]) -> Iterator[list[object]]:
    if not choices:
        yield []
        return
    for value in choices[0]:
        for rest in _product(choices[1:]):
            yield [value, *rest]


@dataclass(frozen=True, slots=True)
class About:
    """What one item is about, read from its parameters."""

    subject: Subject
    rung: int
    title: str
    nodes: tuple[str, ...]
    pairing: str
    size_bytes: int | None


ABOUT = pytest.StashKey[About]()


def describe(context: Context, item: pytest.Item) -> About | None:
    """What ``item`` is about; ``None`` for a test that is not of the ladder."""
    subject = subject_of(list(item.iter_markers()))
    if subject is None or not isinstance(item, pytest.Function):
        return None
    values: dict[str, Any] = item.callspec.params if hasattr(item, "callspec") else {}
    pair, pairing = values.get("pair"), values.get("pairing")
    measured = context.platform.measurements.get(subject.name)
    return About(
        subject=subject,
        rung=measured.rung if measured and subject.kind == "measures" else 0,
        title=(item.function.__doc__ or item.originalname).strip().splitlines()[0],
        nodes=_nodes(pair, values.get("node")),
        pairing=_path(pairing, values.get("nic"), values.get("gpu")),
        size_bytes=values.get("size"),
    )


def _nodes(pair: Pair | None, node: str | None) -> tuple[str, ...]:
    if pair is not None:
        return (pair.source, pair.target)
    return (node,) if node else ()


def _path(pairing: Pairing | None, nic: str | None, gpu: int | None) -> str:
    if pairing is not None:
        return str(pairing)
    return "-".join(part for part in (None if gpu is None else f"gpu{gpu}", nic) if part)
