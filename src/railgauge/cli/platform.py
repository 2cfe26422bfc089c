"""``railgauge platform new``: a platform file for nodes that have none, from a survey of them."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from railgauge.cli import replacing, text
from railgauge.cli.reached import nodes_reached, tell
from railgauge.config import hostfile, thresholds
from railgauge.config.thresholds import Platform, source
from railgauge.core import nodeset
from railgauge.core.devices import DeviceNames
from railgauge.core.errors import BadInput, NoEvidence
from railgauge.core.model import Cluster
from railgauge.core.naming import folded
from railgauge.describing import at_end, document, layout, names
from railgauge.describing.bus import NONE
from railgauge.describing.choice import SiteAnswers, chosen
from railgauge.describing.expectations import candidates, kept
from railgauge.describing.sheets import FILE, Sheets, sheets_of
from railgauge.facts import NodeAnswer, NodeFacts
from railgauge.facts.naming import declared
from railgauge.planning.programs import programs
from railgauge.run import describe, inputs
from railgauge.run.store import write_whole
from railgauge.stacks import stack as of_vendor
from railgauge.stacks import vendors
from railgauge.transport.sessions import Sessions

HELP = "write a platform file for nodes that have none, from a survey of them"
EXAMPLE = (
    "example: railgauge platform new mine --hostfile hostfiles/mine.yaml; it surveys the nodes, "
    "changes nothing on them, and asks back what differs between them"
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_MPI_BENCH = "mpi-bench"
_NICS_MOST = 1024


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=["new"])
    parser.add_argument("name", metavar="NAME", help="the file becomes thresholds/NAME.json")
    parser.add_argument("--hostfile", required=True, type=Path, metavar="F")
    parser.add_argument("--like", default="", metavar="NODE", help="the node whose hardware counts")
    parser.add_argument(
        "--fabric", default="", metavar="NICS",
        help="the NICs that carry the payload, such as mlx5_[0-7] (default: the fastest)",
    )  # fmt: skip
    parser.add_argument(
        "--rate", action="append", default=[], type=_rate, metavar="NIC=GBPS",
        help="the rate of a link that its NIC does not know",
    )  # fmt: skip
    parser.add_argument(
        "--one-kernel", action="store_true",
        help="the nodes are containers or namespaces of one machine",
    )  # fmt: skip
    parser.add_argument(
        "--gpus", default="", choices=[*vendors(), NONE],
        help="the vendor whose GPUs count, as its tools list them",
    )  # fmt: skip
    parser.add_argument(
        "--no-gpus", action="store_const", dest="gpus", const=NONE,
        help="the nodes have no GPUs, whatever their tools say",
    )  # fmt: skip
    replacing.add_argument(parser)


def _rate(word: str) -> tuple[str, float]:
    name, _, value = word.partition("=")
    try:
        rate = float(value)
    except ValueError:
        rate = 0.0
    if not name or not 0 < rate < 1e6:  # noqa: PLR2004 - Gb/s
        raise argparse.ArgumentTypeError(f"{word!r} is no rate: write eth0=25, in Gb/s")
    return name, rate


def run(options: argparse.Namespace) -> int:
    """Write the platform file; nothing is written if a question is open."""
    path = _path(options.name, options.root)
    replacing.refuse_existing(path, options)
    declared_cluster = _cluster(options)
    made = _Made(options.name, path, options.root, _sheets(options.root))
    with nodes_reached(declared_cluster, "platform-new", tell) as (reached, sessions):
        survey, other_names = _surveyed(reached, sessions, options)
        devices = names.joined(declared_cluster.devices, other_names, made.of(survey).nics)
        cluster = replace(declared_cluster, devices=devices)
        nodes = _Nodes(replace(reached, devices=devices), sessions)
        result, lines = _fitted(made, survey, nodes)
    inputs.check(
        thresholds.on_site(result.platform, cluster, declared_cluster.source), options.root, cluster
    )
    write_whole(path, result.text)
    renamed = devices if devices != declared_cluster.devices else {}
    _print(
        _Answer(path, declared_cluster, (*result.notes, *lines), renamed), result.platform, options
    )
    return 0


# --- what is given ---


def _path(name: str, root: Path) -> Path:
    if not _NAME.fullmatch(name) or name == "schema":
        raise BadInput(f"{name!r} is not a name for a platform", remedy="letters, digits, . _ -")
    return root / "thresholds" / f"{name}.json"


def _cluster(options: argparse.Namespace) -> Cluster:
    schema = options.root / "hostfiles" / "schema.json"
    return hostfile.load(options.hostfile, schema_file=schema, unnamed=options.name)


def _sheets(root: Path) -> Sheets:
    path = root / "thresholds" / f"{FILE}.json"
    return sheets_of(str(path), source.parsed(path, source.text(path, path.parent)))


def _site_answers(options: argparse.Namespace) -> SiteAnswers:
    return SiteAnswers(
        like=options.like,
        fabric=_nics(options.fabric),
        rates=dict(options.rate),
        one_kernel=options.one_kernel,
        gpus=options.gpus,
    )


def _nics(written: str) -> tuple[str, ...]:
    return nodeset.expanded(written, _NICS_MOST) if written else ()


# --- the nodes ---


@dataclass(frozen=True, slots=True)
class _Nodes:
    """The nodes as reached."""

    cluster: Cluster
    sessions: Sessions


def _surveyed(
    reached: Cluster, sessions: Sessions, options: argparse.Namespace
) -> tuple[document.Survey, names.Names]:
    """Return the survey with each NIC under one name, and the nodes' own names that differ."""
    found, seen = describe.found_by_vendor(reached, sessions, tell, _Progress(), options.gpus)
    facts = _answered(found, options.like)
    other_names = names.differing(facts, options.like)
    facts = {node: declared(one, DeviceNames(other_names)) for node, one in facts.items()}
    answers = _site_answers(options)
    kind = chosen(facts, seen, answers)
    stack = of_vendor(seen.vendor) if kind.hardware.gpus else None
    return document.Survey(facts, kind, stack, answers, has_mpi_bench=True), other_names


def _fitted(made: _Made, survey: document.Survey, nodes: _Nodes) -> tuple[_Result, list[str]]:
    """Return the file without what the nodes cannot show or do, and notes about that."""
    cluster, sessions, facts = nodes.cluster, nodes.sessions, survey.facts
    platform = replace(made.of(survey).platform, devices=DeviceNames(cluster.devices))
    counters = describe.counted(cluster, sessions, facts, platform)
    unread = at_end.unread_counters(platform, facts, counters)
    survey = replace(survey, unread_counters=frozenset(unread))
    lines = [*at_end.notes_of(unread), *at_end.unreadable_logs(facts)]
    absent = describe.lacking(cluster, sessions, facts, programs(platform, cluster))
    has_none = _MPI_BENCH in {name.rpartition("/")[2] for name in absent}
    if has_none and not survey.kind.hardware.gpus:
        survey = replace(survey, has_mpi_bench=False)
        lines.append(f"{_MPI_BENCH} is not on every node: no collective between hosts")
    result = made.of(survey)
    return result, [*lines, *_absent(absent, programs(result.platform, cluster))]


class _Progress:
    """Prints each error of a node that gives no facts, once."""

    def __init__(self) -> None:
        self._printed: set[str] = set()

    def __call__(self, answer: NodeAnswer) -> None:
        if isinstance(answer, NoEvidence) and str(answer) not in self._printed:
            self._printed.add(str(answer))
            tell(f"survey: {answer}")


def _answered(found: Mapping[str, NodeAnswer], like: str) -> dict[str, NodeFacts]:
    """Return the facts. Raises ``BadInput`` if a node gave none, unless ``--like`` decides."""
    facts = {node: one for node, one in found.items() if isinstance(one, NodeFacts)}
    silent = [node for node in found if node not in facts]
    if not facts or (silent and not like):
        what = f"no facts of {folded(silent)}; nothing was written"
        raise BadInput(what, remedy="mend them, or say which node counts: --like NODE")
    return facts


# --- the file ---


@dataclass(frozen=True, slots=True)
class _Result:
    """A platform file: its text, its values, and what its user must know, a line each."""

    text: str
    platform: Platform
    notes: tuple[str, ...]

    @property
    def nics(self) -> frozenset[str]:
        """The names of the NICs that the file declares."""
        return frozenset(nic.name for nic in self.platform.nics)


@dataclass(frozen=True, slots=True)
class _Made:
    """Makes the file ``path`` of the platform ``name`` below ``root``."""

    name: str
    path: Path
    root: Path
    sheets: Sheets

    def of(self, survey: document.Survey) -> _Result:
        described = document.described(self.name, survey, self.sheets)
        asked = candidates(survey.kind, survey.stack, survey.facts, survey.answers)
        names, notes = kept(self._loaded({**described.document, "expected": asked}), survey.facts)
        written = {**described.document, "expected": _grouped(names, asked)}
        platform = self._loaded(written)
        return _Result(layout.text_of(written), platform, (*described.notes, *notes))

    def _loaded(self, written: Mapping[str, Any]) -> Platform:
        return thresholds.load_file(
            self.path, layout.text_of(written), folder=self.root / "thresholds"
        )


def _grouped(names: tuple[str, ...], asked: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the expectations: those without a value of their own as few sets of names."""
    plain = [name for name in names if not asked[name]]
    return {
        **{key: {} for key in at_end.in_lines(plain)},
        **{name: asked[name] for name in names if asked[name]},
    }


# --- the programs that a run needs ---


def _absent(absent: Mapping[str, list[str]], needed: tuple[str, ...]) -> Iterator[str]:
    for name, nodes in absent.items():
        if name in needed:
            yield (
                f"NOT FOUND {name} on {folded(nodes)}: a run needs it; put it on the PATH of a "
                "login without a terminal, or name its folder under tools in the hostfile"
            )


# --- the answer ---


@dataclass(frozen=True, slots=True)
class _Answer:
    """What was written, for the nodes of which hostfile, and what its user must know.

    ``devices`` is the section that the hostfile needs; empty if it needs no other than it has.
    """

    path: Path
    cluster: Cluster
    notes: tuple[str, ...]
    devices: names.Names


def _print(answer: _Answer, platform: Platform, options: argparse.Namespace) -> None:
    if options.json:
        result = {"written": str(answer.path), "platform": options.name, "notes": answer.notes}
        text.print_json({**result, "devices": answer.devices})
        return
    for note in answer.notes:
        print(text.printable(note))
    print(f"written: {answer.path}, {platform.title}")
    print("its limits are derived and not yet calibrated (railgauge docs calibration)")
    if answer.devices:
        nodes = folded(answer.devices)
        print(f"next: NICs have other names on {nodes}; put this into {options.hostfile}:")
        print(text.printable("\n".join(_yaml(answer.devices))))
    if answer.cluster.platform != options.name:
        print(f"next: put 'platform: {options.name}' into {options.hostfile}")
    print(f"next: railgauge plan --hostfile {options.hostfile}")


def _yaml(devices: names.Names) -> Iterator[str]:
    yield "devices:"
    for node, own in devices.items():
        yield f"  {node}: {{{', '.join(f'{name}: {there}' for name, there in own.items())}}}"
