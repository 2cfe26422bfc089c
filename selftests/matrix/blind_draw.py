"""Labs with faults that nobody chose: platform, size, faults, severities, places and seeds."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from healthy_seeds_lab import Stage
from strikes import (
    ALL_CAUSES,
    DEVICES,
    NODES,
    PATH,
    Choice,
    Ground,
    Strike,
    any_gpu,
    ground,
    landed,
    no_device,
)

from railgauge.lab import faults

# Of three, the larger a lab may be, the longer a run takes: 3 s of processor time for a node with
# eight GPUs and eight NICs. Two nodes could not tell which of them is slow.
SIZES = {
    "connectx4-homelab": range(3, 7),
    "h100-tcpx": range(3, 7),
    "metax-c500": range(3, 7),
    "mi300x": range(3, 6),
    "h200": range(3, 5),
}
MOST_FAULTS = 3
SEVERITIES = range(1, 21)
# Half of the faults are slow parts: facts are either read or not, figures are what may be missed.
_SLOW_SHARE, _DEFAULT_SHARE, _COURSE_SHARE = 0.5, 0.25, 0.15
_COURSES = (",p=0.3", ",p=0.5", ",p=0.7", ",after=10s", ",after=30s", ",after=60s")
# What is measured can come and go; a version or a setting does not.
_COMING = frozenset({"corrupt", "high-ber", "tool-garbage", "tool-silent"})
_TRIES = 1000
# What hides whatever else is wrong with the same part, or renumbers it.
_HIDING = frozenset({"gpu-missing", "nic-missing"})


@dataclass(frozen=True)
class Drawn:
    """One run of the study: a lab, and what is wrong with it."""

    number: int
    platform: str
    nodes: int
    lab_seed: int
    level: str
    struck: tuple[Strike, ...]
    confirm: bool = False

    @property
    def options(self) -> tuple[str, ...]:
        """The level, and whether suspects are measured again."""
        return ("--level", self.level, *["--confirm"] * self.confirm)

    @property
    def command(self) -> str:
        """What repeats the run."""
        words = [
            *("--hostfile", f"hostfiles/lab-{self.platform}.yaml", *self.options),
            *("--lab-nodes", str(self.nodes), "--lab-seed", str(self.lab_seed)),
            *(word for one in self.struck for word in ("--lab-fault", one.fault)),
        ]
        return f"pytest {shlex.join(words)}"


def drawn(seed: int, number: int, level: str, platforms: Sequence[str] = ()) -> Drawn:
    """Run ``number`` of the study with this seed; other numbers do not change it."""
    random = Random(f"{seed} {number}")
    platform = random.choice(tuple(platforms or NODES))
    count = random.choice(SIZES[platform])
    scene = ground(platform, random, tuple(Stage(platform, count=count).nodes))
    lab_seed = random.randrange(1, 1_000_000)
    wanted = random.randint(1, MOST_FAULTS)
    struck: list[Strike] = []
    for strike in _strikes(scene):
        if not any(_clash(strike, other) for other in struck):
            struck.append(strike)
        if len(struck) == wanted:
            break
    return Drawn(number, platform, count, lab_seed, level, tuple(struck))


def _strikes(scene: Ground) -> Iterator[Strike]:
    slow = [name for name in sorted(ALL_CAUSES) if name.startswith("slow-")]
    others = [name for name in sorted(ALL_CAUSES) if name not in slow and name in faults.NAMES]
    for _ in range(_TRIES):
        name = scene.random.choice(slow if scene.random.random() < _SLOW_SHARE else others)
        if strike := _somewhere(scene, name):
            yield strike


def _somewhere(scene: Ground, name: str) -> Strike | None:
    """On any node and device, also where the level measures nothing; ``None`` if there is none."""
    random = scene.random
    node = random.choice(scene.nodes)
    choice = _ANYWHERE.get(name, DEVICES.get(name, no_device))(scene)
    peer = random.choice([other for other in scene.nodes if other != node]) if name == PATH else ""
    graded = faults.graded(name) and random.random() >= _DEFAULT_SHARE
    tail = f"={random.choice(SEVERITIES)}%" if graded else ""
    if (name in _COMING or name.startswith("slow-")) and random.random() < _COURSE_SHARE:
        course = random.choice(_COURSES)
        if strike := landed(scene, name, node, choice, peer=peer, tail=tail + course):
            return strike
    return landed(scene, name, node, choice, peer=peer, tail=tail)


def _pcie_path(scene: Ground) -> Choice:
    gpus, nics = scene.platform.gpus, sorted(scene.lab["devices"])
    if not gpus or not nics:
        return "", ""
    name = f"gpu{scene.random.randrange(gpus.count)}-{scene.random.choice(nics)}"
    return name, name


_ANYWHERE = {"slow-gpu": any_gpu, "slow-pcie-path": _pcie_path, "gpu-diagnostics": any_gpu}


def _clash(one: Strike, other: Strike) -> bool:
    """Whether one fault hides the other by itself, so that no measurement could tell them."""
    if one.node != other.node:
        return False
    names = {one.name, other.name}
    devices = {_device(one), _device(other)}
    if len(names) == 1 and len(devices) == 1:
        return True
    if "gpu-missing" in names and all("gpu" in device for device in devices):
        return True
    return len(devices) == 1 and bool(_device(one)) and bool(names & _HIDING or _both_facts(names))


def _device(strike: Strike) -> str:
    return strike.peer or strike.device


def _both_facts(names: set[str]) -> bool:
    """A port that is down hides its rate: two faults that the same part tells of itself."""
    return not any(name.startswith("slow-") for name in names)
