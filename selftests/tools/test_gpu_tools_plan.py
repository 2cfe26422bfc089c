"""The tools of single GPUs in the suite: their commands, their checks, and how they are judged."""

import json
import shutil
import subprocess
from types import SimpleNamespace

import pytest
from testing.gpu_tool_outputs import (
    BABEL,
    BURN,
    FRY,
    FRY_UNHEALTHY,
    GST,
    HIPBLASLT,
    IET,
    ROCBLAS,
    RVS_END,
    RVS_GST,
    RVS_LEVEL,
    RVS_LIST,
    begin,
    gst,
)
from testing.places import ROOT
from testing.tool_setting import setting

from railgauge import tools
from railgauge.config import thresholds
from railgauge.core.errors import BadInput, DataCorrupted, NoEvidence, OtherThanAsked
from railgauge.core.model import Case, Transcript
from railgauge.core.question import CaseResult
from railgauge.facts import NodeFacts
from railgauge.judging import assess
from railgauge.judging.results import judge_results
from railgauge.tools.blas_bench.each_gpu import on_each_gpu
from railgauge.tools.rvs.plan import _SCRIPT as RVS_SCRIPT


def planned(tool, command, place=None, **options):
    made = setting(tool, options=options, tools=place or {})
    made.measurement.command = command
    made.platform.gpus = SimpleNamespace(count=2)
    (found,) = tools.tool(tool).commands(made, 0)
    assert (found.node, found.time_limit_s) == ("n1", 90.0)
    return found


# --- commands ---


@pytest.mark.parametrize(
    ("command", "options", "words"),
    [
        ("fp32", {}, "gpu_burn 60"),
        ("tf32", {"duration_s": 600}, "gpu_burn -tc 600"),
        ("fp64", {"compare": "/opt/burn/compare.ptx"}, "gpu_burn -d -c /opt/burn/compare.ptx 60"),
    ],
)
def test_the_command_of_gpu_burn_has_format_and_duration(command, options, words):
    found = planned("gpu-burn", command, **options)
    assert " ".join(found.argv) == words
    assert found.environment["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"


def test_the_program_of_gpu_burn_is_where_the_hostfile_says():
    for key in ("gpu-burn", "gpu_burn"):
        assert planned("gpu-burn", "fp32", {key: "/opt/burn"}).argv[0] == "/opt/burn/gpu_burn"


@pytest.mark.parametrize("path", ["/opt/gpu-burn-data/c.ptx", "/opt/x-h/c", "/a-l", "/a-tc.ptx"])
def test_a_path_that_gpu_burn_would_take_for_an_option_is_refused(path):
    with pytest.raises(BadInput, match=r"takes -\w{1,2} in it for an option"):
        planned("gpu-burn", "fp32", compare=path)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("bf16", "gpu-fryer --use-bf16 90"),
        ("fp8", "gpu-fryer --use-fp8 90"),
        ("tf32", "gpu-fryer --use-fp32 90"),
    ],
)
def test_the_command_of_gpu_fryer_has_format_and_duration(command, words):
    assert " ".join(planned("gpu-fryer", command, duration_s=90).argv) == words


def test_the_libraries_of_rocm_are_run_on_each_gpu():
    found = planned("rocblas-bench", "bf16", {"rocblas-bench": "/opt/rocm/bin"}, size=4096)
    assert found.argv[:2] == ("sh", "-c")
    assert found.argv[3:7] == ("rocblas-bench", "2", "3", "/opt/rocm/bin/rocblas-bench")
    words = " ".join(found.argv[7:])
    assert words.startswith("-f gemm_ex --log_datatype --initialization trig_float -m 4096 -n 4096")
    assert "--a_type bf16_r --b_type bf16_r --c_type bf16_r --d_type bf16_r" in words
    assert words.endswith("--compute_type f32_r -i 100 -j 100")
    fp8 = " ".join(planned("hipblaslt-bench", "fp8", cycles=1, verify=True).argv)
    assert "--a_type f8_r --b_type f8_r --c_type bf16_r --d_type bf16_r" in fp8
    assert fp8.endswith("-j 100 -v")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"level": "4"}, ("-r", "4")),
        ({"module": "gst"}, ("-m", "gst")),
        ({"config": "/opt/rvs/gst.conf"}, ("-c", "/opt/rvs/gst.conf")),
    ],
)
def test_the_command_of_rvs_has_the_selected_tests(options, words):
    found = planned("rvs", "rvs", **options)
    assert found.argv[:2] == ("sh", "-c")
    assert found.argv[3:] == ("rvs", "rvs", *words)


@pytest.mark.parametrize(
    ("tool", "command", "options", "says"),
    [
        ("gpu-burn", "int8", {}, "is not a command of"),
        ("gpu-burn", "fp32", {"duration_s": 0}, "duration_s is 0"),
        ("gpu-burn", "fp32", {"size": 1}, "unknown option size"),
        ("gpu-fryer", "fp64", {}, "is not a command of"),
        ("gpu-fryer", "bf16", {"duration_s": 9}, "duration_s is 9"),
        ("rocblas-bench", "fp8", {}, "is not a command of"),
        ("rocblas-bench", "fp32", {"cycles": 0}, "cycles is 0"),
        ("hipblaslt-bench", "fp64", {}, "is not a command of"),
        ("hipblaslt-bench", "bf16", {"verify": 1}, "verify is 1"),
        ("rvs", "rvs", {}, "0 of level, module, config are given"),
        ("rvs", "rvs", {"level": "4", "module": "gst"}, "2 of level, module, config are given"),
        ("rvs", "rvs", {"level": "6"}, "level is '6'"),
        ("rvs", "rvs", {"module": "mem"}, "module is 'mem'"),
        ("rvs", "rvs", {"config": "-x"}, "config is '-x'"),
        ("rvs", "rvs", {"config": "a b"}, "config is 'a b'"),
    ],
)
def test_options_that_cannot_be_measured_are_refused(tool, command, options, says):
    with pytest.raises(BadInput, match=says):
        planned(tool, command, **options)


def test_without_declared_gpus_there_is_nothing_to_run_on():
    made = setting("rocblas-bench")
    made.measurement.command = "bf16"
    made.platform.gpus = None
    with pytest.raises(BadInput, match="declares no GPUs"):
        tools.tool("rocblas-bench").commands(made, 0)


# --- the lines of shell, really run ---


@pytest.fixture
def stub(tmp_path):
    def write(text):
        path = tmp_path / "products"
        path.write_text(f"#!/bin/sh\n{text}", encoding="utf-8")
        path.chmod(0o755)
        return str(path)

    return write


def run(argv):
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout


def test_a_program_is_run_on_each_gpu_in_turn(stub):
    code, printed = run(on_each_gpu("x", (stub('echo "$*"\n'), "-m", "a b"), 2, 2))
    assert code == 0
    assert printed.splitlines() == [
        "railgauge: gpu0 cycle 0", "-m a b --device 0", "railgauge: gpu0 cycle 1",
        "-m a b --device 0", "railgauge: gpu1 cycle 0", "-m a b --device 1",
        "railgauge: gpu1 cycle 1", "-m a b --device 1", "railgauge: end of 2 GPUs",
    ]  # fmt: skip


def test_the_first_run_that_fails_ends_them_all(stub):
    code, printed = run(on_each_gpu("x", (stub('[ "$2" != 1 ] || exit 7\n'),), 3, 1))
    assert code == 7
    assert printed.splitlines() == ["railgauge: gpu0 cycle 0", "railgauge: gpu1 cycle 0"]


def test_rvs_lists_its_gpus_before_it_runs(stub):
    code, printed = run(("sh", "-c", RVS_SCRIPT, "rvs", stub('echo "$*"\n'), "-r", "4"))
    assert (code, printed.splitlines()) == (
        0, ["railgauge: rvs begins", "-g", "-r 4", "railgauge: rvs ended with 0"],
    )  # fmt: skip
    code, printed = run(
        ("sh", "-c", RVS_SCRIPT, "rvs", stub('echo "$*"; [ "$1" = -g ]\n'), "-r", "4")
    )
    assert (code, printed.splitlines()[-1]) == (1, "railgauge: rvs ended with 1")
    code, printed = run(("sh", "-c", RVS_SCRIPT, "rvs", stub("exit 3\n"), "-r", "4"))
    assert (code, printed.splitlines()) == (3, ["railgauge: rvs begins"])


# --- what was asked, and what the output says ---

VENDORS = {"NVIDIA H200": "nvidia", "AMD Instinct MI300X": "amd"}
MADE = {
    "gpu-burn": ("tf32", {"duration_s": 30}, "NVIDIA H200", BURN),
    "gpu-fryer": ("bf16", {"duration_s": 60}, "NVIDIA H200", FRY),
    "rocblas-bench": ("bf16", {"cycles": 2}, "AMD Instinct MI300X", ROCBLAS),
    "hipblaslt-bench": ("bf16", {"cycles": 2}, "AMD Instinct MI300X", HIPBLASLT),
    "rvs": ("rvs", {"module": "gst"}, "AMD Instinct MI300X", RVS_GST),
}
CASE = Case("gpu_stress", ("n1",), None, ())


def document(tool, metric="gflops", count=2, **changed):
    command, options, model, _ = MADE[tool]
    gpus = {"vendor": VENDORS[model], "model": model, "count": count, "memory_mib": 143771}
    limit = {"metric": metric, "unit": "TFLOP/s", "floor": 1, "basis": "site: For a test."}
    stress = {
        "rung": 3, "tool": tool, "command": command, "scope": "node", "options": options,
        "asserts": [{"metric": metric, "per": "gpu"}], "levels": {"nightly": {}, "signoff": {}},
        "limits": [limit], "time_limit_s": 900, "typical_s": 60,
    }  # fmt: skip
    return {
        "schema_version": 1,
        "platform": "pair-of-gpus",
        "title": "Two GPUs in one node",
        "hardware": {"gpus": gpus, "nics": {}, "affinity": {str(gpu): {} for gpu in range(count)}},
        "expected": {"gpu_model": {"as_declared": True, "basis": "site: As bought."}},
        "levels": {"smoke,nightly,signoff": {"scheme": "tournament", "rounds": 1}},
        "measurements": {"gpu_stress": stress | changed},
    }


@pytest.fixture
def platform(tmp_path):
    def load(tool, **changed):
        folder = tmp_path / "thresholds"
        if not folder.exists():
            folder.mkdir()
            shutil.copy(ROOT / "thresholds" / "schema.json", folder)
            shutil.copytree(ROOT / "thresholds" / "shared", folder / "shared")
        text = json.dumps(document(tool, **changed))
        (folder / "pair-of-gpus.json").write_text(text, encoding="utf-8")
        return thresholds.load("pair-of-gpus", folder)

    return load


def read(platform, tool, text, code=0):
    transcript = Transcript("n1", (tool,), code, text, "", 90.0)
    facts = {"n1": NodeFacts("n1", hostname="n1")}
    return assess.read(platform, CASE, CaseResult(((transcript,),)), facts)


METRIC = {"rvs": "gflops_bf16"}


@pytest.mark.parametrize("tool", MADE)
def test_each_gpu_is_judged(platform, tool):
    found = platform(tool, metric=METRIC.get(tool, "gflops"))
    measured = read(found, tool, MADE[tool][3])
    for gpu in ("gpu0", "gpu1"):
        (judged,) = assess.limits(found, measured, None, gpu).judgements
        assert judged.outcome == "passed"
        assert judged.unit == "TFLOP/s"
    assert assess.limits(found, measured, None, "gpu2").errors


@pytest.mark.parametrize("tool", MADE)
def test_an_output_of_other_gpus_is_no_evidence(platform, tool):
    metric = METRIC.get(tool, "gflops")
    with pytest.raises(OtherThanAsked, match="GPUs: asked for gpu0, gpu1, gpu2, the tool says"):
        read(platform(tool, metric=metric, count=3), tool, MADE[tool][3])
    model = MADE[tool][2]
    other = MADE[tool][3].replace(model, "Another GPU")
    with pytest.raises(OtherThanAsked, match=f"GPU model: asked for {model}, the tool says Anoth"):
        read(platform(tool, metric=metric), tool, other)


@pytest.mark.parametrize(
    ("tool", "old", "new", "says"),
    [
        ("gpu-burn", ", using Tensor Cores", "", "format: asked for tf32, the tool says fp32"),
        ("gpu-burn", "for 30 seconds", "for 10 seconds", "duration_s: asked for 30, the tool says"),
        ("gpu-fryer", " BF16 ", " FP32 ", "format: asked for BF16, the tool says FP32"),
        ("rocblas-bench", "bf16_r,bf16_r,bf16_r", "f16_r,f16_r,f16_r", "a_type: asked for bf16_r"),
        ("rocblas-bench", "f32_r,1,", "f16_r,1,", "compute_type: asked for f32_r, the tool says"),
        ("hipblaslt-bench", "bf16_r,f32_r,", "bf16_r,xf32_r,", "compute_type: asked for f32_r"),
    ],
)
def test_an_output_of_something_else_is_no_evidence(platform, tool, old, new, says):
    text = MADE[tool][3]
    assert old in text
    with pytest.raises(OtherThanAsked, match=says):
        read(platform(tool), tool, text.replace(old, new))


def test_fewer_cycles_than_asked_are_no_evidence(platform):
    once = platform("rocblas-bench", options={"cycles": 3})
    with pytest.raises(OtherThanAsked, match="cycles: asked for 3, the tool says 2"):
        read(once, "rocblas-bench", ROCBLAS)


def test_a_faulty_gpu_is_corruption_although_the_program_ends_with_zero(platform):
    with pytest.raises(DataCorrupted, match="gpu1: an unknown number of errors"):
        read(platform("gpu-burn"), "gpu-burn", BURN.replace("GPU 1: OK", "GPU 1: FAULTY"))


def test_an_exit_code_without_a_reason_is_no_pass(platform):
    for tool in ("gpu-burn", "gpu-fryer", "rocblas-bench", "hipblaslt-bench"):
        with pytest.raises(NoEvidence, match="exit code 1"):
            read(platform(tool), tool, MADE[tool][3], code=1)


TESTS = {"tests": ["GPU health"], "basis": "site: For a test."}


def test_an_unhealthy_gpu_fails_its_test_and_keeps_its_rate(platform):
    found = platform("gpu-fryer", results=TESTS)
    measured = read(found, "gpu-fryer", FRY_UNHEALTHY, code=1)
    spec = found.measurements["gpu_stress"].results
    (judged,), errors = judge_results(measured.runs[0], spec, 2, "n1")
    assert (judged.outcome, errors) == ("failed", ())
    assert judged.points_at == (("n1", "gpu1"),)


def test_every_action_of_rvs_must_have_passed_on_every_gpu(platform):
    tests = {"tests": [BABEL, GST, IET], "basis": "site: For a test."}
    found = platform("rvs", metric="gflops_bf16", options={"level": "4"}, results=tests)
    spec = found.measurements["gpu_stress"].results
    whole = read(found, "rvs", RVS_LEVEL).runs[0]
    judged, errors = judge_results(whole, spec, 2, "n1")
    assert ([one.outcome for one in judged], errors) == (["passed"] * 3, ())
    rows = gst("42583", (610000,)) + gst("1590", (500000,), "FALSE")
    missed = RVS_LIST + begin(GST, "gst") + rows + RVS_END
    judged, errors = judge_results(read(found, "rvs", missed, code=1).runs[0], spec, 2, "n1")
    assert [(one.metric, one.outcome, one.points_at) for one in judged] == [
        (GST, "failed", (("n1", "gpu1"),))
    ]
    assert len(errors) == 2  # the other two actions were not run
