"""Opens a finished run to read it: its folder, or a bundle whose signature and digests hold."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from railgauge.bundle import archive, check, statement
from railgauge.bundle.archive import BundledRun
from railgauge.core.errors import BadInput
from railgauge.core.run_files import MANIFEST
from railgauge.run.newer import refuse_newer
from railgauge.run.run_folder import RunFolder
from railgauge.run.unchanged import refuse_changed
from railgauge.run.untrusted import naming


@contextmanager
def opened(path: Path, unended: str = "") -> Iterator[RunFolder]:
    """Open the folder of a run, or a bundle. Raises ``BadInput`` for anything else.

    With ``unended``, which is the remedy for a run that did not end, a folder must be as its run
    left it. The transcripts of a bundle are not judged again here; ``check.verify`` does that.
    """
    with ExitStack() as stack:
        with naming(path):
            run = _in_folder(path, unended) if path.is_dir() else _in_bundle(path, stack)
        yield run


def _in_folder(path: Path, unended: str) -> RunFolder:
    refuse_newer(path)
    run = RunFolder(path)
    if unended and MANIFEST not in run:
        raise BadInput(f"has no {MANIFEST}: the run did not end", where=str(path), remedy=unended)
    if unended:
        refuse_changed(path)
    return run


def _in_bundle(path: Path, stack: ExitStack) -> BundledRun:
    if not path.exists():
        raise BadInput("does not exist", where=str(path), remedy="name a run or a bundle")
    held = stack.enter_context(archive.opened(path))
    _, payload = check.signed(held, None)
    check.refuse_other_content(held, statement.read(payload).sha256)
    return BundledRun(held)
