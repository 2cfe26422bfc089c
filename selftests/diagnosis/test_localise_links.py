"""Links inside a node: the node, a GPU, or the single link."""

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


def test_nothing_slow_and_nothing_measured():
    assert blame_links(matrix(8)) == LinkBlame(False, (), ())
    assert blame_links({}) == LinkBlame(False, (), ())


def test_all_links_are_the_node():
    assert blame_links(matrix(8, range(8))) == LinkBlame(True, (), ())


@pytest.mark.parametrize("gpus", [(0,), (7,), (1, 4), (0, 3, 5), (2, 3, 4, 5, 6, 7)])
def test_all_links_of_some_gpus_are_these(gpus):
    assert blame_links(matrix(8, gpus)) == LinkBlame(False, gpus, ())


def test_one_link_one_way():
    assert blame_links(matrix(8, links={(2, 5)})) == LinkBlame(False, (), ((2, 5),))


def test_a_gpu_that_is_slow_one_way_only_has_seven_slow_links():
    out = tuple((3, gpu) for gpu in range(8) if gpu != 3)
    assert blame_links(matrix(8, links=out)) == LinkBlame(False, (), out)


def test_several_faults_at_once():
    found = blame_links(matrix(8, {6}, {(0, 1), (1, 0), (2, 5)}))
    assert found == LinkBlame(False, (6,), ((0, 1), (1, 0), (2, 5)))


@given(
    st.sets(st.integers(0, 7), max_size=6), st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7)))
)
def test_what_is_blamed_is_faulty_and_all_of_it_is(gpus, drawn):
    """One way of a link at a time: so the other way clears its GPUs, and nothing is in doubt."""
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
def test_what_all_measured_links_share_is_as_good_as_the_node(links, common):
    found = blame_links(dict.fromkeys(links, True))
    assert found.node
    assert found.note == f"every measured link is one of {common}: it may be that, or the node"


def test_a_gpu_with_one_neighbour_is_open():
    found = blame_links({(0, 1): True, (1, 0): True, (1, 2): False, (2, 3): False})
    assert (found.node, found.gpus, found.links) == (False, (), ())
    (item,) = found.undecided
    assert item.among == ("gpu0", "gpu0-gpu1")
    assert item.would_decide == "measure gpu0 with gpu2 (found good)"
