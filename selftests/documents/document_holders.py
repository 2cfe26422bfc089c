"""Resolve a reference of a document line in the platform file, the tests and the lab.

``expected NAME``, ``limit MEASUREMENT METRIC [SIZE] [near|far|…]``, ``measured MEASUREMENT [WAY]``
(size, link, gpu, run, ratio, traffic, transport), ``result MEASUREMENT TEST``, ``option MEASUREMENT
NAME``, ``environment [MEASUREMENT] NAME``, ``hardware PATH``, ``prepare NAME``, ``fault NAME``,
``cause NAME``, ``tool NAME``, ``fact NAME``, ``hostfile NAME``, ``selftest PATH::NAME``. With
``= VALUE`` it must be that.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

from document_lines import ROOT

from railgauge.config import thresholds
from railgauge.config.thresholds import Measurement, Platform
from railgauge.config.thresholds.limits import bound_at
from railgauge.core.errors import BadInput, RailgaugeError
from railgauge.core.limits import Curve, Limit
from railgauge.core.units import format_size, parse_size
from railgauge.diagnosis import CATALOGUE
from railgauge.facts import NodeFacts
from railgauge.judging.expectation import declared_at
from railgauge.planning import expectations
from railgauge.planning.marks import KINDS, marked_tests
from railgauge.planning.required import ways
from railgauge.tools import NAMES
from railgauge_lab import faults, platforms


class Unheld(Exception):
    """A reference to something that does not exist."""


@dataclass(frozen=True)
class Bounded:
    """The bound of a limit, and its text."""

    value: object
    words: str


def resolved(reference: str, on: str, document: str) -> str:
    """The text of what the reference refers to on platform ``on``. Raises ``Unheld``."""
    message, _, wanted = reference.partition(" = ")
    kind, *words = message.split()
    if kind not in _KINDS:
        raise Unheld(f"{reference}: unknown kind; there are {', '.join(_KINDS)}")
    try:
        found = _KINDS[kind](platform(on), document, *words)
    except (TypeError, KeyError, BadInput, RailgaugeError) as error:
        raise Unheld(f"{reference}: {type(error).__name__} {error}") from error
    if wanted and not _equal(found, wanted):
        raise Unheld(f"{reference}: is {_text(found)}")
    return f"{message}: {_text(found)}" if found != "" else message


@cache
def platform(name: str) -> Platform:
    return thresholds.load(name, ROOT / "thresholds")


def _equal(found: object, wanted: str) -> bool:
    if isinstance(found, Bounded):
        return _equal(found.value, wanted)
    if isinstance(found, float) or (isinstance(found, int) and not isinstance(found, bool)):
        return float(found) == float(wanted)
    return _text(found) == wanted


def _text(value: object) -> str:
    if isinstance(value, Bounded):
        return value.words
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_text, value)) or "none"
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {_text(item)}" for key, item in value.items())
    return f"{value:g}" if isinstance(value, float) else str(value)


def _require(names: Iterable[str], name: str, what: str) -> None:
    if name not in names:
        raise Unheld(f"there is no {what} {name}")


# --- the platform file ---


def _expected(on: Platform, _document: str, name: str) -> object:
    """An expectation with a test: the required value, or the rule that judges it."""
    _require(on.expected, name, f"expectation of {on.name}:")
    _require(_subjects()["expects"], name, "test with the expectation")
    _require(expectations.EXPECTATIONS, name, "fact of the expectation")
    expectation = on.expected[name]
    message = expectation.measured_with or expectation.value
    return message if expectation.rule in _PLAIN or expectation.measured_with else expectation.rule


_PLAIN = ("equals", "contains", "at_least", "at_most", "one_of")


def _measurement(on: Platform, name: str) -> Measurement:
    _require(on.measurements, name, f"measurement of {on.name}:")
    _require(_subjects()["measures"], name, "test of the measurement")
    return on.measurements[name]


def _limit(on: Platform, document: str, name: str, metric: str, *where: str) -> object:
    """The bound of a metric, at a size and on paths of one kind if these are named.

    It is from the document itself, or derived where the document gives no figure.
    """
    size_bytes = next((parse_size(word) for word in where if word[0].isdigit()), None)
    found = limits_of(_measurement(on, name), document, metric, *where)
    bounds = list(dict.fromkeys(_bound(limit, size_bytes) for limit in found))
    return bounds[0] if len(bounds) == 1 else bounds


def limits_of(measurement: Measurement, document: str, metric: str, *where: str) -> list[Limit]:
    """The limits of a metric that a reference names."""
    kinds = [word for word in where if not word[0].isdigit()]
    size_bytes = next((parse_size(word) for word in where if word[0].isdigit()), None)
    found = [
        limit
        for limit in measurement.limits
        if limit.metric == metric and _covers(limit, size_bytes, kinds)
    ]
    if not found:
        raise Unheld(f"{measurement.name} has no limit of {' '.join([metric, *where])}")
    if not any(one.basis.source in (document, "derived") for one in found):
        raise Unheld(f"no limit of {measurement.name} {metric} is from document {document}")
    return found


def _covers(limit: Limit, size_bytes: int | None, kinds: list[str]) -> bool:
    span = limit.sizes
    inside = size_bytes is None or span is None or span[0] <= size_bytes <= span[1]
    return inside and set(kinds) <= set(limit.pairings)


def _bound(limit: Limit, size_bytes: int | None) -> Bounded:
    """The bound that is judged; for a curve without a size, its two ends."""
    is_ceiling = limit.floor is None or limit.unit == "us"
    bound = limit.ceiling if is_ceiling else limit.floor
    unit = f"of the {limit.of}" if limit.of else limit.unit
    at = f"at {'most' if is_ceiling else 'least'}"
    if isinstance(bound, Curve) and size_bytes is None:
        ends = (bound.points[0], bound.points[-1])
        message = [f"{value:g} {unit} at {format_size(size)}" for size, value in ends]
        return Bounded(None, f"{at} {' to '.join(message)}")
    found = bound_at(bound, size_bytes)
    if found is None:
        raise Unheld(f"{limit.pointer} bounds nothing there")
    return Bounded(found, f"{at} {found:g} {unit}")


def _measured(on: Platform, _document: str, name: str, way: str = "") -> str:
    """A measurement, or one item of it: size, link, gpu, run, traffic, …"""
    measurement = _measurement(on, name)
    if way:
        _require(ways(measurement), way, f"way in which {name} is judged:")
    return ""


def _result(on: Platform, _document: str, name: str, *test: str) -> str:
    """A named test of a diagnostic, which must be printed and have passed."""
    results = getattr(_measurement(on, name), "results", None)
    _require(results.tests if results else (), " ".join(test), f"result of {name}:")
    return ""


def _option(on: Platform, _document: str, name: str, option: str) -> object:
    options = _measurement(on, name).options
    _require(options, option, f"option of {name}:")
    return options[option]


def _environment(on: Platform, _document: str, *words: str) -> str:
    """The environment of all collectives, or of one measurement."""
    *names, variable = words
    found = _measurement(on, names[0]).environment if names else on.environment
    _require(found, variable, "variable")
    return found[variable]


def _hardware(on: Platform, _document: str, path: str) -> object:
    return declared_at(on, path)


def _prepare(on: Platform, _document: str, name: str) -> str:
    found = {step.name: step.want for step in on.preparations}
    _require(found, name, f"step of --prepare on {on.name}:")
    return found[name]


# --- the suite ---


def _fault(on: Platform, _document: str, name: str) -> str:
    """A fault that the lab of this platform has."""
    _require(faults.NAMES, name, "lab fault")
    if "not_applicable" in platforms.load(on.name)["faults"].get(name, {}):
        raise Unheld(f"the fault {name} does not apply to {on.name}")
    return ""


def _cause(_on: Platform, _document: str, name: str) -> str:
    _require(CATALOGUE, name, "cause")
    return ""


def _tool(_on: Platform, _document: str, name: str) -> str:
    _require(NAMES, name, "tool")
    return ""


def _fact(_on: Platform, _document: str, name: str) -> str:
    _require([field.name for field in fields(NodeFacts)], name, "fact of a node:")
    return ""


def _hostfile(_on: Platform, _document: str, name: str) -> str:
    schema = json.loads((ROOT / "hostfiles/schema.json").read_text(encoding="utf-8"))
    _require(schema["properties"], name, "setting of a hostfile:")
    return ""


def _selftest(_on: Platform, _document: str, named: str) -> str:
    path, _, name = named.partition("::")
    file = ROOT / "selftests" / path
    if not file.is_file() or name not in _functions(file.read_text(encoding="utf-8")):
        raise Unheld(f"there is no selftest {named}")
    return ""


def _functions(text: str) -> set[str]:
    return {node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)}


@cache
def _subjects() -> Mapping[str, frozenset[str]]:
    """The subjects of the ladder's tests, from their marks ``expects`` and ``measures``."""
    tests = marked_tests(ROOT)
    return {kind: frozenset(one.name for one in tests if one.kind == kind) for kind in KINDS}


_KINDS: Mapping[str, Callable[..., Any]] = {
    "expected": _expected,
    "limit": _limit,
    "measured": _measured,
    "result": _result,
    "option": _option,
    "environment": _environment,
    "hardware": _hardware,
    "prepare": _prepare,
    "fault": _fault,
    "cause": _cause,
    "tool": _tool,
    "fact": _fact,
    "hostfile": _hostfile,
    "selftest": _selftest,
}

# The kinds whose example ``document_examples`` runs; the others are only looked up.
_RUN = (
    "expected", "limit", "option", "environment", "hardware", "measured", "result", "fact", "fault",
)  # fmt: skip


def is_run(reference: str) -> bool:
    """Whether the selftests run an example of the reference, and do not only look it up."""
    return reference.partition(" ")[0] in _RUN
