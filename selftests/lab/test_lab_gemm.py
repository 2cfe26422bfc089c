"""The simulated gemm-bench: the suite's parser reads it, and GPUs with a fault show it."""

from __future__ import annotations

import statistics

import pytest
from testing.lab_bench import NAMES, Bench, StartLab

from railgauge.tools import gemm_bench
from railgauge.tools.gemm_bench import plan as gemm_plan

# TFLOP/s or GB/s of a healthy GPU: the data sheet times the share that the figures state.
BF16 = {"h200": 0.70 * 989.4, "h100-tcpx": 0.70 * 989.4, "mi300x": 0.47 * 1307.4}
COPY = {"h200": 0.88 * 4800, "h100-tcpx": 0.88 * 3350, "mi300x": 0.78 * 5300}
ASKED = ("-d", "gpu", "-s", "8192", "-n", "8", "-w", "15", "-N", "3", "--seed", "1")


def rates(bench: Bench, form: str = "bf16", code: int = 0, **env: str) -> dict[str, float]:
    """The median of each GPU of the second node."""
    done = bench.run(1, "gemm-bench", form, *ASKED, **env)
    parsed = gemm_bench.parse(done.stdout)
    assert (done.returncode, done.stderr) == (code, "")
    assert [one.kind for one in parsed.problems] == (["data-corruption"] if code else [])
    found: dict[str, list[float]] = {}
    for sample in parsed.samples:
        if sample.metric in ("tflops", "copy_bandwidth"):
            found.setdefault(str(sample.placement), []).append(sample.value)
    assert {len(values) for values in found.values()} == {3}
    return {gpu: statistics.median(values) for gpu, values in found.items()}


@pytest.mark.parametrize("platform", BF16)
def test_each_gpu_reaches_its_share_of_the_data_sheet(start_lab: StartLab, platform: str) -> None:
    bench = start_lab(platform)
    for form, figure in (("bf16", BF16[platform]), ("copy", COPY[platform])):
        each = rates(bench, form)
        assert list(each) == [f"gpu{number}" for number in range(8)]
        assert list(each.values()) == pytest.approx([figure] * 8, rel=1e-3)


def test_every_format_of_the_plan_is_simulated_where_the_platform_has_it(h200: Bench) -> None:
    for form in gemm_plan.COMMANDS:
        assert min(rates(h200, form).values()) > 0


def test_a_format_that_the_platform_lacks_is_no_measurement(mi300x: Bench) -> None:
    done = mi300x.run(0, "gemm-bench", "tf32", *ASKED)
    assert (done.returncode, done.stdout) == (2, "")
    (found,) = gemm_bench.parse(done.stderr).errors
    assert found.kind == "tool-missing"


def test_a_chip_differs_from_the_next_as_links_do_and_rows_of_one_by_far_less(
    start_lab: StartLab,
) -> None:
    bench = start_lab("h200", seed=3)
    first, again = rates(bench), rates(bench)
    other = rates(bench, "copy")
    assert len(set(first.values())) == 8
    assert first != again
    for gpu, rate in first.items():
        assert 1 - 0.0121 - 0.001 <= rate / BF16["h200"] <= 1.0
        assert again[gpu] == pytest.approx(rate, rel=0.0011)
        assert other[gpu] / COPY["h200"] == pytest.approx(rate / BF16["h200"], rel=0.0012)


@pytest.mark.parametrize("form", ["fp64", "bf16", "copy"])
def test_a_slow_gpu_is_slow_by_itself_and_its_neighbours_are_not(
    start_lab: StartLab, form: str
) -> None:
    each = rates(start_lab("h200", "slow-gpu@h200-02:3"), form)
    healthy = each.pop("gpu0")
    assert each.pop("gpu3") == pytest.approx(0.6 * healthy, rel=1e-6)
    assert list(each.values()) == pytest.approx([healthy] * 6, rel=1e-6)


def test_a_lower_clock_slows_products_and_no_copy(start_lab: StartLab) -> None:
    bench = start_lab("h200", "gpu-clock@h200-02:5")
    assert rates(bench)["gpu5"] == pytest.approx(BF16["h200"] * 1770 / 1980, rel=1e-3)
    assert rates(bench, "copy")["gpu5"] == pytest.approx(COPY["h200"], rel=1e-3)
    printed = bench.run(1, "gemm-bench", "bf16", *ASKED).stdout
    assert "device=gpu5" in printed
    assert "clock_mhz=1770:1770" in printed


def test_a_slow_node_is_slow_in_each_gpu(start_lab: StartLab) -> None:
    each = rates(start_lab("mi300x", "slow-node@mi02"))
    assert list(each.values()) == pytest.approx([0.6 * BF16["mi300x"]] * 8, rel=1e-3)


@pytest.mark.parametrize("platform", ["h200", "mi300x"])
def test_a_gpu_that_computes_wrongly_is_named_at_full_speed(
    start_lab: StartLab, platform: str
) -> None:
    bench = start_lab(platform, f"corrupt@{NAMES[platform][1]}:6")
    each = rates(bench, code=1)
    assert each["gpu6"] == pytest.approx(each["gpu5"], rel=1e-6)
    printed = gemm_bench.parse(bench.run(1, "gemm-bench", "bf16", *ASKED).stdout)
    assert printed.errors[0].message.startswith("gpu6: ")
    assert "gpu5" not in printed.errors[0].message


def test_hidden_and_missing_gpus_are_not_listed(start_lab: StartLab) -> None:
    bench = start_lab("h200", "gpu-missing@h200-02:2")
    assert len(rates(bench)) == 7
    assert len(rates(bench, CUDA_VISIBLE_DEVICES="0,1,5")) == 3
    none = bench.run(1, "gemm-bench", "bf16", *ASKED, CUDA_VISIBLE_DEVICES="-1")
    assert (none.returncode, none.stdout) == (2, "")
    assert "torch: finds no GPU" in gemm_bench.parse(none.stderr).errors[0].message


@pytest.mark.parametrize(
    "argv",
    [["int4"], ["bf16", "-s", "8"], ["bf16", "-s", "x"], ["bf16", "-n", "0"], ["bf16", "--fast"],
     [], ["bf16", "fp8"]],
)  # fmt: skip
def test_arguments_that_the_program_refuses_end_with_2(h200: Bench, argv: list[str]) -> None:
    done = h200.run(0, "gemm-bench", *argv)
    assert (done.returncode, done.stdout) == (2, "")
    assert [one.kind for one in gemm_bench.parse(done.stderr).errors] == ["invalid-argument"]
