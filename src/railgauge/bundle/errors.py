"""The errors of a bundle: the file is not a bundle, or its content does not verify."""

from __future__ import annotations

from pathlib import Path

from railgauge.core.errors import BadInput, RailgaugeError


class BadBundle(BadInput):
    """The file is not a bundle, or it is unsafe to open."""

    kind = "bundle"


class NotVerified(RailgaugeError):
    """The content of a bundle does not agree with its statement, its limits or its verdict.

    ``where`` is the file at fault.
    """

    kind = "not-verified"


def refused(error: BadBundle | NotVerified, path: Path) -> BadInput:
    """The error for the user of a command: it names ``path`` once, and the file in it at fault."""
    is_inside = error.where not in ("", path.name)
    return BadInput(error.what, where=f"{path}: {error.where}" if is_inside else str(path))
