"""Slow links inside a node are blamed on the node, on a GPU or on single links."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railgauge.diagnosis.localise import blame_links
from railgauge.diagnosis.localise.links import LinkBlame


def matrix(count, gpus=(), links=()):
    return {
        link: bool({*link} & {*gpus}) or link in links for link in permutations(range(count), 2)
    }


def test_without_slow_links_nothing_is_blamed():
    assert blame_links(matrix(8)) == LinkBlame(False, (), ())
    assert blame_links({}) == LinkBlame(False, (), ())


def test_all_links_slow_is_a_slow_node():
    assert blame_links(matrix(8, range(8))) == LinkBlame(True, (), ())


@pytest.mark.parametrize("gpus", [(0,), (7,), (1, 4), (0, 3, 5), (2, 3, 4, 5, 6, 7)])
def test_all_links_of_some_gpus_slow_are_slow_gpus(gpus):
    assert blame_links(matrix(8, gpus)) == LinkBlame(False, gpus, ())


def test_one_slow_direction_of_a_link_is_that_link():
    assert blame_links(matrix(8, links={(2, 5)})) == LinkBlame(False, (), ((2, 5),))


def test_a_gpu_that_is_slow_one_way_only_has_seven_slow_links():
    out = tuple((3, gpu) for gpu in range(8) if gpu != 3)
    assert blame_links(matrix(8, links=out)) == LinkBlame(False, (), out)


def test_several_faults_are_all_named():
    found = blame_links(matrix(8, {6}, {(0, 1), (1, 0), (2, 5)}))
    assert found == LinkBlame(False, (6,), ((0, 1), (1, 0), (2, 5)))


@given(
    st.sets(st.integers(0, 7), max_size=6), st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7)))
)
def test_exactly_the_faulty_links_and_gpus_are_blamed(gpus, drawn):
    """Only one direction of a link is slow, so the other direction clears its GPUs."""
    links = {(a, b) for a, b in drawn if a < b}
    good = set(range(8)) - gpus
    found = blame_links(matrix(8, gpus, links))
    assert found.gpus == tuple(sorted(gpus))
    assert found.links == tuple(sorted(link for link in links if good.issuperset(link)))
    assert not found.node
    assert found.undecided == ()


@pytest.mark.parametrize(
    ("links", "common"), [([(0, 1), (1, 0)], "gpu0 and gpu1"), ([(3, 0), (3, 1), (2, 3)], "gpu3")]
)
def test_a_gpu_of_all_measured_links_cannot_be_separated_from_the_node(links, common):
    found = blame_links(dict.fromkeys(links, True))
    assert found.node
    where = "the fault may be there or in the node"
    assert found.note == f"every measured link is one of {common}: {where}"


def test_a_gpu_with_one_measured_link_is_undecided():
    found = blame_links({(0, 1): True, (1, 0): True, (1, 2): False, (2, 3): False})
    assert (found.node, found.gpus, found.links) == (False, (), ())
    (item,) = found.undecided
    assert item.among == ("gpu0", "gpu0-gpu1")
    assert item.would_decide == "measure gpu0 with gpu2 (found good)"
