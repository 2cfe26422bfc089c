"""What differs between two surveys of a node, as paths with both values. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

_OTHER_EACH_TIME = frozenset({"boot_id", "clock_offset_s", "kernel_log", "kernel_faults"})


def differing(was: Any, now: Any, path: str = "") -> Iterator[str]:
    """The paths at which two JSON values differ, each with both values, shortened."""
    if was == now:
        return
    if isinstance(was, dict) and isinstance(now, dict):
        for key in sorted({*was, *now} - _OTHER_EACH_TIME):
            yield from differing(was.get(key), now.get(key), f"{path}.{key}" if path else key)
    elif isinstance(was, list) and isinstance(now, list) and len(was) == len(now):
        for index, (one, other) in enumerate(zip(was, now, strict=True)):
            yield from differing(one, other, f"{path}.{index}")
    else:
        yield f"{path.removeprefix('facts.')}: {_short(was)} -> {_short(now)}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else f"{text[:37]}..."  # noqa: PLR2004
