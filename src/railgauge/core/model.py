"""The values that flow through a run: frozen, plain, and free of effects.

``Cluster -> Case -> Command -> Transcript -> Parsed -> Reading -> Judgement``, one value an arrow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from railgauge.core.problems import Problem, Severity
from railgauge.core.terms import Role, Term

# --- the cluster, as the hostfile declares it ---


@dataclass(frozen=True, slots=True)
class SshSettings:
    """How to log in; whatever is ``None`` comes from ``~/.ssh/config`` or ssh's defaults.

    ``host_keys`` is ``strict`` (the key must be known) or ``accept-new`` (an unknown key is
    added, a changed one is refused). There is no way to switch the check off. ``patience_s`` is for
    how long, over a run, a node is waited for that was there before.
    """

    user: str | None = None
    port: int | None = None
    key: str | None = None
    jump: str | None = None
    config: str | None = None
    known_hosts: str | None = None
    host_keys: str = "strict"
    agent: bool = True
    connect_timeout_s: float = 10.0
    patience_s: float = 120.0


@dataclass(frozen=True, slots=True)
class SlurmSettings:
    """How Slurm is asked for nodes; whatever is ``None`` is the site's default.

    ``gres`` is asked for the allocation and for every step in it. ``wait_s`` is how long to wait
    for the allocation. ``job`` and ``refusal`` are not declared but found when a run begins: the
    allocation, and why a node is not in it (empty if it is).
    """

    partition: str | None = None
    account: str | None = None
    gres: str | None = None
    time_limit_min: int | None = None
    wait_s: float = 600.0
    allocation_options: tuple[str, ...] = ()
    step_options: tuple[str, ...] = ()
    job: str = ""
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Fabric:
    """The InfiniBand subnet that a hostfile declares: which node scans it, and its cables.

    ``topology`` is the text of a dump of ``ibnetdiscover``, ``source`` the file it was in; ``hca``
    is the adapter to ask through, empty for the tools' own choice.
    """

    node: str
    topology: str
    source: str
    hca: str = ""


@dataclass(frozen=True, slots=True)
class Node:
    """One host. ``address`` is where ssh goes, ``data_address`` what tools are told to contact.

    ``nic_addresses`` are the IP addresses or names of single NICs, for TCP over just that one.
    """

    name: str
    address: str
    data_address: str
    ssh: SshSettings = field(default_factory=SshSettings)
    nic_addresses: Mapping[str, str] = field(default_factory=dict)
    slurm: SlurmSettings = field(default_factory=SlurmSettings)

    def reached_over(self, nic: str) -> str:
        """Where a tool reaches this node over ``nic``."""
        return self.nic_addresses.get(nic, self.data_address)


class _Index:
    """Keeps a cluster's nodes by name: no field, so it is neither compared nor written down."""

    __slots__ = ("_by_name",)
    _by_name: dict[str, Node]


# Of a declared version: it holds for devices of all models, and for what has no model.
ALL_MODELS = "*"


@dataclass(frozen=True, slots=True)
class Cluster(_Index):
    """A hostfile, checked. ``nodes`` keep the order of the file; ``source`` is its path.

    ``versions`` are those that are declared, by model of a device, ``*`` for whatever has one.
    ``model`` is what is served on rung 5, ``mpi_network`` the networks or interfaces, with commas,
    over which a launcher's processes talk to each other; each is empty if not named. ``no_fabric``
    is the site's reason why there is no ``fabric``, empty if it gives none.
    """

    name: str
    platform: str
    transport: str
    nodes: tuple[Node, ...]
    source: str
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    launcher: str = "openmpi"
    rootfs: str = "/"
    tools: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    fabric: Fabric | None = None
    versions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    model: str = ""
    mpi_network: str = ""
    no_fabric: str = ""

    def node(self, name: str) -> Node:
        """The node of that name, in constant time. Raises ``KeyError``."""
        if not hasattr(self, "_by_name"):
            object.__setattr__(self, "_by_name", {node.name: node for node in self.nodes})
        return self._by_name[name]


# --- what is measured between what ---


@dataclass(frozen=True, slots=True, order=True)
class Pair:
    """Two nodes; the payload flows from ``source`` to ``target``."""

    source: str
    target: str

    def __repr__(self) -> str:
        """Short and stable: reports show it, and histories are keyed by it."""
        return f"{self.source}:{self.target}"

    __str__ = __repr__


@dataclass(frozen=True, slots=True, order=True)
class Pairing:
    """The path inside a node: a NIC, and for GPU memory the GPU beside it.

    Both nodes of a pair use the same, or the second one ``peer``: then payload crosses from one
    rail to another. ``distance`` is ``host`` (host memory), ``near`` (same PCIe switch), ``far``,
    or ``cross_rail`` for whatever has a ``peer``.
    """

    nic: str
    gpu: int | None = None
    distance: str = "host"
    peer: Pairing | None = None

    @property
    def ends(self) -> tuple[Pairing, Pairing]:
        """What either node of a pair uses: the source, the target."""
        return (replace(self, peer=None), self.peer) if self.peer else (self, self)

    def __repr__(self) -> str:
        """Short and stable: reports show it, and histories are keyed by it."""
        own = self.nic if self.gpu is None else f"gpu{self.gpu}-{self.nic}"
        return f"{own}:{self.peer}" if self.peer else own

    __str__ = __repr__


@dataclass(frozen=True, slots=True)
class Case:
    """One run of a tool: a measurement of the platform file on a pair (or node) and a pairing.

    ``sizes`` are all message sizes in bytes that the level wants from this one run.
    """

    measurement: str
    nodes: tuple[str, ...]
    pairing: Pairing | None
    sizes: tuple[int, ...]
    repeats: int = 1

    @property
    def key(self) -> str:
        """Names the case exactly, with all of its nodes; ``naming.title`` is for people."""
        path = f"-{self.pairing}" if self.pairing else ""
        return f"{self.measurement}[{':'.join(self.nodes)}{path}]"

    def path_at(self, node: str) -> Pairing | None:
        """The NIC and GPU that this node uses; ``None`` where the tool chooses them itself."""
        return self.pairing and self.pairing.ends[node != self.nodes[0]]


# --- carrying it out ---


@dataclass(frozen=True, slots=True)
class Command:
    """One program to run on one node.

    ``listens_on`` is the TCP port that a server opens when it is ready; ``None`` for a client.
    ``endless`` is a server that does not end with its client and is stopped after it.
    """

    node: str
    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    time_limit_s: float = 60.0
    listens_on: int | None = None
    endless: bool = False


@dataclass(frozen=True, slots=True)
class Transcript:
    """One command and all it printed. ``exit_code`` is ``None`` if it never ended by itself.

    ``started_at`` is ISO 8601 in UTC; ``error`` is the kind of transport error that cut it off.
    """

    node: str
    argv: tuple[str, ...]
    exit_code: int | None
    stdout: str
    stderr: str
    duration_s: float
    started_at: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    role: Role = Role.CLIENT
    error: str = ""


# --- what a tool said ---


@dataclass(frozen=True, slots=True)
class Sample:
    """One value of one metric, in the unit that the tool printed.

    ``unit_means`` is what that unit stands for where the tool misnames it (perftest's old
    ``MB/s`` are MiB/s); empty when the unit means what it says. ``iteration`` counts the rows
    of one metric and size from 0.
    """

    metric: str
    unit: str
    value: float
    size_bytes: int | None = None
    iteration: int = 0
    placement: str | None = None
    unit_means: str = ""


@dataclass(frozen=True, slots=True)
class Parsed:
    """Output, read. ``summary`` holds what is not a sample: header fields, averages, footers.

    ``not_shown`` are the items of the command that the output neither confirms nor denies; empty
    until the output is held against a command.
    """

    tool: str
    tool_version: str | None
    samples: tuple[Sample, ...]
    summary: Mapping[str, object] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    not_shown: tuple[str, ...] = ()

    @property
    def errors(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.severity is Severity.ERROR)


# --- what it is compared with ---


@dataclass(frozen=True, slots=True)
class Basis:
    """Where a number comes from: ``source`` (a document, ``derived``, …) and what it says."""

    source: str
    says: str

    def __str__(self) -> str:
        return f"{self.source}: {self.says}"


@dataclass(frozen=True, slots=True)
class Curve:
    """A bound over message size: points ``(size_bytes, value)``, straight on log-log axes."""

    points: tuple[tuple[int, float], ...]


Bound = float | Curve


@dataclass(frozen=True, slots=True)
class Dispersion:
    """Limits on how far samples of one size may lie apart; ``None`` is not judged.

    ``groups_apart_max``: if the samples fall into two groups, how far the groups' medians may lie
    apart, as a share of the larger one.
    """

    cv_max: float | None = None
    worst_over_median_min: float | None = None
    groups_apart_max: float | None = None


@dataclass(frozen=True, slots=True)
class Sweep:
    """Message sizes in bytes, each ``factor`` times the one before, both ends included."""

    first: int
    last: int
    factor: int

    @property
    def sizes(self) -> tuple[int, ...]:
        found = [self.first]
        while found[-1] * self.factor <= self.last:
            found.append(found[-1] * self.factor)
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Limit:
    """What one metric must be. ``pointer`` is the JSON pointer of the limit in its file.

    ``of`` says what a floor is a share of (``gpu_slot``, ``ideal``); empty: a value in ``unit``.
    ``over`` are the sizes whose average is limited: of other sizes it says nothing.
    """

    metric: str
    unit: str
    floor: Bound | None
    ceiling: Bound | None
    basis: Basis
    marginal: float = 0.0
    dispersion: Dispersion = Dispersion()
    record_only: bool = False
    pairings: tuple[str, ...] = ()
    sizes: tuple[int, int] | None = None
    pointer: str = ""
    of: str = ""
    over: Sweep | None = None


class Outcome(Term):
    """What became of one test item; the order is from best to worst."""

    PASSED = "passed"
    MARGINAL = "marginal"
    RECORD_ONLY = "record_only"
    FLAKY = "flaky"
    NOT_RUN = "not_run"
    BLOCKED = "blocked"
    ERROR = "error"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Judgement:
    """One metric at one size (or one fact) compared with its limit, in words and numbers.

    ``values`` are all samples, ``worst`` the one that decides, both in ``unit``.
    ``margin`` is how far ``worst`` lies on the good side of the limit, as a fraction of the limit;
    negative when missed, ``None`` for facts. ``better`` is which way is good (``higher`` or
    ``lower``), empty for facts. ``points_at`` are the parts (node, device) that the
    values themselves single out, such as the one NIC of eight that carried nothing.
    ``ideal`` is what a collective reaches as it is run, where that is not ``physical_ceiling``.
    ``carried`` is (node, NIC, bytes) where the NICs' counters are judged. ``not_shown`` are items
    of the command, such as ``MTU``, that the tool's output neither confirms nor denies.
    """

    metric: str
    outcome: Outcome
    measured: str
    limit: str
    basis: str
    reason: str = ""
    unit: str = ""
    values: tuple[float, ...] = ()
    worst: float | None = None
    floor: float | None = None
    ceiling: float | None = None
    physical_ceiling: float | None = None
    ideal: float | None = None
    margin: float | None = None
    size_bytes: int | None = None
    pointer: str = ""
    better: str = ""
    points_at: tuple[tuple[str, str], ...] = ()
    carried: tuple[tuple[str, str, int], ...] = ()
    not_shown: tuple[str, ...] = ()

    @property
    def best(self) -> float | None:
        """What the hardware does at best: the ideal, else the physical ceiling."""
        return self.physical_ceiling if self.ideal is None else self.ideal
