"""The tables of BABEL: BabelStream's kernels on each GPU. RVS checks none of their results."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from railgauge.core.problems import ProblemKind
from railgauge.tools.rvs.plan import KERNELS
from railgauge.tools.rvs.reading import RvsRun

BEGIN = "Starting the Babel memory stress test"
_RULE = re.compile(r"-{40,200}")
_HEADING = re.compile(r"GPU Id +Function +(.{1,120})")
# The unit in the heading of a table: bytes are counted in 10^6 or in 2^20.
_UNITS = {
    "MBytes/sec Max MB/s Min MB/s Avg MB/s": "MB/s",
    "MiBytes/sec Max MiB/s Min MiB/s Avg MiB/s": "MiB/s",
}
_ROW = re.compile(r"([0-9]{1,6}) +([A-Z][a-z]{1,9}) +([0-9. ]{1,120})")
_COLUMNS = 4  # the best twice, the worst, the mean


@dataclass(slots=True)
class Memory:
    """The table that is being read. ``action`` is of its GPU; ``unit`` is empty outside a table."""

    actions: dict[str, str] = field(default_factory=dict)
    unit: str = ""
    rows: dict[str, list[str]] = field(default_factory=dict)

    def begin(self, action: str, number: str, run: RvsRun) -> None:
        self.actions[number] = action
        run.begin(action, number)

    def take(self, line: str, run: RvsRun) -> None:
        """Take a line without a prefix."""
        line = line.strip()
        if heading := _HEADING.fullmatch(line):
            self.unit = _UNITS.get(" ".join(heading[1].split()), "")
            if not self.unit:
                run.collector.error(ProblemKind.UNIT_UNKNOWN, f"a table with {heading[1]!r}")
        elif line.startswith("Function ") and "ytes/sec" in line:
            what = "an older table without the numbers of the GPUs; install a newer RVS"
            run.collector.error(ProblemKind.UNKNOWN_COLUMN, what)
        elif _RULE.fullmatch(line):
            self._rule(run)
        elif self.unit and line:
            self._row(line, run)

    def _rule(self, run: RvsRun) -> None:
        """A rule below the rows closes the table; the one below the heading does not."""
        if not self.rows:
            return
        for number, kernels in self.rows.items():
            run.end(self.actions[number], number, "pass", f"{len(kernels)} kernels")
        self.unit, self.rows = "", {}

    def _row(self, line: str, run: RvsRun) -> None:
        match = _ROW.fullmatch(line)
        cells = match[3].split() if match else []
        kernel = match[2].lower() if match else ""
        if not match or kernel not in KERNELS or len(cells) != _COLUMNS:
            run.collector.error(ProblemKind.UNPARSABLE, f"a row of a table: {line[:200]}")
            return
        try:
            best, again, least, mean = map(float, cells)
        except ValueError:
            run.collector.error(ProblemKind.NOT_A_NUMBER, line[:200])
            return
        if best != again:
            run.collector.error(ProblemKind.INCONSISTENT, f"two maxima: {line[:200]}")
        place = run.place(match[1])
        if match[1] not in self.actions:
            what = f"a row of {place}, on which no action began: {line[:200]}"
            run.collector.error(ProblemKind.INCONSISTENT, what)
            return
        run.collector.add(f"babel_{kernel}", self.unit, mean, place)
        run.collector.add(f"babel_{kernel}_min", self.unit, least, place)
        run.collector.add(f"babel_{kernel}_max", self.unit, best, place)
        self.rows.setdefault(match[1], []).append(kernel)
