"""The values that pass through a run, all of them frozen dataclasses without side effects.

Each step makes the next value from the one before::

    Cluster -> Case -> Command -> Transcript -> Parsed -> Reading -> Judgement
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from railgauge.core.problems import Problem
from railgauge.core.storage import StorageMount
from railgauge.core.terms import LaunchWay, RankPlace, Role, Severity, Term

# --- the cluster, as the hostfile declares it ---


@dataclass(frozen=True, slots=True)
class SshSettings:
    """How to log in; a setting that is ``None`` comes from ``~/.ssh/config`` or ssh's defaults.

    ``host_keys`` is ``strict`` (the key must be known) or ``accept-new`` (an unknown key is
    added, a changed one is refused). The check cannot be switched off. ``patience_s`` is how many
    seconds of a run are spent waiting for a node that answered before.
    """

    user: str | None = None
    port: int | None = None
    key: str | None = None
    jump: str | None = None
    config: str | None = None
    known_hosts: str | None = None
    host_keys: str | None = None
    agent: bool = True
    connect_timeout_s: float = 10.0
    patience_s: float = 120.0


@dataclass(frozen=True, slots=True)
class SlurmSettings:
    """How to request nodes from Slurm; for a setting that is ``None`` the site's default holds.

    ``gres`` is requested for the allocation and for every step in it. ``wait_s`` is how long to
    wait for the allocation. ``job`` and ``refusal`` are not declared but set when a run begins: the
    job id of the allocation, and why a node is not in it (empty if it is).
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
class PerftestSettings:
    """What the network of a site needs of every perftest measurement; ``None``: perftest's choice.

    ``dmabuf`` registers GPU memory by DMA-BUF, in place of a peer-memory module.
    """

    gid_index: int | None = None
    traffic_class: int | None = None
    service_level: int | None = None
    mtu: int | None = None
    dmabuf: bool = False


@dataclass(frozen=True, slots=True)
class Container:
    """A container for the commands of a tool: the engine, its image, and more of its options.

    ``gpu_vendor`` (empty for none) and ``rdma`` say which devices of the node it needs; they are
    not declared but set for each command.
    """

    engine: str
    image: str
    options: tuple[str, ...] = ()
    gpu_vendor: str = ""
    rdma: bool = False


@dataclass(frozen=True, slots=True)
class Fabric:
    """The InfiniBand subnet that a hostfile declares: the node that scans it, and its cables.

    ``topology`` is the text of an ``ibnetdiscover`` dump, ``source`` its file; ``hca`` is the
    HCA to query through, empty for the tools' own choice.
    """

    node: str
    topology: str
    source: str
    hca: str = ""


@dataclass(frozen=True, slots=True)
class Node:
    """One host. ssh connects to ``address``; tools contact ``data_address``.

    ``nic_addresses`` are the IP addresses or names of single NICs, for TCP over that NIC alone.
    ``setup`` are lines of bash that run before every command; ``exec`` is the argv of the program
    that runs a command on this node, for ``transport: exec``. ``become`` is the argv of the program
    that runs a command as root (``sudo -n``); empty if the login's own rights must suffice.
    """

    name: str
    address: str
    data_address: str
    ssh: SshSettings = field(default_factory=SshSettings)
    nic_addresses: Mapping[str, str] = field(default_factory=dict)
    slurm: SlurmSettings = field(default_factory=SlurmSettings)
    setup: tuple[str, ...] = ()
    exec: tuple[str, ...] = ()
    become: tuple[str, ...] = ()

    def reached_over(self, nic: str) -> str:
        """Return the address at which a tool reaches this node over ``nic``."""
        return self.nic_addresses.get(nic, self.data_address)


class _Index:
    """The index of a cluster's nodes by name. It is not a field: not compared, not serialised."""

    __slots__ = ("_by_name",)
    _by_name: dict[str, Node]


# The key of a declared version that holds for devices of all models, and for software without one.
ALL_MODELS = "*"


@dataclass(frozen=True, slots=True)
class Cluster(_Index):
    """A hostfile, checked. ``nodes`` keep the order of the file; ``source`` is its path.

    ``versions`` are the declared versions of each item by device model, under ``*`` those that hold
    for all models. ``model`` is the model that is served on rung 5; ``mpi_network`` names the
    networks or interfaces, separated by commas, over which a launcher's processes talk to each
    other; each is empty if the file does not name it. ``no_fabric`` is the site's reason for having
    no ``fabric``, empty if it gives none. ``devices`` are the names that devices have on single
    nodes, see ``core.devices``. ``runtime`` are the containers of tools by the key of the tool,
    under ``*`` that of all others. ``launch`` is how a launcher's daemons are started,
    ``launcher_args`` are further arguments of the launcher, ``ports`` the first and the last TCP
    port on which servers may listen. ``independent_pairs`` is how many disjoint pairs the fabric
    carries at the same time without a loss. ``storage`` are the mounts to measure, by name.
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
    devices: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    perftest: PerftestSettings = field(default_factory=PerftestSettings)
    runtime: Mapping[str, Container] = field(default_factory=dict)
    launch: LaunchWay = LaunchWay.UNSET
    launcher_args: tuple[str, ...] = ()
    ports: tuple[int, int] | None = None
    ranks: RankPlace = RankPlace.UNSET
    independent_pairs: int = 1
    storage: Mapping[str, StorageMount] = field(default_factory=dict)

    def node(self, name: str) -> Node:
        """Return the node of that name, in constant time. Raises ``KeyError``."""
        if not hasattr(self, "_by_name"):
            object.__setattr__(self, "_by_name", {node.name: node for node in self.nodes})
        return self._by_name[name]


# --- what is measured, and between which ends ---


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
    """The path inside a node: a NIC, and for GPU memory the GPU that it reads and writes.

    Both nodes of a pair use the same path, unless ``peer`` gives that of the second node: then the
    payload crosses from one rail to another. ``distance`` is ``host`` (host memory), ``near`` (same
    PCIe switch), ``far``, or ``cross_rail`` if there is a ``peer``.
    """

    nic: str
    gpu: int | None = None
    distance: str = "host"
    peer: Pairing | None = None

    @property
    def ends(self) -> tuple[Pairing, Pairing]:
        """The paths that the source and the target of a pair use."""
        return (replace(self, peer=None), self.peer) if self.peer else (self, self)

    def __repr__(self) -> str:
        """Short and stable: reports show it, and histories are keyed by it."""
        own = self.nic if self.gpu is None else f"gpu{self.gpu}-{self.nic}"
        return f"{own}:{self.peer}" if self.peer else own

    __str__ = __repr__


@dataclass(frozen=True, slots=True)
class Case:
    """One run of a tool: a measurement of the platform file on a pair (or node) and a pairing.

    ``sizes`` are all message sizes in bytes that the level requires from this one run.
    """

    measurement: str
    nodes: tuple[str, ...]
    pairing: Pairing | None
    sizes: tuple[int, ...]
    repeats: int = 1

    @property
    def key(self) -> str:
        """The exact name of the case, with all of its nodes; ``naming.title`` is for display."""
        path = f"-{self.pairing}" if self.pairing else ""
        return f"{self.measurement}[{':'.join(self.nodes)}{path}]"

    def path_at(self, node: str) -> Pairing | None:
        """Return the NIC and GPU that this node uses; ``None`` if the tool chooses them itself."""
        return self.pairing and self.pairing.ends[node != self.nodes[0]]


# --- carrying it out ---


@dataclass(frozen=True, slots=True)
class Command:
    """One program to run on one node.

    ``listens_on`` is the TCP port that a server opens when it is ready; ``None`` for a client.
    ``endless`` is true for a server that does not end with its client: it is stopped afterwards.
    ``plain`` is true for a command of the suite itself, which needs no ``setup``. ``as_root`` is
    true for what needs root: it is run by ``Node.become``, if the node has one. ``container`` is
    where it runs; ``None`` for the node itself. ``daemons_on`` maps addresses to nodes: for a
    launcher, those on which the suite starts its daemons. ``asks`` is true for a command of the
    suite that gets a line of input for each question mark that it prints; others get no input.
    ``programs`` are those that it starts on the node, if they are not just the first of ``argv``.
    """

    node: str
    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    time_limit_s: float = 60.0
    listens_on: int | None = None
    endless: bool = False
    plain: bool = False
    as_root: bool = False
    container: Container | None = None
    daemons_on: Mapping[str, str] = field(default_factory=dict)
    asks: bool = False
    programs: tuple[str, ...] = field(default=(), compare=False)


TimeSpan = tuple[datetime, datetime]


@dataclass(frozen=True, slots=True)
class Transcript:
    """One command and its output. ``exit_code`` is ``None`` if the command did not end by itself.

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

    @property
    def span(self) -> TimeSpan | None:
        """When the command began and ended, by the control host's clock.

        ``None`` without a valid time that has its zone.
        """
        try:
            began = datetime.fromisoformat(self.started_at)
            ended = began + timedelta(seconds=self.duration_s)
        except (ValueError, OverflowError):
            return None
        return (began, ended) if began.tzinfo else None


# --- what a tool printed ---


@dataclass(frozen=True, slots=True)
class Sample:
    """One value of one metric, in the unit that the tool printed.

    ``unit_means`` is the true unit where the tool misnames it (perftest's old ``MB/s`` are MiB/s),
    otherwise empty. ``iteration`` counts the rows of one metric and size from 0.
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
    """Parsed output. ``summary`` holds what is not a sample: header fields, averages, footers.

    ``not_shown`` are the items of the command that the output neither confirms nor denies; empty
    until the output is compared with a command.
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


class Outcome(Term):
    """The outcome of one test item, ordered from best to worst."""

    PASSED = "passed"
    MARGINAL = "marginal"
    RECORD_ONLY = "record_only"
    FLAKY = "flaky"
    NOT_RUN = "not_run"
    BLOCKED = "blocked"
    ERROR = "error"
    FAILED = "failed"


GOOD = (Outcome.PASSED, Outcome.MARGINAL)


@dataclass(frozen=True, slots=True)
class Judgement:
    """One metric at one size (or one fact) compared with its limit, as text and as numbers.

    ``values`` are all samples, ``worst`` the sample that decides, both in ``unit``.
    ``margin`` is how far ``worst`` is on the good side of the limit, as a fraction of the limit;
    negative if the limit is missed, ``None`` for facts. ``better`` is ``higher`` or ``lower``,
    empty for facts. ``points_at`` are the parts (node, device) that the values single out, such as
    the one NIC of eight that carried no data. ``ideal`` is the best that this collective can reach
    as it is run, if that differs from ``physical_ceiling``. ``carried`` is (node, NIC, bytes) if
    the NICs' counters are judged. ``not_shown`` are items of the command, such as ``MTU``, that the
    tool's output neither confirms nor denies.
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
        """The best value that the hardware can reach: the ideal, else the physical ceiling."""
        return self.physical_ceiling if self.ideal is None else self.ideal
