"""Makes the settings and the services of a run from its request, before a node is touched."""

from __future__ import annotations

import secrets
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from railgauge import labs
from railgauge.acceptance import parted, replay, resuming, run_id
from railgauge.acceptance.replay import Recording
from railgauge.acceptance.request import LEVEL, Request, login_name
from railgauge.config import deviations, thresholds
from railgauge.config.deviations import Deviation
from railgauge.config.thresholds import Platform
from railgauge.core import private_files
from railgauge.core.errors import BadInput
from railgauge.core.masking import MASK_OF_PROCESS
from railgauge.core.model import Cluster
from railgauge.core.run_files import PLATFORM
from railgauge.planning import part, required, resource_estimate, sample
from railgauge.planning.marks import marked_tests
from railgauge.planning.needs import candidates, not_limited
from railgauge.planning.plan import Level
from railgauge.planning.required import LevelScope
from railgauge.planning.soak import SoakPlan, planned
from railgauge.run import holding, inputs, invocation, services, storage, takeover
from railgauge.run.invocation import Invocation
from railgauge.run.resume import Earlier
from railgauge.run.services import RunServices
from railgauge.run.settings import MAIN, RunSettings
from railgauge.run.store import Store
from railgauge.verdict.decision import RunPlan, not_applicable
from railgauge.verdict.deviations import refuse_unusable

_WORKER_INPUT = "railgauge_folder"


@dataclass(frozen=True, slots=True)
class OpenedRun:
    """A run that can begin; without ``services`` its items can only be listed."""

    settings: RunSettings
    services: RunServices | None


def opened(request: Request, *, only_listed: bool) -> OpenedRun:
    """Open the requested run. Raises ``BadInput``."""
    earlier = resuming.earlier(request)
    recording = replay.recording(request)
    if recording:
        request.closing.callback(recording.close)
    settings = _settings(request, earlier, recording)
    started = resuming.started(request, settings, earlier)
    if earlier is not None:
        takeover.refuse_other_input(earlier, started, settings.platform.path)
    if only_listed:
        return OpenedRun(settings, None)
    folder = _folder(request, settings, started)
    run_id.write(request, folder)
    recorded = recording.run if recording else None
    return OpenedRun(settings, services.built(settings, folder, earlier, recorded))


def tell_worker(settings: RunSettings, folder: Path, workerinput: dict[str, str]) -> None:
    """Pass a worker the paths that it cannot derive from the options."""
    workerinput[_WORKER_INPUT] = str(folder)
    resuming.tell_worker(settings.resumed, workerinput)
    parted.tell_worker(settings.measures, workerinput)
    replay.tell_worker(settings.replayed, settings.unverified, workerinput)


def _settings(
    request: Request, earlier: Earlier | None, recording: Recording | None
) -> RunSettings:
    cluster, platform = _replayed(request, recording) if recording else _site(request)
    before = recording.plan if recording else earlier.invocation if earlier else None
    whole, options = _level(request, cluster, platform, before), request.options
    measures = recording.plan.part if recording else parted.asked(request, cluster, platform, whole)
    level = part.of_level(measures, whole) if measures else whole
    scope = LevelScope(platform, cluster, level)
    _refuse_endless(scope)
    tests = candidates(marked_tests(request.root))
    return RunSettings(
        cluster,
        platform,
        level,
        rounds=options.rounds or (recording.plan.rounds if recording else None),
        tests=tests,
        not_applicable=not_applicable(platform, level, tests),
        not_limited=not_limited(platform, level, tests),
        part=(request.worker or {}).get("workerid", MAIN),
        replayed=recording.run.folder if recording else None,
        unverified=recording.unverified if recording else "",
        resumed=earlier.folder if earlier else None,
        no_gates=options.no_gates,
        prepare=options.prepare,
        confirm=options.confirm,
        wait_s=options.wait,
        disk_limit_bytes=options.disk_limit,
        deviations=_deviations(request, cluster, earlier, recording),
        soak=recording.plan.soak if recording else _soak(request),
        measures=measures,
        at_once=request.at_once(cluster, level),
        has_sub_items=request.has_sub_items(scope),
        has_workers=getattr(options, "dist", "no") != "no",  # pytest-xdist may be missing
        operator=MASK_OF_PROCESS.text(
            options.operator or (recording.plan.operator if recording else login_name())
        ),
    )


def _refuse_endless(scope: LevelScope) -> None:
    if why := resource_estimate.why_not(required.count(scope)):
        raise BadInput(f"level {scope.level.name} {why}", remedy=resource_estimate.REMEDY)


def _soak(request: Request) -> SoakPlan | None:
    """The requested soak, with a seed of its own; ``None`` without one. Raises ``BadInput``."""
    options = request.options
    if not options.soak:
        if options.soak_below or options.soak_seed is not None:
            raise BadInput("needs --soak", where="--soak-below and --soak-seed")
        return None
    seed = secrets.randbelow(2**31) if options.soak_seed is None else options.soak_seed
    return planned(options.soak, seed, options.soak_below or "", no_gates=options.no_gates)


def _deviations(
    request: Request, cluster: Cluster, earlier: Earlier | None, recording: Recording | None
) -> tuple[Deviation, ...]:
    """The accepted deviations: of ``--deviations``, else of the run that is replayed or resumed.

    Raises ``BadInput`` for one that the cluster cannot have. Workers need none.
    """
    named = request.options.deviations
    if request.worker is not None:
        return ()
    if named:
        found = deviations.load(Path(request.began_in, named))
        refuse_unusable(found, cluster)
        return found
    if recording:
        return recording.run.deviations()
    return earlier.deviations() if earlier else ()


def _site(request: Request) -> tuple[Cluster, Platform]:
    named = request.options.platform
    cluster, platform = inputs.site(request.hostfile, request.root, named)
    return _with_lab_nodes(request, cluster), platform


def _replayed(request: Request, recording: Recording) -> tuple[Cluster, Platform]:
    """The cluster of the bundle, and its platform or the one that ``--platform`` names."""
    cluster = recording.cluster
    if named := request.options.platform:
        platform = inputs.platform(named, request.root)
    else:
        path = recording.run.folder / PLATFORM
        platform = thresholds.load_file(path, path.read_text(encoding="utf-8"))
        inputs.check(platform, request.root)
    return cluster, thresholds.on_site(platform, cluster, cluster.source)


def _level(
    request: Request,
    cluster: Cluster,
    platform: Platform,
    before: RunPlan | Invocation | None,
) -> Level:
    """The level by the options; omitted ones are those of the run that is replayed or resumed.

    The directions of its pairs, and whether smoke samples, are always those of that run.
    """
    name, rounds = request.options.level, request.options.rounds
    if before is None:
        sampled = not request.options.only  # a sample could leave these nodes out
        return sample.level(platform, cluster, name or LEVEL, rounds, sampled=sampled)
    name, rounds = name or before.level, rounds or before.rounds
    return sample.level(platform, cluster, name, rounds, before.directions, sampled=before.sampled)


def _with_lab_nodes(request: Request, cluster: Cluster) -> Cluster:
    """Apply ``--lab-nodes`` and check ``--lab-fault``, before the lab is started.

    Raises ``BadInput`` if a lab option is given for another cluster.
    """
    count = request.options.lab_nodes
    if cluster.transport != "lab":
        if count or request.options.lab_fault:
            raise BadInput(
                f"--lab-nodes and --lab-fault need transport lab, not {cluster.transport}",
                where=cluster.source,
                remedy="omit them, or name a hostfile with transport: lab",
            )
        return cluster
    return labs.declared(cluster, count, request.options.lab_fault)


def _folder(request: Request, settings: RunSettings, started: Invocation) -> Path:
    reports = request.root / "reports"
    with suppress(FileExistsError):  # a file of that name is refused by ``storage.begun``
        reports.mkdir(parents=True, exist_ok=True)
    if not request.options.share:
        request.closing.callback(private_files.begin())
    if request.worker is not None:
        return Path(request.worker[_WORKER_INPUT])
    stem = f"{datetime.now().astimezone():%Y%m%d-%H%M%S}-{settings.declared.name}"
    with storage.begun(reports, stem) as folder:
        if not settings.replayed:  # a replay is fast, so it is repeated and never resumed
            request.closing.enter_context(invocation.begin(Store(folder), started))
        holding.write_tag(folder)
    return folder
