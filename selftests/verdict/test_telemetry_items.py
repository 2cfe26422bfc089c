"""The items of the nodes' GPUs: throttling fails them, and missing samples are no pass."""

import tracemalloc
from dataclasses import replace

import pytest
from testing.core_values import judgement
from testing.gpu_samples import BOOT, OTHER_BOOT, client, output, telemetry
from testing.telemetry_scenes import (
    BELOW,
    H200,
    HOT_PAIR,
    ON_NODE,
    ON_PAIR,
    asked,
    case,
    hot,
    results,
    run,
)

from railgauge.core.errors import ConnectionLost, NodeUnreachable
from railgauge.core.model import Outcome
from railgauge.core.question import LIMITS, RATIO, CaseResult, Question
from railgauge.core.terms import Rung
from railgauge.diagnosis import diagnose
from railgauge.facts import NodeFacts
from railgauge.facts.boot import KernelMark, Reboot
from railgauge.verdict.telemetry import made_of


def items(*args, **more):
    return {record.nodes[0]: record for record in made_of(results(*args, **more))}


def test_a_platform_that_does_not_ask_has_no_such_item():
    assert items(platform=replace(H200, telemetry=None)) == {}


def test_each_node_has_an_item_of_all_its_measurements():
    found = items()
    assert {one.id for one in found.values()} == {"gpus::telemetry[n1]", "gpus::telemetry[n2]"}
    assert {one.outcome for one in found.values()} == {Outcome.PASSED}
    assert "(80 samples of 2 measurements)" in found["n1"].judgements[0].measured
    assert found["n1"].rung == Rung.INTRANODE


def test_a_throttled_gpu_fails_the_item_of_its_node_alone():
    found = items(HOT_PAIR)
    assert (found["n1"].outcome, found["n2"].outcome) == (Outcome.PASSED, Outcome.FAILED)
    assert found["n2"].reason == (
        "gpu3 of n2: hardware-slowdown, hardware-thermal-slowdown from 0 s to its end of"
        " pair_all_reduce[n1:n2]"
    )


def slow(*nodes, **changes):
    low = judgement(
        Outcome.FAILED, metric="busbw", worst=300.0, floor=400.0, values=(300.0,), unit="GB/s",
        better="higher", reason="too slow",
    )  # fmt: skip
    return asked(*nodes, outcome=Outcome.FAILED, judgements=(low,), **changes)[0]


def causes(records, found):
    made = results(found, records={one.id: one for one in records})
    closed = {one.id: one for one in made_of(made)}
    found = diagnose(replace(made, records={**made.records, **closed}))
    return [(c.cause, c.where.node, c.where.device, len(c.explains)) for c in found]


def test_a_slow_measurement_with_a_throttled_gpu_has_one_cause():
    records = [slow(ON_PAIR, "n1", "n2"), slow(ON_NODE, "n2", pairing="gpu3")]
    assert causes(records, HOT_PAIR) == [("gpu-throttled", "n2", "gpu3", 2)]


def test_a_slow_measurement_elsewhere_has_a_cause_of_its_own():
    records = [
        slow(
            ON_NODE,
            node,
            pairing=gpu,
            questions=(Question(LIMITS, case(ON_NODE, node), None, gpu),),
        )
        for node, gpu in (("n1", "gpu3"), ("n2", "gpu5"))
    ]
    assert set(causes(records, HOT_PAIR)) == {
        ("gpu-throttled", "n2", "gpu3", 0), ("slow-node", "n1", "", 0),
        ("slow-node", "n2", "", 0),
    }  # fmt: skip


def test_each_throttled_gpu_is_a_cause():
    both = {
        case(ON_NODE, "n1"): CaseResult((run("n1", text=hot(1)),)),
        case(ON_NODE, "n2"): CaseResult((run("n2", text=hot(2)),)),
    }
    assert causes([], both) == [
        ("gpu-throttled", "n1", "gpu1", 0),
        ("gpu-throttled", "n2", "gpu2", 0),
    ]


def test_samples_of_two_nodes_that_were_swapped_are_an_error_of_both():
    texts = {"n1": output(boot=OTHER_BOOT), "n2": output(boot=BOOT)}
    swapped = (client(), *(telemetry(node, text) for node, text in texts.items()))
    kept = {case(ON_PAIR, "n1", "n2"): CaseResult((swapped,))}
    assert {(one.outcome, one.error_kind) for one in items(kept).values()} == {
        (Outcome.ERROR, "telemetry-unread")
    }
    assert causes([], kept) == [("telemetry-unread", "n[1-2]", "", 0)]


def test_one_measurement_without_samples_is_no_pass():
    found = items({case(ON_NODE, "n1"): CaseResult(((client("n1"),),))})
    assert (found["n1"].outcome, found["n2"].outcome) == (Outcome.ERROR, Outcome.PASSED)
    assert "the GPUs were not sampled during gpu_matrix_bf16[n1]" in found["n1"].reason
    assert "more measurements" not in found["n1"].reason


@pytest.mark.parametrize("on", [BELOW, ON_PAIR])
def test_the_other_measurement_of_a_ratio_needs_its_samples_too(on):
    """Also that of a ratio whose own measurement loads no GPU."""
    beside, below = case(ON_NODE, "n1", repeats=2), case(on, "n1", "n2")
    ratio = replace(asked(on, "n1", "n2")[0], questions=(Question(RATIO, below, other=beside),))
    unsampled = {beside: CaseResult(((client("n1"),), run("n1")))}
    found = items(unsampled, records={ratio.id: ratio})
    assert (found["n1"].outcome, found["n2"].outcome) == (Outcome.ERROR, Outcome.PASSED)
    assert "run 1 of gpu_matrix_bf16[n1]" in found["n1"].reason


def test_all_measurements_without_samples_are_reported_together():
    none = {
        case(ON_NODE, "n1"): CaseResult(((client("n1"),),)),
        case(ON_PAIR, "n1", "n2"): CaseResult(((client("n1"),),)),
    }
    one, both = (items(found)["n1"].reason for found in (dict(list(none.items())[:1]), none))
    assert one.startswith("n1: ")
    assert both == f"{one}; and 1 more measurements without samples"


def test_the_remedy_of_the_first_error_is_reported_for_all():
    def text(boot):
        return f"{boot} no sample"

    unread = {
        case(ON_NODE, "n1"): CaseResult((run("n1", text=text),)),
        case(ON_PAIR, "n1", "n2"): CaseResult((run("n1", "n2", text=text),)),
    }
    one = items(dict(list(unread.items())[:1]))["n1"].remedy
    assert one
    assert items(unread)["n1"].remedy == one


def test_a_limit_that_was_missed_is_not_hidden_by_missing_samples():
    found = items({**HOT_PAIR, case(ON_NODE, "n2"): CaseResult(((client("n2"),),))})
    assert found["n2"].outcome is Outcome.FAILED


def test_every_repeat_is_judged():
    on = case(ON_NODE, "n1", repeats=3)
    record = replace(asked(ON_NODE, "n1")[0], questions=(Question(LIMITS, on),))
    runs = (run("n1"), run("n1"), run("n1", text=hot()))
    found = items({on: CaseResult(runs)}, records={record.id: record})["n1"]
    assert found.outcome is Outcome.FAILED
    assert "of run 3 of gpu_matrix_bf16[n1]" in found.reason


@pytest.mark.parametrize(
    "gone", [None, CaseResult((), NodeUnreachable("no route", where="n1"))], ids=["kept", "error"]
)
def test_the_item_of_a_node_without_measurements_is_not_run(gone):
    none = {case(ON_NODE, "n1"): gone, case(ON_PAIR, "n1", "n2"): gone}
    found = items(none)
    assert (found["n1"].outcome, found["n1"].questions) == (Outcome.NOT_RUN, ())
    assert found["n2"].outcome is Outcome.PASSED


def test_a_level_that_loads_no_gpu_has_no_item():
    record, on = asked(BELOW, "n1", "n2")
    made = replace(results(), records={record.id: record}, kept={}.get)
    assert list(made_of(made)) == []
    assert on.measurement == BELOW


def test_a_measurement_that_failed_is_judged_by_its_samples_too():
    ended = (replace(client("n1"), exit_code=1), telemetry("n1", hot()(boot=BOOT)))
    lost = CaseResult((ended,), ConnectionLost("gone", where="n1"))
    assert items({case(ON_NODE, "n1"): lost})["n1"].outcome is Outcome.FAILED


@pytest.mark.parametrize(
    "more",
    [
        {"marks": (KernelMark("n1", "run-0", "22222222-3f62-4444-9b87-401c6634199b", "7"),)},
        {"reboots": (Reboot("n1", "22222222-3f62-4444-9b87-401c6634199b", BOOT),)},
    ],
    ids=["resumed", "rebooted"],
)
def test_samples_of_an_earlier_boot_of_the_node_are_its_own(more):
    before = output(boot="22222222-3f62-4444-9b87-401c6634199b")
    kept = {case(ON_NODE, "n1"): CaseResult(((client("n1"), telemetry("n1", before)),))}
    assert items(kept)["n1"].outcome is Outcome.ERROR
    assert items(kept, **more)["n1"].outcome is Outcome.PASSED


@pytest.mark.parametrize("other", ["n0", "n2"])
def test_a_boot_of_another_node_is_none_of_its_own(other):
    boot = "22222222-3f62-4444-9b87-401c6634199b"
    kept = {case(ON_NODE, "n1"): CaseResult(((client("n1"), telemetry("n1", output(boot=boot))),))}
    marks, reboots = (KernelMark(other, "run-0", boot, "7"),), (Reboot(other, boot, BOOT),)
    assert items(kept, marks=marks)["n1"].outcome is Outcome.ERROR
    assert items(kept, reboots=reboots)["n1"].outcome is Outcome.ERROR


@pytest.mark.parametrize(
    "found", [NodeUnreachable("no route"), NodeFacts("n1")], ids=["error", "no boot id"]
)
def test_samples_of_a_node_whose_boot_is_not_known_are_no_evidence(found):
    scene = results()
    made = {
        one.nodes[0]: one for one in made_of(replace(scene, found={**scene.found, "n1": found}))
    }
    assert (made["n1"].outcome, made["n2"].outcome) == (Outcome.ERROR, Outcome.PASSED)


def test_outputs_that_cannot_be_read_are_not_held():
    """The traceback of an error keeps the outputs in memory in which it was found."""
    cases = [case(ON_NODE, "n1", sizes=(size,)) for size in range(1, 41)]
    record = asked(ON_NODE, "n1", questions=tuple(Question(LIMITS, one) for one in cases))[0]

    def kept(_):
        return CaseResult((run("n1", text=lambda boot: f"{boot} no sample" + 200_000 * "x"),))

    scene = replace(results(records={record.id: record}), kept=kept)
    tracemalloc.start()
    try:
        item = next(iter(made_of(scene)))
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()
    assert item.outcome is Outcome.ERROR
    assert "and 40 more measurements without samples" in item.reason
