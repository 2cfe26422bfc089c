"""What a form predicts of slow parts, and what a figure asks of one of them."""

from __future__ import annotations

import math

import pytest
from testing.diagnose_scenes import platform as limits_of

from railgauge import tools
from railgauge.core.model import Case, Pairing
from railgauge.core.terms import Flow
from railgauge.diagnosis.slow.places import Places
from railgauge.tools.form import ClusterPart, KindOfPart, Layout, ToolFigure, of_path

LOSS = -0.3


def figure(platform_name, measurement, nodes, pairing=None):
    platform = limits_of(platform_name)
    case = Case(measurement, nodes, pairing, (1 << 23,))
    return ToolFigure(case, platform.measurements[measurement], Layout.of(platform))


def numbered(form):
    parts = sorted({part for stage in form.stages for chain in stage for part in chain})
    number = {part: place for place, part in enumerate(parts)}
    return Places.of(form, number), number


def both_ways():
    return numbered(
        of_path(figure("metax-c500", "host_write_bandwidth", ("a", "b"), Pairing("mlx5_0")),
                Flow.BOTH)
    )  # fmt: skip


def all_links():
    return numbered(tools.form(figure("mi300x", "gpu_link_bandwidth", ("a",))))


def test_one_direction_takes_half_of_its_loss_from_the_mean_of_both():
    places, number = both_ways()
    send = number[ClusterPart(KindOfPart.SEND, "a", "mlx5_0")]
    nic = number[ClusterPart(KindOfPart.NIC, "a", "mlx5_0")]
    assert places.predicted(((send, LOSS),), adds=True)[0] == pytest.approx(
        math.log((1 + math.exp(LOSS)) / 2)
    )
    assert places.predicted(((nic, LOSS),), adds=True)[0] == pytest.approx(LOSS)


def test_one_link_takes_its_part_from_the_mean_of_all_and_a_node_takes_all():
    places, number = all_links()
    link = number[ClusterPart(KindOfPart.LINK, "a", gpu=0, to=1)]
    node = number[ClusterPart(KindOfPart.NODE, "a")]
    assert places.predicted(((link, LOSS),), adds=True)[0] == pytest.approx(
        math.log((55 + math.exp(LOSS)) / 56)
    )
    assert places.predicted(((node, LOSS),), adds=True)[0] == pytest.approx(LOSS)
    assert places.predicted(((node, LOSS), (link, LOSS)), adds=True)[0] == pytest.approx(
        LOSS + math.log((55 + math.exp(LOSS)) / 56)
    )


@pytest.mark.parametrize("adds", [True, False])
@pytest.mark.parametrize("form", [both_ways, all_links])
def test_what_a_figure_asks_of_a_part_predicts_the_figure(form, adds):
    places, number = form()
    beside = ((0, -0.05),)
    for part in list(number.values())[1:9]:
        lost, _ = places.predicted(tuple(sorted((*beside, (part, LOSS)))), adds=adds)
        asked = places.implied(part, lost, beside, adds=adds)
        again, _ = places.predicted(tuple(sorted((*beside, (part, asked)))), adds=adds)
        assert again == pytest.approx(lost, abs=1e-9)


def test_a_mean_that_no_loss_of_one_link_explains_asks_for_none():
    places, number = all_links()
    link = number[ClusterPart(KindOfPart.LINK, "a", gpu=0, to=1)]
    assert places.implied(link, -0.04, (), adds=True) == -math.inf
