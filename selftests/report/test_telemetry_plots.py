"""The plots of GPUs that were throttled: which measurement is shown, and where it is marked."""

from dataclasses import replace
from xml.etree import ElementTree as Xml

from testing.gpu_samples import BOOT, HOT, client, nvidia, output, telemetry
from testing.telemetry_scenes import HOT_PAIR, ON_NODE, case, hot, results, run

from railgauge.core.question import CaseResult
from railgauge.report.drawn import throttled_plots
from railgauge.report.plots.telemetry import GpuTrace
from railgauge.report.plots.telemetry import telemetry as drawn
from railgauge.stacks import stack
from railgauge.stacks.sampling import parse_samples
from railgauge.verdict.telemetry import made_of

NEVER = ("hardware-slowdown", "hardware-thermal-slowdown")
(SAMPLER,) = stack("nvidia").samplers


def trace(text):
    samples = parse_samples(text, SAMPLER).samples
    own = tuple(replace(one, at_s=one.at_s - 1000) for one in samples if one.gpu == 0)
    return GpuTrace("n1", 0, "node_all_reduce[n1]", own)


def hot_between(first, last):
    return lambda _, second: nvidia(0, reasons=HOT if first <= second < last else "0x0")


def test_throttled_time_is_hatched_in_a_plot_with_units():
    plot = drawn(trace(output(60, 1, hot_between(20, 40))), NEVER, 3, "simulated")
    words = " ".join(Xml.fromstring(plot.svg).itertext())
    for expected in ("clock in MHz", "temperature in C", "power in W", "SIMULATED evidence"):
        assert expected in words
    assert "gpu0 of n1 during node_all_reduce[n1]" in words
    assert "hatched: throttled" in words
    assert "from 20 s to 40 s of node_all_reduce[n1]" in plot.caption
    cool = drawn(trace(output(60, 1, hot_between(90, 99))), NEVER, 3, "hardware")
    assert cool.caption == "60 samples; not throttled."
    assert len(plot.svg) > len(cool.svg)
    assert plot.name == "rung3-telemetry-n1-gpu0"


def test_one_sample_is_a_plot_too():
    plot = drawn(trace(output(1, 1)), NEVER, 3, "hardware")
    assert "<circle" in plot.svg


def test_a_value_that_the_tool_does_not_show_has_no_panel():
    text = output(5, 1, lambda gpu, _: nvidia(gpu, mhz="[N/A]"))
    plot = drawn(trace(text), NEVER, 3, "hardware")
    assert "clock in MHz" not in plot.svg
    assert "power in W" in plot.svg


def with_items(found):
    made = results(found)
    return replace(made, records={**made.records, **{one.id: one for one in made_of(made)}})


def test_each_throttled_gpu_has_a_plot_of_the_measurement_that_shows_it():
    (plot,) = throttled_plots(with_items(HOT_PAIR), "hardware")
    assert plot.title == "gpu3 of n2 during pair_all_reduce[n1:n2]"


def test_a_run_without_throttling_has_no_such_plot():
    assert throttled_plots(with_items({}), "hardware") == []


def test_many_gpus_have_a_few_plots():
    def row(gpu, _):
        return nvidia(gpu, reasons=HOT)

    kept = {case(ON_NODE, "n1"): CaseResult(((client("n1"), telemetry("n1", output(row=row))),))}
    assert len(throttled_plots(with_items(kept), "hardware")) == 6


def test_samples_that_cannot_be_read_are_not_drawn():
    kept = {
        case(ON_NODE, "n2"): CaseResult((run("n2", text=hot(2)),)),
        case(ON_NODE, "n1"): CaseResult(((client("n1"), telemetry("n1", "garbage\n")),)),
    }
    (plot,) = throttled_plots(with_items(kept), "hardware")
    assert plot.title.startswith("gpu2 of n2")
    assert BOOT not in plot.svg
