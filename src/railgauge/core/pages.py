"""HTML from Jinja2 templates: every value is escaped, and an undefined name is an error.

A template is named by its path in the package: ``report/templates/above.html.j2``.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

# In a set of nodes, such as n[1,11-13],mx07; no comma of a number.
_BETWEEN_NODES = re.compile(r"(?<=,)(?=[^\W\d]|[\d,-]+\])")


def render(template: str, **values: object) -> str:
    """Render the template with these values. Raises ``UndefinedError`` for a missing one."""
    return _environment().get_template(template).render(values)


@cache
def parts(template: str) -> Any:
    """Return the macros of a template as functions, for pages that are made piece by piece."""
    return _environment().get_template(template).module


def source(name: str) -> str:
    """Return a style sheet or a script of the package as a template includes it."""
    environment = _environment()
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0].removesuffix("\n")


def between_nodes(text: str) -> list[str]:
    """Return text in parts that may stand on lines of their own: a set of nodes has no spaces."""
    return _BETWEEN_NODES.split(text)


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("railgauge", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["between_nodes"] = between_nodes
    return made
