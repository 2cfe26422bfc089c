"""One target of ``fuzzing.py``, run by atheris. Arguments: the target, libFuzzer's options."""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["railgauge"]):
    from testing.fuzz_targets import targets

TARGET = targets()[sys.argv.pop(1)]


def once(data: bytes) -> None:
    TARGET.check(data.decode("utf-8", "replace"))


atheris.Setup(sys.argv, once)
atheris.Fuzz()
