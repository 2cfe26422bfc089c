"""Each fault on one platform it applies to, alone or among others: the right cause, and no other.

The whole matrix is ``make matrix``; here every fault is in a run on the platform where that is
shortest. What has to be measured has a run of its own, of as few nodes as tell where it is; what
the facts tell outright shares a run with others, each on a node of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from fault_matrix import carry_out, page
from strikes import CAUSES, LEFT_OUT, NODES, PLATFORMS, TUNING, Strike, alone, moved, strikes

from railgauge.diagnosis import CATALOGUE
from railgauge.lab import faults

SEED = 7
# In the order of how long a run takes.
EVERY = {name: list(strikes(name, SEED)) for name in PLATFORMS}
SHORTEST = {strike.name: strike for name in reversed(PLATFORMS) for strike in EVERY[name]}
# What the GPUs' own tools tell.
TOLD = ("remap-failed", "ecc-off", "power-cap", "gpu-clock", "gpu-pcie", "gpu-link", "gpu-fabric",
        "gpu-partition", "vbios", "version", "clocks-unlocked", "nvme-missing")  # fmt: skip
# What these GPUs' tools, and documents, do not tell of.
UNTOLD = {"h200": set(), "mi300x": {"gpu-fabric", "clocks-unlocked", "nvme-missing"}}
# What one run of a platform tells of: its nodes, some of them healthy, and the faults.
TOGETHER = {
    "facts": ("connectx4-homelab", 12,
              ("firmware", "governor", "link-rate", "memlock", "modules-by-hand", "mtu",
               "nic-missing", "no-sm", "pcie-width", "peermem-missing", "port-down")),
    "hosts": ("connectx4-homelab", 6, ("clock", "cpu-model", "cpus-offline", "memory-missing")),
    "no-way": ("connectx4-homelab", 6,
               ("host-key-changed", "node-stops", "unreachable", "wrong-key")),
    "tools": ("connectx4-homelab", 6, ("tool-missing", "tool-garbage", "tool-silent")),
    "facts-and-gpus": ("h100-tcpx", 9,
                       ("ecc", "gpu-missing", "numa-balancing", "governor", "mtu", "link-rate",
                        "numad", "unreachable")),
    "path": ("metax-c500", 3, ("acs", "gdr-disabled")),
}  # fmt: skip


def together(platform: str, names: Iterable[str]) -> Iterator[Strike]:
    """Each on a node of its own, in the order of the nodes."""
    found = {strike.name: strike for strike in EVERY[platform]}
    return (moved(found[name], node) for name, node in zip(names, _nodes(platform), strict=False))


def _nodes(platform: str) -> Iterator[str]:
    """Also of a lab that is longer than its hostfile's list."""
    *_, last = known = NODES[platform]
    stem = last.rstrip("0123456789") if last[-1].isdecimal() else "node"
    yield from known
    yield from (f"{stem}{number:02d}" for number in range(len(known) + 1, 13))


SHARED = {name for _, _, names in TOGETHER.values() for name in names}
MEASURED = [alone(one) for name, one in SHORTEST.items() if name not in SHARED | set(TOLD)]


@pytest.mark.parametrize(
    ("strike", "nodes"), MEASURED, ids=[f"{one.platform}-{one.name}" for one, _ in MEASURED]
)
def test_the_cause_is_named_and_no_other(strike: Strike, nodes: int, tmp_path: Path) -> None:
    result = carry_out((strike,), SEED, tmp_path / "project", nodes=nodes)
    assert not result.complaint, result.complaint + result.output[-4000:]


@pytest.mark.parametrize("name", TOGETHER)
def test_several_faults_are_as_many_causes(name: str, tmp_path: Path) -> None:
    platform, nodes, names = TOGETHER[name]
    struck = tuple(together(platform, names))
    assert len({strike.node for strike in struck}) == len(names) < nodes
    result = carry_out(struck, SEED, tmp_path / "project", nodes=nodes)
    assert not result.complaint, result.complaint + result.output[-4000:]


@pytest.mark.parametrize("name", ["h200", "mi300x"])
def test_all_that_gpus_tell_of_is_told_at_once(name: str, tmp_path: Path) -> None:
    struck = tuple(strike for strike in EVERY[name] if strike.name in TOLD)
    assert {strike.name for strike in struck} == set(TOLD) - UNTOLD[name]
    result = carry_out(struck, SEED, tmp_path / "project", "-k", "preflight")
    assert not result.complaint, result.output[-4000:]


def test_every_fault_of_the_lab_is_in_the_matrix() -> None:
    assert set(faults.NAMES) == set(CAUSES) | LEFT_OUT
    assert set(SHORTEST) == {*CAUSES, TUNING}
    assert {strike.name for strike, _ in MEASURED} | SHARED | set(TOLD) == set(SHORTEST)


def test_every_cause_that_is_expected_can_be_named() -> None:
    assert {strike.cause for strike in SHORTEST.values()} - {""} <= set(CATALOGUE)


def test_the_page_says_what_is_wrong() -> None:
    strike = EVERY["h200"][0]
    from fault_matrix import Result  # noqa: PLC0415

    wrong = Result((strike,), "accepted", (), {}, "")
    assert wrong.complaint
    assert "**wrong**" in page([wrong], SEED)
