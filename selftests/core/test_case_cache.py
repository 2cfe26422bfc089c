"""Values of the cases at the last few places are kept, and no others."""

from railgauge.core.case_cache import CaseCache
from railgauge.core.model import Case, Pairing


def case(measurement="write", nodes="ab", nic="mlx5_0"):
    return Case(measurement, tuple(nodes), Pairing(nic), (65536,))


def test_a_place_keeps_all_its_pairings():
    kept = CaseCache()
    pairings = [case(nic=f"mlx5_{number}") for number in range(64)]
    for number, one in enumerate(pairings):
        assert kept.keep(one, number) == number
    assert [kept.get(one) for one in pairings] == list(range(64))
    assert kept.get(case(nodes="ba")) is None


def test_the_place_that_was_used_first_is_forgotten():
    kept = CaseCache()
    for measurement in ("write", "read", "write", "send"):
        kept.keep(case(measurement), measurement)
    assert [kept.get(case(name)) for name in ("write", "read", "send")] == ["write", None, "send"]
