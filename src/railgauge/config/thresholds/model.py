"""A platform file as values: hardware, expected host state, measurements and their limits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from railgauge.config.thresholds.telemetry import Telemetry
from railgauge.core.devices import AS_DECLARED, DeviceNames
from railgauge.core.limits import Basis, Limit
from railgauge.core.model import Pairing
from railgauge.core.terms import Rung, Scope

SIGNOFF = "signoff"
LEVELS = ("smoke", "nightly", SIGNOFF)

NEAR_LINKS = frozenset({"PIX", "PXB"})

# PCI Express Base Specification: transfers per second and lane of each generation.
PCIE_GTS = {1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0}


@dataclass(frozen=True, slots=True)
class Nic:
    """A declared network adapter. ``data_rate_gbps`` is the rate after line encoding.

    The PCIe fields are ``None`` for a virtual device, which has no slot.
    """

    name: str
    model: str
    rate_gbps: float
    data_rate_gbps: float
    link_layer: str
    pcie_generation: int | None
    pcie_width: int | None
    fabric: bool = True
    pci_address: str | None = None
    numa_node: int | None = None
    rdma: bool = True

    @property
    def card(self) -> str:
        """The PCI address without the function, which the ports of one card share."""
        return (self.pci_address or self.name).rpartition(".")[0] or self.name

    @property
    def pcie_link(self) -> tuple[float, int] | None:
        """The declared speed in GT/s and width in lanes of the slot."""
        if self.pcie_generation is None or self.pcie_width is None:
            return None
        return PCIE_GTS[self.pcie_generation], self.pcie_width


@dataclass(frozen=True, slots=True)
class Gpus:
    """The declared GPUs of one node: all of one model, numbered from 0.

    ``topology`` is a row for each GPU, ``X MX MX NODE``, if declared.
    ``link_gb_per_s`` is the raw rate of one link, one way, if known. A GPU has one link to each
    other GPU, or, with ``to_switch``, one link over which it reaches all others.
    """

    vendor: str
    model: str
    count: int
    memory_mib: int
    bus_ids: tuple[str, ...] = ()
    link_gb_per_s: float | None = None
    to_switch: bool = False
    topology: tuple[str, ...] = ()


# The rule of a PCIe link, and the value of ``at_least`` that stands for the declared one.
CARRIES, DECLARED = "carries_rate", "declared"


@dataclass(frozen=True, slots=True)
class Expectation:
    """The required value of a fact of a node. ``rule`` is one of ``judge.RULES``
    or ``among.RULES``.

    ``fact`` is the path of a fact that the ladder does not know, ``per`` the kind of part that has
    it. ``measured_with`` are the versions with which the limits were measured. If all nodes have
    the same other version, the site must declare it in its hostfile.
    """

    name: str
    rule: str
    value: object
    basis: Basis
    pointer: str
    fact: str = ""
    per: str = ""
    measured_with: tuple[str, ...] = ()

    @property
    def is_declared(self) -> bool:
        """Whether another place holds the required value: the hardware section, or another fact."""
        return self.rule in ("as_declared", "by_model", CARRIES) or self.value == DECLARED


@dataclass(frozen=True, slots=True)
class Preparation:
    """One setting that ``--prepare`` sets to ``want``; commands are argv on the node.

    ``read`` prints the value (several equal lines count once). In ``undo``, ``{before}`` is
    replaced by the output of ``save``, or of ``read`` if there is no ``save``.
    """

    name: str
    read: tuple[str, ...]
    want: str
    apply: tuple[str, ...]
    undo: tuple[str, ...]
    save: tuple[str, ...]
    basis: Basis


@dataclass(frozen=True, slots=True)
class PairLevel:
    """The node pairs of a level: a scheme, and the number of rounds of a tournament."""

    scheme: str
    rounds: int | None = None


@dataclass(frozen=True, slots=True)
class Extent:
    """The extent of one measurement at a level. ``sizes`` are in bytes.

    ``sizes`` is empty if the tool has none. ``pairings`` is ``all``, ``near`` or ``one_per_nic``.
    ``cross_rail`` adds paths from each NIC to the next one of the other node.
    """

    sizes: tuple[int, ...]
    pairings: str
    repeats: int
    cross_rail: bool = False


@dataclass(frozen=True, slots=True)
class Assertion:
    """A metric that is asserted: ``per`` ``size``, ``link``, ``gpu``, or once for the ``run``.

    ``per`` ``ratio`` divides the metric ``of`` of this measurement by the metric ``by`` (the same
    one if empty) of the measurement ``over``. ``metric``, ``of`` and ``by`` may name a placement:
    ``busbw/out_of_place``. ``sizes`` (from, to), in bytes, restricts it to these message sizes.
    """

    metric: str
    per: str = "size"
    sizes: tuple[int, int] | None = None
    of: str = ""
    over: str = ""
    by: str = ""

    def at(self, size_bytes: int | None) -> bool:
        """Whether the metric is asserted at this message size."""
        if self.sizes is None or size_bytes is None:
            return True
        return self.sizes[0] <= size_bytes <= self.sizes[1]


@dataclass(frozen=True, slots=True)
class Measurement:
    """One entry of ``measurements``: the tool, its options, what is asserted, and the limits.

    ``scope`` is where it is made: on a pair and a pairing (``path``), on a ``pair``, in a ``node``,
    on a ``group``, or on the node that scans the subnet (``fabric``). It is made at the levels of
    ``extents``. ``together``: all rails of a pair are measured at once. ``loopback`` is why its
    limits hold from a NIC to itself too. Its groups are with ``ladder`` steps, and with ``victims``
    those of ``planning.victims``.
    """

    name: str
    rung: Rung
    tool: str
    command: str
    memory: str
    asserts: tuple[Assertion, ...]
    extents: Mapping[str, Extent]
    limits: tuple[Limit, ...]
    time_limit_s: float
    typical_s: float
    options: Mapping[str, object] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    scope: Scope = Scope.PATH
    traffic: Traffic | None = None
    transport: Transport | None = None
    fabric: FabricLimits | None = None
    results: Results | None = None
    together: bool = False
    loopback: Basis | None = None
    ladder: bool = False
    victims: bool = False

    def asserted(
        self, per: str, size_bytes: int | None = None, swept: tuple[int, ...] | None = None
    ) -> tuple[str, ...]:
        """Return the metrics asserted ``per`` size, link, gpu, run or ratio (at this size).

        ``swept`` are the sizes of a run: an average is asserted only if they are exactly those that
        its limit averages over. ``None`` returns the averages of all sweeps.
        """
        return tuple(
            a.metric
            for a in self.asserts
            if a.per == per and a.at(size_bytes) and (swept is None or self._is_over(a, swept))
        )

    def _is_over(self, assertion: Assertion, swept: tuple[int, ...]) -> bool:
        spans = [limit.over for limit in self.limits if limit.metric == assertion.metric]
        return all(span is None or span.sizes == swept for span in spans)

    def made_at(self, level: str) -> bool:
        """Whether a level makes this measurement."""
        return level in self.extents

    @property
    def is_cross_rail(self) -> bool:
        """Whether some level measures it from one NIC to another."""
        return any(extent.cross_rail for extent in self.extents.values())

    @property
    def ratios(self) -> tuple[str, ...]:
        """The metrics that are compared with those of another measurement."""
        return tuple(a.of for a in self.asserts if a.of)


@dataclass(frozen=True, slots=True)
class Traffic:
    """Limits for the NICs' byte counters after a measurement.

    ``share`` is the (lowest, highest) share of the payload that all NICs together must have sent.
    ``spread`` is how far one NIC may be from the mean of those that carry payload, as a share of
    that mean. ``devmem_packet`` is the most bytes that a NIC may receive for each packet that its
    driver put into GPU memory; ``None`` if the NICs do not count such packets.
    """

    share: tuple[float, float]
    spread: float | None
    basis: Basis
    devmem_packet: int | None = None


@dataclass(frozen=True, slots=True)
class Transport:
    """What the collective library's log must name (``wanted``) and must not name (``refused``)."""

    wanted: tuple[str, ...]
    refused: tuple[str, ...]
    basis: Basis


@dataclass(frozen=True, slots=True)
class Results:
    """The named tests of a diagnostic that must all be printed and have passed."""

    tests: tuple[str, ...]
    basis: Basis


@dataclass(frozen=True, slots=True)
class FabricLimits:
    """Limits for a scan of the subnet.

    ``most`` maps an error counter of a port to its highest value, or, with ``since``, the name of
    an earlier scan, to its highest growth. ``bit_error_rate`` is the highest share of wrong bits.
    With ``per_switch`` each switch is judged for its own cables, otherwise the subnet as a unit.
    """

    basis: Basis
    most: Mapping[str, float] = field(default_factory=dict)
    bit_error_rate: float | None = None
    since: str = ""
    per_switch: bool = True


@dataclass(frozen=True, slots=True)
class Peers:
    """The limit for parts that are behind the same part of the other nodes, as a share."""

    behind_max: float
    basis: Basis


@dataclass(frozen=True, slots=True)
class GrowthLimit:
    """The growth limit of a group of counters at a device: ``ceiling`` a run, or ``per_hour``."""

    ceiling: int | None
    per_hour: float | None
    basis: Basis

    def allowed(self, hours: float) -> int:
        """The growth that is allowed in this time; a part of an event counts as a whole one."""
        if self.ceiling is not None:
            return self.ceiling
        return math.ceil((self.per_hour or 0.0) * hours)

    def __str__(self) -> str:
        if self.ceiling is None:
            return f"at most {self.per_hour:g} an hour"
        return f"at most {self.ceiling} in the run" if self.ceiling else "none"


@dataclass(frozen=True, slots=True)
class KernelLog:
    """Why the nodes' kernel logs are judged at the end of a run, and faults from before it too."""

    basis: Basis
    since_boot: Basis | None = None


@dataclass(frozen=True, slots=True)
class DeclaredLoose:
    """A limit that a site wants although it finds no fault: JSON pointer, reason and name."""

    pointer: str
    reason: str
    who: str


@dataclass(frozen=True, slots=True)
class Platform:
    """A checked platform file. ``not_applicable`` maps a test's subject to the reason.

    ``text`` is its long form, which a run keeps; the hostfile gives ``devices`` and ``model``.
    """

    name: str
    title: str
    path: str
    nics: tuple[Nic, ...]
    gpus: Gpus | None
    affinity: Mapping[int, Mapping[str, str]]
    expected: Mapping[str, Expectation]
    pair_levels: Mapping[str, PairLevel]
    measurements: Mapping[str, Measurement]
    not_applicable: Mapping[str, str]
    environment: Mapping[str, str] = field(default_factory=dict)
    preparations: tuple[Preparation, ...] = ()
    peers: Peers | None = None
    kernel_log: KernelLog | None = None
    telemetry: Telemetry | None = None
    growth: Mapping[str, GrowthLimit] | None = None
    loose: tuple[DeclaredLoose, ...] = ()
    devices: DeviceNames = AS_DECLARED
    model: str = ""
    text: str = field(default="", repr=False, compare=False)

    @property
    def fabric_nics(self) -> tuple[Nic, ...]:
        return tuple(nic for nic in self.nics if nic.fabric)

    def samples(self, measurement: str) -> bool:
        """Whether the GPUs are sampled during a measurement; a scan loads none."""
        found = self.measurements.get(measurement)
        if self.telemetry is None or found is None or found.scope == Scope.FABRIC:
            return False
        return self.telemetry.covers(found.rung)

    def nic(self, name: str) -> Nic:
        return next(nic for nic in self.nics if nic.name == name)

    def pairings(self, memory: str) -> tuple[Pairing, ...]:
        """Return every declared path for payload in ``host`` or ``gpu`` memory, in file order."""
        if memory == "host" or self.gpus is None:
            return tuple(Pairing(nic.name) for nic in self.fabric_nics)
        return tuple(
            Pairing(nic.name, gpu, "near" if self.affinity[gpu][nic.name] in NEAR_LINKS else "far")
            for gpu in range(self.gpus.count)
            for nic in self.fabric_nics
        )

    def cross_rail(self, memory: str) -> tuple[Pairing, ...]:
        """Return the paths from each fabric NIC of a node to the next NIC of the other node.

        The last NIC is paired with the first. In GPU memory each end is the first GPU near its NIC,
        or the first GPU if none is near. With fewer than two NICs the result is empty.
        """
        ends = [self._first(memory, nic.name) for nic in self.fabric_nics]
        if len(ends) < 2:  # noqa: PLR2004 - one rail
            return ()
        following = zip(ends, [*ends[1:], ends[0]], strict=True)
        return tuple(replace(one, distance="cross_rail", peer=other) for one, other in following)

    def _first(self, memory: str, nic: str) -> Pairing:
        own = [pairing for pairing in self.pairings(memory) if pairing.nic == nic]
        return next((pairing for pairing in own if pairing.distance == "near"), own[0])

    def paths(self, measurement: Measurement) -> tuple[Pairing, ...]:
        """Return every path on which some level makes the measurement."""
        across = self.cross_rail(measurement.memory) if measurement.is_cross_rail else ()
        return (*self.pairings(measurement.memory), *across)
