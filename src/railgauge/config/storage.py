"""The hostfile's section ``storage``: the paths to measure, and the speeds that they must reach."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from railgauge.config.refusal import refuse
from railgauge.core.storage import FIGURES, GDS, TOGETHER, StorageMount


def mounts(
    path: Path, document: Mapping[str, Any], line: Callable[..., int]
) -> dict[str, StorageMount]:
    """Return the declared mounts by name, of a document that the schema has accepted.

    Raises ``HostfileError`` for a mount without a figure, and for figures of all nodes at once of
    two mounts, or of one that is not shared.
    """
    found = {name: _mount(one) for name, one in document.get("storage", {}).items()}
    for name, one in found.items():
        if not (one.least or one.together or one.gds):
            what = f"storage: {name} has no figure that it must reach"
            refuse(path, what, "declare one, or remove the path", line("storage", name))
    together = [name for name, one in found.items() if one.together]
    for name in together:
        if not found[name].shared:
            what = f"storage: {name} is not shared, and all nodes are to use it at once"
            refuse(path, what, "set shared: true, or remove together_…", line("storage", name))
    if len(together) > 1:
        what = f"storage: all nodes are to use {' and '.join(together)} at once"
        refuse(path, what, "declare together_… of one mount", line("storage", together[1]))
    return found


def _mount(declared: Mapping[str, Any]) -> StorageMount:
    least = {name: float(declared[name]) for name in FIGURES if name in declared}
    together, gds = (
        {way: float(declared[key]) for way, key in keys.items() if key in declared}
        for keys in (TOGETHER, GDS)
    )
    known = (*FIGURES, *TOGETHER.values(), *GDS.values())
    rest = {name: value for name, value in declared.items() if name not in known}
    return StorageMount(**rest, least=least, together=together, gds=gds)
