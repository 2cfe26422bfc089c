"""Examples of what a node must be: a fact that the lab's survey finds passes, another one fails."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, is_dataclass, replace
from pathlib import Path
from typing import Any

from document_holders import Unheld
from testing.lab_bench import Bench, laid_out

from railgauge.config.thresholds import Expectation, Platform
from railgauge.config.thresholds.model import CARRIES
from railgauge.core.errors import NoEvidence, VersionUndeclared
from railgauge.core.model import Outcome
from railgauge.core.question import FactAt
from railgauge.facts import NodeFacts, parse_probe, probe_script
from railgauge.judging.among import DEVICES
from railgauge.judging.expectation import declared_at, judge_at, value_at
from railgauge.planning import expectations
from railgauge.planning.vendor import platform_stack

NODES = ("n1", "n2", "n3")
_NONCE = "0"
Found = Mapping[str, NodeFacts]


@dataclass(frozen=True)
class Surveyed:
    """What the lab's survey finds on healthy nodes, and what a probe finds that prints nothing."""

    found: Found
    nothing: NodeFacts


def surveyed(on: Platform, folder: Path) -> Surveyed:
    """Nodes of the lab of platform ``on``; they are alike, and their addresses are not judged."""
    stack = platform_stack(on)
    with laid_out(folder, on.name, nodes=2) as bench:
        printed = _probed(bench, probe_script(bench.lab.cluster.rootfs, stack, _NONCE, ()))
    one = parse_probe(NODES[0], printed, _NONCE, stack)
    found = {name: replace(one, node=name) for name in NODES}
    return Surveyed(found, parse_probe(NODES[0], "", _NONCE, stack))


def _probed(bench: Bench, script: str) -> str:
    printed: str = bench.run(0, "sh", "-c", script, LC_ALL="C").stdout
    return printed


# --- expected NAME ---


def expected(on: Platform, healthy: Surveyed, name: str) -> None:
    """Each part of a healthy node passes; with another value of its fact it does not."""
    expectation = on.expected[name]
    parts = expectations.parts(on, expectation)
    asked = [expectations.fact_at(on, name, NODES[0], part) for part in parts]
    if not asked:
        raise Unheld(f"expected {name} is about no part of {on.name}")
    for at in asked:
        if (message := _judged(at, expectation, on, healthy.found)) is not Outcome.PASSED:
            raise Unheld(f"expected {name}: {at.paths[0]} of a healthy node: {message}")
        other = {**healthy.found, NODES[0]: _broken(healthy.found[NODES[0]], at, expectation)}
        message = _judged(at, expectation, on, other)
        if message is not Outcome.FAILED and not isinstance(message, VersionUndeclared):
            raise Unheld(f"expected {name}: another {at.paths[0]}: {message}")


def _judged(
    at: FactAt, expectation: Expectation, on: Platform, found: Found
) -> Outcome | NoEvidence:
    try:
        return judge_at(at, expectation, on, found).outcome
    except NoEvidence as error:
        return error


def _broken(facts: NodeFacts, at: FactAt, expectation: Expectation) -> NodeFacts:
    if at.absent:
        kind, name, _ = at.paths[0].split(".")
        left: Any = tuple(one for one in getattr(facts, kind) if one.name != name)
        return replace(facts, **{kind: left})
    *_, path = at.paths
    if path.startswith("gpu_topology."):  # made of the distances of the GPU
        return replace(facts, topology={**facts.topology, f"gpu{path.split('.')[1]}": _APART})
    if path.startswith("ipoib."):  # the state of the NIC's network device
        down = tuple(replace(one, state="down") for one in facts.netdevs)
        return replace(facts, netdevs=down)
    found: NodeFacts = changed(facts, path, _wrong(facts, replace(at, paths=(path,)), expectation))
    return found


def _wrong(facts: NodeFacts, at: FactAt, expectation: Expectation) -> object:
    """A value that the expectation does not accept."""
    if expectation.rule == CARRIES:
        return 1  # lane
    if expectation.rule == "at_least" and isinstance(expectation.value, int | float):
        return expectation.value - 1
    if expectation.value == DEVICES:
        return f"0x{0:016x}"  # no GUID
    return _other(value_at(facts, at))


# All GPUs far from one.
_APART = {f"gpu{number}": "SYS" for number in range(64)}


# --- hardware PATH ---


def declared_hardware(on: Platform, healthy: Surveyed, path: str) -> bool:
    """Whether a healthy node fails if the platform file declares something else at ``path``."""
    failing = _failing(on, healthy.found)
    return any(failing < _failing(other, healthy.found) for other in others(on, path))


def others(on: Platform, path: str) -> Iterator[Platform]:
    """Yield the platform with another value at ``path``; of a number one less and one more."""
    value = declared_at(on, path)
    if path.endswith(".pcie_link"):
        path, value = path.replace("pcie_link", "pcie_width"), 2
    yield changed(on, path, _other(value))
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield changed(on, path, value + 1)


def _failing(on: Platform, found: Found) -> set[str]:
    return {path for path, message in _all(on, found) if message is not Outcome.PASSED}


def _all(on: Platform, found: Found) -> Iterator[tuple[str, Outcome | NoEvidence]]:
    for name, expectation in on.expected.items():
        for part in expectations.parts(on, expectation):
            at = expectations.fact_at(on, name, NODES[0], part)
            yield f"{name} {at.paths[0]}", _judged(at, expectation, on, found)


# --- fact NAME ---


def fact(_on: Platform, healthy: Surveyed, name: str) -> None:
    """The survey of a healthy node knows the fact; a probe that prints nothing does not."""
    if name in healthy.found[NODES[0]].missing:
        raise Unheld(f"fact {name}: {healthy.found[NODES[0]].missing[name]}")
    if name not in healthy.nothing.missing:
        raise Unheld(f"fact {name} is known without a probe")


# --- another value ---


def changed(value: Any, path: str, other: object) -> Any:
    """``value`` with ``other`` at ``path``; what is counted there (``#``) is one less, or none."""
    name, _, inner = path.partition(".")
    if not name:
        return other
    if name == "#":
        return value[: max(0, int(str(other)))]
    if isinstance(value, Mapping):
        key = name if name in value else int(name)
        return {**value, key: changed(value[key], inner, other)}
    if isinstance(value, tuple):
        number = next(n for n, item in enumerate(value) if name in (str(n), _key(item)))
        return (*value[:number], changed(value[number], inner, other), *value[number + 1 :])
    assert is_dataclass(value)
    return replace(value, **{name: changed(getattr(value, name), inner, other)})  # type: ignore[type-var]


def _key(item: Any) -> str:
    return str(getattr(item, "name", getattr(item, "index", "")))


def _other(was: object) -> object:
    """Something of the same kind: one less, the opposite, another name, or nothing."""
    if isinstance(was, bool):
        return not was
    if isinstance(was, int | float):
        return was - 1
    if isinstance(was, str):
        return f"{was}, other"
    if isinstance(was, tuple):
        return () if was else ("other",)
    return {"other": "other"}
