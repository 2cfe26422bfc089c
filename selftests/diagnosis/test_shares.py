"""A value is compared with the median of its peers, also where there are very many of them."""

from itertools import combinations
from random import Random
from statistics import median

import pytest

from railgauge.core.model import Judgement, Outcome
from railgauge.core.terms import Rung
from railgauge.diagnosis.left_open.shares import Shares
from railgauge.judging.record import ItemRecord


def record(nodes, value, pairing="mlx5_0", outcome=Outcome.PASSED):
    judged = Judgement("bw_average", outcome, "", "", "", worst=value, floor=350.0, better="higher")
    name = f"write[{':'.join(nodes)}-{pairing}]"
    about = (name, Rung.NETWORK, "write", "Writes.", outcome)
    return ItemRecord(*about, nodes=tuple(nodes), pairing=pairing, judgements=(judged,))


def share(records, one, without=()):
    return Shares(records).of(one, one.judgements[0], without)


@pytest.mark.parametrize("without", ["", "a", "ab", "abcd"])
def test_the_median_is_that_of_the_items_of_other_nodes(without):
    random = Random(1)
    records = [record(pair, random.uniform(380, 395)) for pair in combinations("abcdefg", 2)]
    slow = record("ab", 200.0, outcome=Outcome.FAILED)
    left = [one for one in records if not {*one.nodes} & {*without}]
    usual = median(one.judgements[0].worst for one in left)
    assert share([*records, slow], slow, without) == 200.0 / usual


def test_another_pairing_is_a_peer_only_if_there_is_none_of_the_same():
    slow = record("ab", 200.0, outcome=Outcome.FAILED)
    other = record("cd", 400.0, "mlx5_1")
    assert share([slow, other], slow) == 0.5
    assert share([slow, other, record("ac", 250.0)], slow) == 0.8
    assert share([slow, other, record("ac", 250.0)], slow, "a") == 0.5


def test_an_item_without_a_peer_has_no_share():
    slow = record("ab", 200.0, outcome=Outcome.FAILED)
    assert share([slow], slow) is None
    assert share([slow, record("cd", 400.0)], slow, "cd") is None
