"""HTML, by Jinja2: whatever is not a template's own text is escaped, and nothing may be undefined.

A template is named by its path in the package: ``report/templates/above.html.j2``.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


def render(template: str, **values: object) -> str:
    """The template with these values. Raises ``UndefinedError`` for one that is not given."""
    return _environment().get_template(template).render(values)


@cache
def parts(template: str) -> Any:
    """The macros of a template as functions: for pieces that are made one by one."""
    return _environment().get_template(template).module


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("railgauge", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.policies["json.dumps_function"] = _compact
    made.policies["json.dumps_kwargs"] = {}
    return made


def _compact(value: object) -> str:
    """JSON for a script's element; ``tojson`` takes out what could end the element."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
