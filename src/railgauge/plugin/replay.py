"""``--replay BUNDLE``: judges recorded transcripts and facts; no node is contacted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from railgauge.bundle import archive
from railgauge.bundle.contents import FolderContents
from railgauge.bundle.errors import NotVerified
from railgauge.core.errors import BadInput
from railgauge.core.model import Cluster
from railgauge.verdict.decision import RunPlan

_WORKER_INPUT = "railgauge_replay"
_AGAINST = ("--hostfile", "--prepare", "--lab-nodes", "--lab-fault", "--soak")


@dataclass(frozen=True)
class Recording:
    """A bundle, unpacked into a temporary folder that the controller shares with its workers."""

    folder: Path
    contents: FolderContents
    temporary: TemporaryDirectory[str] | None

    @property
    def plan(self) -> RunPlan:
        return self.contents.plan()

    @property
    def cluster(self) -> Cluster:
        """The cluster of the bundle, with the bundle's copy of the hostfile as its source."""
        copies = sorted(self.folder.glob("hostfile.*")) or [self.folder / "cluster.json"]
        return replace(self.contents.cluster(), source=str(copies[0]))

    def close(self) -> None:
        if self.temporary is not None:
            self.temporary.cleanup()


def recording(config: pytest.Config) -> Recording | None:
    """The bundle that ``--replay`` names; ``None`` without the option. Raises ``BadInput``."""
    named = config.getoption("--replay")
    if not named:
        return None
    if hasattr(config, "workerinput"):
        folder = Path(config.workerinput[_WORKER_INPUT])
        return Recording(folder, FolderContents(folder), None)
    for option in _AGAINST:
        if config.getoption(option):
            raise BadInput(f"{option} cannot be combined with a replay", where="--replay")
    return _unpacked(Path(config.invocation_params.dir, named))


def _refuse_merged(path: Path, run: RunPlan) -> None:
    if run.parts:
        raise BadInput(
            f"is merged of {len(run.parts)} runs, which a replay cannot judge as one",
            where=str(path),
            remedy="railgauge verify --thresholds judges it by other limits",
        )


def tell_worker(replayed: Path | None, workerinput: dict[str, str]) -> None:
    if replayed is not None:
        workerinput[_WORKER_INPUT] = str(replayed)


def _unpacked(path: Path) -> Recording:
    from railgauge.bundle import unpack  # noqa: PLC0415 - keys and envelopes are slow to import

    temporary = TemporaryDirectory(prefix="railgauge-replay-")
    folder = Path(temporary.name)
    try:
        with archive.opened(path) as held:
            unpack.unpack(held, folder)
            _refuse_merged(path, FolderContents(folder).plan())
        return Recording(folder, FolderContents(folder), temporary)
    except NotVerified as error:
        temporary.cleanup()
        raise BadInput(f"does not verify: {error}", where=str(path)) from None
    except BaseException:
        temporary.cleanup()
        raise
