"""``--resume RUN``: the options of the earlier run, and what of it the new one takes over."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import pytest

from railgauge.bundle.commands import ELSEWHERE, addresses
from railgauge.config.thresholds import Platform
from railgauge.core.errors import BadInput
from railgauge.core.model import Case, Cluster
from railgauge.core.plain import to_plain
from railgauge.core.question import CaseResult
from railgauge.core.redaction import mask_named
from railgauge.facts.boot import once
from railgauge.leases.files import held_open
from railgauge.plugin import options, reboots
from railgauge.run import resume
from railgauge.run.resume import Earlier, Invocation
from railgauge.run.runner import Earlier as TakeOver
from railgauge.run.store import Store

if TYPE_CHECKING:
    from railgauge.plugin.context import Context

# The field of an invocation, and the option that it comes from. One that is not said is as it was.
_OPTIONS = {
    "platform": "--platform",
    "level": "--level",
    "rounds": "--rounds",
    "lab_nodes": "--lab-nodes",
    "lab_seed": "--lab-seed",
    "lab_faults": "--lab-fault",
    "no_gates": "--no-gates",
    "prepare": "--prepare",
    "keyword": "-k",
    "marks": "-m",
}
_DEST = {"lab_faults": "lab_fault", "marks": "markexpr"}
_WORKER_INPUT = "railgauge_resume"
# Held as long as this process lives: whoever would carry on the run learns that it goes on.
_ALIVE = pytest.StashKey[BinaryIO]()


def earlier(config: pytest.Config) -> Earlier | None:
    """The run that ``--resume`` names, if it does. Raises ``BadInput``."""
    named = config.getoption("--resume")
    if not named:
        return None
    if hasattr(config, "workerinput"):  # where the controller has looked: latest is this run now
        found = Earlier(Path(config.workerinput[_WORKER_INPUT]))
        _complete(config, found)
        return found
    if config.getoption("--replay"):
        raise BadInput("--resume has no place in a replay", where="--replay")
    found = Earlier(resume.find(named, config.rootpath / "reports", config.invocation_params.dir))
    found.refuse_unfinished()
    found.refuse_changed()
    _complete(config, found)
    return found


def tell_worker(context: Context, workerinput: dict[str, Any]) -> None:
    if context.earlier is not None:
        workerinput[_WORKER_INPUT] = str(context.earlier.folder)


def _complete(config: pytest.Config, found: Earlier) -> None:
    """Options that were not said are those of the run; one that was said may not differ."""
    for name, option in _OPTIONS.items():
        dest, was = _DEST.get(name, name), getattr(found.invocation, name)
        said = getattr(config.option, dest)
        if not _is_said(said):
            setattr(config.option, dest, list(was) if isinstance(was, tuple) else was)
        elif (tuple(said) if isinstance(said, list) else said) != was:
            raise BadInput(
                f"{option} is {_shown(said)} here and was {_shown(was)} in the run",
                where=f"--resume {found.name}",
                remedy="leave it out, or start a new run",
            )
    # Whoever carries a run on may want to know more than it would have told.
    config.option.confirm = config.option.confirm or found.invocation.confirm
    if not config.option.hostfile:
        config.option.hostfile = found.invocation.hostfile


def _is_said(value: object) -> bool:
    """Whether an option was given: 0 is a value, what options are without being given is not."""
    return value is not None and value is not False and value not in ("", [], ())


def _shown(value: object) -> str:
    if not _is_said(value):
        return "not given"
    return " ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def invocation(
    config: pytest.Config, cluster: Cluster, platform: Platform, level: str, before: Earlier | None
) -> Invocation:
    """How this run is started."""
    said = {name: getattr(config.option, _DEST.get(name, name)) for name in _OPTIONS}
    return Invocation(
        **{
            **said,
            "schema_version": resume.SCHEMA_VERSION,
            "hostfile": cluster.source,
            "hostfile_sha256": _sha256(_hostfile_text(cluster)),
            "thresholds_sha256": _sha256(platform.text),
            "level": level,
            "lab_seed": options.lab_seed(config) if cluster.transport == "lab" else None,
            "lab_faults": tuple(said["lab_faults"]),
            "resumes": before.name if before else "",
            "confirm": config.option.confirm,
        }
    )


def _hostfile_text(cluster: Cluster) -> str:
    return mask_named(Path(cluster.source).read_text(encoding="utf-8"), cluster.environment)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def refuse_other_input(before: Earlier, now: Invocation, platform: Platform) -> None:
    """Raise ``BadInput`` if the hostfile or the limits are not as they were."""
    for name, path in (("hostfile", now.hostfile), ("thresholds", platform.path)):
        field = f"{name}_sha256"
        if getattr(before.invocation, field) != getattr(now, field):
            raise BadInput(
                f"{path} is not as it was in the run",
                where=f"--resume {before.name}",
                remedy=f"compare it with {before.folder} and put it back, or start a new run",
            )


def begin(config: pytest.Config, store: Store, started: Invocation) -> None:
    """Write down how the run was started, before anything else is done."""
    resume.write(store, started)
    config.stash[_ALIVE] = held_open(store.folder / resume.FILE)


def header(context: Context) -> list[str]:
    return [f"resume: carries on {context.earlier.folder}"] if context.earlier else []


def named(context: Context) -> dict[str, str]:
    """What the manifest says of the run that is carried on."""
    return {"resumes": context.earlier.name} if context.earlier else {}


def check_items(context: Context, planned: Sequence[str]) -> None:
    if context.earlier is not None:
        context.earlier.refuse_other_items(planned)


def log_changes(context: Context, facts: Mapping[str, Any]) -> None:
    """Say and keep what the survey found other than then, and which nodes were rebooted."""
    if context.recording:
        reboots.keep(context, context.recording.contents.reboots())
    if context.earlier is None:
        return
    before = once(context.earlier.reboots(facts))
    reboots.keep(context, before)
    out = context.config.pluginmanager.getplugin("terminalreporter")
    for reboot in before:
        if out is not None and reboot.after == context.earlier.name:
            out.write_line(f"resume: {reboot.node} was rebooted since that run", yellow=True)
    _log_addresses(context, context.earlier)
    for node, changes in context.earlier.facts_changed(facts):
        context.store.append(resume.LOG, {"node": node, "changed": changes})
        if out is not None:
            out.write_line(f"resume: {node} is no longer as it was: {changes}", yellow=True)


def _log_addresses(context: Context, before: Earlier) -> None:
    """Commands of an earlier run name its nodes' addresses; those of a lab are others each time."""
    now = addresses("", context.cluster).nodes
    for run, cluster in before.clusters():
        then = addresses(run, cluster)
        if then.nodes != now:
            context.store.append(ELSEWHERE, to_plain(then))


def taking_over(before: Earlier | None, store: Store, folder: str = "") -> TakeOver:
    """What the runner asks for cases that were measured before; each is written down."""

    def take(case: Case) -> CaseResult | None:
        found = before(case, folder) if before else None
        if before and found:
            key = f"{folder}/{case.key}" if folder else case.key
            taken = {"case": key, "run": before.name, "repeats": len(found.runs)}
            store.append(resume.LOG, {**taken, "of": case.repeats})
        return found

    return take
