"""The folder of a run as values: everything from which its verdict follows.

Whoever reads a run reads it here: the run itself at its end, one that carries it on, a replay, a
merge and a verifier. ``run.store`` writes it. Nothing in it is trusted: a malformed file raises
``BadBundle``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from railgauge.config import deviations, thresholds
from railgauge.config.deviations import Deviation, DeviationError
from railgauge.config.thresholds import Platform
from railgauge.core.errors import BadBundle, BadInput, NoEvidence
from railgauge.core.model import Case, Cluster
from railgauge.core.naming import title
from railgauge.core.once import once
from railgauge.core.progress import PROGRESS_OF_PROCESS
from railgauge.core.question import CaseResult
from railgauge.core.run_files import (
    CLUSTER,
    EARLIER,
    FACTS,
    HOSTFILE,
    MANIFEST,
    MEASUREMENTS,
    PARTS,
    PLATFORM,
    RUN,
    TRANSCRIPTS,
)
from railgauge.diagnosis import RunResults
from railgauge.diagnosis.model import SoakResults
from railgauge.facts import NodeAnswer, boot
from railgauge.facts.boot import KernelMark, Reboot
from railgauge.judging import confirmation, record
from railgauge.judging.assessor import Assessor
from railgauge.judging.confirmation import FOLDER as AGAIN
from railgauge.judging.confirmation import Confirmed, Remeasurement, confirmed
from railgauge.judging.record import ItemRecord
from railgauge.planning.part import whole_cluster
from railgauge.planning.soak import FOLDER as SOAK
from railgauge.planning.soak import SoakRounds, folder_of
from railgauge.run import invocation, untrusted
from railgauge.run.case_files import case_file, text_file
from railgauge.run.case_notes import printed_twice, starts_of
from railgauge.run.invocation import ELSEWHERE, Addresses, Invocation
from railgauge.run.soak.judged import judged as soak_of
from railgauge.run.soak.rounds import RoundEvidence
from railgauge.run.store import Kept, identity
from railgauge.verdict import decision
from railgauge.verdict.decision import RunPlan
from railgauge.verdict.deviations import refuse_unusable
from railgauge.verdict.merged import PartRun

# The most runs that one run may carry on.
_MOST_RUNS = 100
_Value = TypeVar("_Value")


class RunFolder:
    """The files of one run in its folder, or wherever a subclass finds them."""

    def __init__(self, folder: Path, at: str = RUN) -> None:
        """``at`` is the place of the folder that errors name, with a slash at its end."""
        self.folder = folder
        self._at = at

    # --- files ---

    def __contains__(self, name: str) -> bool:
        return (self.folder / name).is_file()

    def opened(self, name: str) -> BinaryIO:
        """A file to read piece by piece: the records of a large run are gigabytes."""
        if name not in self:
            raise BadBundle("does not exist", where=name)
        return (self.folder / name).open("rb")

    def bytes(self, name: str) -> bytes:
        with self.opened(name) as file:
            return file.read()

    def names(self, start: str = "") -> Iterable[str]:
        """The names of all files of the run that begin with ``start``."""
        place, _, stem = start.rpartition("/")
        for path in (self.folder / place).glob(f"{stem}*"):
            is_folder = path.is_dir() and not path.is_symlink()
            for file in path.rglob("*") if is_folder else (path,):
                if file.is_file():
                    yield file.relative_to(self.folder).as_posix()

    def _below(self, name: str) -> RunFolder:
        """A run that is kept in a folder of this one."""
        return RunFolder(self.folder / name, f"{self._at}{name}")

    def hostfiles(self) -> tuple[str, ...]:
        """The run's copy of its hostfile: ``hostfile.yaml``."""
        return tuple(sorted(name for name in self.names(HOSTFILE) if "/" not in name))

    def transcripts(self, folder: str = "") -> set[str]:
        """The names of all JSON files of transcripts in ``folder``, which is as for ``result``."""
        start = f"{folder}/{TRANSCRIPTS}/".removeprefix("/")
        return {name for name in self.names(start) if name.endswith(".json")}

    # --- their content ---

    def json(self, name: str) -> Any:
        return untrusted.loads(self.bytes(name), f"{self._at}{name}")

    def _versioned(self, name: str, known: int) -> dict[str, Any]:
        return untrusted.versioned(self.json(name), known, f"{self._at}{name}")

    def _lines(self, name: str) -> Iterator[tuple[str, Any]]:
        """The lines of a file of the run without their versions, each with its place."""
        with self.opened(name) as file:
            for place, data in untrusted.lines(file, f"{self._at}{name}"):
                yield place, untrusted.unstamped(data, name, place)

    def _values(self, kind: type[_Value], name: str) -> tuple[_Value, ...]:
        """The values of the lines of a file; none if the run has no such file."""
        lines = self._lines(name) if name in self else ()
        return tuple(untrusted.value(kind, data, place) for place, data in lines)

    def manifest(self) -> dict[str, str] | None:
        """The SHA-256 of each file at the end of the run; ``None`` if it has no manifest."""
        if MANIFEST not in self:
            return None
        data = self.json(MANIFEST)
        held = data.get("sha256") if isinstance(data, dict) else None
        if not isinstance(held, dict):
            raise BadBundle("has no digests", where=f"{self._at}{MANIFEST}")
        return {name: str(digest) for name, digest in held.items()}

    @once  # a verifier asks for the plan, the limits and the records again and again
    def plan(self) -> RunPlan:
        data = self._versioned(decision.FILE, decision.SCHEMA_VERSION)
        return untrusted.plan_in(data, f"{self._at}{decision.FILE}")

    def invocation(self) -> Invocation | None:
        """How the run was started; ``None`` for a run that did not keep it."""
        if invocation.FILE not in self:
            return None
        name = f"{self._at}{invocation.FILE}"
        return untrusted.value(Invocation, self.json(invocation.FILE), name)

    @once
    def cluster(self) -> Cluster:
        name = f"{self._at}{CLUSTER}"
        data = untrusted.unstamped(self.json(CLUSTER), CLUSTER, name)
        return untrusted.cluster_in(data, name)

    @once
    def platform(self) -> Platform:
        path = Path(f"{self._at}{PLATFORM}")
        return self.of_this_cluster(untrusted.platform_in(self.bytes(PLATFORM), path))

    def of_this_cluster(self, platform: Platform) -> Platform:
        """The platform with the versions and the served model that the run's hostfile declares."""
        name = f"{self._at}{CLUSTER}"
        try:
            return thresholds.on_site(platform, self.cluster(), name)
        except BadInput as error:
            raise BadBundle(error.what, where=name) from None

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
            lines = untrusted.lines(file, f"{self._at}{record.FILE}")
            return tuple(untrusted.record_in(data, place) for place, data in lines)

    def measurements(self) -> dict[str, list[dict[str, Any]]]:
        """The lines of ``measurements.jsonl`` by the item that made them."""
        found: dict[str, list[dict[str, Any]]] = {}
        for place, data in self._lines(MEASUREMENTS):
            if not isinstance(data, dict) or not isinstance(data.get("id"), str):
                raise BadBundle("has no item id", where=place)
            found.setdefault(data["id"], []).append(data)
        return found

    @cached_property
    def found(self) -> dict[str, NodeAnswer]:
        """The survey's answer of each node; empty if the run ended before its survey."""
        if FACTS not in self:
            return {}
        return untrusted.nodes_in(self._versioned(FACTS, 1), f"{self._at}{FACTS}")

    def surveyed(self) -> untrusted.SurveyHeader | None:
        """The header of the survey; ``None`` if the run ended before its survey."""
        if FACTS not in self:
            return None
        return untrusted.header_in(self._versioned(FACTS, 1), f"{self._at}{FACTS}")

    def reboots(self) -> tuple[Reboot, ...]:
        """The reboots that the run recorded; usually none."""
        if self.parts:
            return boot.once(one for part in self.parts for one in part.reboots())
        return self._values(Reboot, boot.FILE)

    def marks(self) -> tuple[KernelMark, ...]:
        """Where the kernels' logs stood when the runs began that this one carried on."""
        return self._values(KernelMark, boot.MARKS)

    def elsewhere(self) -> tuple[Addresses, ...]:
        """The nodes' addresses in earlier runs that this one carried on, where they differ."""
        found = self._values(Addresses, ELSEWHERE)
        if len(found) > _MOST_RUNS:  # each one is another plan to compare every transcript with
            raise BadBundle(f"names {len(found)} runs", where=f"{self._at}{ELSEWHERE}")
        return found

    def deviations(self) -> tuple[Deviation, ...]:
        """The accepted deviations that the run was given; usually none."""
        if deviations.FILE not in self:
            return ()
        try:
            found = deviations.from_json(self.json(deviations.FILE))
            # A deviation may be of a node that this part of a level does not use.
            part, used = self.plan().part, self.cluster()
            refuse_unusable(found, whole_cluster(part, used) if part else used)
        except DeviationError as error:
            raise BadBundle(str(error), where=f"{self._at}{deviations.FILE}") from None
        return found

    def asked(self) -> tuple[Remeasurement, ...]:
        """The measurements that the run repeated for ``--confirm``; usually none."""
        lines = self._lines(confirmation.FILE) if confirmation.FILE in self else ()
        return tuple(untrusted.value(Remeasurement, _asked(data), place) for place, data in lines)

    # --- the evidence of a case ---

    def result(self, case: Case, folder: str = "") -> CaseResult:
        """The result of a case. Raises ``NoEvidence`` if there is no transcript of this case.

        ``folder`` is that of confirmations, or of a round of the soak, or empty.
        """
        name = case_file(case, folder)
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
        data = untrusted.unstamped(self.json(name), TRANSCRIPTS, f"{self._at}{name}")
        return untrusted.value(Kept, data, f"{self._at}{name}")

    def _result_of_part(self, case: Case, folder: str, name: str) -> CaseResult:
        """The result in the latest of the merged runs that has it. Raises ``NoEvidence``."""
        for part in reversed(self.parts):
            if name in part:
                return part.result(case, folder)
        raise NoEvidence(f"there is no transcript {name}", where=title(case))

    def kept(self, case: Case, folder: str = "") -> CaseResult | None:
        """The result of a case; ``None`` without evidence. ``folder`` is as for ``result``."""
        try:
            return self.result(case, folder)
        except NoEvidence:
            return None

    def starts(self, case: Case) -> tuple[str, ...]:
        """When the first command of each repeat of a case was started; empty without evidence."""
        kept = self.kept(case)
        return starts_of(kept.runs) if kept else ()

    # --- the runs that it was made of ---

    @cached_property
    def parts(self) -> tuple[RunFolder, ...]:
        """The runs of which this one was merged, oldest first; empty for any other run."""
        parts = self.plan().parts if decision.FILE in self else ()
        return tuple(self._below(f"{PARTS}/{part.run_id}/") for part in parts)

    def as_part(self) -> PartRun:
        """The run as one that was or is to be merged."""
        asked = self.invocation()
        return PartRun(self.plan(), self.records(), bool(asked and asked.no_gates), self.found)

    @cached_property
    def earlier(self) -> dict[str, RunFolder]:
        """What was kept of the runs that this one carries on, by their names, oldest first."""
        names = {name.split("/")[1] for name in self.names(f"{EARLIER}/")}
        if len(names) > _MOST_RUNS:
            raise BadBundle(f"carries on {len(names)} runs", where=f"{self._at}{EARLIER}")
        return {name: self._below(f"{EARLIER}/{name}/") for name in sorted(names)}

    def earlier_results(self, platform: Platform) -> dict[str, RunResults]:
        """What was kept of the runs that it carries on; of a merged run those of all its parts."""
        found = {n: one for p in self.parts for n, one in p.earlier_results(platform).items()}
        own = self.earlier.items()
        return found | {name: one.apart(platform) for name, one in own if CLUSTER in one}

    def apart(self, platform: Platform) -> RunResults:
        """What was kept of the run, as one that another carries on."""
        return RunResults(
            self.records() if record.FILE in self else {},
            self.found,
            platform,
            self.cluster(),
            self.reboots(),
            starts=self.starts,
            kept=self.kept,
            marks=self.marks(),
        )

    # --- the input of a verdict ---

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
            earlier=self.earlier_results(platform),
            repeated=printed_twice(self.names, self.kept_in, platform),
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
        kept = cache(partial(self.kept, folder=folder_of(number)))
        return RoundEvidence(self.found, kept, text_file)

    def rounds(self) -> int:
        """The number of the soak's rounds. Raises ``BadBundle`` if one of them is missing."""
        found = {name.split("/")[1] for name in self.names(f"{SOAK}/")}
        if found != {folder_of(number + 1).split("/")[1] for number in range(len(found))}:
            raise BadBundle("lacks a round of the soak", where=f"{self._at}{SOAK}")
        return len(found)


_OF_THE_CAUSE = {"cause", "node", "device", "peer"}


def _asked(data: object) -> object:
    """The request without the cause that versions before 0.3 wrote to it."""
    if not isinstance(data, dict) or not data.keys() >= _OF_THE_CAUSE:
        return data
    return {name: value for name, value in data.items() if name not in _OF_THE_CAUSE}


def json_left(path: Path) -> Any:
    """The JSON value of a file; ``None`` if a killed run left none, or an incomplete one."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
