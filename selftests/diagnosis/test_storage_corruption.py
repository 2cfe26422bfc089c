"""Which node writes or reads wrong data on a shared mount, by what each read of two others."""

from __future__ import annotations

import pytest

from railgauge.diagnosis.facts.storage import BlockCheck, corrupting


def checks(count: int) -> set[BlockCheck]:
    """Each node reads what the two nodes after it wrote, as ``fio`` has them do."""
    nodes = [f"n{number}" for number in range(count)]
    return {(nodes[(at + step) % count], nodes[at]) for at in range(count) for step in (1, 2)}


def found(count: int, *, writers: str = "", readers: str = "") -> str:
    every = checks(count)
    wrong = {(a, b) for a, b in every if a[1:] in writers or b[1:] in readers}
    named = corrupting([f"n{number}" for number in range(count)], wrong, every)
    return "".join(node[1:] for node in named)


@pytest.mark.parametrize("count", [3, 4, 5, 8])
def test_a_node_that_writes_or_reads_wrong_data_is_named_alone(count: int) -> None:
    for node in map(str, range(count)):
        assert found(count, writers=node) == node
        assert found(count, readers=node) == node


@pytest.mark.parametrize("count", [4, 5, 8])
@pytest.mark.parametrize("pair", ["01", "12", "02", "03"])
def test_of_two_that_write_wrong_data_the_node_that_reads_both_is_not_named(
    count: int, pair: str
) -> None:
    assert found(count, writers=pair) == pair


def test_a_node_that_writes_and_one_that_reads_wrong_data_are_both_named() -> None:
    assert found(8, writers="1", readers="5") == "15"


def test_where_all_is_wrong_or_only_a_part_of_a_file_no_node_is_named() -> None:
    assert found(4, writers="0123") == ""
    assert corrupting(["n0", "n1", "n2"], {("n1", "n0")}, checks(3)) == []
    assert corrupting(["n0", "n1", "n2"], set(), checks(3)) == []
