"""``--replay BUNDLE``: judges recorded transcripts and facts; no node is contacted.

The bundle is verified first, as ``railgauge verify --unsigned`` does. A bundle that does not verify
is refused, or with ``--replay-unverified`` judged as evidence that is not verified.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from railgauge.acceptance.request import Request, is_given
from railgauge.bundle import archive
from railgauge.bundle.archive import Archive
from railgauge.core.errors import BadInput, NotVerified
from railgauge.core.model import Cluster
from railgauge.core.run_files import CLUSTER
from railgauge.run.progress import screen
from railgauge.run.run_folder import RunFolder
from railgauge.verdict.decision import RunPlan

_WORKER_INPUT, _WORKER_DOUBT = "railgauge_replay", "railgauge_replay_unverified"
_ANYWAY = "--replay-unverified"
# Options that need a measuring run. If a replay ignored one, its verdict would look like one with
# it.
_AGAINST = (
    *("--hostfile", "--prepare", "--lab-nodes", "--lab-seed", "--lab-fault"),
    *("--soak", "--soak-below", "--soak-seed"),
    *("--shard", "--only", "--partners", "--partners-from"),
)


@dataclass(frozen=True)
class Recording:
    """A bundle, unpacked into a temporary folder that the controller shares with its workers.

    ``unverified`` is why it does not verify; empty if it does.
    """

    run: RunFolder
    temporary: TemporaryDirectory[str] | None
    unverified: str = ""

    @property
    def plan(self) -> RunPlan:
        return self.run.plan()

    @property
    def cluster(self) -> Cluster:
        """The cluster of the bundle, with the bundle's copy of the hostfile as its source."""
        copies = self.run.hostfiles() or (CLUSTER,)
        return replace(self.run.cluster(), source=str(self.run.folder / copies[0]))

    def close(self) -> None:
        if self.temporary is not None:
            self.temporary.cleanup()


def recording(request: Request) -> Recording | None:
    """The bundle that ``--replay`` names; ``None`` without the option. Raises ``BadInput``."""
    named, anyway = request.options.replay, request.options.replay_unverified
    if not named:
        if anyway:
            raise BadInput("needs --replay", where=_ANYWAY)
        return None
    if request.worker is not None:
        folder, doubt = Path(request.worker[_WORKER_INPUT]), request.worker[_WORKER_DOUBT]
        return Recording(RunFolder(folder), None, doubt)
    for option in _AGAINST:
        if is_given(request.value(option)):
            raise BadInput(f"{option} cannot be combined with a replay", where="--replay")
    with request.showing(), screen.shown("railgauge: verifying the bundle"):
        return _unpacked(Path(request.began_in, named), anyway=anyway)


def _refuse_merged(path: Path, run: RunPlan) -> None:
    if run.parts:
        raise BadInput(
            f"is merged of {len(run.parts)} runs, which a replay cannot judge as one",
            where=str(path),
            remedy="railgauge verify --thresholds judges it by other limits",
        )


def tell_worker(replayed: Path | None, unverified: str, workerinput: dict[str, str]) -> None:
    if replayed is not None:
        workerinput[_WORKER_INPUT] = str(replayed)
        workerinput[_WORKER_DOUBT] = unverified


def _unpacked(path: Path, *, anyway: bool) -> Recording:
    from railgauge.bundle import unpack  # noqa: PLC0415 - keys and envelopes are slow to import

    temporary = TemporaryDirectory(prefix="railgauge-replay-")
    run = RunFolder(Path(temporary.name))
    try:
        with archive.opened(path) as held:
            unpack.unpack(held, run.folder)
            _refuse_merged(path, run.plan())
            doubt = _doubt(held)
        if doubt and not anyway:
            what = f"does not verify: {doubt}"
            raise BadInput(what, where=str(path), remedy=f"{_ANYWAY} judges it all the same")
        return Recording(run, temporary, doubt)
    except BaseException:
        temporary.cleanup()
        raise


def _doubt(held: Archive) -> str:
    """Why the bundle does not verify; empty if it does, whoever has signed it."""
    from railgauge.bundle import check  # noqa: PLC0415 - keys and envelopes are slow to import

    try:
        check.verify(held)
    except NotVerified as error:
        return str(error)
    return ""
