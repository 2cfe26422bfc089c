"""The section ``growth`` of a platform file: read, inherited, and refused if it judges nothing."""

import json

import pytest
from testing.core_values import ROOT, document, put

from railgauge.config import thresholds
from railgauge.config.thresholds.model import GrowthLimit
from railgauge.core.errors import BadInput
from railgauge.core.limits import Basis

MADE_UP = "derived: made up for a test"
BASIS = Basis("derived", "made up for a test")


def load(tmp_path, growth, **more):
    folder = put(tmp_path / "thresholds", {**document(), "growth": growth, **more})
    return thresholds.load("bench", folder)


def refused(tmp_path, growth, **more):
    with pytest.raises(BadInput) as caught:
        load(tmp_path, growth, **more)
    return str(caught.value)


def test_without_the_section_nothing_is_limited(tmp_path):
    folder = put(tmp_path / "thresholds", document())
    assert thresholds.load("bench", folder).growth is None


def test_a_ceiling_and_a_rate_are_read(tmp_path):
    found = load(
        tmp_path,
        {
            "port_errors,port_discards": {"ceiling": 0, "basis": MADE_UP},
            "rdma_retransmits": {"per_hour": 12.5, "basis": MADE_UP},
        },
    ).growth
    none = GrowthLimit(0, None, BASIS)
    assert found == {
        "port_errors": none, "port_discards": none,
        "rdma_retransmits": GrowthLimit(None, 12.5, BASIS),
    }  # fmt: skip
    limits = {name: str(one) for name, one in found.items()}
    assert limits == {
        "port_errors": "none", "port_discards": "none", "rdma_retransmits": "at most 12.5 an hour",
    }  # fmt: skip
    assert [found["rdma_retransmits"].allowed(hours) for hours in (0.01, 1, 2)] == [1, 13, 25]
    assert str(GrowthLimit(7, None, BASIS)) == "at most 7 in the run"


def test_a_file_in_the_long_form_is_read_the_same(tmp_path):
    short = load(tmp_path, {"port_errors,port_discards": {"ceiling": 0, "basis": MADE_UP}})
    again = put(tmp_path / "again", json.loads(short.text))
    assert thresholds.load("bench", again).growth == short.growth


@pytest.mark.parametrize(
    ("growth", "words"),
    [
        ({}, "has no limit, so that nothing would be judged"),
        (
            {"warp_errors": {"ceiling": 0, "basis": MADE_UP}},
            "no such group of counters: warp_errors",
        ),
        ({"port_errors": {"ceiling": 0}}, "basis"),
        ({"port_errors": {"basis": MADE_UP}}, "needs either ceiling or per_hour"),
        (
            {"port_errors": {"ceiling": 0, "per_hour": 1, "basis": MADE_UP}},
            "needs either ceiling or per_hour",
        ),
        ({"port_errors": {"ceiling": -1, "basis": MADE_UP}}, "ceiling"),
        ({"port_errors": {"per_hour": 0, "basis": MADE_UP}}, "per_hour"),
        (
            {"devmem_drops": {"ceiling": 0, "basis": MADE_UP}},
            "no declared device has these counters",
        ),
        (
            {"pause_frames": {"ceiling": 0, "basis": MADE_UP}},
            "no declared device has these counters",
        ),
        ({"gpu_remapped_rows": {"ceiling": 0, "basis": MADE_UP}}, "no declared device"),
    ],
)
def test_limits_that_cannot_be_judged_are_refused(tmp_path, growth, words):
    assert words in refused(tmp_path, growth)


@pytest.mark.parametrize(
    "platform", ["connectx4-homelab", "h100-tcpx", "h200", "metax-c500", "mi300x"]
)
def test_each_platform_of_the_documents_limits_growth_with_a_basis(platform):
    growth = thresholds.load(platform, ROOT / "thresholds").growth
    assert growth
    assert all(one.basis.says for one in growth.values())


def test_metax_shows_no_counters_of_its_links(tmp_path):
    metax = json.loads(thresholds.load("metax-c500", ROOT / "thresholds").text)
    metax["growth"]["gpu_link_errors"] = {
        "ceiling": 0, "basis": {"source": "derived", "says": "made up for a test"},
    }  # fmt: skip
    folder = put(tmp_path / "thresholds", metax | {"platform": "bench"})
    with pytest.raises(
        BadInput, match="railgauge knows no tool of metax that shows these counters"
    ):
        thresholds.load("bench", folder)


def test_the_order_of_the_file_does_not_count(tmp_path):
    """A redacted bundle has its keys sorted, and the judgements of a node keep their order."""
    known = thresholds.load("metax-c500", ROOT / "thresholds")
    metax = json.loads(known.text)
    metax["growth"] = dict(reversed(metax["growth"].items()))
    folder = put(tmp_path / "thresholds", metax | {"platform": "bench"})
    assert list(thresholds.load("bench", folder).growth) == list(known.growth)
