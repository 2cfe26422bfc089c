"""A finished run to read: its folder, or a bundle whose signature and digests hold."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from railgauge.bundle import archive, check, statement
from railgauge.bundle.contents import Contents
from railgauge.bundle.errors import BadBundle, NotVerified, refused
from railgauge.bundle.folder import FolderContents
from railgauge.core.errors import BadInput
from railgauge.run.newer import refuse_newer


@contextmanager
def opened(path: Path) -> Iterator[Contents]:
    """Open the folder of a run, or a bundle. Raises ``BadInput`` for anything else.

    The transcripts of a bundle are not judged again here; ``check.verify`` does that.
    """
    try:
        if path.is_dir():
            refuse_newer(path)
            yield FolderContents(path)
            return
        if not path.exists():
            raise BadInput("does not exist", where=str(path), remedy="name a run or a bundle")
        with archive.opened(path) as held:
            _, payload = check.signed(held, None)
            check.refuse_other_content(held, statement.read(payload).sha256)
            yield Contents(held)
    except (BadBundle, NotVerified) as error:
        raise refused(error, path) from None
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", where=str(path)) from None
