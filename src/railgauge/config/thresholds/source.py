"""The files of a platform: strict JSON, and the files that it extends."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, NoReturn

from railgauge.config.thresholds.expand import Written
from railgauge.core.errors import ThresholdError
from railgauge.core.plain_files import Unreadable, read_bytes, read_text

SCHEMA = "schema.json"
_EXTENDS = "$/extends"
_MOST_BYTES = 16 * 2**20


def available(folder: Path) -> list[str]:
    """The names of the platform files in ``folder``."""
    return sorted(path.stem for path in folder.glob("*.json") if path.name != SCHEMA)


def files(path: Path, document: Any, folder: Path | None) -> list[Written]:
    """Return ``document`` of the file ``path``, preceded by all files that it extends.

    A file always comes after those that it extends itself. Names under ``extends`` are files in
    ``folder`` without their suffix, such as ``shared/rdma``. Raises ``ThresholdError`` for a
    missing file, and for files that extend each other.
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
            what = f"extends {name!r}, but this file must not extend others"
            raise ThresholdError(what, where=f"{path}: {_EXTENDS}")
        below = folder / f"{name}.json"
        if below in (*chain, path):
            circle = " -> ".join(one.stem for one in (*chain, path, below))
            raise ThresholdError(f"extends itself: {circle}", where=f"{path}: {_EXTENDS}")
        if below not in found:
            _collect(below, _below(path, name, below), folder, (*chain, path), found)
    found[path] = Written(str(path), document)


def _extended(path: Path, document: Any) -> list[str]:
    named = document.get("extends", []) if isinstance(document, dict) else []
    names = [named] if isinstance(named, str) else named
    if not isinstance(names, list) or not all(map(_is_name, names)):
        what = f"{json.dumps(named)[:60]} is not a list of platform files, such as shared/rdma"
        raise ThresholdError(what, where=f"{path}: {_EXTENDS}")
    return names


def _is_name(name: object) -> bool:
    """Whether ``name`` is a file below the folder: no absolute path and no ``..``."""
    return isinstance(name, str) and all(
        part and not part.startswith(".") and "\\" not in part for part in name.split("/")
    )


def _below(path: Path, name: str, below: Path) -> Any:
    try:
        return parsed(below, read_text(below, _MOST_BYTES))
    except Unreadable as error:
        what = f"extends {name!r}, which {error}: {below}"
        raise ThresholdError(what, where=f"{path}: {_EXTENDS}") from None


def text(path: Path, folder: Path) -> str:
    """Return the exact text of the platform file ``path``.

    Raises ``ThresholdError``, which lists the known platforms if the file is missing.
    """
    try:
        path.stat()
        return read_bytes(path, _MOST_BYTES).decode("utf-8")
    except FileNotFoundError:
        known = ", ".join(available(folder)) or "none: is this the project's root? (--root)"
        raise ThresholdError(
            f"unknown platform {path.stem!r}", where=str(folder), remedy=f"known: {known}"
        ) from None
    except Unreadable as error:
        raise ThresholdError(str(error), where=str(path)) from None
    except (OSError, ValueError) as error:
        raise ThresholdError(f"not valid JSON: {error}", where=str(path)) from error


def parsed(path: Path, text: str) -> Any:
    """Parse strict JSON. Raises ``ThresholdError`` for a key given twice, ``NaN`` and infinity."""
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
    """Refuse equal keys: JSON would silently keep the last one, and a limit could get lost."""
    result = dict(pairs)
    if len(result) < len(pairs):
        twice = next(key for key, _ in pairs if sum(key == other for other, _ in pairs) > 1)
        raise ValueError(f"key {twice!r} is given twice")
    return result


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text[:20]} is not a number that a limit can have")


def _finite(text: str) -> str:
    """Refuse ``1e999``, which JSON reads as infinity: no value could exceed such a ceiling."""
    return text if math.isfinite(float(text)) else _no_constant(text)
