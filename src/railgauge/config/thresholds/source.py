"""The files of a platform: strict JSON, and the files that it extends."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, NoReturn

from railgauge.config.thresholds.expand import Written
from railgauge.core.errors import ThresholdError

SCHEMA = "schema.json"
_EXTENDS = "$/extends"


def available(folder: Path) -> list[str]:
    """The names of the platform files in ``folder``."""
    return sorted(path.stem for path in folder.glob("*.json") if path.name != SCHEMA)


def files(path: Path, document: Any, folder: Path | None) -> list[Written]:
    """``document`` of the file ``path`` after all that it extends, the farthest first.

    Names under ``extends`` are those of files in ``folder`` without their ending, such as
    ``shared/rdma``. Raises ``ThresholdError`` for one that is not there, and for a circle.
    """
    found: dict[Path, Written] = {}
    _collect(path, document, folder, (), found)
    return list(found.values())


def _collect(
    path: Path, document: Any, folder: Path | None, chain: tuple[Path, ...],
    found: dict[Path, Written],
) -> None:  # fmt: skip
    for name in _extended(path, document):
        if folder is None:
            what = f"extends {name!r}, and this file must stand alone"
            raise ThresholdError(what, where=f"{path}: {_EXTENDS}")
        below = folder / f"{name}.json"
        if below in (*chain, path):
            circle = " -> ".join(one.stem for one in (*chain, path, below))
            raise ThresholdError(f"extends goes in a circle: {circle}", where=f"{path}: {_EXTENDS}")
        if below not in found:
            _collect(below, _below(path, name, below), folder, (*chain, path), found)
    found[path] = Written(str(path), document)


def _extended(path: Path, document: Any) -> list[str]:
    named = document.get("extends", []) if isinstance(document, dict) else []
    names = [named] if isinstance(named, str) else named
    if not isinstance(names, list) or not all(map(_is_name, names)):
        what = f"{json.dumps(named)[:60]} is no list of platform files, such as shared/rdma"
        raise ThresholdError(what, where=f"{path}: {_EXTENDS}")
    return names


def _is_name(name: object) -> bool:
    """Below the folder and nowhere else."""
    return isinstance(name, str) and all(
        part and not part.startswith(".") and "\\" not in part for part in name.split("/")
    )


def _below(path: Path, name: str, below: Path) -> Any:
    try:
        return parsed(below, below.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        what = f"extends {name!r}, which cannot be read: {below} ({type(error).__name__})"
        raise ThresholdError(what, where=f"{path}: {_EXTENDS}") from None


def text(path: Path, folder: Path) -> str:
    """The platform file ``path``, to the byte. Raises ``ThresholdError``, which names the known."""
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        known = ", ".join(available(folder)) or "none: is this the project's root? (--root)"
        raise ThresholdError(
            f"unknown platform {path.stem!r}", where=str(folder), remedy=f"known: {known}"
        ) from None
    except (OSError, ValueError) as error:
        raise ThresholdError(f"not valid JSON: {error}", where=str(path)) from error


def parsed(path: Path, text: str) -> Any:
    """JSON without what a limit cannot have: a key given twice, ``NaN``, infinity."""
    try:
        return json.loads(
            text,
            object_pairs_hook=_unique,
            parse_constant=_no_constant,
            parse_float=lambda text: float(_finite(text)),
            parse_int=lambda text: int(_finite(text)),
        )
    except (ValueError, OverflowError, RecursionError) as error:
        raise ThresholdError(f"not valid JSON: {error}", where=str(path)) from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """JSON keeps the last of two equal keys without a word; a limit must not vanish that way."""
    result = dict(pairs)
    if len(result) < len(pairs):
        twice = next(key for key, _ in pairs if sum(key == other for other, _ in pairs) > 1)
        raise ValueError(f"key {twice!r} is given twice")
    return result


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text[:20]} is not a number that a limit can have")


def _finite(text: str) -> str:
    """``1e999`` is JSON and becomes infinity: as a ceiling, one that nothing could miss."""
    return text if math.isfinite(float(text)) else _no_constant(text)
