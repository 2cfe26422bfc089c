"""Which worker gets which items: those that share one run of a tool stay together."""

from __future__ import annotations

from xdist.scheduler import LoadScopeScheduling

from railgauge.errors import BadInput
from railgauge.units import parse_size


class CaseScheduling(LoadScopeScheduling):  # type: ignore[misc]
    """One unit for each case: all sizes of a sweep, which is run once."""

    def _split_scope(self, nodeid: str) -> str:
        head, _, tail = nodeid.rpartition("-")
        return head if head and _is_size(tail.rstrip("]")) else nodeid


def _is_size(text: str) -> bool:
    try:
        parse_size(text)
    except BadInput:
        return False
    return True
