"""What completes a sign-off: a run of some of its nodes, under the terms that it was made under.

What ``merging`` would refuse afterwards is refused here, before a node is touched.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from railgauge import __version__
from railgauge.bundle import certified, merging, partners
from railgauge.config.deviations import Deviation
from railgauge.core.errors import BadInput
from railgauge.core.terms import Verdict
from railgauge.planning import part
from railgauge.run import inputs, invocation
from railgauge.run.invocation import Invocation
from railgauge.verdict.decision import RunPlan

_ANEW = "restore it as it was, or sign the whole cluster off again"
# Options that a resumed run would have too; the faults of a lab are those of its earlier state.
_TERMS = ("platform", "level", "rounds", "lab_nodes", "lab_seed", "no_gates", "prepare")


@dataclass(frozen=True, slots=True)
class Requalification:
    """A sign-off and its verdict, and the options of pytest that measure ``nodes`` again for it."""

    run_id: str
    was: Verdict
    nodes: tuple[str, ...]
    options: tuple[str, ...]
    deviations: tuple[Deviation, ...]


def of_run(signed: Path, nodes: str, site: Path, hostfile: Path | None) -> Requalification:
    """Return what qualifies ``nodes`` again for the run ``signed``. Raises ``BadInput``.

    ``hostfile`` is that of the run, if the site does not have it.
    """
    where = str(signed)
    with merging.opened([signed]) as (whole,):
        parts = merging.sound_parts([whole])
        plan = whole.plan()
        _refuse_part(plan, where)
        asked = parts[0].invocation()
        if asked is None:
            raise BadInput("does not say how it was started", where=where)
        path = str(hostfile or asked.hostfile_of(site, where))
        _refuse_other_input(asked, Path(path), site)
        only = part.named(nodes, replace(whole.cluster(), source=where), "NODES")
        run = certified.read(signed)
        partners.shown_good(run, whole.cluster(), whole.platform(), only, where)
        options = (f"--hostfile={path}", *_terms(asked))
        options = (*options, f"--only={','.join(only)}", f"--partners-from={signed}")
        return Requalification(plan.run_id, run.verdict.verdict, only, options, whole.deviations())


def _refuse_part(plan: RunPlan, where: str) -> None:
    if plan.part:
        remedy = "name the run of the whole cluster"
        raise BadInput(f"is {plan.part.what}, and no sign-off", where=where, remedy=remedy)
    if plan.software != __version__:
        what = f"was made by railgauge {plan.software}, and this is {__version__}"
        remedy = "use the version of the run, or sign the whole cluster off again"
        raise BadInput(what, where=where, remedy=remedy)


def _refuse_other_input(asked: Invocation, hostfile: Path, site: Path) -> None:
    cluster, platform = inputs.site(hostfile, site, asked.platform)
    for file, was, now in (
        (cluster.source, asked.hostfile_sha256, invocation.hostfile_sha256(cluster)),
        (platform.path, asked.thresholds_sha256, invocation.sha256(platform.text)),
    ):
        if was != now:
            raise BadInput("is not as it was in the run", where=str(file), remedy=_ANEW)


def _terms(asked: Invocation) -> Iterator[str]:
    for name in _TERMS:
        value = getattr(asked, name)
        if value is True:
            yield invocation.OPTIONS[name]
        elif value is not None and value is not False:
            yield f"{invocation.OPTIONS[name]}={value}"
