"""JSON as a person writes it: a value that fits on a line is on one line. Pure."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from typing import Any

_WIDTH = 108
# Long texts of these keys are lists of lines.
_TEXTS = ("basis", "bases", "not_applicable")


def text_of(document: Mapping[str, Any]) -> str:
    """Return the document as the text of a file."""
    return f"{_value(document, '', 0)}\n"


def _value(value: Any, key: str, depth: int, used: int = 0) -> str:
    line = json.dumps(value, ensure_ascii=False)
    is_section = depth == 0 or (depth == 1 and isinstance(value, Mapping) and len(value) > 1)
    if not is_section and 2 * depth + used + len(line) <= _WIDTH:
        return line
    inner, outer = "  " * (depth + 1), "  " * depth
    if not value:
        return line
    if isinstance(value, Mapping):
        named = [(name, json.dumps(name, ensure_ascii=False)) for name in value]
        body = [
            f"{inner}{shown}: "
            + _value(value[name], _text_key(key, name), depth + 1, len(shown) + 3)
            for name, shown in named
        ]
        return "{\n" + ",\n".join(body) + f"\n{outer}}}"
    if isinstance(value, list):
        body = (
            _filled(value, inner)
            if _is_flat(value) and key not in _TEXTS
            else [f"{inner}{_value(item, key, depth + 1)}" for item in value]
        )
        return "[\n" + ",\n".join(body) + f"\n{outer}]"
    if isinstance(value, str) and key in _TEXTS:
        width = _WIDTH - len(inner) - 3
        return _value(textwrap.wrap(value, width, break_long_words=False), key, depth, used)
    return line


def _is_flat(value: list[Any]) -> bool:
    return not any(isinstance(item, Mapping | list) for item in value)


def _filled(value: list[Any], inner: str) -> list[str]:
    """Return the items, as many to a line as fit."""
    lines: list[str] = []
    for item in (json.dumps(one, ensure_ascii=False) for one in value):
        if lines and len(lines[-1]) + len(item) + 3 <= _WIDTH:
            lines[-1] += f", {item}"
        else:
            lines.append(f"{inner}{item}")
    return lines


def _text_key(section: str, name: str) -> str:
    return section if section in _TEXTS else name
