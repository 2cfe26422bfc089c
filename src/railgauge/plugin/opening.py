"""Builds the settings and the services of a run from pytest's configuration."""

from __future__ import annotations

import secrets
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

import pytest

from railgauge import labs
from railgauge.bundle.folder import FolderContents
from railgauge.config import deviations, thresholds
from railgauge.config.deviations import Deviation
from railgauge.config.thresholds import Platform
from railgauge.core import private_files
from railgauge.core.errors import BadInput
from railgauge.core.masking import MASK_OF_PROCESS
from railgauge.core.model import Cluster
from railgauge.planning import demand, part, resource_estimate, sample
from railgauge.planning.demand import DemandInputs
from railgauge.planning.marks import marked_tests
from railgauge.planning.needs import candidates, not_limited
from railgauge.planning.plan import Level
from railgauge.planning.soak import SoakPlan, planned
from railgauge.plugin import listing, options, parted, replay, resuming, run_id
from railgauge.plugin.ending import Ending
from railgauge.plugin.replay import Recording
from railgauge.run import holding, inputs, services, storage, takeover
from railgauge.run.resume import Earlier, Invocation
from railgauge.run.services import RunServices
from railgauge.run.settings import MAIN, RunSettings
from railgauge.run.store import Store
from railgauge.verdict.decision import RunPlan, not_applicable
from railgauge.verdict.deviations import refuse_unusable

SETTINGS = pytest.StashKey[RunSettings]()
# Missing if tests are only collected.
SERVICES = pytest.StashKey[RunServices]()
ENDING = pytest.StashKey[Ending]()
# Tests that the platform file does not cover, a line each.
COMPLAINTS = pytest.StashKey[list[str]]()
# Open as long as this process lives, so that --resume sees that the run is in progress.
_ALIVE = pytest.StashKey[BinaryIO]()
_WORKER_INPUT = "railgauge_folder"


def open_run(config: pytest.Config) -> None:
    """Store settings and services in the stash. Raises ``BadInput`` before a node is touched."""
    earlier = resuming.earlier(config)
    recording = replay.recording(config)
    if recording:
        config.add_cleanup(recording.close)
    settings = _settings(config, earlier, recording)
    started = resuming.invocation(config, settings, earlier)
    if earlier is not None:
        takeover.refuse_other_input(earlier, started, settings.platform.path)
    if not listing.asked(config):
        folder = _folder(config, settings, started)
        run_id.tell(config, folder)
        recorded = recording.contents if recording else None
        config.stash[SERVICES] = services.built(settings, folder, earlier, recorded)
    config.stash[SETTINGS] = settings
    config.stash[ENDING] = Ending()
    config.stash[COMPLAINTS] = []


def tell_worker(settings: RunSettings, folder: Path, workerinput: dict[str, str]) -> None:
    """Pass a worker the paths that it cannot derive from the options."""
    workerinput[_WORKER_INPUT] = str(folder)
    resuming.tell_worker(settings.resumed, workerinput)
    parted.tell_worker(settings.measures, workerinput)
    replay.tell_worker(settings.replayed, settings.unverified, workerinput)


def _settings(
    config: pytest.Config, earlier: Earlier | None, recording: Recording | None
) -> RunSettings:
    cluster, platform = _replayed(config, recording) if recording else _site(config)
    before = recording.plan if recording else earlier.invocation if earlier else None
    whole, said = _level(config, cluster, platform, before), config.option
    measures = recording.plan.part if recording else parted.asked(config, cluster, platform, whole)
    level = part.of_level(measures, whole) if measures else whole
    scope = DemandInputs(platform, cluster, level)
    _refuse_endless(scope)
    tests = candidates(marked_tests(config.rootpath))
    return RunSettings(
        cluster,
        platform,
        level,
        rounds=said.rounds or (recording.plan.rounds if recording else None),
        tests=tests,
        not_applicable=not_applicable(platform, level, tests),
        not_limited=not_limited(platform, level, tests),
        part=getattr(config, "workerinput", {}).get("workerid", MAIN),
        replayed=recording.folder if recording else None,
        unverified=recording.unverified if recording else "",
        resumed=earlier.folder if earlier else None,
        no_gates=said.no_gates,
        prepare=said.prepare,
        confirm=said.confirm,
        wait_s=said.wait,
        disk_limit_bytes=said.disk_limit,
        deviations=_deviations(config, cluster, earlier, recording),
        soak=recording.plan.soak if recording else _soak(config),
        measures=measures,
        at_once=options.at_once(config, cluster, level),
        holds_items=options.holds_items(config, scope),
        operator=MASK_OF_PROCESS.text(
            said.operator or (recording.plan.operator if recording else options.login_name())
        ),
    )


def _refuse_endless(scope: DemandInputs) -> None:
    if why := resource_estimate.why_not(demand.count(scope)):
        raise BadInput(f"level {scope.level.name} {why}", remedy=resource_estimate.REMEDY)


def _soak(config: pytest.Config) -> SoakPlan | None:
    """The soak that was asked for, with a seed of its own. Raises ``BadInput``."""
    said = config.option
    if not said.soak:
        if said.soak_below or said.soak_seed is not None:
            raise BadInput("needs --soak", where="--soak-below and --soak-seed")
        return None
    seed = secrets.randbelow(2**31) if said.soak_seed is None else said.soak_seed
    return planned(said.soak, seed, said.soak_below or "", no_gates=said.no_gates)


def _deviations(
    config: pytest.Config, cluster: Cluster, earlier: Earlier | None, recording: Recording | None
) -> tuple[Deviation, ...]:
    """The accepted deviations: of ``--deviations``, else of the run that is replayed or resumed.

    Raises ``BadInput`` for one that the cluster cannot have. Workers need none.
    """
    named = config.getoption("--deviations")
    if hasattr(config, "workerinput"):
        return ()
    if named:
        found = deviations.load(Path(config.invocation_params.dir, named))
        refuse_unusable(found, cluster)
        return found
    if recording:
        return FolderContents(recording.folder).deviations()
    return earlier.deviations() if earlier else ()


def _site(config: pytest.Config) -> tuple[Cluster, Platform]:
    named = config.getoption("--platform")
    cluster, platform = inputs.site(options.hostfile(config), config.rootpath, named)
    return _with_lab_nodes(config, cluster), platform


def _replayed(config: pytest.Config, recording: Recording) -> tuple[Cluster, Platform]:
    """The cluster of the bundle, and its platform or the one that ``--platform`` names."""
    cluster = recording.cluster
    if named := config.getoption("--platform"):
        platform = inputs.platform(named, config.rootpath)
    else:
        path = recording.folder / "thresholds.json"
        platform = thresholds.load_file(path, path.read_text(encoding="utf-8"))
        inputs.check(platform, config.rootpath)
    return cluster, thresholds.on_site(platform, cluster, cluster.source)


def _level(
    config: pytest.Config,
    cluster: Cluster,
    platform: Platform,
    before: RunPlan | Invocation | None,
) -> Level:
    """The level by the options; omitted ones are those of the run that is replayed or resumed.

    The directions of its pairs, and whether smoke samples, are always those of that run.
    """
    name, rounds = config.getoption("--level"), config.getoption("--rounds")
    if before is None:
        sampled = not config.getoption("--only")  # a sample would leave out what is asked for
        return sample.level(platform, cluster, name or options.LEVEL, rounds, sampled=sampled)
    name, rounds = name or before.level, rounds or before.rounds
    return sample.level(platform, cluster, name, rounds, before.directions, sampled=before.sampled)


def _with_lab_nodes(config: pytest.Config, cluster: Cluster) -> Cluster:
    """Apply ``--lab-nodes`` and check ``--lab-fault``, before the lab is started.

    Raises ``BadInput`` if a lab option is given for another cluster.
    """
    count = config.getoption("--lab-nodes")
    if cluster.transport != "lab":
        if count or config.getoption("--lab-fault"):
            raise BadInput(
                f"--lab-nodes and --lab-fault need transport lab, not {cluster.transport}",
                where=cluster.source,
                remedy="omit them, or name a hostfile with transport: lab",
            )
        return cluster
    return labs.declared(cluster, count, config.getoption("--lab-fault"))


def _folder(config: pytest.Config, settings: RunSettings, started: Invocation) -> Path:
    reports = config.rootpath / "reports"
    with suppress(FileExistsError):  # a file of that name is refused where the folder is begun
        reports.mkdir(parents=True, exist_ok=True)
    if not config.getoption("--share"):
        config.add_cleanup(private_files.begin())
    if hasattr(config, "workerinput"):
        return Path(config.workerinput[_WORKER_INPUT])
    stem = f"{datetime.now().astimezone():%Y%m%d-%H%M%S}-{settings.declared.name}"
    with storage.begun(reports, stem) as folder:
        if not settings.replayed:  # a replay is fast, so it is repeated and never resumed
            config.stash[_ALIVE] = takeover.begin(Store(folder), started)
        holding.write_tag(folder)
    return folder
