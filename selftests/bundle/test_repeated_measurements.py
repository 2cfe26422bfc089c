"""How often a suspect may be measured again: as the level does, or more often up to a limit."""

import pytest
from testing.diagnose_scenes import cluster, platform

from railgauge.bundle.completeness import refuse_other_confirmations
from railgauge.core.errors import NotVerified
from railgauge.core.model import Case, Pairing
from railgauge.core.question import LIMITS, Question
from railgauge.judging.confirmation import MOST_REPEATS, Remeasurement
from railgauge.verdict.decision import RunPlan

METAX = platform("metax-c500")
EXTENT = METAX.measurements["host_write_bandwidth"].extents["smoke"]
RUN = RunPlan(2, "run", "hardware", "smoke", None, (), "0")


def refused(repeats, sizes=EXTENT.sizes):
    case = Case("host_write_bandwidth", ("n1", "n2"), Pairing("mlx5_0"), sizes, repeats)
    asked = Remeasurement(("n1",), Question(LIMITS, case, sizes[0]))
    refuse_other_confirmations(RUN, cluster(("n1", "n2")), METAX, [asked], set())


@pytest.mark.parametrize("repeats", [EXTENT.repeats, EXTENT.repeats + 1, MOST_REPEATS])
def test_a_suspect_may_be_measured_more_often(repeats):
    refused(repeats)


@pytest.mark.parametrize("repeats", [EXTENT.repeats - 1, MOST_REPEATS + 1, 10**9])
def test_a_suspect_may_not_be_measured_less_often_or_without_end(repeats):
    with pytest.raises(NotVerified, match="other sizes or repeats"):
        refused(repeats)


def test_a_suspect_may_not_be_measured_with_other_sizes():
    with pytest.raises(NotVerified, match="other sizes or repeats"):
        refused(EXTENT.repeats, (EXTENT.sizes[0] * 2,))
