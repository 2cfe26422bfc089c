"""Results of the named tests of a diagnostic, given as a parser gives them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from railgauge.config.thresholds.model import Results
from railgauge.core.errors import MetricMissing, NoEvidence
from railgauge.core.limits import Basis
from railgauge.core.model import Judgement, Outcome, Parsed
from railgauge.judging.results import FAIL, PASS, SUMMARY, NamedResult, judge_results

WANTED = Results(("Memory",), Basis("site", "made up for a test"))


def judged(*results: NamedResult) -> tuple[Sequence[Judgement], Sequence[NoEvidence]]:
    parsed = Parsed("dcgmi-diag", None, (), {SUMMARY: [asdict(one) for one in results]}, ())
    return judge_results(parsed, WANTED, 2, "n1")


def memory(status: str = PASS, gpu: int = 0, printed: str = "Pass") -> NamedResult:
    return NamedResult("Memory", status, printed, (gpu,))


def test_a_pass_of_each_gpu_is_a_judgement_with_what_was_printed_first():
    found, errors = judged(memory(printed="Pass - GPU: 0"), memory(gpu=1, printed="Pass - GPU: 1"))
    assert [(one.outcome, one.measured, one.limit) for one in found] == [
        (Outcome.PASSED, "Pass - GPU: 0", "passed")
    ]
    assert not errors


def test_a_test_beside_those_that_failed_on_one_gpu_of_several_fails():
    beside = [
        NamedResult("Pulse", status, status, (gpu,)) for gpu, status in ((0, PASS), (1, FAIL))
    ]
    found, _ = judged(memory(), memory(gpu=1), *beside)
    assert [(one.metric, one.outcome) for one in found][1:] == [("Pulse", Outcome.FAILED)]
    assert (found[1].limit, found[1].points_at) == ("passed", (("n1", "gpu1"),))


def test_a_missing_result_is_an_error_at_its_node():
    for results in ((), (memory("skip"), memory("skip", 1)), (memory(),)):
        _, errors = judged(*results)
        assert [(type(one), one.where) for one in errors] == [(MetricMissing, "n1")]


def test_a_result_of_300_characters_is_shown_in_full_and_a_longer_one_is_cut():
    for length, shown in ((299, "x" * 299), (300, "x" * 300), (301, "x" * 300 + "…")):
        found, _ = judged(memory(printed="x" * length), memory(gpu=1))
        assert found[0].measured == shown
