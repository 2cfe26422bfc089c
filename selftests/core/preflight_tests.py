"""The tests of rung 0, read from their files, and what each asks when it is called."""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from railgauge.question import FactAt

PREFLIGHT = sorted((Path(__file__).resolve().parents[2] / "tests/preflight").glob("test_*.py"))
Test = Callable[..., None]

_IN_A_SLOT = SimpleNamespace(nic=lambda _name: SimpleNamespace(pci_address="0000:12:00.0"))


def preflight() -> Iterator[tuple[str, Test]]:
    """The expectation that each test is about, and the test."""
    for path in PREFLIGHT:
        spec = importlib.util.spec_from_file_location(f"preflight_{path.stem}", path)
        assert spec
        assert spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if name.startswith("test_"):
                (mark,) = (m for m in function.pytestmark if m.name == "expects")
                yield mark.args[0], function


def asked_of(test: Test, **values: Any) -> FactAt:
    """What a test asks of these values; of what none is given, of all (``*``)."""
    asked: list[FactAt] = []

    def expect(node: str, *paths: str, **more: str) -> None:
        asked.append(FactAt(node, paths, **more))

    given = {"expect": expect, "platform": _IN_A_SLOT, **values}
    test(**{name: given.get(name, "*") for name in inspect.signature(test).parameters})
    (one,) = asked
    return one
