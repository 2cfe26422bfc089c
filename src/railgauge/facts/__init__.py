"""The facts of a node: one probe, one round trip, parsed into typed values.

``probe_script`` builds the shell text, ``parse_probe`` parses its output, ``require`` returns one
fact or raises an error with the reason why it is unknown.
"""

from __future__ import annotations

from railgauge.facts.model import (
    FactsByNode,
    NodeAnswer,
    NodeFacts,
    from_json,
    require,
)
from railgauge.facts.parse import parse_probe
from railgauge.facts.probe import probe_script

__all__ = [
    "FactsByNode",
    "NodeAnswer",
    "NodeFacts",
    "from_json",
    "parse_probe",
    "probe_script",
    "require",
]
