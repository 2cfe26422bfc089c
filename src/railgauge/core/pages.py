"""HTML from Jinja2 templates: every value is escaped, and an undefined name is an error.

A template is named by its path in the package: ``report/templates/above.html.j2``.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from railgauge.core.wording import shown


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


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("railgauge", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["shown"] = shown
    return made
