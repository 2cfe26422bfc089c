"""Driver and release of EUD that a DCGM diagnostic detected, against the node's and each other."""

import pytest
from testing.core_values import ROOT

from railgauge.config import thresholds
from railgauge.core.model import Case, Parsed
from railgauge.facts import NodeFacts
from railgauge.tools.dcgmi_diag import output_checks
from railgauge.tools.output_checks import SideOutput, ToolRequest

H200 = thresholds.load("h200", ROOT / "thresholds")
NAME = "gpu_diagnostic_extended"


def denied(driver="550.90.07", eud="eud.550.26", survey="550.90.07"):
    details = {
        "GPU Device IDs Detected": ",".join(["2335"] * 8),
        "Driver Version Detected": driver,
        "EUD Test Version": eud,
    }
    parsed = Parsed("dcgmi-diag", "3.3.9", (), {"run": "eud", "details": details}, ())
    found = {"n1": NodeFacts("n1", gpu_driver=survey)}
    asked = ToolRequest(Case(NAME, ("n1",), None, ()), H200.measurements[NAME], H200, found)
    checks = output_checks(asked, (SideOutput("n1", "client", parsed),))
    return {check.item for check in checks if not check.agrees}


@pytest.mark.parametrize(
    ("details", "items"),
    [
        ({}, set()),  # as document 001 prints it
        ({"eud": "eud.535.129"}, {"release of EUD"}),
        ({"driver": "560.28.03", "eud": "eud.560.12"}, {"driver"}),
        ({"driver": "560.28.03"}, {"driver", "release of EUD"}),
        ({"survey": None}, set()),
        ({"eud": ""}, set()),
        ({"eud": "another form"}, set()),
    ],
)
def test_the_driver_is_the_nodes_and_eud_is_of_its_release(details, items):
    assert denied(**details) == items
