"""Methods whose result an object keeps, as ``functools.cached_property`` does for a property."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

_Answer = TypeVar("_Answer")


def once(method: Callable[[Any], _Answer]) -> Callable[[Any], _Answer]:
    """Call a method without arguments once for each object; an exception is not kept."""

    name = f"{method.__name__} once"  # no attribute has this name

    @wraps(method)
    def kept(self: Any) -> _Answer:
        answers: dict[str, _Answer] = self.__dict__
        if name not in answers:
            answers[name] = method(self)
        return answers[name]

    return kept
