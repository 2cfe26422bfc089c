"""A tool's output under the declared names of the GPUs that it measured. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from railgauge.core.devices import DeviceNames, gpu_number
from railgauge.core.model import Parsed
from railgauge.judging.results import SUMMARY


def declared(parsed: Parsed, names: DeviceNames, node: str) -> Parsed:
    """Return what ``node`` printed with declared names: ``gpu0>gpu7``, and GPUs of named tests."""
    if node not in names.of:
        return parsed
    samples = tuple(
        replace(one, placement=one.placement and names.text_declared(node, one.placement))
        for one in parsed.samples
    )
    tests = parsed.summary.get(SUMMARY)
    if not isinstance(tests, Sequence):
        return replace(parsed, samples=samples)
    named = [_test(test, names, node) for test in tests]
    return replace(parsed, samples=samples, summary={**parsed.summary, SUMMARY: named})


def _test(test: Any, names: DeviceNames, node: str) -> Any:
    if not isinstance(test, Mapping):
        return test
    numbers = (gpu_number(names.declared(node, f"gpu{gpu}")) for gpu in test["gpus"])
    return {**test, "gpus": [number for number in numbers if number is not None]}
