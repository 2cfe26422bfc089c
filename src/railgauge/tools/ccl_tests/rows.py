"""One measured size: what a row of the table, or an entry of the JSON file, says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from railgauge.tools.ccl_tests.figures import Figure


@dataclass(frozen=True, slots=True)
class Side:
    """One half of a row. ``wrong`` is ``None`` where results were not checked.

    ``max_error`` is what tools before 2022 printed in place of ``wrong``; ``is_flagged`` says that
    they marked it with an asterisk, which means too large. ``has_check`` says that there is a
    column for it, whatever stands there.
    """

    placement: str | None
    time: Figure | None
    algbw: Figure | None
    busbw: Figure | None
    is_cpu_time: bool = False
    wrong: float | None = None
    max_error: float | None = None
    is_flagged: bool = False
    different_bits: float = 0.0
    has_check: bool = False

    @property
    def is_checked(self) -> bool:
        return self.wrong is not None or self.max_error is not None


@dataclass(frozen=True, slots=True)
class Row:
    """``size_bytes`` as printed; all-gather and its kin round it down to their ranks.

    ``redop`` and ``root`` are as printed, ``None`` where there is no such column. ``choices`` are
    what RCCL adds to a row, as printed: ``algo``, ``proto``, ``nchannels``.
    """

    size_bytes: int
    dtype: str
    redop: str | None
    sides: tuple[Side, ...]
    choices: Mapping[str, str] = field(default_factory=dict)
    root: str | None = None
