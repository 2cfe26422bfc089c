"""Which worker gets which items: those that share one run of a tool stay together."""

from __future__ import annotations

from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

from railgauge.errors import BadInput
from railgauge.units import parse_size


class CaseScheduling(LoadScopeScheduling):  # type: ignore[misc]
    """One unit for each case: all sizes of a sweep, which is run once."""

    def __init__(self, config: pytest.Config, log: Any) -> None:
        super().__init__(config, log)
        # By default the largest units go first. The ladder is climbed in order: upper rungs wait
        # for lower ones, and would wait for ever if those were handed out last.
        config.option.loadscopereorder = False

    def _split_scope(self, nodeid: str) -> str:
        head, _, tail = nodeid.rpartition("-")
        return head if head and _is_size(tail.rstrip("]")) else nodeid


def _is_size(text: str) -> bool:
    try:
        parse_size(text)
    except BadInput:
        return False
    return True
