"""``--resume RUN``: finds the earlier run, and completes the options from its invocation."""

from __future__ import annotations

from pathlib import Path

from railgauge.acceptance.request import Request, is_given
from railgauge.core.errors import BadInput
from railgauge.run import invocation, resume
from railgauge.run.invocation import Invocation
from railgauge.run.resume import Earlier
from railgauge.run.settings import RunSettings

_DEST = {"lab_faults": "lab_fault", "marks": "markexpr"}
_WORKER_INPUT = "railgauge_resume"


def earlier(request: Request) -> Earlier | None:
    """The run that ``--resume`` names; ``None`` without the option. Raises ``BadInput``."""
    named = request.options.resume
    if not named:
        return None
    if request.worker is not None:  # the controller found it; latest is this run by now
        found = Earlier(Path(request.worker[_WORKER_INPUT]))
        _complete(request, found)
        return found
    if request.options.replay:
        raise BadInput("--resume cannot be combined with a replay", where="--replay")
    found = Earlier(resume.find(named, request.root / "reports", request.began_in))
    found.refuse_unfinished()
    found.refuse_changed()
    _complete(request, found)
    return found


def tell_worker(resumed: Path | None, workerinput: dict[str, str]) -> None:
    if resumed is not None:
        workerinput[_WORKER_INPUT] = str(resumed)


def _complete(request: Request, found: Earlier) -> None:
    """Take omitted options from the run. Raises ``BadInput`` for a given one that differs."""
    for name, option in invocation.OPTIONS.items():
        dest, was = _DEST.get(name, name), getattr(found.invocation, name)
        given = getattr(request.options, dest)
        if not is_given(given):
            setattr(request.options, dest, list(was) if isinstance(was, tuple) else was)
        elif (tuple(given) if isinstance(given, list) else given) != was:
            raise BadInput(
                f"{option} is {_shown(given)} here and was {_shown(was)} in the run",
                where=f"--resume {found.name}",
                remedy="omit it, or start a new run",
            )
    # --confirm may be added: it measures more and changes nothing that the run has measured.
    request.options.confirm = request.options.confirm or found.invocation.confirm
    if not request.options.hostfile:
        where = f"--resume {found.name}"
        request.options.hostfile = found.invocation.hostfile_of(request.root, where)


def _shown(value: object) -> str:
    if not is_given(value):
        return "not given"
    return " ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def started(request: Request, settings: RunSettings, before: Earlier | None) -> Invocation:
    """The invocation of this run."""
    cluster = settings.declared
    given = {name: getattr(request.options, _DEST.get(name, name)) for name in invocation.OPTIONS}
    return Invocation(
        **{
            **given,
            "schema_version": invocation.SCHEMA_VERSION,
            "hostfile": cluster.source,
            "hostfile_sha256": invocation.hostfile_sha256(cluster),
            "thresholds_sha256": invocation.sha256(settings.platform.text),
            "level": settings.level.name,
            "directions": settings.level.directions,
            "sampled": bool(settings.level.sample),
            "lab_seed": request.lab_seed if cluster.transport == "lab" else None,
            "lab_faults": tuple(given["lab_faults"]),
            "soak_seed": settings.soak.seed if settings.soak else None,
            "resumes": before.name if before else "",
            "confirm": request.options.confirm,
        }
    )
