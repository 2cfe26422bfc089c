"""HTML from Jinja2 templates: every value is escaped, and an undefined name is an error.

A template is named by its path in the package: ``report/templates/above.html.j2``.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


def render(template: str, **values: object) -> str:
    """Render the template with these values. Raises ``UndefinedError`` for a missing one."""
    return _environment().get_template(template).render(values)


@cache
def parts(template: str) -> Any:
    """Return the macros of a template as functions, for pages that are made piece by piece."""
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
    """Return JSON for a script element; ``tojson`` escapes what could end the element."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
