"""train-bench: its command, its output, and every way in which the output can be wrong."""

import math
import re
from dataclasses import replace

import pytest
from testing.places import ROOT
from testing.tool_setting import kinds, setting

from railgauge.cli.match import fits
from railgauge.config import thresholds
from railgauge.core.errors import BadInput
from railgauge.core.model import Case
from railgauge.core.terms import Role
from railgauge.facts import NodeFacts
from railgauge.tools import train_bench
from railgauge.tools.output_checks import SideOutput, ToolRequest
from railgauge.tools.train_bench.program import joined

STEPS = ["aaaaaaaaaaaaaaa0", "aaaaaaaaaaaaaaa1", "aaaaaaaaaaaaaaa2"]
OTHERS = [STEPS[0], "bbbbbbbbbbbbbbb1", "bbbbbbbbbbbbbbb2"]
PARAMETERS = 4 * (12 * 1024**2 + 2 * 1024) + 1024 + 2 * 8192 * 1024


def head(ranks, host="n1"):
    return (
        "train-bench version 1\n"
        f"train-bench run mode=replay devices=gpu ranks={ranks} steps=3 warmup=0 seed=1 layers=4 "
        f"width=1024 sequence=512 batch=4 vocabulary=8192 parameters={PARAMETERS}\n"
        "train-bench library torch 2.6.0+cu124\n"
    ) + "".join(
        f"train-bench rank {at} host={host} device=gpu{at} uuid=GPU-{at:08x} name=NVIDIA H200\n"
        for at in range(ranks)
    )


def replayed(rank, steps=None):
    return (
        f"train-bench replayed rank={rank} steps=3 seconds=0.250000 "
        f"chain={joined(steps or STEPS)}\n"
    )


def differs(rank, tensor="layer2.up"):
    return (
        f"train-bench differs rank={rank} step=1 tensor={tensor} digest=bbbbbbbbbbbbbbbb "
        "others=aaaaaaaaaaaaaaaa\n"
    )


LOSSES = [f"{math.log(8192) + apart:.9g}" for apart in (0.01, 0.02, 0.0)]
PRINTED = "".join(
    f"train-bench step {at} loss={loss} digest={digest}\n"
    for at, (loss, digest) in enumerate(zip(LOSSES, STEPS, strict=True))
)
WHOLE = (
    head(3) + PRINTED + "".join(map(replayed, range(3))) + "train-bench end ranks=3 differing=0\n"
)
ONE_WRONG = (
    head(3)
    + PRINTED
    + replayed(0)
    + replayed(1, OTHERS)
    + replayed(2)
    + differs(1)
    + "train-bench end ranks=3 differing=1\n"
)


def test_a_sound_output_is_read_whole():
    parsed = train_bench.parse(WHOLE)
    assert parsed.problems == ()
    assert parsed.tool_version == "1"
    found = [(s.metric, s.unit, s.value, s.placement) for s in parsed.samples]
    assert found == [
        one
        for at in range(3)
        for one in (("agreed", "count", 3, f"gpu{at}"), ("wrong", "count", 0, f"gpu{at}"))
    ]
    assert (parsed.summary["nranks"], parsed.summary["ranks"]) == (3, {"n1": 3})
    assert parsed.summary["library"] == "torch 2.6.0+cu124"


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        # A rank, a step or a chain that is left out, made up or exchanged.
        (replayed(1), "", "metric-missing"),
        ("steps=3 warmup", "steps=4 warmup", "metric-missing"),
        ("rank=1 steps=3", "rank=1 steps=2", "metric-missing"),
        ("ranks=3 steps", "ranks=4 steps", "metric-missing"),
        ("ranks=3 steps", "ranks=1 steps", "too-few-ranks"),
        ("train-bench step 1", "train-bench step 2", "unparsable"),
        (STEPS[2], "cccccccccccccccc", "inconsistent"),
        (f"{joined(STEPS)}\n", f"{joined(OTHERS)}\n", "inconsistent"),
        ("train-bench end ranks=3 differing=0\n", "", "truncated"),
        ("differing=0", "differing=1", "inconsistent"),
        ("end ranks=3", "end ranks=2", "truncated"),
        # Nothing was computed, or all on one GPU.
        ("seconds=0.250000", "seconds=0.000000", "inconsistent"),
        (STEPS[2], STEPS[1], "inconsistent"),
        (f"loss={LOSSES[0]}", "loss=0.0", "inconsistent"),
        (f"loss={LOSSES[0]}", "loss=nan", "unparsable"),
        ("device=gpu1", "device=gpu0", "inconsistent"),
        ("uuid=GPU-00000001", "uuid=GPU-00000000", "inconsistent"),
        ("device=gpu1", "device=cpu1", "inconsistent"),
        ("layers=4", "layers=5", "inconsistent"),
        (f"parameters={PARAMETERS}", "parameters=12", "inconsistent"),
        (f"chain={joined(STEPS)}", "chain=none", "unparsable"),
        (WHOLE, WHOLE + WHOLE, "several-tables"),
        (WHOLE, "", "no-output"),
        (WHOLE, "hello\n", "no-table"),
        (WHOLE, "bash: line 1: train-bench: command not found\n", "tool-missing"),
        (WHOLE, "bash: line 1: mpirun: command not found\n", "tool-missing"),
        (WHOLE, "train-bench: cannot measure replay: No module named 'torch'\n", "tool-missing"),
        (WHOLE, "train-bench: error: --width 3: give a multiple\n", "invalid-argument"),
        (WHOLE, "Host key verification failed.\n", "host-key"),
        (PRINTED, "torch.OutOfMemoryError: CUDA out of memory.\n", "out-of-memory"),
        (PRINTED, "RuntimeError: CUDA error: an illegal memory access\n", "tool-failed"),
    ],
)  # fmt: skip
def test_damage_is_named(old, new, kind):
    assert old in WHOLE
    assert kind in kinds(train_bench.parse(WHOLE.replace(old, new, 1)))


def corruption(text):
    (found,) = [p for p in train_bench.parse(text).problems if p.kind == "data-corruption"]
    return found.message


def test_a_gpu_with_other_bits_is_named_with_step_and_tensor():
    assert corruption(ONE_WRONG) == "n1 gpu1: other bits from step 1 on, first in layer2.up"
    samples = {(s.metric, s.placement): s.value for s in train_bench.parse(ONE_WRONG).samples}
    assert [samples["agreed", f"gpu{at}"] for at in range(3)] == [3, 1, 3]
    assert [samples["wrong", f"gpu{at}"] for at in range(3)] == [0, 1, 0]


def test_a_launcher_that_complains_of_the_exit_code_hides_no_wrong_bit():
    died = "mpirun detected that one or more processes exited with non-zero status\n"
    assert "n1 gpu1: other bits" in corruption(ONE_WRONG + died)


@pytest.mark.parametrize(
    ("old", "new"), [(differs(1), ""), ("rank=1 step=1", "rank=2 step=1"), ("step=1 t", "step=9 t")]
)
def test_a_chain_and_its_line_say_the_same(old, new):
    assert old in ONE_WRONG
    assert train_bench.parse(ONE_WRONG.replace(old, new, 1)).errors


def two_groups(*chains):
    rows = "".join(replayed(at, steps) for at, steps in enumerate(chains))
    wrong = [at for at, steps in enumerate(chains) if steps is not STEPS]
    return (
        head(len(chains)) + PRINTED + rows + "".join(map(differs, wrong))
    ) + f"train-bench end ranks={len(chains)} differing={len(wrong)}\n"


def test_of_two_halves_nobody_knows_which_is_right():
    says = corruption(two_groups(STEPS, OTHERS))
    assert "half of the ranks (n1 gpu0) have other bits than half (n1 gpu1)" in says
    assert "layer2.up" in says


def test_many_results_without_a_majority_are_no_wrong_gpu_and_no_pass():
    third = [STEPS[0], "dddddddddddddddd", "dddddddddddddddd"]
    parsed = train_bench.parse(two_groups(STEPS, OTHERS, third))
    assert kinds(parsed) == ["inconsistent"]
    assert "3 ranks have 3 results from step 1 on" in parsed.problems[0].message


def test_ranks_of_two_nodes_have_no_placement():
    text = WHOLE.replace("2 host=n1 device=gpu2", "2 host=n2 device=gpu0")
    parsed = train_bench.parse(text)
    assert parsed.problems == ()
    assert {sample.placement for sample in parsed.samples} == {None}
    assert [s.iteration for s in parsed.samples if s.metric == "agreed"] == [0, 1, 2]


# --- training together ---


def row(rank, *, steps=50, p99=63.0, compute=48.0, digest=STEPS[0]):
    return (
        f"train-bench row rank={rank} steps={steps} step_ms=60.000 step_p99_ms={p99:.3f} "
        f"load_ms=0.600 compute_ms={compute:.3f} exchange_ms=11.400 loss={LOSSES[0]} "
        f"digest={digest}\n"
    )


TOGETHER = (
    head(3).replace("mode=replay", "mode=train").replace("steps=3 warmup=0", "steps=50 warmup=5")
    + "".join(map(row, range(3)))
    + "train-bench end ranks=3 seconds=3.000000\n"
)
WORK = 6 * 2048 * (4 * 12 * 1024**2 + 8192 * 1024 + 4 * 2 * 512 * 1024)


def test_a_training_is_read_whole():
    parsed = train_bench.parse(TOGETHER)
    assert parsed.problems == ()
    values = {(s.metric, s.placement): s.value for s in parsed.samples}
    assert values["tokens_per_s", None] == pytest.approx(3 * 4 * 512 * 50 / 3)
    assert values["model_tflops", None] == pytest.approx(WORK * 50 / 3 / 1e12)
    assert values["compute_tflops", "gpu2"] == pytest.approx(WORK / 0.048 / 1e12)
    shares = [values[name, None] for name in ("step_p99", "exchange_share", "load_share")]
    assert shares == pytest.approx([1.05, 0.19, 0.01])
    assert values["wrong", "gpu0"] == 0
    assert train_bench.payload_bytes(parsed) == 0
    apart = train_bench.parse(TOGETHER.replace("2 host=n1 device=gpu2", "2 host=n2 device=gpu0"))
    assert train_bench.payload_bytes(apart) == pytest.approx(55 * 4 * PARAMETERS * 4 / 3)


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        (row(1), "", "metric-missing"),
        (row(1), row(1, steps=49), "metric-missing"),
        (row(1), row(2), "unparsable"),
        (row(1), row(1, p99=59.0), "inconsistent"),
        (row(1), row(1, compute=61.0), "inconsistent"),
        (row(1), row(1, compute=0.0), "inconsistent"),
        ("step_ms=60.000", "step_ms=0.000", "inconsistent"),
        ("seconds=3.000000", "seconds=1.400000", "inconsistent"),
        ("seconds=3.000000", "differing=0", "inconsistent"),
        ("ranks=3 seconds=3.000000", "ranks=2 seconds=3.000000", "truncated"),
        ("train-bench end ranks=3 seconds=3.000000\n", "", "truncated"),
        (f"loss={LOSSES[0]}", "loss=0.5", "inconsistent"),
        ("mode=train", "mode=replay", "metric-missing"),
        (row(1), row(1, digest=STEPS[1]), "data-corruption"),
    ],
)
def test_damage_of_a_training_is_named(old, new, kind):
    assert old in TOGETHER
    assert kind in kinds(train_bench.parse(TOGETHER.replace(old, new, 1)))


def test_a_rank_with_other_weights_is_named():
    text = TOGETHER.replace(row(1), row(1, digest=STEPS[1]))
    assert corruption(text) == "n1 gpu1: other bits after step 49"


# --- the command ---


def planned(*, port=4711, nodes=("n1", "n2"), command="replay", tools=None, **options):
    made = setting("train-bench", nodes=nodes, options=options, tools=tools or {})
    made.measurement.command = command
    made.platform.gpus = None
    (found,) = train_bench.commands(made, port)
    return found


def test_the_launcher_starts_a_rank_for_each_gpu():
    found = planned(ranks_per_node=2, steps=9, tools={"train-bench": "/opt/train"})
    assert found.node == "n1"
    assert found.argv == (
        "mpirun", "--allow-run-as-root", "-np", "4", "--host", "10.0.0.1:2,10.0.0.2:2",
        "--map-by", "slot", "--bind-to", "none", "/opt/train/train-bench", "replay", "-d", "gpu",
        "--master", "10.0.0.1:4711", "-n", "9", "-w", "0", "--seed", "1", "--layers", "4",
        "--width", "1024", "--sequence", "512", "--batch", "4", "--vocabulary", "8192",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"nodes": ("n1",)}, "a single rank has no other"),
        ({"command": "race"}, "not a command of train-bench"),
        ({"width": 1}, "width is 1"),
        ({"devices": "tpu"}, "devices is 'tpu'"),
        ({"size": 4}, "unknown option size"),
        ({"port": 0}, "not a TCP port"),
    ],
)
def test_what_cannot_run_is_refused(changes, says):
    with pytest.raises(BadInput, match=re.escape(says)):
        planned(**changes)


# --- what the output must confirm ---


def platform():
    return thresholds.load("h200", ROOT / "thresholds")


def denied(text, **facts):
    loaded = platform()
    measurement = loaded.measurements["node_replay"]
    asked = replace(measurement, options={**measurement.options, "steps": 3, "ranks_per_node": 3})
    gpus = replace(loaded.gpus, count=3)
    request = ToolRequest(
        Case("node_replay", ("n1",), None, ()), asked, replace(loaded, gpus=gpus),
        {"n1": NodeFacts(node="n1", hostname="n1", **facts)},
    )  # fmt: skip
    side = SideOutput("n1", Role.CLIENT, train_bench.parse(text), ("mpirun",), 60.0)
    return [check.item for check in train_bench.output_checks(request, (side,)) if not check.agrees]


def test_a_sound_output_is_what_was_asked():
    assert denied(WHOLE) == []


@pytest.mark.parametrize(
    ("old", "new", "item"),
    [
        ("mode=replay", "mode=train", "mode"),
        ("steps=3 warmup", "steps=2 warmup", "steps"),
        ("seed=1", "seed=2", "seed"),
        ("batch=4", "batch=2", "batch"),
        ("host=n1", "host=n7", "hosts of the ranks"),
        ("2 host=n1 device=gpu2", "2 host=n1 device=gpu7", "GPUs"),
        ("2 host=n1 device=gpu2", "2 host=n2 device=gpu0", "ranks"),
        ("NVIDIA H200", "NVIDIA A100", "GPU model"),
        ("seconds=0.250000", "seconds=99.250000", "time"),
    ],
)
def test_an_output_of_something_else_is_no_evidence(old, new, item):
    assert old in WHOLE
    assert item in denied(WHOLE.replace(old, new))


def test_an_output_is_matched_with_its_measurement():
    loaded = platform()
    text = head(8) + PRINTED + "".join(map(replayed, range(8)))
    parsed = train_bench.parse(f"{text}train-bench end ranks=8 differing=0\n")
    made = loaded.measurements.values()
    assert [
        one.name for one in made if one.tool == "train-bench" and fits(loaded, one, parsed)
    ] == ["node_replay"]
