"""The recorded outputs of tools beside this checkout, as parameters of a test."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import pytest

from testing.corpus_owners import OF_TOOLS
from testing.places import SHARED

NONE = pytest.mark.skip("the recorded outputs are not beside this checkout")


def recorded(besides: Collection[str] = ()) -> list[Any]:
    """The name of the tool and the path of each output but those in ``besides``.

    Where there are none, the one parameter is a test that is skipped.
    """
    return [*_found(besides)] or [pytest.param("", None, id="none", marks=NONE)]


def _found(besides: Collection[str]) -> Iterator[Any]:
    for path in sorted(SHARED.glob("*/**/*")):
        name = str(path.relative_to(SHARED))
        owners = [begin for begin in OF_TOOLS if name.startswith(begin)]
        if owners and path.is_file() and name not in besides:
            yield pytest.param(OF_TOOLS[max(owners, key=len)], path, id=name)
