"""gemm-bench: its command, its output, and every way in which the output can be wrong."""

import json
import re
import shutil
from dataclasses import replace

import pytest
from testing.core_values import item
from testing.places import ROOT
from testing.tool_setting import kinds, setting

from railgauge.cli.match import fits
from railgauge.config import thresholds
from railgauge.core.errors import BadInput, DataCorrupted, NoEvidence, OtherThanAsked, ToolMissing
from railgauge.core.model import Case, Transcript
from railgauge.core.question import CaseResult
from railgauge.diagnosis.left_open.topics import Topic
from railgauge.diagnosis.left_open.unknown import topics
from railgauge.facts import NodeFacts
from railgauge.judging import assess
from railgauge.tools import gemm_bench, tool

SECONDS = 0.0062


def row(device, cycle, form="bf16", seconds=SECONDS, wrong=0):
    rate = 2 * 8192**3 * 4 / seconds / 1e12
    return (
        f"gemm-bench row device={device} format={form} size=8192 cycle={cycle} "
        f"seconds={seconds:.9f} tflops={rate:.6f} clock_mhz=1980:1755 checked=4 wrong={wrong}\n"
    )


HEAD = """\
gemm-bench version 1
gemm-bench run format=bf16 devices=gpu size=8192 iterations=4 warmup_s=5 cycles=2 seed=1
gemm-bench library torch 2.6.0+cu124
gemm-bench host n1
"""
DEVICES = "".join(
    f"gemm-bench device gpu{at} uuid=GPU-{at:08x} name=NVIDIA H200\n" for at in (0, 1)
)
ROWS = [row("gpu0", 0), row("gpu0", 1), row("gpu1", 0, seconds=0.0124), row("gpu1", 1)]
END = "gemm-bench end rows=4 wrong=0\n"
WHOLE = HEAD + DEVICES + "".join(ROWS) + END
COPY = """\
gemm-bench version 1
gemm-bench run format=copy devices=cpu size=512 iterations=2 warmup_s=0 cycles=1 seed=1
gemm-bench library numpy 2.4.6
gemm-bench host n1
gemm-bench device cpu uuid=- name=AMD EPYC
gemm-bench row device=cpu format=copy size=512 cycle=0 seconds=0.000178827 copy_gb_s=23.454534 \
clock_mhz=-:- checked=2 wrong=0
gemm-bench end rows=1 wrong=0
"""


def test_a_sound_output_is_read_whole():
    parsed = gemm_bench.parse(WHOLE)
    assert parsed.problems == ()
    assert parsed.tool_version == "1"
    rates = [(s.placement, s.iteration, s.unit) for s in parsed.samples if s.metric == "tflops"]
    assert rates == [(f"gpu{at}", cycle, "TFLOP/s") for at in (0, 1) for cycle in (0, 1)]
    slow = [s.value for s in parsed.samples if (s.metric, s.placement) == ("tflops", "gpu1")]
    assert slow == pytest.approx([354.681, 709.362], rel=1e-5)
    assert [s.value for s in parsed.samples if s.metric == "wrong"] == [0.0] * 4
    assert parsed.summary["models"] == ("NVIDIA H200", "NVIDIA H200")
    assert parsed.summary["uuids"] == ("GPU-00000000", "GPU-00000001")
    assert parsed.summary["clocks_mhz"] == {"gpu0": ("1980:1755",) * 2, "gpu1": ("1980:1755",) * 2}
    assert tool("gemm-bench").payload_bytes(parsed) == 0


def test_a_copy_on_the_cpu_has_a_bandwidth_and_no_placement():
    parsed = gemm_bench.parse(COPY)
    assert parsed.problems == ()
    found = [(s.metric, s.unit, s.value, s.placement) for s in parsed.samples]
    assert found == [("copy_bandwidth", "GB/s", 23.454534, None), ("wrong", "count", 0.0, None)]


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("tflops=709", "tflops=909", "inconsistent"),
        ("seconds=0.006200000", "seconds=0.005200000", "inconsistent"),
        ("seconds=0.006200000", "seconds=0.000000000", "inconsistent"),
        ("tflops=709.362341", "tflops=0.000000", "zero-value"),
        ("tflops=709.362341", "tflops=nan", "unparsable"),
        ("tflops=709.362341", "tflops=inf", "unparsable"),
        ("tflops=709.362341", "copy_gb_s=709.362341", "inconsistent"),
        ("checked=4", "checked=1", "inconsistent"),
        ("checked=4 wrong=0", "checked=4", "unparsable"),
        ("row device=gpu0 format=bf16", "row device=gpu0 format=fp8", "inconsistent"),
        ("size=8192 cycle=0", "size=4096 cycle=0", "inconsistent"),
        ("run format=bf16", "run format=fp8", "inconsistent"),
        ("iterations=4", "iterations=8", "inconsistent"),
        ("cycles=2", "cycles=3", "metric-missing"),
        ("cycles=2", "cycles=0", "metric-missing"),
        (ROWS[0], "", "metric-missing"),
        (ROWS[3], "", "metric-missing"),
        (ROWS[3], ROWS[2], "metric-missing"),
        (ROWS[2] + ROWS[3], row("gpu7", 0) + row("gpu7", 1), "metric-missing"),
        (ROWS[0] + ROWS[1], ROWS[2] + ROWS[3], "metric-missing"),
        (DEVICES, "", "metric-missing"),
        ("gemm-bench device gpu1", "gemm-bench device cpu", "inconsistent"),
        ("gemm-bench device gpu1", "gemm-bench device gpu0", "inconsistent"),
        (END, "", "truncated"),
        ("end rows=4", "end rows=5", "truncated"),
        ("end rows=4 wrong=0", "end rows=4 wrong=2", "truncated"),
        ("wrong=0\n", "wrong=3\n", "data-corruption"),
        (WHOLE, WHOLE + WHOLE, "several-tables"),
        (WHOLE, "", "no-output"),
        (WHOLE, "hello\n", "no-table"),
        (WHOLE, "bash: line 1: gemm-bench: command not found\n", "tool-missing"),
        (WHOLE, "/usr/bin/env: 'python3': No such file or directory\n", "tool-missing"),
        (WHOLE, "gemm-bench: cannot measure fp8: torch: No module named 'torch'\n", "tool-missing"),
        (WHOLE, "gemm-bench: error: size 3: give a multiple of 16\n", "invalid-argument"),
        (END, "torch.OutOfMemoryError: CUDA out of memory.\n", "out-of-memory"),
        (END, "RuntimeError: CUDA error: an illegal memory access\n", "tool-failed"),
    ],
)  # fmt: skip
def test_damage_is_named(old, new, kind):
    assert old in WHOLE
    assert kind in kinds(gemm_bench.parse(WHOLE.replace(old, new, 1)))


def test_every_gpu_with_wrong_results_is_named():
    bad = WHOLE.replace(ROWS[0], row("gpu0", 0, wrong=7)).replace(ROWS[3], row("gpu1", 1, wrong=2))
    (found,) = [
        p
        for p in gemm_bench.parse(bad.replace("rows=4 wrong=0", "rows=4 wrong=9")).problems
        if p.kind == "data-corruption"
    ]
    assert found.message == "gpu0: 7 wrong values, gpu1: 2 wrong values"


# --- the command ---


def planned(command="bf16", tools=None, **options):
    made = setting("gemm-bench", options=options, tools=tools or {})
    made.measurement.command = command
    (found,) = gemm_bench.commands(made, 0)
    return found


def test_the_command_holds_all_options():
    found = planned(size=4096, cycles=3, warmup_s=0, library="torch",
                    tools={"gemm-bench": "/opt/gemm"})  # fmt: skip
    assert found.node == "n1"
    assert found.argv == (
        "/opt/gemm/gemm-bench", "bf16", "-d", "gpu", "-s", "4096", "-n", "4", "-w", "0", "-N", "3",
        "--seed", "1", "--library", "torch",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"command": "int4"}, "is not a command of"),
        ({"devices": "tpu"}, "devices is 'tpu'"),
        ({"library": "jax"}, "library is 'jax'"),
        ({"size": 0}, "size is 0"),
        ({"cycles": 0}, "cycles is 0"),
        ({"warmup_s": -1}, "warmup_s is -1"),
        ({"repeats": 3}, "unknown option repeats"),
    ],
)
def test_options_that_cannot_be_measured_are_refused(changes, says):
    with pytest.raises(BadInput, match=says):
        planned(**changes)


# --- what was asked, and what the output says ---

DOCUMENT = {
    "schema_version": 1,
    "platform": "pair-of-gpus",
    "title": "Two GPUs in one node",
    "hardware": {
        "gpus": {"vendor": "nvidia", "model": "NVIDIA H200", "count": 2, "memory_mib": 143771},
        "nics": {},
        "affinity": {"0": {}, "1": {}},
    },
    "expected": {"gpu_model": {"as_declared": True, "basis": "site: As bought."}},
    "levels": {"smoke,nightly,signoff": {"scheme": "tournament", "rounds": 1}},
    "measurements": {
        "gpu_matrix_bf16": {
            "rung": 3,
            "tool": "gemm-bench",
            "command": "bf16",
            "scope": "node",
            "options": {"cycles": 2},
            "asserts": [{"metric": "tflops", "per": "gpu"}],
            "levels": {"smoke,nightly,signoff": {}},
            "limits": [
                {"metric": "tflops", "unit": "TFLOP/s", "floor": 500, "basis": "site: For a test."}
            ],
            "time_limit_s": 60,
            "typical_s": 20,
        }
    },
}
CASE = Case("gpu_matrix_bf16", ("n1",), None, ())


@pytest.fixture(scope="module")
def platform(written):
    return written(DOCUMENT)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Reads a platform file as users write it."""

    def read(document):
        folder = tmp_path_factory.mktemp("thresholds")
        shutil.copy(ROOT / "thresholds" / "schema.json", folder)
        shutil.copytree(ROOT / "thresholds" / "shared", folder / "shared")
        name = document["platform"]
        (folder / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
        return thresholds.load(name, folder)

    return read


def read(platform, text, code=0, stderr=""):
    transcript = Transcript("n1", ("gemm-bench", "bf16"), code, text, stderr, 1.0)
    facts = {"n1": NodeFacts("n1", hostname="n1")}
    return assess.read(platform, CASE, CaseResult(((transcript,),)), facts)


def test_each_gpu_is_judged_by_its_own_rows(platform):
    measured = read(platform, WHOLE)
    assert measured.runs[0].not_shown == ()
    (fast,) = assess.limits(platform, measured, None, "gpu0").judgements
    (slow,) = assess.limits(platform, measured, None, "gpu1").judgements
    assert (fast.outcome, slow.outcome) == ("passed", "failed")
    assert assess.limits(platform, measured, None, "gpu2").errors


LIES = {
    "format=bf16": ("format=fp8", "format: asked for bf16, the tool says fp8"),
    "size=8192": ("size=4096", "size: asked for 8192, the tool says 4096"),
    "iterations=4": ("iterations=2", "iterations: asked for 4, the tool says 2"),
    "warmup_s=5": ("warmup_s=0", "warmup_s: asked for 5, the tool says 0"),
    "cycles=2": ("cycles=1", "cycles: asked for 2, the tool says 1"),
    "seed=1": ("seed=2", "seed: asked for 1, the tool says 2"),
    "host n1": ("host n2", "host: asked for n1, the tool says n2"),
    "NVIDIA H200": ("NVIDIA A100", "GPU model: asked for NVIDIA H200, the tool says NVIDIA A100"),
}


@pytest.mark.parametrize("line", LIES)
def test_an_output_of_something_else_is_no_evidence(platform, line):
    by, says = LIES[line]
    text = WHOLE.replace(line, by)
    count = re.search(r"iterations=(\d+)", text)[1]
    n = int(re.search(r"size=(\d+)", text)[1])
    cycles = int(re.search(r"cycles=(\d+)", text)[1])
    text = re.sub(r"checked=\d+", f"checked={count}", text)
    text = re.sub(
        r"seconds=([\d.]+) tflops=[\d.]+",
        lambda m: f"seconds={m[1]} tflops={2 * n**3 * int(count) / float(m[1]) / 1e12:.6f}",
        text,
    )
    if cycles == 1:
        text = re.sub(r"[^\n]* cycle=1 [^\n]*\n", "", text).replace("rows=4", "rows=2")
    with pytest.raises(OtherThanAsked, match=re.escape(says)):
        read(platform, text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (WHOLE.replace("gpu0", "gpu9"), "GPUs: asked for gpu0, gpu1, the tool says gpu9, gpu1"),
        (
            HEAD + DEVICES.splitlines(keepends=True)[0] + ROWS[0] + ROWS[1]
            + "gemm-bench end rows=2 wrong=0\n",
            "GPUs: asked for gpu0, gpu1, the tool says gpu0",
        ),
        (WHOLE.replace("gpu", "gpu1"), "GPUs: asked for gpu0, gpu1, the tool says gpu10, gpu11"),
        (COPY, "format: asked for bf16, the tool says copy"),
    ],
)  # fmt: skip
def test_other_devices_are_no_evidence(platform, text, says):
    text = text.replace("devices=gpu1 ", "devices=gpu ")
    with pytest.raises(OtherThanAsked, match=re.escape(says)):
        read(platform, text)


@pytest.mark.parametrize(
    ("output", "fit"),
    [(WHOLE, True), (COPY, False), (WHOLE.replace("format=bf16", "format=fp8"), False)],
)
def test_an_output_belongs_to_the_measurement_of_its_format(platform, output, fit):
    measurement = platform.measurements["gpu_matrix_bf16"]
    assert fits(platform, measurement, gemm_bench.parse(output)) == fit


def test_an_item_without_a_result_concerns_the_gpu_and_no_collective(platform):
    measurement = platform.measurements["gpu_matrix_bf16"]
    gone = item("a", rung=3, subject="gpu_matrix_bf16", ways=("gpu",))
    assert list(topics(gone, measurement)) == [Topic.COPIES]
    on_cpu = replace(gone, ways=("run",))
    assert list(topics(on_cpu, measurement)) == [Topic.OTHER]


def test_wrong_results_are_corruption_at_any_speed(platform):
    bad = WHOLE.replace(ROWS[3], row("gpu1", 1, wrong=2)).replace("wrong=0\n", "wrong=2\n", 0)
    bad = bad.replace("rows=4 wrong=0", "rows=4 wrong=2")
    with pytest.raises(DataCorrupted, match="gpu1: 2 wrong values"):
        read(platform, bad, code=1)


def test_a_hidden_wrong_result_is_no_pass(platform):
    """The program ended with 1, or its closing line counts errors that no row has."""
    with pytest.raises(NoEvidence, match="exit code 1"):
        read(platform, WHOLE, code=1)
    with pytest.raises(NoEvidence, match="the closing line counts 4 with 2"):
        read(platform, WHOLE.replace("rows=4 wrong=0", "rows=4 wrong=2"), code=1)


def test_a_node_without_a_library_is_an_error_that_says_what_to_install(platform):
    message = "gemm-bench: cannot measure bf16: torch: No module named 'torch'; install PyTorch\n"
    with pytest.raises(ToolMissing, match="install PyTorch"):
        read(platform, "", code=2, stderr=message)
