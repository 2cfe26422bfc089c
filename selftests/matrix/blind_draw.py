"""Random labs with random faults: platform, size, faults, severities, places and seeds."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

from expected_causes import ALL_CAUSES, NEEDS, PATH, SLOW_PARTS, needs_of
from fault_matrix import ALL_AT_SMOKE
from healthy_seeds_lab import InProcessLab
from injections import (
    DEVICES,
    NODES,
    Choice,
    DrawInputs,
    Injection,
    any_gpu,
    draw_inputs,
    in_its_lab,
    injection_at,
    no_device,
)

from railgauge.config.thresholds.model import LEVELS
from railgauge_lab import faults

# Two nodes cannot tell which of them is slow, and each fault may take a node out of service. So
# there are at least two good nodes beside those with faults, and at least three in all.
# A node with eight GPUs and eight NICs costs a run 3 s of CPU time.
SIZES = {
    "connectx4-homelab": range(3, 7),
    "h100-tcpx": range(3, 7),
    "metax-c500": range(3, 7),
    "mi300x": range(3, 6),
    "h200": range(3, 5),
}
MOST_FAULTS = 3
_GOOD = 2
SEVERITIES = range(1, 21)
# Half of the faults are slow parts, because they are missed more easily than facts.
_SLOW_SHARE, _DEFAULT_SHARE, _COURSE_SHARE = 0.5, 0.25, 0.15
_TIMINGS = (",p=0.3", ",p=0.5", ",p=0.7", ",after=10s", ",after=30s", ",after=60s")
# Measured faults can be intermittent; a version or a setting cannot.
_COMING = frozenset({"corrupt", "high-ber", "tool-garbage", "tool-silent"})
_TRIES = 1000
# These faults hide other faults of the same part, or renumber it.
_HIDING = frozenset({"gpu-missing", "nic-missing"})
# These faults give a NIC the address of another node's. Two of them swap it, or free it again.
_SWAPPED = frozenset({"duplicate-lid", "duplicate-gid"})
# These faults show only if another node, the first or the second, answers as well.
_OF_TWINS = frozenset({*_SWAPPED, "one-machine", "cloned-image"})
# These faults take the LID from a NIC, so that no other one can have the same.
_NO_LID = frozenset({"no-sm", "nic-missing", "port-down"})
_NO_ANSWER = frozenset({"unreachable", "wrong-key", "host-key-changed", "node-stops"})
# These faults are shown by facts and counters, and slow items down as well.
_COST_SPEED = frozenset(
    {
        *("background-diagnostics", "cpu-steal", "gpu-clock", "high-ber", "link-rate", "mtu"),
        *("nic-idle", "numa-balancing", "numad", "pcie-width", "power-cap", "retransmits"),
        *("tcp-fallback", "throttle"),
    }
)


def changes_figures(injection: Injection) -> bool:
    return injection.name in SLOW_PARTS or injection.name == "corrupt"


def costs_speed(injection: Injection) -> bool:
    return changes_figures(injection) or injection.name in _COST_SPEED


@dataclass(frozen=True)
class DrawnRun:
    """One run of the study: a lab and its faults; for ``noise`` and ``physics`` see the lab."""

    number: int
    platform: str
    nodes: int
    lab_seed: int
    level: str
    injected: tuple[Injection, ...]
    confirm: bool = False
    noise: float = 1.0
    physics: tuple[str, ...] = ()

    def lab(self, *faults: str) -> InProcessLab:
        """The lab of the run with these faults."""
        return InProcessLab(
            self.platform,
            count=self.nodes,
            injected=faults,
            noise=self.noise,
            physics=self.physics,
        )

    @property
    def options(self) -> tuple[str, ...]:
        """The level, and ``--confirm`` if suspects are measured again."""
        level = ALL_AT_SMOKE if self.level == "smoke" else ("--level", self.level)
        return (*level, *["--confirm"] * self.confirm)

    @property
    def command(self) -> str:
        """The command that repeats the run."""
        words = [
            *("--hostfile", f"hostfiles/lab-{self.platform}.yaml", *self.options),
            *("--lab-nodes", str(self.nodes), "--lab-seed", str(self.lab_seed)),
            *(word for one in self.injected for word in ("--lab-fault", one.fault)),
        ]
        needs = needs_of(one.name for one in self.injected)
        leaves = {"groups": f"{needs.leaves} of two nodes"} if needs.leaves else {}
        lines = json.dumps({**needs.hostfile, **leaves})
        return f"pytest {shlex.join(words)}" + f", hostfile with {lines}" * (lines != "{}")


def drawn(
    seed: int, number: int, level: str, platforms: Sequence[str] = (), names: Sequence[str] = ()
) -> DrawnRun:
    """Run ``number`` of the study with this seed; it does not depend on other runs.

    ``names`` are the faults to draw from; without them half of them are slow parts. The run has
    the level and the nodes that its faults need.
    """
    random = Random(f"{seed} {number}")
    platform = random.choice(tuple(platforms or NODES))
    wanted = random.randint(1, MOST_FAULTS)
    count = max(random.choice(SIZES[platform]), wanted + _GOOD)
    inputs = draw_inputs(platform, random, _names(platform, count))
    lab_seed = random.randrange(1, 1_000_000)
    injected: list[Injection] = []
    for injection in _injections(inputs, names):
        if not any(_clash(injection, other) for other in injected):
            injected.append(injection)
        if len(injected) == wanted:
            break
    needs = needs_of(injection.name for injection in injected)
    level = max(level, needs.level, key=LEVELS.index)
    return DrawnRun(number, platform, max(count, needs.nodes), lab_seed, level, tuple(injected))


@cache
def _names(platform: str, count: int) -> tuple[str, ...]:
    """The nodes of a lab; to make one takes most of a draw."""
    return tuple(InProcessLab(platform, count=count).nodes)


def _injections(inputs: DrawInputs, only: Sequence[str]) -> Iterator[Injection]:
    others = sorted(ALL_CAUSES.keys() - set(SLOW_PARTS))
    for _ in range(_TRIES):
        some = only or (SLOW_PARTS if inputs.random.random() < _SLOW_SHARE else others)
        name = inputs.random.choice(some)
        if injection := _somewhere(inputs, name):
            yield injection


def _somewhere(inputs: DrawInputs, name: str) -> Injection | None:
    """A fault on any node and device, measured or not; ``None`` if there is no such device."""
    inputs, random = in_its_lab(inputs, name), inputs.random
    node = random.choice(inputs.nodes)
    choice = _ANYWHERE.get(name, DEVICES.get(name, no_device))(inputs)
    peer = random.choice([other for other in inputs.nodes if other != node]) if name == PATH else ""
    graded = faults.graded(name) and random.random() >= _DEFAULT_SHARE
    tail = f"={random.choice(SEVERITIES)}%" if graded else ""
    if (name in _COMING or name in SLOW_PARTS) and random.random() < _COURSE_SHARE:
        timing = random.choice(_TIMINGS)
        if injection := injection_at(inputs, name, node, choice, peer=peer, tail=tail + timing):
            return injection
    return injection_at(inputs, name, node, choice, peer=peer, tail=tail)


def _pcie_path(inputs: DrawInputs) -> Choice:
    gpus, nics = inputs.platform.gpus, sorted(inputs.lab["devices"])
    if not gpus or not nics:
        return "", ""
    name = f"gpu{inputs.random.randrange(gpus.count)}-{inputs.random.choice(nics)}"
    return name, name


_ANYWHERE = {"slow-gpu": any_gpu, "slow-pcie-path": _pcie_path, "gpu-diagnostics": any_gpu}


def _clash(one: Injection, other: Injection) -> bool:
    """Whether one fault hides or undoes the other, so that no measurement could separate them."""
    names = {one.name, other.name}
    devices = {_device(one), _device(other)}
    if any(NEEDS[name].leaves for name in names & NEEDS.keys()):
        # whatever slows a node slows the step of all nodes
        return all(one.needs.leaves or costs_speed(one) for one in (one, other))
    if one.node != other.node:
        swapped = len(names) == 1 and names <= _SWAPPED and one.device == other.device
        ends = {one.node, _device(one)} == {other.node, _device(other)}
        exchanged = ends and names <= _OF_TWINS  # each would have what the other had
        has_none = "duplicate-lid" in names and names & _NO_LID and one.device == other.device
        unseen = has_none or (names & _OF_TWINS and names & _NO_ANSWER)
        return swapped or exchanged or bool(unseen)
    if len(names) == 1 and len(devices) == 1:
        return True
    if names == {"slow-send", "slow-receive"} and len(devices) == 1:
        return True  # together they are a slow NIC
    if "gpu-missing" in names and all("gpu" in device for device in devices):
        return True
    return len(devices) == 1 and bool(_device(one)) and bool(names & _HIDING or _both_facts(names))


def _device(injection: Injection) -> str:
    return injection.peer or injection.device


def _both_facts(names: set[str]) -> bool:
    """Whether both faults are facts of one part; a port that is down hides its rate."""
    return not any(name.startswith("slow-") for name in names)
