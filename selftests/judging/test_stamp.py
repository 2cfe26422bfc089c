"""Evidence is simulated if any node reports that it is simulated."""

import pytest

from railgauge.core.errors import NodeUnreachable
from railgauge.facts import NodeFacts
from railgauge.judging import stamp

REAL = NodeFacts("n1", product="PowerEdge XE9680")
PLAYED = NodeFacts("n2", product="railgauge lab node")
SILENT = NodeFacts("n3")
GONE = NodeUnreachable("no route", where="n4")


@pytest.mark.parametrize(
    ("found", "transport", "stamped"),
    [
        ((REAL, REAL), "ssh", "hardware"),
        ((REAL, SILENT, GONE), "ssh", "hardware"),
        ((REAL, PLAYED), "ssh", "simulated"),
        ((PLAYED, GONE), "slurm", "simulated"),
        ((PLAYED,), "local", "simulated"),
        ((GONE,), "lab", "simulated"),
        ((), "lab", "simulated"),
    ],
)
def test_the_nodes_decide_whatever_the_transport(found, transport, stamped):
    assert stamp.of_nodes(found, transport) == stamped


@pytest.mark.parametrize(
    ("stamped", "found", "why"),
    [
        ("hardware", (REAL, GONE), ""),
        ("hardware", (REAL, PLAYED), "claims hardware evidence, but by the facts of its nodes it"),
        ("simulated", (REAL, SILENT), "claims simulated evidence, but by the facts"),
        ("simulated", (GONE,), ""),
        ("hardware", (), ""),
        ("replayed", (PLAYED,), ""),
        ("gold", (REAL,), "claims gold evidence, which is not a known kind"),
    ],
)
def test_the_stamp_of_a_run_is_compared_with_its_nodes(stamped, found, why):
    assert stamp.contradiction(stamped, found, "ssh").startswith(why)
    assert bool(stamp.contradiction(stamped, found, "ssh")) == bool(why)
