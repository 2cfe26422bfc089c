"""One check of what a user gives: the hostfile, the platform file, and both together.

``railgauge plan`` and ``judge`` and the run itself all ask here, so that none passes what another
refuses. All complaints come at once, a line each, before anything is touched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from railgauge.config import hostfile, thresholds
from railgauge.config.thresholds import LEVELS, Measurement, Platform
from railgauge.core.errors import BadInput, Gathered, HostfileError, Uncovered
from railgauge.core.model import Case, Cluster, Node, Pair
from railgauge.planning import needs, plan, soundness
from railgauge.planning.marks import MarkedTest, asked
from railgauge.planning.plan import Level
from railgauge.tools import check_keys, check_plannable

# Any port will do for a command that is not run.
_PORT = 18515
# Stands for the served model where it is asked only whether commands can be made.
_MODEL = "a-model"
# What a platform file is tried on where no hostfile is given: enough for a pair and for a group.
_NAMES = ("node01", "node02", "node03")


def platform(name: str, root: Path) -> Platform:
    """The platform ``name`` below ``root``. Raises ``BadInput`` with all that is wrong with it."""
    found = thresholds.load(name, root / "thresholds")
    check(found, root)
    return found


def site(path: Path, root: Path, named: str | None = None) -> tuple[Cluster, Platform]:
    """The cluster of a hostfile and its platform; ``named`` is what ``--platform`` says.

    Raises ``BadInput`` with all that is wrong with both.
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
    """Whether a run can judge what it measures, and measure it, by this file and on this cluster.

    ``root`` is where ``tests/`` is. Raises ``BadInput`` with all complaints.
    """
    gathered = Gathered()
    for line in plan.complaints(platform):
        gathered.add(Uncovered(line, where=platform.path))
    with gathered.trying():
        tests = asked(root)
        for error in (*_unmarked(tests), *needs.unknown(tests)):
            gathered.add(error)
        for line in soundness.complaints(platform, tests) if tests else ():
            gathered.add(Uncovered(line, where=platform.path))
    for measurement in thresholds.with_model(platform, _MODEL).measurements.values():
        _try_out(gathered, replace(platform, measurements={measurement.name: measurement}), cluster)
    if cluster:
        with gathered.trying():
            check_keys(cluster)
        for error in (*_undeclared(platform, cluster), *_unserved(platform, cluster)):
            gathered.add(error)
    gathered.raise_any()


def _unmarked(tests: Sequence[MarkedTest]) -> Iterator[BadInput]:
    for test in tests:
        if not test.kind:
            yield BadInput("needs one mark, measures(NAME) or expects(NAME)", where=test.where)


def _undeclared(platform: Platform, cluster: Cluster) -> Iterator[BadInput]:
    """Addresses of NICs that the platform does not have would be used by nobody."""
    known = {nic.name for nic in platform.nics}
    named = {nic for node in cluster.nodes for nic in node.nic_addresses}
    for nic in sorted(named - known):
        what = f"nic_addresses: {platform.name} declares no NIC {nic}"
        yield HostfileError(
            what, where=cluster.source, remedy=f"known: {', '.join(sorted(known)) or 'none'}"
        )


def _unserved(platform: Platform, cluster: Cluster) -> Iterator[BadInput]:
    """A service cannot be measured before somebody says what is served."""
    if lacking := thresholds.lacking_model(platform):
        what = f"names no model, which {' and '.join(lacking)} of {platform.name} serve"
        remedy = "add 'model: NAME', as vllm serve is to be given it; a plain list cannot say it"
        yield HostfileError(what, where=cluster.source, remedy=remedy)


# --- whether every command can be made ---


def _try_out(gathered: Gathered, platform: Platform, cluster: Cluster | None) -> None:
    """Make the commands of the platform's one measurement: options and addresses are read there."""
    (measurement,) = platform.measurements.values()
    before = len(gathered.complaints)
    with gathered.trying():
        check_plannable(platform)
        example = _example(platform)
        for name in LEVELS:
            level = plan.level(platform, example, name)
            for _, case in plan.cases(platform, level):
                plan.commands(case, platform, example, _PORT)
    if cluster is None or len(gathered.complaints) > before:
        return  # else the same would be said of every node
    level = plan.level(platform, cluster, LEVELS[0], 1)
    # The highest level makes every measurement.
    level = replace(level, name=LEVELS[-1], rounds=_ring(level.nodes))
    for case in _everywhere(platform, measurement, level):
        try:
            plan.commands(case, platform, cluster, _PORT)
        except BadInput as error:
            gathered.add(HostfileError(str(error), where=cluster.source))


def _example(platform: Platform) -> Cluster:
    nodes = tuple(Node(name, name, name) for name in _NAMES)
    return Cluster("example", platform.name, "ssh", nodes, platform.path)


def _ring(nodes: Sequence[str]) -> tuple[tuple[Pair, ...], ...]:
    """Every node once at each end of a pair."""
    if len(nodes) == 1:
        return ()
    return (tuple(map(Pair, nodes, (*nodes[1:], nodes[0]))),)


def _everywhere(platform: Platform, measurement: Measurement, level: Level) -> Iterator[Case]:
    path = plan.paths(platform, measurement, level.name)[0]
    for place in plan.places(measurement, level):
        yield plan.case_at(measurement, level.name, place, path)
