"""The metrics that a tool declares are those that it prints and that may be limited."""

from dataclasses import replace
from importlib import import_module
from types import SimpleNamespace

import pytest
from testing.core_values import PLATFORMS, ROOT, SHARED, needs_transcripts
from testing.corpus_owners import OF_TOOLS

from railgauge import tools
from railgauge.config import thresholds
from railgauge.planning import plan
from railgauge.tools.metric import HIGHER, LOWER, SWEEP, Metric

# Tools whose output a platform file may limit.
LIMITED = [name for name in tools.PLANNABLE if tools.metrics(name).keys() > {"scaling"}]


def outputs(tool):
    """Every recorded output of ``tool``: the reader with the longest fitting prefix reads it."""
    for path in sorted(SHARED.glob("*/**/*")):
        name = str(path.relative_to(SHARED))
        owners = [begin for begin in OF_TOOLS if name.startswith(begin)]
        if owners and path.is_file() and OF_TOOLS[max(owners, key=len)] == tool:
            yield name, path.read_text(encoding="utf-8", errors="replace")


@needs_transcripts
@pytest.mark.parametrize("name", LIMITED)
def test_everything_that_a_tool_prints_is_declared_with_its_unit(name):
    for where, text in outputs(name):
        for sample in tools.tool(name).parse(text).samples:
            if name == "ibqueryerrors" and sample.placement:
                continue  # a port's counter, which is limited under ``fabric``
            declared = tools.declared_metric(name, sample.metric)
            assert declared is not None, (where, sample.metric)
            means = sample.unit_means or sample.unit
            assert {sample.unit, means} & set(declared.units), (where, sample)


@needs_transcripts
def test_there_are_recorded_outputs_of_most_tools():
    recorded = {name for name in LIMITED if any(True for _ in outputs(name))}
    assert {"perftest", "ccl-tests", "transferbench", "nvbandwidth", "vllm-bench"} <= recorded


_TROUBLE = {"retransmits", "step_p99", "exchange_share", "load_share", "latency_impact"}


@pytest.mark.parametrize("name", PLATFORMS)
def test_every_limit_of_the_platform_files_is_on_the_side_that_its_tool_declares(name):
    platform = thresholds.load(name, ROOT / "thresholds")
    assert list(plan.complaints(platform)) == []
    for measurement in platform.measurements.values():
        for limit in measurement.limits:
            declared = tools.declared_metric(measurement.tool, limit.metric)
            turned = replace(limit, floor=limit.ceiling, ceiling=limit.floor)
            other = replace(measurement, limits=(turned,))
            lines = list(plan.complaints(replace(platform, measurements={"x": other})))
            is_two_sided = limit.floor is not None and limit.ceiling is not None
            assert is_two_sided or any("which a bad value cannot miss" in line for line in lines)
            is_trouble = limit.unit in ("us", "ms") or limit.metric in _TROUBLE
            assert declared.lower_is_better is is_trouble


@pytest.mark.parametrize(
    ("tool", "lower"),
    [
        ("perftest", {"lat_min", "lat_max", "lat_typical", "lat_avg", "lat_stdev", "lat_p99"}),
        ("ccl-tests", {"time_us", "cputime_us", "wrong"}),
        ("mpi-bench", {"time_us", "wrong"}),
        ("iperf3", {"retransmits", "retransmits_reverse"}),
        ("nvbandwidth", {"host_device_latency_sm", "device_to_device_latency_sm"}),
        ("vllm-bench", {"ttft_mean", "tpot_p99", "itl_median", "e2el_p999", "failed"}),
    ],
)
def test_times_and_counts_of_trouble_are_better_low_and_rates_high(tool, lower):
    declared = tools.metrics(tool)
    assert all(declared[name].lower_is_better for name in lower)
    rates = [one for one in declared.values() if one.units[0].endswith("/s")]
    assert rates
    assert not any(one.lower_is_better for one in rates)


def test_a_tool_that_is_only_read_may_not_be_limited():
    for name in set(tools.NAMES) - set(tools.PLANNABLE):
        assert set(tools.metrics(name)) == {"scaling"}
    assert tools.declared_metric("abacus", "beads") is None


@pytest.mark.parametrize(
    ("declared", "says"),
    [
        ((Metric("a", ("us",), LOWER), Metric("a", ("us",), HIGHER)), "declares a metric twice"),
        ((Metric("scaling", ("1",), HIGHER),), "declares a metric twice"),
        ((Metric("a", ("parsec",), HIGHER),), "a is declared with"),
        ((Metric("a", (), HIGHER),), "a is declared with"),
        ((Metric("a", ("us",), LOWER, per="week"),), "per week"),
    ],
)
def test_a_tool_with_an_invalid_declaration_is_refused(monkeypatch, declared, says):
    monkeypatch.setattr(tools, "tool", lambda name: SimpleNamespace(METRICS=declared))
    with pytest.raises(TypeError, match=says):
        tools.metrics.__wrapped__("perftest")


def test_every_tool_module_has_the_whole_contract():
    for name in tools.NAMES:
        module = tools.tool(name)
        assert isinstance(module.METRICS, tuple)
        assert all(isinstance(one, Metric) for one in module.METRICS)
        assert module.METRICS or name not in LIMITED


def test_every_tool_that_is_run_has_output_checks():
    for name in tools.PLANNABLE:
        registered = tools._RUN[name]
        module = import_module(registered.module)
        declared = dir(module.named(name) if registered.is_family else module)
        assert {"parse", "commands", "output_checks"} <= set(declared), name


def test_averages_over_a_sweep_are_declared_as_such():
    assert [one.name for name in LIMITED for one in tools.metrics(name).values()
            if one.per == SWEEP] == ["avg_busbw"]  # fmt: skip
