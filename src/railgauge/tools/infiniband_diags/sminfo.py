"""``sminfo``: whether a subnet manager answers, and whether it is the master."""

from __future__ import annotations

import re
from functools import lru_cache

from railgauge.core.model import Command, Parsed
from railgauge.core.problems import ProblemKind
from railgauge.tools import Setting
from railgauge.tools.claims import claims_nothing as claims
from railgauge.tools.collector import OutputCollector
from railgauge.tools.infiniband_diags.asking import asks, complain_of_nothing, complain_of_start
from railgauge.tools.metric import HIGHER, Metric
from railgauge.tools.text import clean

__all__ = ["METRICS", "claims", "commands", "parse"]

METRICS = (Metric("subnet_managers", ("count",), HIGHER, may_be_zero=True),)

_NO_ANSWER = 255
_LINE = re.compile(
    r"sminfo: sm lid (\d{1,6}) sm guid (0x[0-9a-f]{1,16}),"
    r" activity count (\d{1,12}) priority (\d{1,3}) state (\d{1,2}) (SMINFO_\w{1,20})"
)
_NOBODY = re.compile(r"^(?:\S{1,200}/)?sminfo: iberror: failed: query\s*$", re.MULTILINE)
_PARTS = ("sm lid", "sm guid", "activity count", "priority", "SMINFO_")
_MASTER = "SMINFO_MASTER"
_STATES = frozenset({"SMINFO_NOTACT", "SMINFO_DISCOVER", "SMINFO_STANDBY", _MASTER})


def commands(setting: Setting, port: int) -> tuple[Command, ...]:  # noqa: ARG001 - no server
    return asks(setting, "sminfo", answer=_NO_ANSWER)


@lru_cache(maxsize=4)
def parse(text: str) -> Parsed:
    """Return ``subnet_managers``, 1 if a master answered, else 0; ``summary`` has GUID and state.

    A query that no subnet manager answered is a result (0); a query that could not be sent is an
    error.
    """
    text = clean(text)
    collector = OutputCollector()
    complain_of_start(text, "sminfo", collector)
    answers = list(_LINE.finditer(text))
    line = answers[0] if answers else None
    collector.refuse_several(len(answers) + len(_NOBODY.findall(text)))
    if line or _NOBODY.search(text):
        is_master = bool(line and line[6] == _MASTER)
        collector.add("subnet_managers", "count", float(is_master), may_be_zero=True)
    parts = max(text.count(part) for part in _PARTS)
    if len(answers) != parts or (line and line[6] not in _STATES):
        collector.error(ProblemKind.UNPARSABLE, f"no answer of a manager: {text.strip()!r}")
    complain_of_nothing(text, collector)
    summary: dict[str, object] = (
        {
            "lid": int(line[1]),
            "guid": line[2],
            "activity": int(line[3]),
            "priority": int(line[4]),
            "state": line[6],
        }
        if line
        else {}
    )
    return collector.parsed("sminfo", None, summary)
