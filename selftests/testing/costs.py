"""The CPU seconds of each selftest.

    pytest selftests --costs FILE
    PYTHONPATH=selftests python -m testing.costs FILE

A line of JSON is one test with its fixtures, the collection of a worker (``collection``), or one
run of the ladder (``run``, which is also part of the tests that waited for it). The seconds are
those of the process, of the children that it has waited for, and of the prepared interpreters.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Any

import pytest

from testing import prepared

_TICKS = os.sysconf("SC_CLK_TCK")
_LISTED = 20


class Costs:
    """Appends what this process spends, item by item."""

    def __init__(self, file: Path, *, is_worker: bool) -> None:
        self._file = file
        self._is_worker = is_worker
        self._spent_s = 0.0

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self) -> None:
        self._write("collection")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        done = yield
        self._write(item.nodeid)
        return done

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        self._write("end" if self._is_worker else "total")

    def _write(self, what: str) -> None:
        before, self._spent_s = self._spent_s, spent_s()
        lines = [{"what": what, "cpu_s": round(self._spent_s - before, 3)}]
        while prepared.reported:
            arguments, cpu_s = prepared.reported.popleft()
            lines.append({"what": "run", "cpu_s": cpu_s, "arguments": arguments, "test": what})
        with self._file.open("a", encoding="utf-8") as file:
            file.write("".join(f"{json.dumps(line)}\n" for line in lines))


def spent_s() -> float:
    """The CPU seconds of this process, of its children that have ended, and of the interpreters."""
    return sum(os.times()[:4]) + sum(map(_of_process_s, prepared.interpreters()))


def _of_process_s(process: int) -> float:
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    except FileNotFoundError:  # it has ended, and its time is that of a child that was waited for
        return 0.0
    return sum(map(int, text.rpartition(")")[2].split()[11:15])) / _TICKS


def summed(lines: Iterable[dict[str, Any]]) -> str:
    """The sums by file, and the dearest tests."""
    tests, files, kinds = Counter[str](), Counter[str](), Counter[str]()
    for line in lines:
        is_test = "::" in line["what"]
        kinds["tests" if is_test else line["what"]] += line["cpu_s"]
        if is_test:
            tests[line["what"]] += line["cpu_s"]
            files[line["what"].partition("::")[0]] += line["cpu_s"]
    parts = (kinds.most_common(), files.most_common(), tests.most_common(_LISTED))
    return "\n".join(
        "\n".join(f"{cpu_s:9.2f}  {name}" for name, cpu_s in part) + "\n" for part in parts
    )


if __name__ == "__main__":
    texts = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
    sys.stdout.write(summed(map(json.loads, texts)))
