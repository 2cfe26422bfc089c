"""The values of a check: what nodes answered, and the cells of the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from railgauge.config.thresholds import Platform
from railgauge.core.errors import NoEvidence, RailgaugeError
from railgauge.core.model import Cluster, Node
from railgauge.core.terms import Term
from railgauge.describing.bus import PciFunction
from railgauge.facts import NodeAnswer, NodeFacts
from railgauge.leases.holder import LeaseAnswer
from railgauge.transport import Entry


class CellState(Term):
    """Whether a cell needs something: ``MEND`` and ``UNKNOWN`` are not ready."""

    OK = "ok"
    NOTE = "note"
    UNKNOWN = "unknown"
    MEND = "mend"


@dataclass(frozen=True, slots=True)
class HostfileLine:
    """A key of the hostfile and its new value: a list is extended, a mapping is merged.

    The keys ``("nodes", "gpu07", "data_address")`` mean that node's own setting.
    """

    keys: tuple[str, ...]
    value: Any


@dataclass(frozen=True, slots=True)
class CheckCell:
    """What was found on a node, what to do by hand, and what to write into the hostfile."""

    state: CellState
    found: str
    remedy: str = ""
    lines: tuple[HostfileLine, ...] = ()


@dataclass(frozen=True, slots=True)
class ProgramPlace:
    """Where a program is that the login does not find, and the ``setup`` that would find it."""

    program: str
    path: str
    setup: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NodeDisk:
    """A folder in which a run writes on a node. ``free_mib`` is what the user may use of it."""

    folder: str
    free_mib: int
    is_writable: bool
    runs_programs: bool


@dataclass(frozen=True, slots=True)
class SelfReport:
    """What a node printed about itself; an empty or missing value was not printed.

    ``root`` is ``root`` for root's own login, ``works WORDS`` or ``refused WORDS: WHY`` for a
    program that becomes root, ``none`` if there is none. ``cut`` is why the output is not whole.
    """

    shell: str = ""
    user: str = ""
    root: str = ""
    has_bash: bool = False
    programs: Mapping[str, str] = field(default_factory=dict)
    places: tuple[ProgramPlace, ...] = ()
    bus: tuple[PciFunction, ...] = ()
    disks: tuple[NodeDisk, ...] = ()
    addresses: tuple[str, ...] = ()
    cut: str = ""


@dataclass(frozen=True, slots=True)
class SeenByOther:
    """What another node found of this one.

    ``resolved`` is the address that its name has there, empty if none, ``None`` if that could not
    be asked. ``reached`` maps addresses of this node to ``open``, or why no connection was made.
    """

    resolved: str | None
    reached: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class NodeSeen:
    """All answers about one node. ``refusal`` is why it was not reached, or could not be asked.

    ``met`` is what other nodes found of it, ``listens`` whether it waited for their connections on
    its port.
    """

    node: Node
    entry: Entry | None = None
    refusal: RailgaugeError | None = None
    setup_failed: NoEvidence | None = None
    self_report: SelfReport | None = None
    facts: NodeAnswer | None = None
    lease: LeaseAnswer | None = None
    met: Mapping[str, SeenByOther] = field(default_factory=dict)
    listens: bool = False

    @property
    def known(self) -> NodeFacts | None:
        return self.facts if isinstance(self.facts, NodeFacts) else None


@dataclass(frozen=True, slots=True)
class ProgramNeed:
    """A program that a run needs on each node; ``others`` do as well."""

    program: str
    others: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return (self.program, *self.others)


@dataclass(frozen=True, slots=True)
class NodesSeen:
    """A cluster and the answers of its nodes.

    ``platform`` is ``None`` where there is none yet, as is ``planned``, the programs of its
    measurements. ``renamed`` is the section ``devices`` of the nodes whose NICs have other names
    than on most. ``allots_nodes``: the transport reserves the nodes, so that none is leased.
    """

    cluster: Cluster
    platform: Platform | None
    planned: Sequence[str] | None
    seen: Mapping[str, NodeSeen]
    renamed: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    allots_nodes: bool = False

    @property
    def asked(self) -> Sequence[NodeSeen]:
        """The nodes that answered."""
        return [one for one in self.seen.values() if one.self_report is not None]
