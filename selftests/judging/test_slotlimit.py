"""Limits that are a share of what the GPU's own slot can carry."""

import pytest

from railgauge.core.errors import FactMissing, NodeUnreachable, NoEvidence
from railgauge.core.limits import Basis, Limit
from railgauge.facts import NodeFacts
from railgauge.facts.model import GpuFacts
from railgauge.judging.slots import in_its_slot

SHARE = Limit("device_to_host_memcpy_ce", "GB/s", 0.75, None, Basis("derived", "x"), of="gpu_slot")


def facts(**gpu):
    values = {"pcie_max_gen": 5, "pcie_max_width": 16, **gpu}
    return {"n1": NodeFacts(node="n1", gpus=(GpuFacts(0, "X1", None, None, **values),))}


@pytest.mark.parametrize(
    ("generation", "width", "floor"),
    [(5, 16, 47.26), (4, 16, 23.63), (3, 16, 11.82), (4, 8, 11.82), (1, 16, 3.0)],
)
def test_the_floor_follows_the_slot(generation, width, floor):
    found = facts(pcie_max_gen=generation, pcie_max_width=width)
    limit, ceiling = in_its_slot(SHARE, "n1", "gpu0", found)
    assert limit.floor == pytest.approx(floor, abs=0.01)
    assert ceiling == pytest.approx(floor / 0.75, abs=0.01)


def test_a_limit_of_its_own_stays_as_it_is():
    own = Limit("bw_average", "Gb/s", 360.0, None, Basis("derived", "x"))
    assert in_its_slot(own, "n1", None, {}) == (own, None)


@pytest.mark.parametrize(
    ("found", "placement"),
    [
        ({}, "gpu0"),
        (facts(), None),
        (facts(), "gpu1"),
        (facts(pcie_max_gen=None), "gpu0"),
        (facts(pcie_max_width=None), "gpu0"),
        (facts(pcie_max_gen=9), "gpu0"),
        (facts(pcie_max_width=0), "gpu0"),
    ],
)
def test_a_slot_that_is_not_known_gives_no_verdict(found, placement):
    with pytest.raises(FactMissing):
        in_its_slot(SHARE, "n1", placement, found)


def test_a_node_that_did_not_answer_gives_the_reason():
    with pytest.raises(NoEvidence, match="no way"):
        in_its_slot(SHARE, "n1", "gpu0", {"n1": NodeUnreachable("no way", where="n1")})
