"""From transcripts to judgements: a case is parsed, and its values are compared with limits."""

from dataclasses import replace

import pytest
from testing.assess_values import (
    CASE,
    PLAIN,
    PLATFORM,
    SIZE,
    judged,
    made_up_tool,
    measured,
    out,
    outcomes,
    platform,
    runs,
)
from testing.core_values import limit, transcript

from railgauge.config.thresholds.model import Assertion
from railgauge.core.devices import DeviceNames
from railgauge.core.errors import (
    CommandTimedOut,
    MetricMissing,
    NodeUnreachable,
    OtherThanAsked,
    RankDied,
    ToolFailed,
    Uncovered,
    Unparsable,
)
from railgauge.core.limits import Dispersion
from railgauge.core.limits import Sweep as Sizes
from railgauge.core.model import Outcome, Pairing, Parsed, Sample
from railgauge.core.question import CaseResult
from railgauge.core.terms import Role
from railgauge.facts import NodeFacts
from railgauge.facts.model import GpuFacts
from railgauge.judging import assess
from railgauge.judging.assess import Measured, read
from railgauge.tools.output_checks import OutputCheck


@pytest.fixture(autouse=True)
def made_up(monkeypatch):
    return made_up_tool(monkeypatch)


# --- reading a case ---


def test_each_run_of_a_case_is_read(made_up):
    results = runs(out(390), out(380))
    found = read(PLATFORM, replace(CASE, repeats=2), results)
    assert [run.samples[0].value for run in found.runs] == [390, 380]
    assert (found.measurement, found.transcripts) == (PLAIN, results.runs)
    assert found.is_planned
    assert made_up.asked[0].found == {}


def test_a_measurement_of_others_is_not_planned():
    assert not measured(out(), is_planned=False).is_planned
    assert Measured(CASE, PLAIN, (), ()).is_planned


def test_places_have_the_names_that_the_reporting_node_s_devices_are_declared_with():
    """Its partner, whose devices have other names, says something too."""
    names = DeviceNames({"n1": {"mlx5_0": "bond0"}, "n2": {"mlx5_1": "bond0"}})
    of_partner = transcript("n2", stdout="", role=Role.SERVER)
    result = CaseResult(((out(place="bond0"), of_partner),))
    found = read(replace(PLATFORM, devices=names), CASE, result)
    assert [one.placement for one in found.runs[0].samples] == ["mlx5_0"]


def test_the_output_is_compared_with_the_facts_of_the_nodes(made_up):
    found = {"n1": NodeFacts("n1")}
    read(PLATFORM, CASE, runs(out()), found)
    assert (made_up.asked[0].found, made_up.asked[0].case) == (found, CASE)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_run_too_few_or_too_many_is_an_error(count):
    with pytest.raises(MetricMissing, match=f"{count} of 2 runs"):
        read(PLATFORM, replace(CASE, repeats=2), runs(*[out()] * count))


def test_a_case_of_another_measurement_is_an_error():
    with pytest.raises(MetricMissing, match="bench has no measurement other"):
        read(PLATFORM, replace(CASE, measurement="other"), runs(out()))


def test_the_reason_for_missing_transcripts_is_the_error():
    with pytest.raises(NodeUnreachable):
        read(PLATFORM, CASE, replace(runs(out()), error=NodeUnreachable("no", where="n1")))


COUNTERS = (transcript("n1", role=Role.COUNTERS_BEFORE), transcript("n1", role=Role.COUNTERS_AFTER))


@pytest.mark.parametrize("run", [(), COUNTERS])
def test_a_run_without_an_output_is_an_error(run):
    with pytest.raises(MetricMissing, match="has no transcript"):
        read(PLATFORM, CASE, CaseResult((run,)))


def test_counters_are_no_output_of_the_tool(made_up):
    found = read(PLATFORM, CASE, CaseResult(((COUNTERS[0], out(), COUNTERS[1]),)))
    assert found.runs[0].samples[0].value == 390
    assert [sides.role for sides in made_up.sides[0]] == ["client"]


def test_the_end_of_a_service_does_not_matter_if_a_client_reports():
    service = out(role=Role.SERVICE, exit_code=None, error="command-timed-out")
    assert read(PLATFORM, CASE, CaseResult(((out(), service),))).runs
    with pytest.raises(CommandTimedOut):
        read(PLATFORM, CASE, CaseResult(((service,),)))


def server(**changes):
    return transcript("n2", role="server", stdout="", **changes)


def test_a_server_must_have_ended_well_too():
    with pytest.raises(ToolFailed, match="n2"):
        read(PLATFORM, CASE, CaseResult(((out(), server(exit_code=1)),)))


def test_a_client_without_output_is_at_fault_not_its_server():
    silent, waits = transcript("n1", stdout="error no-output"), server(error="command-timed-out")
    with pytest.raises(Unparsable, match="n1"):
        read(PLATFORM, CASE, CaseResult(((silent, waits),)))
    for code in (1, -1, None):
        with pytest.raises(CommandTimedOut, match="n2"):
            read(PLATFORM, CASE, CaseResult(((replace(silent, exit_code=code), waits),)))


def test_a_dead_rank_is_not_attributed_to_the_first_node():
    died = transcript("n1", stdout="error rank-died", exit_code=1)
    for one in (died, replace(died, exit_code=0)):
        with pytest.raises(RankDied) as raised:
            measured(one)
        assert raised.value.where == "ib_write_bw on n1"


def test_the_output_of_another_request_is_no_evidence(made_up):
    made_up.checks = (OutputCheck("qps", "4", "1", agrees=False),)
    with pytest.raises(OtherThanAsked):
        measured(out())


def test_errors_of_a_tool_are_read_after_its_output():
    printed = transcript("n1", stdout="bw_average 390", stderr="error truncated\n")
    with pytest.raises(Unparsable):
        measured(printed)
    assert measured(out()).runs[0].tool_version == out().stdout
    assert measured(replace(out(), stderr="bw_peak 391")).runs[0].samples[1].value == 391


# --- values against limits ---


@pytest.mark.parametrize(("value", "outcome"), [(390, "passed"), (300, "passed"), (299, "failed")])
def test_a_value_is_judged_at_its_size(value, outcome):
    one = measured(out(value), replace(out(value), stdout=f"bw_average {value} {SIZE}"))
    assert outcomes(judged(one)) == ([outcome], [])
    assert judged(one).judgements[0].size_bytes == SIZE


def test_one_bad_run_of_three_fails():
    assert outcomes(judged(measured(out(), out(1), out()))) == (["failed"], [])


def test_a_size_that_no_run_printed_is_an_error():
    assert outcomes(judged(measured(out(size=2)))) == ([], ["metric-missing"])
    assert outcomes(judged(measured(out(), out(size=2)))) == ([], ["metric-missing"])


def test_no_value_above_the_ceiling_of_the_nic_passes():
    assert outcomes(judged(measured(out(401)))) == ([], ["implausible"])


def test_each_metric_is_judged_though_another_is_missing():
    peak = limit(metric="bw_peak", floor=300.0)
    asserts = (Assertion("bw_peak"), Assertion("bw_average"))
    both = platform(asserts=asserts, limits=(peak, *PLAIN.limits))
    assert outcomes(judged(measured(out(1), on=both), on=both)) == (["failed"], ["metric-missing"])


PLACES = [
    ("size", SIZE, None, SIZE),
    ("link", None, "gpu0>gpu1", None),
    ("gpu", None, "gpu0", None),
    ("run", None, None, None),
]


@pytest.mark.parametrize(("per", "size", "placement", "printed"), PLACES)
@pytest.mark.parametrize("asked", [place[0] for place in PLACES])
def test_a_metric_per_part_is_judged_for_that_part_alone(per, size, placement, printed, asked):
    on = platform(asserts=(Assertion("bw_average", per=asked),))
    one = measured(out(1, size=printed, place=placement), on=on)
    found = judged(one, size, placement, on=on)
    assert outcomes(found) == (["failed"] if asked == per else [], [])


def test_a_value_of_another_part_is_no_answer():
    on = platform(asserts=(Assertion("bw_average", per="gpu"),))
    one = measured(out(390, place="gpu1"), on=on)
    assert outcomes(judged(one, None, "gpu0", on=on)) == ([], ["metric-missing"])
    assert outcomes(judged(one, None, "gpu1", on=on)) == (["passed"], [])


def test_a_limit_is_that_of_the_path():
    near, far = (replace(PLAIN.limits[0], pairings=(name,)) for name in ("host", "far"))
    on = platform(limits=(near, replace(far, floor=395.0)))
    assert outcomes(judged(measured(out(), on=on), on=on)) == (["passed"], [])
    gpu = replace(CASE, pairing=Pairing("mlx5_0", 0, "far"))
    assert outcomes(judged(measured(out(), on=on, of=gpu), on=on)) == (["failed"], [])


def test_an_average_over_other_sizes_is_an_error_and_of_another_sweep_not_asked():
    over = limit(floor=300.0, over=Sizes(SIZE, SIZE, 2))
    on = platform(asserts=(Assertion("bw_average", per="run"),), limits=(over,))
    one = measured(out(), on=on)
    assert outcomes(judged(one, None, on=on)) == (["passed"], [])
    other = measured(replace(out(), stdout=f"bw_average 390 {SIZE}\nbw_average 390 2"), on=on)
    assert outcomes(judged(other, None, on=on)) == ([], ["metric-missing"])
    swept = measured(out(1), on=on, of=replace(CASE, sizes=(2, SIZE)))
    assert outcomes(judged(swept, None, on=on)) == ([], [])


def test_a_share_of_the_slot_needs_the_slot_of_that_gpu_on_that_node():
    share = limit(floor=0.5, of="gpu_slot")
    on = platform(asserts=(Assertion("bw_average", per="gpu"),), limits=(share,), scope="node")
    gpu = GpuFacts(0, "x", "0000:1a:00.0", None, pcie_max_gen=4, pcie_max_width=16)
    found = {"n1": NodeFacts("n1", gpus=(gpu,))}  # 252 Gb/s
    for value, outcome in ((130, "passed"), (120, "failed")):
        one = measured(out(value, SIZE, place="gpu0"), on=on)
        assert outcomes(judged(one, None, "gpu0", on=on, found=found)) == ([outcome], [])
    fast = measured(out(260, SIZE, place="gpu0"), on=on)
    assert outcomes(judged(fast, None, "gpu0", on=on, found=found)) == ([], ["implausible"])
    assert outcomes(judged(one, None, "gpu0", on=on)) == ([], ["fact-missing"])
    swapped = {"n1": NodeUnreachable("no", where="n1"), "n2": found["n1"]}
    assert outcomes(judged(one, None, "gpu0", on=on, found=swapped)) == ([], ["node-unreachable"])


SPREAD = limit(floor=300.0, dispersion=Dispersion(cv_max=0.1))


def test_rows_that_cannot_show_stability_are_an_error():
    on = platform(limits=(SPREAD,), options={"cycles": 3})
    rows = replace(out(), stdout=f"bw_average 390 {SIZE}\n" * 2)
    whole = replace(out(), stdout=f"bw_average 390 {SIZE}\n" * 3)
    assert outcomes(judged(measured(whole, on=on), on=on)) == (["passed"], [])
    assert outcomes(judged(measured(rows, on=on), on=on)) == ([], ["stability-unproven"])
    assert outcomes(judged(measured(rows, on=on, is_planned=False), on=on)) == (["passed"], [])
    one = measured(out(), on=on, is_planned=False)
    assert outcomes(judged(one, on=on)) == ([], ["stability-unproven"])
    slow = measured(out(1), on=on)
    assert outcomes(judged(slow, on=on)) == (["failed"], [])
    assert "one row" in judged(slow, on=on).judgements[0].reason
    assert outcomes(judged(measured(out()), on=on)) == (["passed"], [])


def test_rows_are_counted_at_the_size_that_is_judged():
    on = platform(limits=(SPREAD,), options={"cycles": 2})
    mixed = replace(out(), stdout=f"bw_average 390 {SIZE}\nbw_average 390 2\n")
    assert outcomes(judged(measured(mixed, on=on), on=on)) == ([], ["stability-unproven"])


def test_a_metric_that_the_tool_does_not_declare_is_not_judged():
    on = platform(tool="ccl-tests")
    with pytest.raises(Uncovered, match="ccl-tests declares no bw_average") as raised:
        judged(measured(out(), on=on), on=on)
    assert raised.value.where == PLAIN.limits[0].pointer


def test_a_judgement_names_what_no_output_showed_once(made_up):
    made_up.checks = (OutputCheck("MTU", "4096", None), OutputCheck("GID", "3", None))
    assert judged(measured(out(), out())).judgements[0].not_shown == ("MTU", "GID")


def test_the_judgement_has_the_limit_and_its_ceiling():
    (one,) = judged(measured(out())).judgements
    assert (one.floor, one.physical_ceiling, one.pointer) == (
        300, PLATFORM.nics[0].data_rate_gbps, PLAIN.limits[0].pointer,
    )  # fmt: skip


@pytest.fixture
def best(monkeypatch):
    """``best(value)`` in Gb/s: the best that a run can reach; the NIC of its path carries 400."""

    def reach(value):
        for name in ("ideal", "whole"):
            monkeypatch.setattr(assess, name, lambda *of: value)

    return reach


def test_the_judgement_has_the_ideal_where_that_is_not_the_ceiling(best):
    for value, kept in ((350.0, 350.0), (PLATFORM.nics[0].data_rate_gbps, None), (None, None)):
        best(value)
        assert judged(measured(out())).judgements[0].ideal == kept


def test_a_share_of_the_ideal_is_judged_as_a_value(best):
    best(390.0)
    on = platform(limits=(limit(floor=0.9, of="ideal"),))  # 351 Gb/s
    for value, outcome in ((352, "passed"), (350, "failed")):
        found = judged(measured(out(value), on=on), on=on)
        assert outcomes(found) == ([outcome], [])
        assert found.judgements[0].floor == 351
    best(None)
    with pytest.raises(Uncovered, match="a share of an ideal that is not known"):
        judged(measured(out(), on=on), on=on)


# --- right results alone ---


def test_right_results_need_a_count_of_each_run():
    with_counts = Parsed("made-up", "1", (Sample("wrong", "count", 0.0, SIZE),), {}, ())
    one = measured(out(390))
    (judged_right,) = assess.correct(replace(one, runs=(with_counts,))).judgements
    assert (judged_right.metric, judged_right.outcome) == ("wrong", Outcome.PASSED)
    without = assess.correct(replace(one, runs=(with_counts, *one.runs)))
    assert [error.kind for error in without.errors] == [MetricMissing.kind]
