"""RVS: its results, damage of its output, and passes without a measurement."""

import re

import pytest
from testing.gpu_tool_outputs import (
    BABEL,
    GST,
    IET,
    RVS_BABEL,
    RVS_END,
    RVS_GST,
    RVS_IET,
    RVS_LEVEL,
    RVS_LIST,
    begin,
    gst,
    iet,
    result,
)
from testing.tool_setting import kinds, values

from railgauge import tools


def parse(name, text):
    return tools.tool(name).parse(text)


def rates(parsed, metric="gflops"):
    """The samples of each GPU, in their order."""
    found = {}
    for sample in parsed.samples:
        if sample.metric == metric:
            found.setdefault(sample.placement, []).append(sample.value)
    return found


def test_each_interval_of_gst_after_the_ramp_is_a_sample():
    parsed = parse("rvs", RVS_GST)
    assert rates(parsed, "gflops_bf16") == {"gpu0": [610000, 612000], "gpu1": [598000, 600000]}
    assert parsed.summary["measured"] == ("gpu0", "gpu1")
    assert parsed.summary["models"] == ("AMD Instinct MI300X",) * 2
    assert parsed.tool_version == "1.6.75"
    assert [(t["name"], t["status"], t["gpus"]) for t in parsed.summary["tests"]] == [
        (GST, "pass", (0,)), (GST, "pass", (1,)), (GST, "pass", ()),
    ]  # fmt: skip


def test_a_level_has_the_results_of_all_its_modules():
    parsed = parse("rvs", RVS_LEVEL)
    assert parsed.summary["actions"] == (BABEL, GST, IET)
    tests = {(t["name"], t["gpus"]): t["status"] for t in parsed.summary["tests"]}
    assert set(tests) == {(name, gpus) for name in (BABEL, GST, IET) for gpus in ((0,), (1,), ())}
    assert set(tests.values()) == {"pass"}


def test_babel_has_the_mean_and_the_slowest_run_in_the_unit_of_its_table():
    parsed = parse("rvs", RVS_BABEL)
    assert values(parsed)["babel_copy", "gpu0"] == 4150313.849
    assert values(parsed)["babel_copy_min", "gpu1"] == 4037686.546
    assert {s.unit for s in parsed.samples} == {"MB/s"}
    binary = RVS_BABEL.replace("MBytes/sec", "MiBytes/sec").replace("MB/s", "MiB/s")
    assert {s.unit for s in parse("rvs", binary).samples} == {"MiB/s"}


def test_a_gpu_is_numbered_by_its_pci_address_whatever_rvs_calls_it():
    swapped = RVS_GST.replace("0000:05:00.0 - GPU", "0000:f5:00.0 - GPU")
    assert rates(parse("rvs", swapped), "gflops_bf16") == {
        "gpu1": [610000, 612000], "gpu0": [598000, 600000],
    }  # fmt: skip


def test_a_gpu_that_misses_a_target_failed_the_action():
    rows = gst("42583", (610000,)) + gst("1590", (500000,), "FALSE")
    text = RVS_LIST + begin(GST, "gst") + rows + RVS_END
    parsed = parse("rvs", text)
    assert kinds(parsed, "warning") == ["test-failed"]
    assert [t["status"] for t in parsed.summary["tests"]] == ["pass", "fail"]


def test_a_gpu_without_a_reading_of_its_power_did_not_pass():
    """RVS itself passes it."""
    silent = RVS_IET.replace("241.000000", "0.000000").replace("749.000000", "0.000000")
    statuses = [t["status"] for t in parse("rvs", silent).summary["tests"]]
    assert statuses == ["skip", "skip"]


@pytest.mark.parametrize("check", ["self-check", "accu-check"])
def test_wrong_products_are_corruption_at_any_speed(check):
    line = result(f"[{GST}] [GPU:: 1590] {check} error 0.0312500000")
    text = RVS_GST.replace(rvs_end := RVS_END, line + rvs_end)
    (found,) = parse("rvs", text).errors
    assert (found.kind, found.message.split(":")[0]) == ("data-corruption", "gpu1")


@pytest.mark.parametrize(
    ("text", "old", "new", "kind"),
    [
        (RVS_GST, "GFLOPS 612000 Target", "GFLOPS 605000 Target", "inconsistent"),
        (RVS_GST, "GFLOPS 612000\n", "GFLOPS nan\n", "unparsable"),
        (RVS_GST, "GFLOPS 612000\n", "TFLOPS 612\n", None),
        (RVS_GST, "met: TRUE", "met: MAYBE", "metric-missing"),
        (RVS_GST, RVS_LIST, RVS_LIST + "0000:75:00.0 - GPU[ 5 -   777] AMD Instinct MI300X "
         "(Device 29857)\n", "metric-missing"),
        (RVS_GST, RVS_END, "", "truncated"),
        (RVS_GST, RVS_GST, RVS_GST + RVS_GST, "several-tables"),
        (RVS_GST, RVS_END, "[ERROR ] [1.0 ] [gst] gst 1590 blas error !!!\n" + RVS_END,
         "tool-failed"),
        (RVS_BABEL, "MBytes/sec     Max", "GBytes/sec     Max", "unit-unknown"),
        (RVS_BABEL, "GPU Id      Function", "Function", "unknown-column"),
        (RVS_BABEL, "4150313.849", "9150313.849", "inconsistent"),
        (RVS_BABEL, "4150313.849", "", "unparsable"),
        (RVS_BABEL, "4150313.849", "4.1.5", "not-a-number"),
        (RVS_BABEL, "4224488.986    4224488.986    4037686.546    4150313.849",
         "0.000    0.000    0.000    0.000", "zero-value"),
        (RVS_IET, "pass: TRUE", "pass: PERHAPS", "metric-missing"),
    ],
)  # fmt: skip
def test_damaged_output_of_rvs_is_an_error(text, old, new, kind):
    assert old in text
    found = kinds(parse("rvs", text.replace(old, new, 1)))
    assert (kind in found) if kind else not found


def test_without_its_list_a_gpu_keeps_the_number_of_rvs():
    parsed = parse("rvs", begin(GST, "gst") + gst("42583", (610000, 612000)))
    assert list(rates(parsed, "gflops_bf16")) == ["gpu42583"]
    assert parsed.summary["measured"] == ()


def test_newer_names_of_pairs_are_read_and_intermediate_values_are_not():
    ends = "[GPU:: 2 - 42583 - 0000:05:00.0] [GPU:: 4 -  1590 - 0000:65:00.0]"
    moved = f"[x] p2p-bandwidth[ 1/2] {ends} bidirectional: false"
    text = (
        RVS_LIST + begin("x", "pbqt") + result(f"[x] p2p {ends} peers:true distance:15 xGMI:15")
        + result(f"{moved} 61.3 GBps") + result(f"{moved} 61.4 GBps duration: 0.2 secs") + RVS_END
    )  # fmt: skip
    parsed = parse("rvs", text)
    assert values(parsed) == {("p2p_bw", "gpu0>gpu1"): 61.4}
    assert parsed.summary["peers"] == {"gpu0>gpu1": True}


def test_the_format_of_an_action_is_in_its_name():
    for name, metric in (
        ("gst-1215Tflops-4K4K8K-rand-fp8", "gflops_fp8"),
        ("compute-fp64-trig", "gflops_fp64"),
        ("action_1", "gflops"),
    ):
        rows = gst("42583", (5, 6)) + gst("1590", (5, 6))
        text = (RVS_LIST + begin(GST, "gst") + rows + RVS_END).replace(GST, name)
        assert set(rates(parse("rvs", text), metric)) == {"gpu0", "gpu1"}


def test_iet_of_two_gpus_in_any_order_is_whole():
    text = RVS_LIST + begin(IET, "iet") + iet("42583") + iet("1590") + RVS_END
    assert parse("rvs", text).errors == ()


@pytest.mark.parametrize("text", [RVS_GST, RVS_IET, RVS_BABEL, RVS_LEVEL])
def test_results_of_an_action_that_no_line_announces_are_an_error_and_no_metric(text):
    """One damaged character in a name made ``gflops`` beside ``gflops_bf16``."""
    wanted = {(s.metric, s.placement) for s in parse("rvs", text).samples}
    for name in (GST, IET, BABEL):
        for found in list(re.finditer(rf"{name}(?=\])", text)):
            damaged = text[: found.start() + 9] + "0" + text[found.start() + 9 :]
            parsed = parse("rvs", damaged)
            assert "inconsistent" in kinds(parsed)
            assert {(s.metric, s.placement) for s in parsed.samples} <= wanted


def test_a_table_of_a_gpu_on_which_no_action_began_is_an_error():
    parsed = parse("rvs", RVS_BABEL.replace("[GPU:: 42583] Starting", "[GPU:: 42584] Starting"))
    assert "inconsistent" in kinds(parsed)
    assert {s.placement for s in parsed.samples} == {"gpu1"}
