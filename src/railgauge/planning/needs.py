"""Compare the hardware that tests need with what a platform and a cluster declare. Pure.

A measurement or expectation that a test asks for may be absent from the platform file. It is then
not applicable, because the declared hardware lacks a need of the test or for the reason that the
platform file gives. Otherwise it is possible here but not limited, and every report lists it by
name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from railgauge.config.thresholds.model import Nic, Platform
from railgauge.config.thresholds.site import NODE_LOGIN
from railgauge.config.thresholds.storage import GROUP_STORAGE, NODE_GDS, NODE_STORAGE
from railgauge.core.errors import BadInput
from railgauge.planning import at_end
from railgauge.planning.expectations import GPUS, NICS, RDMA
from railgauge.planning.marks import MEASURES, MarkedTest
from railgauge.planning.plan import Level
from railgauge.planning.required import SUBNET
from railgauge.stacks import vendors


@dataclass(frozen=True, slots=True)
class Candidate:
    """A measurement or expectation (``kind``) that tests ask for; ``needs`` are common to all."""

    name: str
    kind: str
    needs: tuple[str, ...] = ()

    def is_in(self, platform: Platform) -> bool:
        """Whether the platform file has it. It is then required, even if a need is not met."""
        return self.name in (platform.measurements if self.kind == MEASURES else platform.expected)


def candidates(tests: Iterable[MarkedTest]) -> tuple[Candidate, ...]:
    """Return each subject of the tests once, sorted by name."""
    found: dict[tuple[str, str], Candidate] = {}
    for test in tests:
        if test.kind:
            key = test.name, test.kind
            shared = [n for n in test.needs if key not in found or n in found[key].needs]
            found[key] = Candidate(test.name, test.kind, tuple(shared))
    return tuple(found[key] for key in sorted(found))


def unknown(tests: Iterable[MarkedTest]) -> Iterator[BadInput]:
    """Yield an error for each need of a test that is not one of ``KNOWN``."""
    for test in tests:
        for need in test.needs:
            if need not in KNOWN:
                remedy = f"known: {', '.join(KNOWN)}"
                yield BadInput(f"needs {need!r}, which is unknown", where=test.where, remedy=remedy)


def lacking(platform: Platform, level: Level) -> dict[str, str]:
    """Return every need that the declared hardware does not meet, with the reason."""
    reasons = {need: why(platform, level) for need, why in _OF_CLUSTER.items()}
    return {**undeclared(platform), **{need: reason for need, reason in reasons.items() if reason}}


def undeclared(platform: Platform) -> dict[str, str]:
    """Return every need that the platform file alone does not meet, with the reason."""
    reasons = {need: why(platform) for need, why in _OF_HARDWARE.items()}
    return {need: reason for need, reason in reasons.items() if reason}


def unmet(platform: Platform, level: Level, tests: Iterable[Candidate]) -> dict[str, str]:
    """Return the subjects with an unmet need, each with the reason of the first such need.

    Subjects of the platform file are left out.
    """
    absent = lacking(platform, level.whole or level)
    reasons = {
        test.name: [absent[need] for need in test.needs if need in absent]
        for test in _open(platform, level, tests)
    }
    return {name: why[0] for name, why in reasons.items() if why}


def not_limited(platform: Platform, level: Level, tests: Sequence[Candidate]) -> tuple[str, ...]:
    """Return the subjects that could be tested here and that the platform file does not mention."""
    explained = platform.not_applicable.keys() | unmet(platform, level, tests)
    absent = {test.name for test in _open(platform, level, tests)}
    at_the_end = at_end.possible(platform) if tests else frozenset()
    return tuple(sorted((absent | at_the_end) - explained))


def _open(platform: Platform, level: Level, tests: Iterable[Candidate]) -> Iterator[Candidate]:
    """Yield the subjects that the platform file does not have.

    Those of the subnet's scan are left out if no node scans; ``required`` and ``decision`` handle
    them.
    """
    apart = () if (level.whole or level).scan.nodes else SUBNET
    return (test for test in tests if not test.is_in(platform) and test.name not in apart)


# --- one check for each need: it returns the reason why the need is not met, or an empty text ---

NO_PAIR = "the hostfile has no pair to measure"
NO_GROUP = "the hostfile has no group of more than two nodes to measure"

_Check = Callable[[Platform], str]


def _gpus(platform: Platform) -> str:
    return "" if platform.gpus else "the platform declares no GPU"


def _linked_gpus(platform: Platform) -> str:
    alone = platform.gpus and platform.gpus.count == 1
    return "the platform declares one GPU a node" if alone else _gpus(platform)


def _gpus_of(vendor: str) -> _Check:
    def check(platform: Platform) -> str:
        if platform.gpus and platform.gpus.vendor != vendor:
            return f"the platform declares GPUs of {platform.gpus.vendor}, none of {vendor}"
        return _gpus(platform)

    return check


def _nic(what: str, suits: Callable[[Nic], bool]) -> _Check:
    def check(platform: Platform) -> str:
        return "" if any(map(suits, platform.fabric_nics)) else f"the platform declares no {what}"

    return check


def _two_nodes(_: Platform, level: Level) -> str:
    return "" if len(level.nodes) > 1 else NO_PAIR


def _logins(platform: Platform, _: Level) -> str:
    return "" if NODE_LOGIN in platform.expected else "no launch by ssh in the hostfile"


def _model(platform: Platform, _: Level) -> str:
    return "" if platform.model else "the hostfile names no model to serve (model:)"


def _storage(platform: Platform, _: Level) -> str:
    declared = NODE_STORAGE in platform.measurements
    return "" if declared else "the hostfile declares no storage to measure (storage:)"


def _gpu_storage(platform: Platform, _: Level) -> str:
    declared = NODE_GDS in platform.measurements
    return "" if declared else "the hostfile declares no GPUDirect Storage (gds_… of storage:)"


def _shared_storage(platform: Platform, _: Level) -> str:
    declared = GROUP_STORAGE in platform.measurements
    return "" if declared else "the hostfile declares no storage that all nodes use at once"


def _three_nodes(_: Platform, level: Level) -> str:
    return "" if level.groups else NO_GROUP


def _four_nodes(_: Platform, level: Level) -> str:
    return "" if level.ladder.victims else "the hostfile has fewer than four nodes"


def no_scan(_: Platform, level: Level) -> str:
    """Return the reason why no node scans the subnet; empty if one does."""
    if level.scan.nodes:
        return ""
    if level.scan.waived:
        return f"the hostfile gives a reason for no scan of the subnet: {level.scan.waived}"
    return "the hostfile names no node that scans the subnet, and no declared topology (fabric:)"


_OF_HARDWARE: Mapping[str, _Check] = {
    GPUS: _gpus,
    "linked gpus": _linked_gpus,
    **{f"{vendor} gpus": _gpus_of(vendor) for vendor in vendors()},
    NICS: _nic("NIC of the fabric", lambda _: True),
    RDMA: _nic("NIC with RDMA", lambda nic: nic.rdma),
    "infiniband": _nic("InfiniBand NIC", lambda nic: nic.link_layer == "InfiniBand"),
    "ethernet": _nic("Ethernet NIC", lambda nic: nic.link_layer == "Ethernet"),
}
_OF_CLUSTER: Mapping[str, Callable[[Platform, Level], str]] = {
    "subnet": no_scan,
    "two nodes": _two_nodes,
    "three nodes": _three_nodes,
    "four nodes": _four_nodes,
    "logins": _logins,
    "model": _model,
    "storage": _storage,
    "gpudirect storage": _gpu_storage,
    "shared storage": _shared_storage,
}
# A measurement may be made over either if a site declares it: TCP goes over InfiniBand too.
LINK_LAYERS = ("infiniband", "ethernet")
KNOWN = (*_OF_HARDWARE, *_OF_CLUSTER)
