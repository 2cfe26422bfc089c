"""The tools of single GPUs: whole outputs, every cut of them, damage, and lies."""

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from testing.gpu_tool_outputs import (
    BURN,
    BURN_END,
    FRY,
    FRY_UNHEALTHY,
    HIPBLASLT,
    ROCBLAS,
    WHOLE,
    on_each,
    rocblas_row,
)
from testing.tool_setting import kinds, values

from railgauge import tools

EVERY = [(name, text) for name, texts in WHOLE.items() for text in texts]


def parse(name, text):
    return tools.tool(name).parse(text)


def rates(parsed, metric="gflops"):
    """The samples of each GPU, in their order."""
    found = {}
    for sample in parsed.samples:
        if sample.metric == metric:
            found.setdefault(sample.placement, []).append(sample.value)
    return found


@pytest.mark.parametrize(("name", "text"), EVERY)
def test_a_whole_output_has_no_error(name, text):
    parsed = parse(name, text)
    assert parsed.errors == ()
    assert parsed.tool == name
    assert tools.tool(name).payload_bytes(parsed) == 0
    assert {s.placement for s in parsed.samples} in ({"gpu0", "gpu1"}, set())


@pytest.mark.parametrize(("name", "text"), EVERY)
def test_every_cut_is_an_error(name, text):
    """Fewer rows are never a pass: an incomplete output gives an error."""
    for end in range(len(text.rstrip())):
        assert parse(name, text[:end]).errors, f"{text[max(0, end - 80) : end]!r} is the end"


@pytest.mark.parametrize(("name", "text"), EVERY)
def test_every_line_that_is_lost_is_an_error_or_changes_nothing(name, text):
    whole = parse(name, text)
    wanted = [(s.metric, s.placement, s.value) for s in whole.samples]
    lines = text.splitlines(keepends=True)
    for at in range(len(lines)):
        left = parse(name, "".join(lines[:at] + lines[at + 1 :]))
        if not left.errors and [(s.metric, s.placement, s.value) for s in left.samples] != wanted:
            assert name in ("gpu-burn", "rvs"), lines[at]  # one of several samples of a GPU
            assert {s.placement for s in left.samples} == {s.placement for s in whole.samples}


@pytest.mark.parametrize(("name", "text"), EVERY)
def test_two_outputs_in_one_are_an_error(name, text):
    assert "several-tables" in kinds(parse(name, text + text)) or parse(name, text + text).errors


@pytest.mark.parametrize("name", WHOLE)
def test_no_output_and_no_program_are_errors(name):
    program = {"gpu-burn": "gpu_burn"}.get(name, name)
    assert kinds(parse(name, "")) == ["no-output"]
    assert kinds(parse(name, "Welcome to the node\n")) == ["no-table"]
    missing = f"bash: line 1: {program}: command not found\n"
    assert kinds(parse(name, missing)) == ["tool-missing"]


def test_a_rate_of_rvs_under_the_name_of_no_action_is_an_error():
    """One wrong character in an action's name gave another metric."""
    text = next(one for one in WHOLE["rvs"] if "compute-bf16-trig" in one)
    line = "[compute-bf16-trig] [GPU:: 42583] GFLOPS 610000\n"
    assert line in text
    parsed = parse("rvs", text.replace(line, line.replace("bf16", "bf016")))
    assert kinds(parsed) == ["inconsistent"]
    assert "announces the action compute-bf016-trig" in parsed.errors[0].message


@pytest.mark.parametrize("name", WHOLE)
@settings(max_examples=60)
@given(data=st.data())
def test_noise_never_raises_and_never_adds_a_value(name, data):
    text = data.draw(st.sampled_from(WHOLE[name]))
    at = data.draw(st.integers(0, len(text)))
    noise = data.draw(st.text(max_size=30))
    wanted = {(s.metric, s.placement) for s in parse(name, text).samples}
    parsed = parse(name, text[:at] + noise + text[at:])
    if not parsed.errors:
        assert {(s.metric, s.placement) for s in parsed.samples} == wanted


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("unit", ["A", " ", "- ", "0 (0 Gflop/s) - ", ",", "[GPU:: ", "1 ", "\r"])
def test_long_lines_take_linear_time(name, unit):
    began = time.process_time()
    for head in ("", "\r10.0%  proc'd: ", "GPU #0: ", "[RESULT] [1.0 ] [a] [GPU:: 1] ", "M,"):
        parse(name, head + unit * (100_000 // len(unit)))
    assert time.process_time() - began < 8


# --- gpu_burn ---


def test_each_report_of_a_gpu_but_its_first_is_a_sample():
    parsed = parse("gpu-burn", BURN)
    assert rates(parsed) == {"gpu0": [372000, 370000], "gpu1": [371000, 369000]}
    assert rates(parsed, "errors") == {"gpu0": [0], "gpu1": [0]}
    assert parsed.summary["format"] == "tf32"
    assert parsed.summary["duration_s"] == 30
    assert parsed.summary["measured"] == ("gpu0", "gpu1")
    assert parsed.summary["models"] == ("NVIDIA H200", "NVIDIA H200")


LAST = "1503 (370000 Gflop/s) - 1503 (369000 Gflop/s)   errors: 0 - 0 "


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("GPU 1: OK", "GPU 1: FAULTY", "data-corruption"),
        ("errors: 0 - 0   temps: 60", "errors: 0 - 7  (WARNING!)  temps: 60", "data-corruption"),
        ("errors: 0 - 0   temps: 60", "errors: -524288000  (WARNING!)- 0   temps: 60",
         "data-corruption"),
        (LAST, "1503 (370000 Gflop/s) - -1 (0 Gflop/s)   errors: 0 - 1278531568  (DIED!)",
         "gpu-failed"),
        (LAST, "1503 (370000 Gflop/s) - -1 (0 Gflop/s)   errors: 0 - 0  (DIED!)", "gpu-failed"),
        ("1002 (371000 Gflop/s)", "501 (371000 Gflop/s)", "metric-missing"),
        ("1503 (369000 Gflop/s)", "401 (369000 Gflop/s)", "inconsistent"),
        ("371000 Gflop/s", "0 Gflop/s", "zero-value"),
        ("371000 Gflop/s", "371 Tflop/s", "unparsable"),
        ("371000 Gflop/s", "nan Gflop/s", "unparsable"),
        ("1002 (371000 Gflop/s)   errors: 0 - 0", "1002 (371000 Gflop/s)   errors: 0",
         "unparsable"),
        (" - 1002 (371000 Gflop/s)", "", "unparsable"),
        ("Tested 2 GPUs", "Tested 3 GPUs", "truncated"),
        ("\tGPU 1: OK\n", "", "truncated"),
        (BURN_END, "", "truncated"),
        (BURN, BURN + BURN, "several-tables"),
        (BURN_END, "\n\nNo clients are alive!  Aborting\n", "gpu-failed"),
        (BURN_END, "Couldn't init a GPU test: Error in \"load module\": file not found\n",
         "tool-failed"),
        (BURN_END, "Couldn't init a GPU test: Error in C alloc (gpu_burn-drv.cpp:141): out of "
         "memory\n", "out-of-memory"),
    ],
)  # fmt: skip
def test_damage_of_gpu_burn_is_named(old, new, kind):
    assert old in BURN
    text = BURN.replace(old, new, 1)
    if "501 (371000" in new:
        text = text.replace("1503 (369000 Gflop/s)", "501 (369000 Gflop/s)")
    assert kind in kinds(parse("gpu-burn", text))


def test_a_faulty_gpu_is_named_whatever_its_speed_and_the_exit_code_is_zero():
    parsed = parse("gpu-burn", BURN.replace("GPU 1: OK", "GPU 1: FAULTY"))
    (found,) = [p for p in parsed.problems if p.kind == "data-corruption"]
    assert found.message == "gpu1: an unknown number of errors"
    counted = BURN.replace("errors: 0 - 0   temps: 60", "errors: 0 - 7  (WARNING!)  temps: 60")
    assert parse("gpu-burn", counted).errors[0].message == "gpu1: 7 errors"
    assert rates(parse("gpu-burn", counted), "errors") == {"gpu0": [0], "gpu1": [7]}


def test_a_dead_gpu_is_no_corruption_although_the_list_calls_it_faulty():
    """Its count of errors is random memory."""
    dead = BURN.replace(
        LAST, "1503 (370000 Gflop/s) - -1 (0 Gflop/s)   errors: 0 - 1278531568  (DIED!)"
    )
    found = kinds(parse("gpu-burn", dead.replace("GPU 1: OK", "GPU 1: FAULTY")))
    assert "gpu-failed" in found
    assert "data-corruption" not in found


def test_a_log_that_was_copied_from_a_screen_has_blanks_for_tabs():
    """All public recordings have them."""
    copied = parse("gpu-burn", BURN.expandtabs())
    assert (copied.samples, copied.summary) == (
        parse("gpu-burn", BURN).samples,
        parse("gpu-burn", BURN).summary,
    )
    assert copied.problems == ()


def test_a_list_of_ok_without_any_work_is_no_pass():
    """As in an issue of gpu_burn: a run that was too short to report anything."""
    head, _, end = BURN.partition("\r")[0], "", BURN_END
    assert kinds(parse("gpu-burn", head + end)) == ["metric-missing"]


def test_text_of_another_stream_before_a_progress_line_does_not_hide_it():
    torn = BURN.replace("\r33.3%", "\rread[0] error 033.3%")
    assert rates(parse("gpu-burn", torn)) == rates(parse("gpu-burn", BURN))


# --- gpu-fryer ---


def test_mean_and_slowest_second_of_each_gpu():
    parsed = parse("gpu-fryer", FRY)
    assert values(parsed) == {
        ("gflops", "gpu0"): 730012, ("gflops_min", "gpu0"): 728988,
        ("gflops_max", "gpu0"): 731187.49,
        ("gflops", "gpu1"): 725011, ("gflops_min", "gpu1"): 724590,
        ("gflops_max", "gpu1"): 726789.0,
    }  # fmt: skip
    assert (parsed.summary["format"], parsed.problems) == ("BF16", ())
    assert [(t["status"], t["gpus"]) for t in parsed.summary["tests"]] == [
        ("pass", (0,)), ("pass", (1,)),
    ]  # fmt: skip


def test_an_unhealthy_gpu_is_a_failed_test_with_its_reason():
    parsed = parse("gpu-fryer", FRY_UNHEALTHY)
    assert kinds(parsed, "warning") == ["test-failed"]
    tests = {t["gpus"]: (t["status"], t["says"]) for t in parsed.summary["tests"]}
    assert tests[(0,)] == ("pass", "")
    assert tests[(1,)][0] == "fail"
    assert "throttled" in tests[(1,)][1]


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("730012 Gflops/s", "     0 Gflops/s", "zero-value"),
        ("730012 Gflops/s", "930012 Gflops/s", "inconsistent"),
        ("730012 Gflops/s", "730012 Tflops/s", "no-table"),
        ("min: 728988.00", "min: NaN", "unparsable"),
        ("min: 728988.00", "min: 18446744073.71", "inconsistent"),
        ("GPU #1: 725011", "GPU #0: 725011", "metric-missing"),
        (":  BF16 ", ": FP32 BF16 ", "several-tables"),
        ("All GPUs seem healthy\n", "", "truncated"),
        ("Freeing GPUs...\n", "", "truncated"),
        ("Creating random", "thread 'main' panicked at src/main.rs:1: x\nC", "tool-failed"),
        (FRY, "Error: No GPUs detected\n", "tool-failed"),
        (FRY, "error: unexpected argument '--use-bf16' found\n", "tool-failed"),
    ],
)
def test_damage_of_gpu_fryer_is_named(old, new, kind):
    assert old in FRY
    damaged = FRY.replace(old, new, 1)
    if kind == "no-table":
        damaged = damaged.replace("725011 Gflops/s", "725011 Tflops/s")
        damaged = re.sub(r"^\d[^\n]*\n", "", damaged, flags=re.M)
    assert kind in kinds(parse("gpu-fryer", damaged))


# --- rocblas-bench and hipblaslt-bench ---


@pytest.mark.parametrize(
    ("name", "text"), [("rocblas-bench", ROCBLAS), ("hipblaslt-bench", HIPBLASLT)]
)
def test_each_run_on_each_gpu_is_a_sample(name, text):
    parsed = parse(name, text)
    assert rates(parsed) == {
        "gpu0": [pytest.approx(610840, rel=1e-5), pytest.approx(607464, rel=1e-5)],
        "gpu1": [pytest.approx(600825, rel=1e-5), pytest.approx(597560, rel=1e-5)],
    }  # fmt: skip
    summary = parsed.summary
    assert (summary["m"], summary["a_type"], summary["compute_type"]) == ("8192", "bf16_r", "f32_r")
    assert (summary["measured"], summary["cycles"]) == (("gpu0", "gpu1"), 2)
    assert summary["models"] == ("AMD Instinct MI300X",) * 2


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("610840", "710839", "inconsistent"),
        ("610840", "nan", "not-a-number"),
        ("610840", "-nan", "not-a-number"),
        ("610840, 1800", "610840", "unparsable"),
        ("rocblas-Gflops,us", "rocblas-GFlops,us", "metric-missing"),
        ("rocblas-Gflops,us", "hipblaslt-Gflops,us", "unknown-column"),
        ("N,T,8192,8192,8192", "N,T,4096,8192,8192", "inconsistent"),
        ("bf16_r,bf16_r,bf16_r,bf16_r", "f16_r,f16_r,f16_r,f16_r", "inconsistent"),
        ("railgauge: end of 2 GPUs\n", "", "truncated"),
        ("railgauge: end of 2 GPUs", "railgauge: end of 3 GPUs", "truncated"),
        ("railgauge: gpu1 cycle 1", "railgauge: gpu2 cycle 1", "truncated"),
        ("railgauge: gpu1 cycle 1\n", "", "metric-missing"),
        ("Device ID 0", "hipErrorNoDevice: no ROCm-capable device\nDevice ID 0", "hip-error"),
        ("Device ID 0", "rocBLAS error: out of memory\nDevice ID 0", "out-of-memory"),
        ("Device ID 0", "unrecognised option '--log_datatype'\nDevice ID 0", "invalid-argument"),
    ],
)
def test_damage_of_rocblas_bench_is_named(old, new, kind):
    assert old in ROCBLAS
    assert kind in kinds(parse("rocblas-bench", ROCBLAS.replace(old, new, 1)))


def test_the_best_of_several_kernels_is_refused():
    for best in ("Winner: \n", "[1]:transA,transB\n"):
        text = HIPBLASLT.replace("Is supported", f"{best}Is supported", 1)
        assert "several-tables" in kinds(parse("hipblaslt-bench", text))


def test_one_run_without_the_suite_has_no_gpu():
    parsed = parse("rocblas-bench", rocblas_row(1800.0))
    assert rates(parsed) == {None: [pytest.approx(610840, rel=1e-5)]}
    assert parsed.errors == ()


def verified(norm, names="norm_error_1"):
    def row(time_us):
        head, values, _ = rocblas_row(time_us).split("\n")
        return f"{head},CPU-Gflops,CPU-us,{names}\n{values},0.09,43688,{norm}\n"

    return on_each(row)


def test_a_verified_product_has_its_error_and_one_that_is_no_number_is_corruption():
    sound = parse("rocblas-bench", verified("2.4e-07"))
    assert sound.errors == ()
    assert rates(sound, "norm_error") == {"gpu0": [2.4e-07] * 2, "gpu1": [2.4e-07] * 2}
    for wrong in ("nan", "inf", "-nan"):
        assert "data-corruption" in kinds(parse("rocblas-bench", verified(wrong)))
    failed = verified("2.4e-07,failed,failed", "norm_error,atol,rtol")
    (found,) = [p for p in parse("rocblas-bench", failed).errors if p.kind == "data-corruption"]
    assert found.message.startswith("gpu0: no tolerance holds")
