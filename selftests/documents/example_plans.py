"""Examples of what is run: the command has the option or variable, and lacks it without the row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

from document_holders import Unheld, platform
from document_lines import ROOT
from example_facts import NODES, Surveyed, declared_hardware, others
from testing.core_values import HOSTFILE_SCHEMA

from railgauge.config import hostfile, thresholds
from railgauge.config.thresholds import LEVELS, Measurement, Platform, limits_in_use
from railgauge.config.thresholds.physics import ideal, physical_ceiling
from railgauge.core.errors import BadInput
from railgauge.core.model import Case, Cluster, Command, Fabric, Parsed
from railgauge.core.terms import Role
from railgauge.judging.results import PASS, SUMMARY, judge_results
from railgauge.planning import plan
from railgauge.planning.required import LevelScope, required_checks
from railgauge.tools import tool
from railgauge.tools.output_checks import SideOutput, ToolRequest

Commands = tuple[Command, ...]


@cache
def site(name: str) -> Cluster:
    return hostfile.load(ROOT / f"hostfiles/lab-{name}.yaml", schema_file=HOSTFILE_SCHEMA)


def planned(on: Platform, measurement: Measurement) -> Commands:
    """The commands of one case of the measurement, on the lab's nodes."""
    case = _case(on, measurement)
    own = replace(on, measurements={**on.measurements, measurement.name: measurement})
    return plan.commands(case, thresholds.with_model(own, "some-model"), site(on.name), 18515)


def _case(on: Platform, measurement: Measurement) -> Case:
    nodes = [node.name for node in site(on.name).nodes]
    level = next(iter(measurement.extents))
    count = {"node": 1, "fabric": 1, "group": len(nodes)}.get(str(measurement.scope), 2)
    path = plan.paths(on, measurement, level)[0]
    return Case(measurement.name, tuple(nodes[:count]), path, measurement.extents[level].sizes)


# --- option MEASUREMENT NAME ---


def option(on: Platform, _healthy: Surveyed, name: str, key: str) -> None:
    """The commands are others with another value of the option, or if it is left out."""
    measurement = on.measurements[name]
    own = planned(on, measurement)
    if all(_same(on, own, other) for other in _without(measurement, key)):
        raise Unheld(f"option {name} {key} changes no command")


def _without(measurement: Measurement, key: str) -> Iterator[Measurement]:
    options = dict(measurement.options)
    yield replace(measurement, options={one: options[one] for one in options if one != key})
    yield from _with_another(measurement, key)


def _with_another(measurement: Measurement, key: str) -> Iterator[Measurement]:
    value = measurement.options[key]
    others = [value * 2, 0] if type(value) is int else [_OTHER.get(str(value))]
    for other in others:
        if other is not None:
            yield replace(measurement, options={**measurement.options, key: other})


_OTHER = {"a2a": "p2p", "gfx": "dma", "fine": "coarse", "float": "int8", "bfloat16": "float"}


def _same(on: Platform, own: Commands, other: Measurement) -> bool:
    try:
        return planned(on, other) == own
    except BadInput:
        return True


def denied(on: Platform, name: str, key: str, text: str) -> list[str]:
    """What the tool's output ``text`` denies if the option had another value, and not as it is."""
    measurement = on.measurements[name]
    printed = tool(measurement.tool).parse(text)
    own = _denials(on, measurement, printed)
    others = [_denials(on, other, printed) for other in _with_another(measurement, key)]
    return sorted(set().union(*others) - own)


def _denials(on: Platform, measurement: Measurement, printed: Parsed) -> set[str]:
    case = _case(on, measurement)
    asked = ToolRequest(case, measurement, on)
    side = SideOutput(case.nodes[0], Role.CLIENT, printed)
    checks = tool(measurement.tool).output_checks(asked, (side,))
    return {check.item for check in checks if check.shown is not None and not check.agrees}


# --- environment [MEASUREMENT] NAME ---


def environment(on: Platform, _healthy: Surveyed, *words: str) -> None:
    """The commands have the variable with its value; without the entry they do not."""
    *names, variable = words
    measured = on.measurements.values()
    collectives = (one.name for one in measured if one.tool == "ccl-tests" and one.scope == "pair")
    measurement = on.measurements[names[0] if names else next(collectives)]
    recommended = {**on.environment, **measurement.environment}
    own = planned(on, measurement)
    if not any(one.environment.get(variable) == recommended[variable] for one in own):
        raise Unheld(f"{measurement.name} is run without {variable}={recommended[variable]}")
    left = [
        {key: value for key, value in where.items() if key != variable}
        for where in (on.environment, measurement.environment)
    ]
    without = planned(replace(on, environment=left[0]), replace(measurement, environment=left[1]))
    if any(variable in one.environment for one in without):
        raise Unheld(f"{measurement.name} is run with {variable} whatever the platform file says")


# --- hardware PATH ---


def hardware(on: Platform, healthy: Surveyed, path: str) -> None:
    """Declared otherwise, a healthy node fails, a ceiling is another, or other paths are made."""
    if declared_hardware(on, healthy, path):
        return
    own = (list(_bounds(on)), _paths(on))
    if all((list(_bounds(other)), _paths(other)) == own for other in others(on, path)):
        raise Unheld(f"hardware {path}: nothing changes if it is declared otherwise")


def _bounds(on: Platform) -> Iterator[float | None]:
    for measurement in on.measurements.values():
        path = plan.paths(on, measurement, next(iter(measurement.extents)))[0]
        for limit in limits_in_use(on, measurement):
            yield physical_ceiling(on, measurement, path, limit)
            yield ideal(on, measurement, path, limit)


def _paths(on: Platform) -> list[object]:
    return [
        plan.paths(on, measurement, level)
        for measurement in on.measurements.values()
        for level in measurement.extents
    ]


# --- measured MEASUREMENT [WAY] ---


def measured(on: Platform, _healthy: Surveyed, name: str, way: str = "") -> None:
    """A level asks for it on the lab's nodes, and a run without it therefore lacks an answer."""
    if not any(name == one and way in ("", asked) for one, asked in _asked(on.name)):
        raise Unheld(f"measured {name} {way}: no level asks for it".replace(" :", ":"))


@cache
def _asked(name: str) -> frozenset[tuple[str, str]]:
    on, lab = platform(name), site(name)
    first = lab.nodes[0].name
    nodes = replace(lab, no_fabric="", fabric=Fabric(first, _SUBNET.format(first), "subnet"))
    levels = [plan.level(on, nodes, level) for level in LEVELS]
    every = (one.key for level in levels for one in required_checks(LevelScope(on, nodes, level)))
    return frozenset((key.subject, key.way) for key in every)


# One leaf with one cable, for the scan of a subnet, which the labs do not simulate.
_SUBNET = """\
Switch\t40 "S-0000000000000001"\t\t# "leaf1" enhanced port 0 lid 1 lmc 0
[1]\t"H-0000000000000010"[1](10)\t# "{} mlx5_0" lid 2 4xNDR
"""


# --- result MEASUREMENT TEST ---


def result(on: Platform, _healthy: Surveyed, name: str, *words: str) -> None:
    """The printed test passes; one that failed or was not printed does not."""
    spec, test = on.measurements[name].results, " ".join(words)
    assert spec is not None
    own = replace(spec, tests=(test,))

    def passes(entries: Sequence[dict[str, object]]) -> bool:
        printed = Parsed("tool", None, (), {SUMMARY: entries})
        found, errors = judge_results(printed, own, 8, NODES[0])
        return not errors and all(str(one.outcome) == "passed" for one in found)

    message = {"name": test, "printed": "as printed", "gpus": ()}
    answers = [
        passes([{**message, "status": PASS}]),
        passes([{**message, "status": "fail"}]),
        passes([]),
    ]
    if answers != [True, False, False]:
        raise Unheld(f"result {name} {test}: passed, failed and absent are judged {answers}")
