"""The simulated train-bench: the suite's parser reads it, and GPUs with a fault show it."""

from __future__ import annotations

import pytest
from testing.lab_bench import NAMES, Bench, StartLab

from railgauge.core.model import Parsed
from railgauge.tools import train_bench

ASKED = ("train-bench", "replay", "-d", "gpu", "--master", "10.0.0.1:4711", "-n", "40")
PLATFORMS = ("h200", "mi300x", "metax-c500", "h100-tcpx")


MODEL = ("--layers", "16", "--width", "2048", "--sequence", "256", "--batch", "32",
         "--vocabulary", "32768")  # fmt: skip


def replayed(bench: Bench, *at: int, code: int = 0, words: tuple[str, ...] = ASKED) -> Parsed:
    """The output of a launch on these nodes, with eight ranks on each."""
    hosts = ",".join(f"{bench.nodes[one].name}:8" for one in at)
    whole = ("--allow-run-as-root", "-np", str(8 * len(at)), "--host", hosts, *words)
    done = bench.run(at[0], "mpirun", *whole)
    assert (done.returncode != 0) == bool(code), done.stderr
    return train_bench.parse(done.stdout)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_all_healthy_gpus_have_the_same_bits(start_lab: StartLab, platform: str) -> None:
    bench = start_lab(platform, seed=3)
    for at in ((0,), (0, 1)):
        parsed = replayed(bench, *at)
        assert parsed.problems == ()
        agreed = [one.value for one in parsed.samples if one.metric == "agreed"]
        assert agreed == [40.0] * 8 * len(at)
        assert parsed.summary["ranks"] == {NAMES[platform][one]: 8 for one in at}


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("fault", ["wrong-bit", "corrupt"])
def test_a_gpu_with_a_wrong_bit_is_named(start_lab: StartLab, platform: str, fault: str) -> None:
    bench = start_lab(platform, f"{fault}@{NAMES[platform][1]}:6", seed=5)
    for at in ((1,), (0, 1)):
        (found,) = replayed(bench, *at, code=1).errors
        assert found.kind == "data-corruption"
        assert found.message.startswith(f"{NAMES[platform][1]} gpu6: other bits from step ")
    assert replayed(bench, 0).problems == ()


def test_the_wrong_bit_comes_at_another_step_of_each_run(start_lab: StartLab) -> None:
    bench = start_lab("h200", "wrong-bit@h200-02:6", seed=5)
    assert len({replayed(bench, 1, code=1).errors[0].message for _ in range(3)}) > 1


def together(bench: Bench, *at: int) -> dict[tuple[str, str | None], float]:
    words = ("train-bench", "train", "--master", "10.0.0.1:4711", *MODEL)
    parsed = replayed(bench, *at, words=words)
    assert parsed.problems == ()
    return {(one.metric, one.placement): one.value for one in parsed.samples}


@pytest.mark.parametrize("platform", PLATFORMS)
def test_two_healthy_nodes_train_at_the_speed_of_their_gpus_and_of_all_reduce(
    start_lab: StartLab, platform: str
) -> None:
    bench = start_lab(platform)
    one, both = together(bench, 0), together(bench, 0, 1)
    ranks = [one["compute_tflops", f"gpu{at}"] for at in range(8)]
    assert ranks == pytest.approx([ranks[0]] * 8, rel=1e-3)
    assert one["model_tflops", None] < ranks[0]
    assert 0.5 < both["model_tflops", None] / one["model_tflops", None] < 1.05


def test_each_fault_of_a_training_shows_in_its_figure(start_lab: StartLab) -> None:
    healthy = together(start_lab("h200"), 1)
    late = together(start_lab("h200", "late-rank@h200-02:6"), 1)
    assert late["compute_tflops", "gpu6"] == pytest.approx(
        0.5 * healthy["compute_tflops", "gpu6"], rel=1e-3
    )
    assert late["compute_tflops", "gpu5"] == healthy["compute_tflops", "gpu5"]
    starved = together(start_lab("h200", "starved-loader@h200-02"), 1)
    assert starved["load_share", None] > 50 * healthy["load_share", None]


def test_a_nic_that_training_leaves_idle_carries_nothing(start_lab: StartLab) -> None:
    bench = start_lab("h200", "nic-idle-in-training@h200-02:mlx5_3")
    together(bench, 0, 1)
    sent = {
        path.parts[-5]: int(path.read_text(encoding="ascii"))
        for path in bench.home(1).rglob("mlx5_*/ports/1/counters/port_xmit_data")
    }
    assert sent["mlx5_3"] < 0.01 * sent["mlx5_2"]
    done = bench.run(0, "mpirun", "-np", "16", "--host", "h200-01:8,h200-02:8",
                     "--allow-run-as-root", "all_reduce_perf", "-b", "1G", "-e", "1G")  # fmt: skip
    assert done.returncode == 0
    again = bench.home(1).rglob("mlx5_3/ports/1/counters/port_xmit_data")
    assert int(next(iter(again)).read_text(encoding="ascii")) > sent["mlx5_3"]


def test_only_training_shows_a_wrong_bit(start_lab: StartLab) -> None:
    bench = start_lab("h200", "wrong-bit@h200-02:6")
    done = bench.run(1, "gemm-bench", "bf16", "-N", "1")
    assert (done.returncode, done.stdout.count("wrong=0")) == (0, 9)


@pytest.mark.parametrize(
    "words", [("race",), ("replay", "-n", "x"), ("replay", "-d", "cpu", "--master", "a:1")]
)
def test_a_bad_command_line_is_refused(h200: Bench, words: tuple[str, ...]) -> None:
    done = h200.run(0, "train-bench", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert train_bench.parse(done.stderr).errors
