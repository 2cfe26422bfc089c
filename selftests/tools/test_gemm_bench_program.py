"""The program gemm-bench, really run with NumPy: green on this machine, red with a bad library."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from testing import programs
from testing.acceptance import BARE_SMOKE, make_project

from railgauge.tools import gemm_bench
from railgauge.tools.gemm_bench import program

try:
    import numpy as np
except ImportError:
    np = None

PROGRAM = Path(program.__file__)
N = 256
SMALL = ("-d", "cpu", "-s", str(N), "-n", "2", "-N", "2", "-w", "0")


@pytest.fixture(scope="module", autouse=True)
def _numpy(cannot_run):
    if np is None:
        cannot_run("NumPy cannot be imported (pip install numpy)")


@pytest.fixture(autouse=True)
def _path(monkeypatch, tmp_path):
    """The node is this machine without the GPU tools and RDMA devices that it may have."""
    monkeypatch.setenv("PATH", programs.node_path(tmp_path / "own", tmp_path / "basic"))


def run(*argv, path=""):
    """Run the file as a node does: alone, without this project's modules."""
    done = subprocess.run(
        [sys.executable, str(PROGRAM), *argv],
        capture_output=True, text=True, timeout=120, check=False,
        env={"PATH": os.defpath, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("form", ["fp64", "fp32", "copy"])
def test_a_real_run_is_read_whole(form):
    code, out, err = run(form, *SMALL)
    parsed = gemm_bench.parse(out)
    assert (code, err, parsed.problems) == (0, "", ())
    metric = "copy_bandwidth" if form == "copy" else "tflops"
    assert [s.value > 0 for s in parsed.samples if s.metric == metric] == [True, True]
    assert [s.value for s in parsed.samples if s.metric == "wrong"] == [0, 0]
    assert parsed.summary["library"] == f"numpy {np.__version__}"
    assert (parsed.summary["format"], parsed.summary["size"]) == (form, N)


# A numpy.py before the real one on the path; each stub breaks what the program calls.
STUB = """\
import sys
here = __file__.rpartition("/")[0]
sys.path.remove(here)
del sys.modules["numpy"]
import numpy
real, seen = numpy.matmul, []
def one_element(a, b, out):
    real(a, b, out=out)
    out[100, 100] += 0.5
def only_later(a, b, out):
    real(a, b, out=out)
    seen.append(0)
    if len(seen) == 4:
        out[7, 9] += 0.5
def nothing(a, b, out):
    pass
def zeros(a, b, out):
    out[...] = 0
def not_a_number(a, b, out):
    real(a, b, out=out)
    out[3, 4] = numpy.nan
def half_precision(a, b, out):
    real(a.astype("float16").astype(a.dtype), b, out=out)
def transposed(a, b, out):
    real(a, b.T, out=out)
def stale(a, b, out):
    seen.append(0)
    if len(seen) == 1:
        seen.append(real(a, b))
    out[...] = seen[1]
class Zeros:
    def __init__(self, seed):
        pass
    def random(self, shape, dtype):
        return numpy.full(shape, 0.5, dtype)
class Same:
    def __init__(self, seed):
        self.made = rng(7)
    def random(self, shape, dtype):
        return self.made.random(shape, dtype=dtype)
class Kept(numpy.ndarray):
    def __setitem__(self, at, value):
        pass
rng, empty = numpy.random.default_rng, numpy.empty
"""
WRONG = {
    name: f"numpy.matmul = {name}\n"
    for name in (
        "one_element", "only_later", "nothing", "zeros", "not_a_number", "half_precision",
        "transposed", "stale",
    )
}  # fmt: skip
# All is 0: the inputs, the products, and so the check's own sums.
WRONG["all_zeros"] = "numpy.random.default_rng = Zeros\n"
WRONG["not_filled_anew"] = "numpy.random.default_rng = Same\n"
WRONG["no_copy"] = "numpy.empty = lambda *a, **k: empty(*a, **k).view(Kept)\n"


@pytest.fixture
def stub(tmp_path):
    def write(name):
        (tmp_path / "numpy.py").write_text(STUB + WRONG[name], encoding="utf-8")
        return str(tmp_path)

    return write


@pytest.mark.parametrize("name", [name for name in WRONG if name != "no_copy"])
@pytest.mark.parametrize("form", ["fp64", "fp32"])
def test_a_library_that_multiplies_wrongly_is_found(stub, name, form):
    code, out, err = run(form, *SMALL, path=stub(name))
    assert (code, err) == (1, "")
    (found,) = gemm_bench.parse(out).errors
    assert found.kind == "data-corruption"
    assert found.message.startswith("cpu: ")


def test_a_copy_that_copies_nothing_is_found(stub):
    code, out, _ = run("copy", *SMALL, path=stub("no_copy"))
    assert code == 1
    assert [one.kind for one in gemm_bench.parse(out).errors] == ["data-corruption"]


# A CuPy of two GPUs that computes with NumPy; the second GPU has a wrong element, or is slow.
CUPY = """\
import time
import numpy
from numpy import *
from numpy import random
__version__ = "0"
class cuda:
    class runtime:
        getDeviceCount = staticmethod(lambda: 2)
        @staticmethod
        def getDeviceProperties(at):
            return {"name": b"Some GPU", "uuid": bytes([at + 1] * 16)}
    class Device:
        used = 0
        def __init__(self, index=0):
            self.index = index
        def use(self):
            cuda.Device.used = self.index
        def synchronize(self):
            pass
def matmul(a, b, out):
    numpy.matmul(a, b, out=out)
    out[3, 4] += WRONG * cuda.Device.used
    time.sleep(WAIT_S * cuda.Device.used)
"""


@pytest.fixture
def cupy(tmp_path):
    def write(wrong=0.0, wait_s=0.0):
        text = CUPY.replace("WRONG", str(wrong)).replace("WAIT_S", str(wait_s))
        (tmp_path / "cupy.py").write_text(text, encoding="utf-8")
        return str(tmp_path)

    return write


@pytest.mark.parametrize("form", ["fp64", "fp32", "tf32", "copy"])
def test_each_gpu_is_measured_by_itself(cupy, form):
    argv = (form, "-d", "gpu", *SMALL[2:], "--library", "cupy")
    code, out, err = run(*argv, path=cupy())
    parsed = gemm_bench.parse(out)
    assert (code, err, parsed.problems) == (0, "", ())
    assert {s.placement for s in parsed.samples} == {"gpu0", "gpu1"}
    assert parsed.summary["uuids"][0] == "GPU-01010101-0101-0101-0101-010101010101"


def test_the_gpu_with_wrong_results_is_named(cupy):
    code, out, _ = run("tf32", "-d", "gpu", *SMALL[2:], "--library", "cupy", path=cupy(0.5))
    assert code == 1
    (found,) = gemm_bench.parse(out).errors
    assert found.message.startswith("gpu1: ")
    assert "gpu0" not in found.message


def test_without_a_library_it_says_what_to_install(tmp_path):
    for name in ("numpy", "torch"):
        (tmp_path / f"{name}.py").write_text(f"raise ImportError('no {name} here')\n")
    code, out, err = run("fp32", *SMALL, path=str(tmp_path))
    assert (code, out) == (2, "")
    (found,) = gemm_bench.parse(err).errors
    assert found.kind == "tool-missing"
    assert "numpy: no numpy here; torch: no torch here; install NumPy for " in found.message


@pytest.mark.parametrize("form", ["tf32", "bf16", "fp8"])
def test_a_format_that_no_cpu_has_is_no_measurement(form):
    code, out, err = run(form, *SMALL)
    assert (code, out) == (2, "")
    assert f"{form} is measured on a gpu" in err
    assert [one.kind for one in gemm_bench.parse(err).errors] == ["tool-missing"]


@pytest.mark.parametrize(
    "argv",
    [["int4"], ["fp32", "-s", "8"], ["fp32", "-s", "257"], ["fp32", "-n", "0"],
     ["fp32", "-w", "-1"], ["fp32", "-N", "0"], ["fp32", "-d", "tpu"]],
)  # fmt: skip
def test_arguments_that_cannot_be_measured_end_with_2(argv, capsys):
    with pytest.raises(SystemExit) as ended:
        program.main(argv)
    assert ended.value.code == 2
    assert "gemm-bench: error: " in capsys.readouterr().err


# --- the suite itself, with real products on this machine ---

BASIS = "site: Any rate at all; the selftest is about results."


def measurement(command, metric, unit):
    return {
        "rung": 3,
        "tool": "gemm-bench",
        "command": command,
        "scope": "node",
        "options": {"devices": "cpu", "size": N, "iterations": 2, "cycles": 2, "warmup_s": 0},
        "asserts": [{"metric": metric, "per": "run"}],
        "levels": {"smoke,nightly,signoff": {}},
        "limits": [{"metric": metric, "unit": unit, "floor": 1e-6, "basis": BASIS}],
        "time_limit_s": 120,
        "typical_s": 2,
    }


PLATFORM = {
    "schema_version": 1,
    "platform": "processor",
    "title": "One machine without GPUs",
    "hardware": {
        "nics": {
            "lo": {
                "model": "loopback",
                "rate_gbps": 1,
                "link_layer": "Ethernet",
                "rdma": False,
                "basis": "site: The schema asks for a NIC; nothing is measured over it.",
            },
        },
    },
    "expected": {"kernel": {"alike": "nodes", "basis": "site: The nodes are built alike."}},
    "levels": {"smoke,nightly,signoff": {"scheme": "tournament", "rounds": 1}},
    "measurements": {
        "cpu_matrix_fp64": measurement("fp64", "tflops", "GFLOP/s"),
        "cpu_matrix_fp32": measurement("fp32", "tflops", "TFLOP/s"),
        "cpu_memory_copy": measurement("copy", "copy_bandwidth", "GB/s"),
    },
}


TEST = '''
@pytest.mark.measures("{}")
def test_{}(node, measure, check):
    """The CPUs of a node reach their rate, and every result is right."""
    check(measure(node))
'''


def machine_of_its_own(folder):
    """The root of a node that is this machine, but was booted by itself and has no virtual CPUs.

    What else this machine does explains misses of nodes that run on it: that depends on who else
    uses it, and is tested in ``selftests/diagnosis``.
    """
    own = {"proc/sys/kernel/random/boot_id": "5b4a7c8e-0d3f-4a55-9c6e-0123456789ab\n"}
    own["proc/stat"] = "cpu  1 1 1 1 1 0 0 0 0 0\nprocs_running 1\n"
    above = {str(parent) for path in own for parent in Path(path).parents}
    for name in sorted(above):
        (folder / name).mkdir()
        for there in Path("/", name).iterdir():
            path = (Path(name) / there.name).as_posix()
            if path not in own and path not in above:
                (folder / path).symlink_to(there)
    for path, text in own.items():
        (folder / path).write_text(text, encoding="ascii")
    return folder


def accepted(folder, path="", platform=PLATFORM, rootfs="/"):
    """A run of a site that has tests of its own for its CPUs."""
    project = make_project(folder)
    tests = "".join(TEST.format(name, name) for name in PLATFORM["measurements"])
    project.write("tests/intranode/test_each_cpu.py", f"import pytest\n{tests}")
    project.write("thresholds/processor.json", json.dumps(platform))
    command = ["env", f"PYTHONPATH={path}", sys.executable, str(PROGRAM)]
    script = project.write("bin/gemm-bench", f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
    script.chmod(0o755)
    project.write(
        "hostfiles/here.yaml",
        "cluster: here\nplatform: processor\ntransport: local\nnodes: localhost\n"
        f"fabric: {{none: One machine.}}\ntools: {{gemm-bench: {script.parent}}}\n"
        f"rootfs: {rootfs}\n",
    )
    return project.run("--hostfile", "hostfiles/here.yaml", "--wait", "300", *BARE_SMOKE)


def test_this_machine_is_accepted_with_right_results(tmp_path):
    found = accepted(tmp_path / "project")
    assert found.code == 0, found.output
    assert found.verdict["evidence"] == "hardware"
    assert found.verdict["counts"]["asserted"] == found.verdict["counts"]["planned"]


def test_a_machine_that_multiplies_wrongly_is_rejected_for_data_corruption(tmp_path, stub):
    found = accepted(tmp_path / "project", path=stub("only_later"))
    assert found.code == 1, found.output
    assert [cause["cause"] for cause in found.verdict["causes"]] == ["data-corruption"]
    assert "cpu: 1 wrong values" in found.words


def of_gpus():
    """The same machine, with two GPUs."""
    fp32 = measurement("fp32", "tflops", "TFLOP/s")
    fp32["options"] |= {"devices": "gpu", "library": "cupy"}
    # A product that waits half a second reaches 0.07 GFLOP/s; any core reaches ten times as much.
    fp32["limits"][0] |= {"unit": "GFLOP/s", "floor": 0.15}
    fp32["asserts"] = [{"metric": "tflops", "per": "gpu"}]
    gpus = {"vendor": "nvidia", "model": "Some GPU", "count": 2, "memory_mib": 1024}
    hardware = {"gpus": gpus, "nics": {}, "affinity": {"0": {}, "1": {}}}
    return {**PLATFORM, "hardware": hardware, "measurements": {"gpu_matrix_fp32": fp32}}


@pytest.mark.parametrize(
    ("fault", "code", "causes"),
    [
        ({}, 0, []),
        ({"wrong": 0.5}, 1, [("data-corruption", "gpu1")]),
        ({"wait_s": 0.5}, 1, [("slow-gpu", "gpu1")]),
    ],
)
def test_a_gpu_that_multiplies_wrongly_or_slowly_is_the_cause(tmp_path, cupy, fault, code, causes):
    root = machine_of_its_own(tmp_path / "root")
    found = accepted(tmp_path / "project", cupy(**fault), of_gpus(), rootfs=root)
    assert found.code == code, found.output
    named = [(one["cause"], one["where"]["device"]) for one in found.verdict["causes"]]
    assert named == causes
