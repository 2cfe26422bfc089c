"""The files of a run as values: everything from which its verdict follows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache, cached_property, partial
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from railgauge.bundle import inputs, strict
from railgauge.bundle.archive import Archive
from railgauge.bundle.errors import BadBundle
from railgauge.bundle.parts import earlier_results
from railgauge.bundle.printed import printed_twice
from railgauge.bundle.statement import RUN
from railgauge.config import deviations, thresholds
from railgauge.config.deviations import Deviation, DeviationError
from railgauge.config.thresholds import Platform
from railgauge.core.errors import BadInput, FactMissing, NoEvidence
from railgauge.core.model import Case, Cluster
from railgauge.core.naming import title
from railgauge.core.node_names import MOST_NODES, is_name
from railgauge.core.once import once
from railgauge.core.progress import PROGRESS_OF_PROCESS
from railgauge.core.question import CaseResult
from railgauge.core.versions import TRANSCRIPTS as TRANSCRIPT_VERSION
from railgauge.diagnosis import RunResults
from railgauge.diagnosis.model import SoakResults
from railgauge.facts import NodeAnswer, boot
from railgauge.facts.boot import KernelMark, Reboot
from railgauge.facts.model import as_saved
from railgauge.judging import confirmation, record
from railgauge.judging.assessor import Assessor
from railgauge.judging.confirmation import Confirmed, Remeasurement, confirmed
from railgauge.judging.record import ItemRecord
from railgauge.planning.part import whole_cluster
from railgauge.planning.soak import FOLDER as SOAK
from railgauge.planning.soak import SoakRounds, folder_of
from railgauge.run import resume
from railgauge.run.case_files import case_file, text_file
from railgauge.run.case_notes import starts_of
from railgauge.run.resume import Invocation
from railgauge.run.soak.judged import judged as soak_of
from railgauge.run.soak.rounds import RoundEvidence
from railgauge.run.store import EARLIER, Kept, identity
from railgauge.run.takeover import ELSEWHERE, Addresses
from railgauge.verdict import decision
from railgauge.verdict.decision import RunPlan
from railgauge.verdict.deviations import refuse_unusable

PLATFORM = "thresholds.json"
CLUSTER = "cluster.json"
FACTS = "environment.json"
VERDICT = "verdict.json"
TRANSCRIPTS = "transcripts/"
HOSTFILE = "hostfile."
PARTS = "parts/"
"""The folder of a merged run that holds the evidence of the runs it was merged from, by run id."""

# The most runs that one run may carry on.
_MOST_RUNS = 100


class Contents:
    """The files of one run in an archive. A malformed file raises ``BadBundle``."""

    _at = RUN

    def __init__(self, archive: Archive, at: str = RUN) -> None:
        """``at`` is the folder of the run in the archive: that of the bundle's, or of a part."""
        self._archive = archive
        self._at = at

    def __contains__(self, name: str) -> bool:
        return f"{self._at}{name}" in self._archive

    def bytes(self, name: str) -> bytes:
        return self._archive.read(f"{self._at}{name}")

    def opened(self, name: str) -> BinaryIO:
        return BytesIO(self.bytes(name))

    def hostfiles(self) -> tuple[str, ...]:
        """The run's copy of its hostfile: ``hostfile.yaml``."""
        return tuple(name for name in self.names() if name.startswith(HOSTFILE) and "/" not in name)

    def _json(self, name: str) -> Any:
        return strict.loads(self.bytes(name), f"{self._at}{name}")

    def _lines(self, name: str) -> Iterator[tuple[str, Any]]:
        """The lines of a file of the run without their versions, each with its place."""
        with self.opened(name) as file:
            for place, data in strict.lines(file, f"{self._at}{name}"):
                yield place, strict.unstamped(data, name, place)

    @once  # a verifier asks for the plan, the limits and the records again and again
    def plan(self) -> RunPlan:
        name = f"{self._at}{decision.FILE}"
        data = strict.versioned(self._json(decision.FILE), decision.SCHEMA_VERSION, name)
        return inputs.plan_in(data, name)

    @cached_property
    def parts(self) -> tuple[Contents, ...]:
        """The runs of which this one was merged, oldest first; empty for any other run."""
        parts = self.plan().parts if decision.FILE in self else ()
        return tuple(self._part(f"{PARTS}{part.run_id}/") for part in parts)

    @cached_property
    def earlier(self) -> dict[str, Contents]:
        """What was kept of the runs that this one carries on, by their names, oldest first."""
        names = self.earlier_names()
        if len(names) > _MOST_RUNS:
            raise BadBundle(f"carries on {len(names)} runs", where=f"{self._at}{EARLIER}")
        return {name: self._part(f"{EARLIER}/{name}/") for name in sorted(names)}

    def earlier_names(self) -> set[str]:
        below = (name.split("/") for name in self.names() if name.startswith(f"{EARLIER}/"))
        return {words[1] for words in below}

    def _part(self, below: str) -> Contents:
        return Contents(self._archive, f"{self._at}{below}")

    def cluster(self) -> Cluster:
        name = f"{self._at}{CLUSTER}"
        cluster = strict.value(Cluster, strict.unstamped(self._json(CLUSTER), CLUSTER, name), name)
        if not 0 < len(cluster.nodes) <= MOST_NODES:
            raise BadBundle(f"has {len(cluster.nodes)} nodes", where=name)
        nodes = [node.name for node in cluster.nodes]
        others = (cluster.name, *cluster.groups)
        wrong = [word for word in others if not inputs.NAME.fullmatch(word)]
        if wrong := wrong or [node for node in nodes if not is_name(node)]:
            raise BadBundle(f"has the name {wrong[0][:60]!r}", where=name)
        members = {node for group in cluster.groups.values() for node in group}
        if len(set(nodes)) < len(nodes) or not members <= set(nodes):
            raise BadBundle("names a node twice, or one that it does not have", where=name)
        return cluster

    @once
    def platform(self) -> Platform:
        platform = inputs.platform_in(self.bytes(PLATFORM), Path(f"{self._at}{PLATFORM}"))
        return self.of_this_cluster(platform)

    def of_this_cluster(self, platform: Platform) -> Platform:
        """The platform with the versions and the served model that the run's hostfile declares."""
        name = f"{self._at}{CLUSTER}"
        try:
            return thresholds.on_site(platform, self.cluster(), name)
        except BadInput as error:
            raise BadBundle(error.what, where=name) from None

    def invocation(self) -> Invocation | None:
        """How the run was started; ``None`` for a run that did not keep it."""
        if resume.FILE not in self:
            return None
        name = f"{self._at}{resume.FILE}"
        return strict.value(Invocation, self._json(resume.FILE), name)

    def records(self) -> dict[str, ItemRecord]:
        """The record of each item; the records of an item that ran twice are merged."""
        records: dict[str, ItemRecord] = {}
        for item in self.ended():
            records[item.id] = record.merged(records.get(item.id), item)
        return records

    @once
    def ended(self) -> tuple[ItemRecord, ...]:
        """All records in the order in which items ended; an item that ran twice has two."""
        with self.opened(record.FILE) as file:
            lines = strict.lines(file, f"{self._at}{record.FILE}")
            return tuple(inputs.record_in(data, place) for place, data in lines)

    @cached_property
    def found(self) -> dict[str, NodeAnswer]:
        """The survey's answer of each node; empty if the run ended before its survey."""
        if FACTS not in self:
            return {}
        name = f"{self._at}{FACTS}"
        nodes = strict.versioned(self._json(FACTS), 1, name).get("nodes")
        if not isinstance(nodes, dict):
            raise BadBundle("has no nodes", where=name)
        return {node: self._node(data, f"{name}: {node[:80]}") for node, data in nodes.items()}

    def _node(self, data: object, name: str) -> NodeAnswer:
        found = strict.value(inputs.SurveyedNode, data, name)
        if found.facts is None:
            return found.error or FactMissing("no facts and no error", where=name)
        # A missing fact would get its default, which would look like a fact that was read.
        try:
            return as_saved(found.facts, data["facts"])  # type: ignore[index]
        except BadInput:
            raise BadBundle("lacks facts that every node has", where=name) from None

    def reboots(self) -> tuple[Reboot, ...]:
        """The reboots that the run recorded; usually none."""
        if self.parts:
            return boot.once(one for part in self.parts for one in part.reboots())
        if boot.FILE not in self:
            return ()
        read = self._lines(boot.FILE)
        return tuple(strict.value(Reboot, data, place) for place, data in read)

    def marks(self) -> tuple[KernelMark, ...]:
        """Where the kernels' logs stood when the runs began that this one carried on."""
        if boot.MARKS not in self:
            return ()
        read = self._lines(boot.MARKS)
        return tuple(strict.value(KernelMark, data, place) for place, data in read)

    def elsewhere(self) -> tuple[Addresses, ...]:
        """The nodes' addresses in earlier runs that this one carried on, where they differ."""
        if ELSEWHERE not in self:
            return ()
        read = list(self._lines(ELSEWHERE))
        if len(read) > _MOST_RUNS:  # each one is another plan to compare every transcript with
            raise BadBundle(f"names {len(read)} runs", where=f"{self._at}{ELSEWHERE}")
        return tuple(strict.value(Addresses, data, place) for place, data in read)

    def surveyed(self) -> inputs.SurveyHeader | None:
        """The header of the survey; ``None`` if the run ended before its survey."""
        if FACTS not in self:
            return None
        name = f"{self._at}{FACTS}"
        data = dict(strict.versioned(self._json(FACTS), 1, name))
        return strict.value(
            inputs.SurveyHeader, {k: v for k, v in data.items() if k in inputs.SURVEYED}, name
        )

    def deviations(self) -> tuple[Deviation, ...]:
        """The accepted deviations that the run was given; usually none."""
        if deviations.FILE not in self:
            return ()
        name = f"{self._at}{deviations.FILE}"
        try:
            found = deviations.from_json(self._json(deviations.FILE))
            # A deviation may be of a node that this part of a level does not use.
            part, used = self.plan().part, self.cluster()
            refuse_unusable(found, whole_cluster(part, used) if part else used)
        except DeviationError as error:
            raise BadBundle(str(error), where=name) from None
        return found

    def measurements(self) -> dict[str, list[dict[str, Any]]]:
        """The lines of ``measurements.jsonl`` by the item that made them."""
        found: dict[str, list[dict[str, Any]]] = {}
        for place, data in self._lines(record.MEASUREMENTS):
            if not isinstance(data, dict) or not isinstance(data.get("id"), str):
                raise BadBundle("has no item id", where=place)
            found.setdefault(data["id"], []).append(data)
        return found

    def asked(self) -> tuple[Remeasurement, ...]:
        """The measurements that the run repeated for ``--confirm``; usually none."""
        if confirmation.FILE not in self:
            return ()
        read = self._lines(confirmation.FILE)
        return tuple(strict.value(Remeasurement, _asked(data), place) for place, data in read)

    def confirmed(self, platform: Platform) -> tuple[Confirmed, ...]:
        """The results of the repeated measurements under the limits of ``platform``."""
        if self.parts:
            return tuple(one for part in self.parts for one in part.confirmed(platform))
        assessor = Assessor(platform, self.found, partial(self.result, folder=AGAIN))
        return tuple(confirmed(one, assessor) for one in self.asked())

    def results(self, records: Mapping[str, ItemRecord], platform: Platform) -> RunResults:
        """The input of a verdict, with these records and limits."""
        found = RunResults(
            records,
            self.found,
            platform,
            self.cluster(),
            self.reboots(),
            self.confirmed(platform),
            self.starts,
            self.kept,
            self.marks(),
            self.deviations(),
            earlier=earlier_results(self, platform),
            repeated=printed_twice(self, platform),
        )
        if self.parts:
            parts = {one.plan().run_id: one.results(one.records(), platform) for one in self.parts}
            return replace(found, parts=parts)
        return replace(found, soak=self.soaked(found))

    def soaked(self, base: RunResults) -> SoakResults | None:
        """The soak as its evidence gives it; ``None`` for a run that began no round of one."""
        run, count = self.plan(), self.rounds()
        if run.soak is None or not count:
            return None
        level = run.level_of(base.platform, base.cluster)
        rounds = SoakRounds(run.soak, base.platform, base.cluster, level, run.rounds)
        with PROGRESS_OF_PROCESS.during("rounds of the soak"):
            return soak_of(rounds, count, base, self.of_round)

    def of_round(self, number: int) -> RoundEvidence:
        """The evidence of a round of the soak; the cases of one round are kept in memory."""
        folder = f"{folder_of(number)}/"
        return RoundEvidence(self.found, cache(lambda case: self.kept(case, folder)), text_file)

    def rounds(self) -> int:
        """The number of the soak's rounds. Raises ``BadBundle`` if one of them is missing."""
        found = {name.split("/")[1] for name in self.names() if name.startswith(f"{SOAK}/")}
        if found != {folder_of(number + 1).split("/")[1] for number in range(len(found))}:
            raise BadBundle("lacks a round of the soak", where=f"{self._at}{SOAK}")
        return len(found)

    def names(self) -> Iterable[str]:
        """The names of all files of the run."""
        return (
            name.removeprefix(self._at)
            for name in self._archive.members
            if name.startswith(self._at)
        )

    def result(self, case: Case, folder: str = "") -> CaseResult:
        """The result of a case. Raises ``NoEvidence`` if there is no transcript of this case.

        ``folder`` is that of confirmations, or of a round of the soak, with a slash at its end, or
        empty.
        """
        name = f"{folder}{case_file(case)}"
        if name not in self:
            return self._result_of_part(case, folder, name)
        kept = self.kept_in(name)
        if kept.case != identity(case):
            raise NoEvidence(f"{name} is of another measurement", where=title(case))
        error = kept.error
        if error is not None and not isinstance(error, NoEvidence):
            error = NoEvidence(str(error))
        return CaseResult(kept.runs, error)

    def kept_in(self, name: str) -> Kept:
        """The content of a file of transcripts."""
        data = strict.unstamped(self._json(name), TRANSCRIPT_VERSION, f"{self._at}{name}")
        return strict.value(Kept, data, f"{self._at}{name}")

    def _result_of_part(self, case: Case, folder: str, name: str) -> CaseResult:
        """The result in the latest of the merged runs that has it. Raises ``NoEvidence``."""
        for part in reversed(self.parts):
            if name in part:
                return part.result(case, folder)
        raise NoEvidence(f"there is no transcript {name}", where=title(case))

    def starts(self, case: Case) -> tuple[str, ...]:
        """When the first command of each repeat of a case was started; empty without evidence."""
        try:
            return starts_of(self.result(case).runs)
        except NoEvidence:
            return ()

    def kept(self, case: Case, folder: str = "") -> CaseResult | None:
        """The result of a case; ``None`` without evidence. ``folder`` is as for ``result``."""
        try:
            return self.result(case, folder)
        except NoEvidence:
            return None

    def transcripts(self, folder: str = "") -> set[str]:
        """The names of all JSON files of transcripts in ``folder``."""
        below = f"{folder}{TRANSCRIPTS}"
        return {n for n in self.names() if n.startswith(below) and n.endswith(".json")}


AGAIN = f"{confirmation.FOLDER}/"


_OF_THE_CAUSE = {"cause", "node", "device", "peer"}


def _asked(data: object) -> object:
    """The request without the cause that versions before 0.3 wrote to it."""
    if not isinstance(data, dict) or not data.keys() >= _OF_THE_CAUSE:
        return data
    return {name: value for name, value in data.items() if name not in _OF_THE_CAUSE}
