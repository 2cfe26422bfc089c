"""Turn a tool's output in a file into evidence of the case that it would be in a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from railgauge.cli.match import nodes_of
from railgauge.config.thresholds import Measurement, Platform
from railgauge.config.thresholds.model import LEVELS, NEAR_LINKS
from railgauge.core.errors import BadInput
from railgauge.core.model import Case, Cluster, Node, Pairing, Parsed, Transcript
from railgauge.core.question import LIMITS, READ, RESULTS, TRANSPORT, CaseResult, Question
from railgauge.core.terms import Scope
from railgauge.planning import plan

# Any port serves: no server is started.
_SHOWN_PORT = 18515


@dataclass(frozen=True, slots=True)
class RecordedEvidence:
    """Evidence of one case: a transcript of the command that would have been planned for it.

    There are no facts of its nodes and no NIC counters.
    """

    case: Case
    text: str
    argv: tuple[str, ...]
    environment: Mapping[str, str]

    def result(self, case: Case) -> CaseResult:  # noqa: ARG002 - there is only one
        """Return the output as the only run of the case, which the suite did not plan."""
        transcript = Transcript(
            node=self.case.nodes[0],
            argv=self.argv,
            exit_code=0,
            stdout=self.text,
            stderr="",
            duration_s=0.0,
            environment=self.environment,
        )
        return CaseResult(((transcript,),), is_planned=False)


def recorded(
    platform: Platform,
    measurement: Measurement,
    level: str,
    parsed: Parsed,
    text: str,
    *,
    path: str = "",
) -> RecordedEvidence:
    """Return the output as evidence, on a cluster with the nodes that it reports.

    ``case.sizes`` are those of the level and all that were printed. ``path`` is the pairing that
    was measured, if known: an output names only its own end. Raises ``BadInput``.
    """
    if measurement.scope == Scope.FABRIC:
        raise BadInput(
            f"{measurement.name} is judged by the cables that a hostfile declares",
            remedy="run the ladder with that hostfile",
        )
    cluster = _cluster(platform, nodes_of(platform, measurement, parsed))
    names = tuple(node.name for node in cluster.nodes)
    extent = measurement.extents[_made(measurement, level)]
    named = _named(platform, measurement, path) if path else None
    pairing = named or _pairing(platform, measurement, parsed.summary)
    case = Case(measurement.name, names, pairing, extent.sizes)
    reporter = plan.commands(case, platform, cluster, _SHOWN_PORT)[-1]
    sizes = tuple(sorted({*extent.sizes, *_printed(measurement, parsed)}))
    whole = replace(case, sizes=sizes)
    return RecordedEvidence(whole, text, reporter.argv, reporter.environment)


def _made(measurement: Measurement, level: str) -> str:
    """Return the lowest level from ``level`` on that makes the measurement; sign-off makes all."""
    return next(one for one in LEVELS[LEVELS.index(level) :] if measurement.made_at(one))


def _cluster(platform: Platform, names: tuple[str, ...]) -> Cluster:
    nodes = tuple(Node(name, name, name) for name in names)
    return Cluster("the output", platform.name, "replay", nodes, "the output")


def _printed(measurement: Measurement, parsed: Parsed) -> set[int]:
    """Return the message sizes of the output; empty if the measurement has no sizes."""
    if not any(extent.sizes for extent in measurement.extents.values()):
        return set()
    return {sample.size_bytes for sample in parsed.samples if sample.size_bytes is not None}


def questions(
    platform: Platform, measurement: Measurement, case: Case, parsed: Parsed
) -> Iterator[Question]:
    """Yield every question of a run about this case that one output can answer."""
    yield Question(READ, case)
    for size in case.sizes:
        if measurement.asserted("size", size):
            yield Question(LIMITS, case, size)
    for per, placements in (("link", _links(platform)), ("gpu", _gpus(platform)), ("run", [None])):
        if measurement.asserted(per, swept=case.sizes):
            yield from (Question(LIMITS, case, placement=placement) for placement in placements)
    if measurement.transport is not None and parsed.summary.get("transports"):
        yield Question(TRANSPORT, case)
    if measurement.results is not None:
        yield Question(RESULTS, case)


def unanswered(measurement: Measurement, case: Case, parsed: Parsed) -> Iterator[str]:
    """Yield the other questions of a run, with the reason why an output cannot answer them."""
    asked = measurement.asserted("run", swept=case.sizes)
    for metric in measurement.asserted("run"):
        if metric not in asked:
            yield f"{metric}: its limit was made for other message sizes"
    if measurement.traffic is not None:
        yield "traffic: the counters of the NICs before and after are not part of an output"
    if measurement.transport is not None and not parsed.summary.get("transports"):
        yield "transport: the output holds no log of the library"
    if measurement.asserted("ratio"):
        yield "scaling: it takes the outputs of two runs"


def _gpus(platform: Platform) -> list[str | None]:
    return [f"gpu{index}" for index in range(platform.gpus.count if platform.gpus else 0)]


def _links(platform: Platform) -> list[str | None]:
    return [f"{a}>{b}" for a in _gpus(platform) for b in _gpus(platform) if a != b]


def _named(platform: Platform, measurement: Measurement, path: str) -> Pairing:
    paths = platform.paths(measurement) if measurement.scope == Scope.PATH else ()
    known = {str(pairing): pairing for pairing in paths}
    if path not in known:
        remedy = f"one of {', '.join(known)}" if known else "it is not measured over a path"
        raise BadInput(f"{measurement.name} has no pairing {path!r}", remedy=remedy)
    return known[path]


def _pairing(
    platform: Platform, measurement: Measurement, summary: Mapping[str, object]
) -> Pairing | None:
    """Return the path that the output names; parts that it omits are the platform's first."""
    if measurement.scope != Scope.PATH:
        return None
    nic = str(summary.get("device", platform.fabric_nics[0].name))
    if measurement.memory == "host":
        return Pairing(nic)
    gpu = summary.get("gpu")
    if not isinstance(gpu, int):
        return Pairing(nic, 0, "near")
    near = platform.affinity[gpu][nic] in NEAR_LINKS
    return Pairing(nic, gpu, "near" if near else "far")
