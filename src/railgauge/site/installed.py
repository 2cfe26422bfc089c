"""What is installed: are the packages that railgauge needs there, in versions that it works with?

A package that is missing, too old or broken is no answer about a cluster: without this module
Python would end a run with 1, the exit code of a rejected cluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import metadata

_PACKAGE = "railgauge"
_REMEDY = "set up the environment again (make accept), or install railgauge again with pip"


def told(error: BaseException) -> str:
    """One line about an import that failed: the packages that are not as needed, else the error."""
    said = " ".join(str(error).split()) or type(error).__name__
    return f"{'; '.join(complaints()) or f'an import failed: {said}'}; {_REMEDY}"


def refuse_unusable() -> None:
    """Raise ``ImportError`` if a package that railgauge needs is missing or too old."""
    if lacking := complaints():
        raise ImportError("; ".join(lacking))


def complaints() -> tuple[str, ...]:
    """What is wrong with the versions of the packages that railgauge needs; empty if nothing is.

    Nothing is known, and nothing is wrong, where railgauge itself runs without being installed.
    """
    try:
        needed = metadata.requires(_PACKAGE) or ()
    except metadata.PackageNotFoundError:
        return ()
    try:
        return tuple(_unmet(needed))
    except ImportError as error:
        return (f"packaging cannot be imported: {' '.join(str(error).split())}",)


def _unmet(needed: list[str] | tuple[str, ...]) -> Iterator[str]:
    from packaging.requirements import Requirement  # noqa: PLC0415 - may be missing itself

    for one in map(Requirement, needed):
        if one.marker is not None and not one.marker.evaluate({"extra": ""}):
            continue
        try:
            found = metadata.version(one.name)
        except metadata.PackageNotFoundError:
            yield f"{one.name} is not installed"
            continue
        if not one.specifier.contains(found, prereleases=True):
            yield f"{one.name} {found} is installed, but railgauge needs {one.name}{one.specifier}"


def import_error_in(error: BaseException | None) -> ImportError | None:
    """The import that failed and that pytest reports by an error of its own; ``None`` if none."""
    while error is not None:
        if isinstance(error, ImportError):
            return error
        error = getattr(error, "cause", None) or error.__cause__
    return None
