"""What a measurement's variables ask of the library is compared with what its log shows."""

from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from railgauge.tools.ccl_tests import parse
from railgauge.tools.ccl_tests.algorithms import checks_of_algorithm, name_of, subsystems

RING, TREE, NVLS = {"NCCL_ALGO": "Ring"}, {"NCCL_ALGO": "Tree"}, {"NCCL_ALGO": "NVLSTree"}


@dataclass
class Log:
    """Lines of rank 0, as NCCL prints them."""

    lines: list[str] = field(default_factory=lambda: ["NCCL version 2.22.3+cuda12.5"])

    def says(self, *texts):
        self.lines += [f"gpu01:2001:2065 [0] NCCL INFO {text}" for text in texts]
        return self

    def output_checks(self, environment):
        printed = parse("\n".join(self.lines)).summary
        asked = SimpleNamespace(measurement=SimpleNamespace(environment=environment))
        return list(checks_of_algorithm(asked, printed))


def call(name):
    return f"8589934592 Bytes -> Algo {name} proto 2 time 38964.128906"


@pytest.mark.parametrize(
    ("environment", "name", "agrees"),
    [
        (RING, "1", True),
        (TREE, "0", True),
        (TREE, "1", False),
        (NVLS, "5", True),
        (NVLS, "NVLS_TREE", True),
        (NVLS, "RING", False),
        ({"NCCL_ALGO": "ring,tree"}, "TREE", True),
        ({"NCCL_ALGO": "^Ring"}, "TREE", True),
        ({"NCCL_ALGO": "^Ring"}, "RING", False),
        ({"MCCL_ALGO": "Ring"}, "TREE", False),
        (RING, "99", False),
    ],
)
def test_the_algorithm_of_a_call_is_the_one_asked_for(environment, name, agrees):
    (check,) = Log().says(call(name)).output_checks(environment)
    assert (check.item, check.agrees) == ("algorithm", agrees)


def test_one_call_with_another_algorithm_is_too_much():
    (check,) = Log().says(*[call("0")] * 20, call("1")).output_checks(TREE)
    assert (check.shown, check.agrees) == ("TREE, RING", False)
    assert "nccl.conf" in check.remedy


def test_the_log_of_the_calls_interrupts_each_row():
    log = f"gpu01:2001:2065 [0] NCCL INFO {call('1')}\n"
    text = (
        "# nThread 1 nGpus 1 minBytes 8589934592 maxBytes 8589934592 step: 2(factor)"
        " warmup iters: 5 iters: 1 agg iters: 1 validation: 1 graph: 0\n"
        "#       size         count      type   redop    root     time   algbw   busbw #wrong"
        "     time   algbw   busbw #wrong\n"
        "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)           "
        " (us)  (GB/s)  (GB/s)\n"
        f"  8589934592    2147483648     float     sum      -1{log}{log}"
        f"  42140.1  203.84  394.94      0{log}"
        "  42308.6  203.03  393.37      0\n"
        "# Out of bounds values : 0 OK\n"
        "# Avg bus bandwidth    : 394.155\n"
    )
    parsed = parse(text)
    assert not parsed.errors
    assert [s.value for s in parsed.samples if s.metric == "busbw"] == [394.94, 393.37]
    assert parsed.summary["algorithms"] == ("RING",)


def test_names_of_later_versions_are_read():
    text = "AllReduce: 8589934592 Bytes -> Algo COLLNET_CHAIN proto SIMPLE channel{Lo..Hi}={0..15}"
    (check,) = Log().says(text).output_checks({"NCCL_ALGO": "CollnetChain"})
    assert check.agrees


def test_a_version_that_names_the_algorithm_has_to():
    (check,) = Log().output_checks(TREE)
    assert (check.shown, check.agrees) == ("nothing, although this version names it", False)


@pytest.mark.parametrize("first", ["NCCL version 2.18.5+cuda12.2", "MCCL version 2.32.0", ""])
def test_of_other_versions_nothing_is_known(first):
    (check,) = Log([first]).output_checks(RING)
    assert (check.shown, check.agrees) == (None, True)


def test_an_algorithm_for_each_collective_is_not_compared():
    (check,) = Log().says(call("0")).output_checks({"NCCL_ALGO": "allreduce:ring"})
    assert check.shown is None


def test_the_column_of_rccl_tests_counts_too():
    asked = SimpleNamespace(measurement=SimpleNamespace(environment=RING))
    printed = {"library": "RCCL", "choices": {8: {"algo": "Ring"}, 16: {"algo": "Tree"}}}
    (check,) = checks_of_algorithm(asked, printed)
    assert (check.shown, check.agrees) == ("Ring, Tree", False)


def counts(nvls, collnet=0):
    return (
        f"16 coll channels, {collnet} collnet channels, {nvls} nvls channels, 16 p2p channels,"
        " 2 p2p channels per peer"
    )


@pytest.mark.parametrize(
    ("variable", "value", "lines", "agrees"),
    [
        ("NCCL_NVLS_ENABLE", "1", [counts(16)], True),
        ("NCCL_NVLS_ENABLE", "1", [counts(0)], False),
        ("NCCL_NVLS_ENABLE", "1", [counts(16), counts(0)], False),
        ("NCCL_NVLS_ENABLE", "0", [counts(16)], False),
        ("NCCL_NVLS_ENABLE", "0", [counts(0)], True),
        ("NCCL_COLLNET_ENABLE", "1", [counts(16)], False),
        ("NCCL_COLLNET_ENABLE", "1", [counts(0, 4)], True),
    ],
)
def test_reductions_in_switches_have_channels(variable, value, lines, agrees):
    (check,) = Log().says(*lines).output_checks({variable: value})
    assert check.agrees is agrees
    assert check.shown is not None


def test_without_the_line_of_channels_nothing_is_known():
    (check,) = Log().output_checks({"NCCL_NVLS_ENABLE": "1"})
    assert (check.shown, check.agrees) == (None, True)
    assert not Log().output_checks({"NCCL_NVLS_ENABLE": "2"}), "the library decides"


def test_the_log_is_asked_for_what_shows_it():
    assert subsystems(RING) == ("TUNING",)
    assert subsystems({**NVLS, "NCCL_NVLS_ENABLE": "1"}) == ("INIT", "TUNING")
    assert subsystems({"NCCL_IB_HCA": "mlx5_0"}) == ()


def test_numbers_of_algorithms():
    assert [name_of(str(number)) for number in (0, 1, 5, 9)] == [
        "TREE", "RING", "NVLS_TREE", "algorithm 9",
    ]  # fmt: skip
