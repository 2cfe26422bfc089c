"""What the GPUs did while they were measured: limits, times, and samples that prove nothing."""

from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest
from testing.core_values import ROOT
from testing.gpu_samples import (
    BOOT,
    HOT,
    OTHER_BOOT,
    UP_S,
    began,
    client,
    nvidia,
    output,
    stamped,
    telemetry,
)
from testing.judged_gpus import H200, TITLE, failed, of, seen

from railgauge.config import thresholds
from railgauge.core.errors import TelemetryUnread, ToolMissing
from railgauge.core.model import Outcome
from railgauge.judging.telemetry import columns, judged, watched


def unread(text=None, **more):
    with pytest.raises(TelemetryUnread) as caught:
        seen(text, **more)
    assert caught.value.where == "n1"
    assert TITLE in caught.value.what
    return caught.value.what


def hot_from(first, until=10**6, gpu=3):
    return lambda one, second: nvidia(
        one, reasons=HOT if one == gpu and first <= second < until else "0x0"
    )


def test_each_limit_is_one_judgement_if_all_gpus_keep_it():
    judgements, error = of(output(), output())
    assert error is None
    assert {(j.metric, str(j.outcome)) for j in judgements} == {
        (name, "passed") for name in ("throttling", "clock", "temperature", "power")
    }
    by_name = {j.metric: j for j in judgements}
    assert by_name["throttling"].measured == "not throttled (80 samples of 2 measurements)"
    assert by_name["temperature"].measured.startswith("61 C (80")
    assert by_name["clock"].basis == str(H200.telemetry.clock.basis)
    assert by_name["power"].pointer == "/telemetry/power"


def test_a_throttled_gpu_fails_with_the_time():
    text = output(200, row=hot_from(121, 180))
    run = (client(lasted_s=199.0), telemetry(text=text, duration_s=200.0))
    (one,) = [
        j
        for j in judged("n1", [watched("n1", TITLE, run, H200, {BOOT})], H200)[0]
        if j.outcome is Outcome.FAILED
    ]
    assert (one.metric, one.points_at) == ("throttling", (("n1", "gpu3"),))
    assert one.reason == (
        "gpu3 of n1: hardware-slowdown, hardware-thermal-slowdown from 121 s to 180 s of"
        " node_all_reduce[n1]"
    )


def begun_earlier(text, ahead_s, lasted_s):
    """A repeat that begins ``ahead_s`` after its sampler."""
    sampled = telemetry(text=text, started_at="2026-11-23T11:58:00.500+00:00")
    start = datetime(2026, 11, 23, 11, 58, 0, 500_000, timezone.utc) + timedelta(seconds=ahead_s)
    return (replace(client(lasted_s=lasted_s), started_at=start.isoformat()), sampled)


@pytest.mark.parametrize(("until_s", "fails"), [(99, False), (100, True), (101, True)])
def test_samples_before_the_measurement_do_not_count(until_s, fails):
    """The sampler has watched the measurement before too; its last sample counts."""
    text = output(110, row=hot_from(0, until_s))
    run = begun_earlier(text, 100.0, 9.0)
    found = watched("n1", TITLE, run, H200, {BOOT})
    assert bool(found.gpus[3].spells) == fails
    assert {gpu.samples for gpu in found.gpus} == {11}
    rows = columns([run]).splitlines()[1:]
    assert [row.split(",")[3] for row in rows[::8]] == [f"{n - 0.6:.2f}" for n in range(11)]


def test_samples_of_the_measurement_before_are_no_evidence():
    with pytest.raises(TelemetryUnread, match="no GPU was sampled from"):
        watched("n1", TITLE, begun_earlier(output(60), 100.0, 1.0), H200, {BOOT})


def test_throttling_that_lasts_to_the_end_is_reported_as_such():
    (one,) = failed(output(5, row=hot_from(2)))
    assert one.reason.endswith("from 2 s to its end of case1")


def test_the_first_spells_are_listed():
    (one,) = failed(*[output(3, row=hot_from(1, 2))] * 7)
    assert one.reason.count("of case") == 5
    assert one.reason.endswith("and 2 more")


def test_the_power_cap_is_no_fault():
    assert failed(output()) == []


def test_an_unknown_reason_is_reported_and_fails_nothing():
    judgements, _ = of(output(row=lambda gpu, _: nvidia(gpu, reasons="0x400" if gpu else "0x0")))
    notes = [j for j in judgements if j.outcome is Outcome.MARGINAL]
    assert [j.measured for j in notes] == [f"gpu{gpu}: 0x400" for gpu in range(1, 8)]
    assert "does not know" in notes[0].reason


def test_the_clock_is_judged_under_load_only():
    """A GPU that has nothing to do lowers its clock, at the start and the end of a measurement."""

    def row(gpu, second):
        return nvidia(gpu, mhz=345, load=12) if second in (0, 4) else nvidia(gpu)

    assert failed(output(5, row=row)) == []


def test_a_slow_clock_under_load_fails():
    (one,) = failed(output(20, row=lambda gpu, _: nvidia(gpu, mhz=900 if gpu == 5 else 1755)))
    assert (one.metric, one.points_at) == ("clock", (("n1", "gpu5"),))
    assert "0% of its samples under load reach it, the lowest is 900 MHz" in one.reason


def test_a_slow_clock_in_one_measurement_of_many_fails():
    slow = output(20, row=lambda gpu, _: nvidia(gpu, mhz=900 if gpu == 5 else 1755))
    (one,) = failed(*[output(40)] * 20, slow)
    assert one.reason.endswith("in case21")


def test_one_low_sample_of_a_short_measurement_is_judged_with_the_others():
    low = output(2, row=lambda gpu, second: nvidia(gpu, mhz=1755 if second else 400))
    assert failed(*[output(40)] * 3, low) == []
    assert failed(low)


def test_a_clock_that_was_never_under_load_is_an_error_and_no_pass():
    judgements, error = of(output(row=lambda gpu, _: nvidia(gpu, load=0 if gpu == 2 else 100)))
    assert isinstance(error, TelemetryUnread)
    assert "no sample of gpu2 was under load" in error.what
    assert {j.metric for j in judgements} == {"throttling", "temperature", "power"}


def test_a_clock_that_is_too_slow_fails_beside_a_gpu_that_was_never_under_load():
    def row(gpu, _):
        return nvidia(gpu, mhz=900 if gpu == 5 else 1755, load=0 if gpu == 2 else 100)

    assert [(j.metric, j.points_at) for j in failed(output(row=row))] == [
        ("clock", (("n1", "gpu5"),))
    ]


@pytest.mark.parametrize(
    ("changes", "metric", "words"),
    [
        ({"heat": 88}, "temperature", "temperature 88 C at 3 s of case1"),
        ({"watt": 771}, "power", "power 771 W at 3 s of case1"),
    ],
)
def test_a_value_above_its_limit_fails(changes, metric, words):
    def row(gpu, second):
        return nvidia(gpu, **(changes if (gpu, second) == (1, 3) else {}))

    (one,) = failed(output(row=row))
    assert (one.metric, one.points_at) == (metric, (("n1", "gpu1"),))
    assert words in one.reason


@pytest.mark.parametrize("changes", [{"heat": 87}, {"watt": 770}, {"mhz": 990}])
def test_a_value_at_its_limit_passes(changes):
    assert failed(output(row=lambda gpu, _: nvidia(gpu, **changes))) == []


# --- samples that prove nothing ---


def test_samples_of_another_node_are_refused():
    assert "another node" in unread(output(boot=OTHER_BOOT))


def test_a_measurement_without_a_sampler_is_refused():
    with pytest.raises(TelemetryUnread, match="the GPUs were not sampled during"):
        watched("n1", TITLE, (client(), telemetry("n2")), H200, {BOOT})


def test_a_missing_tool_is_named():
    with pytest.raises(ToolMissing) as caught:
        seen("", exit_code=127)
    assert (caught.value.where, caught.value.what) == ("n1: nvidia-smi", "nvidia-smi was not found")


def test_a_sampler_that_died_is_refused_whatever_it_printed():
    assert "ended by itself after 6 s with exit code 0" in unread(exit_code=0)


OLD_OPTION = "mx-smi: unrecognized option '--show-clk-tr'"


@pytest.mark.parametrize("exit_code", [0, 1])
def test_a_tool_too_old_for_an_option_is_quoted_and_the_release_named(exit_code):
    platform = thresholds.load("metax-c500", ROOT / "thresholds")
    text = began() + stamped("each line is the block of a GPU", OLD_OPTION)
    run = (client(), telemetry(text=text, exit_code=exit_code))
    with pytest.raises(TelemetryUnread) as caught:
        watched("n1", TITLE, run, platform, {BOOT})
    assert OLD_OPTION in caught.value.what
    assert (
        "it needs mx-smi 2.2.12 or later (--show-clk-tr): update the tool, or take the limits"
        in (caught.value.remedy)
    )


@pytest.mark.parametrize("kind", ["connection-lost", "command-timed-out", "output-too-large"])
def test_a_sampler_that_was_cut_off_is_refused(kind):
    assert f"the sampler ended with {kind}" in unread(error=kind)


def test_samples_that_end_before_the_measurement_are_refused():
    assert "no GPU was sampled from 4 s to 100 s" in unread(output(5), lasted_s=100.0)


def test_samples_that_begin_late_are_refused():
    late = output(5).replace(f"{UP_S:.2f},tele", f"{UP_S - 60:.2f},tele")
    assert "no GPU was sampled from 0 s to 60 s" in unread(late, lasted_s=64.0)


def test_samples_with_a_hole_are_refused():
    text = output(5) + stamped(*(nvidia(gpu) for gpu in range(8)), at_s=UP_S + 60)
    assert "no GPU was sampled from 4 s to" in unread(text, lasted_s=60.0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (output(gpus=9), "a sample of gpu8, but 8 GPUs are declared"),
        (output(gpus=7), "gpu7 has 0 samples, and others have 5"),
        (output(row=lambda gpu, second: nvidia(0 if gpu == 3 and second > 1 else gpu)), "gpu1 has"),
    ],
)
def test_samples_of_other_gpus_are_refused(text, words):
    assert words in unread(text)


def test_a_gpu_that_stops_answering_is_refused():
    text = output(5)
    gone = "".join(
        line
        for line in text.splitlines(keepends=True)
        if ",6, " not in line or float(line.split(",")[0]) < UP_S + 2
    )
    assert "gpu6 has 2 samples, and others have 5" in unread(gone)


def test_the_last_round_may_be_incomplete():
    assert seen(output(5) + stamped(nvidia(0), nvidia(1), at_s=UP_S + 5.4)).gpus[0].samples == 6


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"mhz": "[N/A]"}, "gpu4 shows no clock"),
        ({"heat": "[N/A]"}, "gpu4 shows no temperature"),
        ({"load": "[N/A]"}, "gpu4 shows no utilisation"),
        ({"reasons": "[N/A]"}, "gpu4 shows no throttle reasons"),
        ({"watt": "[GPU is lost]"}, "gpu4 shows no power"),
    ],
)
def test_a_missing_value_with_a_limit_is_refused(changes, words):
    def row(gpu, second):
        return nvidia(gpu, **(changes if (gpu, second) == (4, 2) else {}))

    assert words in unread(output(row=row))


def test_a_missing_value_without_a_limit_is_fine():
    """The memory's temperature is N/A in all samples of this file."""
    assert "memory temperature" not in H200.telemetry.needs
    assert len(seen().gpus) == 8


@pytest.mark.parametrize("started", ["", "yesterday"])
def test_a_measurement_whose_start_is_not_known_is_refused(started):
    assert "is not known" in unread(started_at=started)


# --- the column file ---


def test_the_samples_are_kept_as_columns_with_units():
    run = (client(), telemetry(text=output(2, 2, hot_from(1, gpu=1))))
    assert columns((run, run)).splitlines() == [
        "repeat,node,gpu,time [s],clock [MHz],temperature [C],memory temperature [C],power [W],"
        "power cap [W],utilisation [%],throttle reasons",
        *(
            f"{repeat},n1,{gpu},{at},1755,61,,690.1,700,100,{reasons}"
            for repeat in (1, 2)
            for at, gpu, reasons in (
                ("-0.10", 0, ""),
                ("-0.10", 1, ""),
                ("0.90", 0, ""),
                ("0.90", 1, "hardware-slowdown hardware-thermal-slowdown"),
            )
        ),
    ]


def test_a_case_without_samples_has_no_columns():
    assert columns(((client(),),)) == ""
    assert columns(((client(), telemetry(text="garbage\n")),)) == ""


def test_values_that_a_gpu_does_not_report_are_empty_in_the_columns():
    text = output(1, 1, lambda gpu, _: nvidia(gpu, reasons="[N/A]", mhz="[N/A]"))
    assert (
        columns(((client(), telemetry(text=text)),))
        .splitlines()[1]
        .endswith("-0.10,,61,,690.1,700,100,unknown")
    )


def test_without_a_limit_on_the_clock_no_load_is_needed():
    limits = replace(H200.telemetry, clock=None)
    idle = output(row=lambda gpu, _: nvidia(gpu, load=0))
    _, error = of(idle, platform=replace(H200, telemetry=limits))
    assert error is None
