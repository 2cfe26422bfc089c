"""Checks the user's input: the hostfile, the platform file, and both together.

``railgauge plan``, ``railgauge judge`` and the run all use these checks, so that none of them
accepts what another refuses. All complaints come together, a line each, before a node is touched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from railgauge.config import hostfile, thresholds
from railgauge.config.thresholds import LEVELS, Measurement, Platform
from railgauge.core import naming
from railgauge.core.errors import BadInput, Gathered, HostfileError, Uncovered
from railgauge.core.model import Case, Cluster, Node, Pair
from railgauge.launchers import is_host
from railgauge.planning import needs, plan, soundness
from railgauge.planning.marks import MarkedTest, marked_tests
from railgauge.planning.plan import Level
from railgauge.tools import check_keys, check_plannable

# Any port is good for a command that is only planned.
_PORT = 18515
# A placeholder for the served model where commands are only planned.
_MODEL = "a-model"
# The example cluster for a platform file without a hostfile: enough nodes for a pair and a group.
_NAMES = ("node01", "node02", "node03")


def platform(name: str, root: Path) -> Platform:
    """Load and check the platform ``name`` below ``root``. Raises ``BadInput`` with all faults."""
    found = thresholds.load(name, root / "thresholds")
    check(found, root)
    return found


def site(path: Path, root: Path, named: str | None = None) -> tuple[Cluster, Platform]:
    """Load the cluster of a hostfile and its platform; ``named`` is the value of ``--platform``.

    Raises ``BadInput`` with all faults of both.
    """
    gathered = Gathered()
    cluster = platform = None
    with gathered.trying():
        schema = root / "hostfiles" / "schema.json"
        cluster = hostfile.load(path, schema_file=schema, platform=named)
    if name := cluster.platform if cluster else named or hostfile.named_platform(path):
        with gathered.trying():
            platform = thresholds.load(name, root / "thresholds")
            if cluster:
                platform = thresholds.on_site(platform, cluster, cluster.source)
    if platform:
        with gathered.trying():
            check(platform, root, cluster)
    gathered.raise_any()
    assert cluster is not None
    assert platform is not None
    return cluster, platform


def check(platform: Platform, root: Path, cluster: Cluster | None = None) -> None:
    """Check that a run can make and judge every measurement of this file on this cluster.

    ``root`` is the folder that holds ``tests/``. Raises ``BadInput`` with all complaints.
    """
    gathered = Gathered()
    for line in plan.complaints(platform):
        gathered.add(Uncovered(line, where=platform.path))
    with gathered.trying():
        tests = marked_tests(root)
        for error in (*_unmarked(tests), *needs.unknown(tests)):
            gathered.add(error)
        for line in soundness.complaints(platform, tests) if tests else ():
            gathered.add(Uncovered(line, where=platform.path))
    kinds = one_of_each_kind(cluster) if cluster else ()
    refused = Refused()
    for measurement in thresholds.with_model(platform, _MODEL).measurements.values():
        one = replace(platform, measurements={measurement.name: measurement})
        _try_out(refused, one, cluster, kinds)
    for error in refused.errors():
        gathered.add(error)
    if cluster:
        with gathered.trying():
            check_keys(cluster, platform)
        checks = (_undeclared, _unknown_devices)
        for error in (error for of in checks for error in of(platform, cluster)):
            gathered.add(error)
    gathered.raise_any()


def _unmarked(tests: Sequence[MarkedTest]) -> Iterator[BadInput]:
    """The errors for tests without a mark that names their subject."""
    for test in tests:
        if not test.kind:
            yield BadInput("needs one mark, measures(NAME) or expects(NAME)", where=test.where)


def _undeclared(platform: Platform, cluster: Cluster) -> Iterator[BadInput]:
    """Addresses of NICs that the platform does not declare: no command would use them."""
    known = {nic.name for nic in platform.nics}
    named = {nic for node in cluster.nodes for nic in node.nic_addresses}
    for nic in sorted(named - known):
        what = f"nic_addresses: {platform.name} declares no NIC {nic}"
        yield HostfileError(
            what, where=cluster.source, remedy=f"known: {', '.join(sorted(known)) or 'none'}"
        )


def _unknown_devices(platform: Platform, cluster: Cluster) -> Iterator[BadInput]:
    """Names under ``devices`` of devices that the platform does not declare, or of two at once."""
    gpus = platform.gpus.count if platform.gpus else 0
    known = [*(nic.name for nic in platform.nics), *(f"gpu{number}" for number in range(gpus))]
    for node, names in cluster.devices.items():
        for name in (name for name in names if name not in known):
            what = f"devices: {platform.name} declares no {name}, which {node} should have"
            remedy = f"known: {', '.join(known)}"
            yield HostfileError(what, where=cluster.source, remedy=remedy)
        for there in dict.fromkeys(names.values()):
            of = [name for name in known if names.get(name, name) == there]
            if len(of) > 1:
                what = f"devices: {' and '.join(of)} are both {there} on {node}"
                remedy = "say what each of them is there; swapped names need both lines"
                yield HostfileError(what, where=cluster.source, remedy=remedy)


# --- check that every command can be planned ---


class Refused:
    """The reasons why commands cannot be planned, each with its measurements."""

    def __init__(self) -> None:
        self._places: dict[tuple[type[BadInput], str, str, str], list[str]] = {}

    @contextmanager
    def of(self, measurement: str, kind: type[BadInput], where: str) -> Iterator[None]:
        """Keep the ``BadInput`` that the block raises, and continue after the block."""
        try:
            yield
        except BadInput as error:
            own = "" if error.where == measurement else error.where
            what = error.what.removeprefix("measurement ").removeprefix(f"{measurement}: ")
            places = self._places.setdefault((kind, own or where, what, error.remedy), [])
            places += [] if measurement in places else [measurement]

    def has(self, measurement: str) -> bool:
        return any(measurement in places for places in self._places.values())

    def errors(self) -> Iterator[BadInput]:
        """Yield one error for each reason."""
        for (kind, where, what, remedy), places in self._places.items():
            yield kind(f"{naming.listed(places, 1)}: {what}", where=where, remedy=remedy)


def _try_out(
    refused: Refused, platform: Platform, cluster: Cluster | None, kinds: tuple[str, ...]
) -> None:
    """Plan the commands of the platform's one measurement, which checks options and addresses.

    ``kinds`` are the nodes that represent the whole cluster.
    """
    (measurement,) = platform.measurements.values()
    with refused.of(measurement.name, BadInput, platform.path):
        check_plannable(platform)
        example = _example(platform)
        for name in LEVELS:
            level = plan.level(platform, example, name)
            for _, case in plan.cases(platform, level):
                plan.commands(case, platform, example, _PORT)
    if cluster is None or refused.has(measurement.name):
        return  # every node would repeat the same complaint
    level = plan.level(platform, cluster, LEVELS[0], 1, sample=kinds)
    # The highest level makes every measurement.
    level = replace(level, name=LEVELS[-1], rounds=_ring(kinds), groups=plan.groups(cluster))
    for case in _everywhere(platform, measurement, level):
        with refused.of(measurement.name, HostfileError, cluster.source):
            plan.commands(case, platform, cluster, _PORT)


def one_of_each_kind(cluster: Cluster) -> tuple[str, ...]:
    """Return the first two nodes, and the first of each kind: commands of a kind differ by name.

    All nodes of a kind agree in what a command can be refused for: their NICs with an address of
    their own, the names of their devices, and whether a launcher takes their address.
    """
    first: dict[object, str] = {}
    for node in cluster.nodes:
        devices = cluster.devices.get(node.name, {})
        refused = "" if is_host(node.data_address) else node.data_address
        kind = frozenset(node.nic_addresses), frozenset(devices.items()), refused
        first.setdefault(kind, node.name)
    return tuple(dict.fromkeys((*(node.name for node in cluster.nodes[:2]), *first.values())))


def _example(platform: Platform) -> Cluster:
    nodes = tuple(Node(name, name, name) for name in _NAMES)
    return Cluster("example", platform.name, "ssh", nodes, platform.path)


def _ring(nodes: Sequence[str]) -> tuple[tuple[Pair, ...], ...]:
    """One round in which every node is once the first and once the second of a pair."""
    if len(nodes) == 1:
        return ()
    return (tuple(map(Pair, nodes, (*nodes[1:], nodes[0]))),)


def _everywhere(platform: Platform, measurement: Measurement, level: Level) -> Iterator[Case]:
    path = plan.paths(platform, measurement, level.name)[0]
    for place in plan.places(measurement, level):
        yield plan.case_at(measurement, level.name, place, path)
