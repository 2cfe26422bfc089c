"""The program train-bench, really run with PyTorch on CPUs: a flipped bit shows."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from testing import programs
from testing.free_ports import free_port
from testing.netlab_bench import missing, visit

from railgauge.core.model import Parsed
from railgauge.tools import train_bench
from railgauge.tools.train_bench import program

PROGRAM = Path(program.__file__)
SMALL = ("-d", "cpu", "-n", "6", "--layers", "2", "--width", "64", "--sequence", "16", "--batch",
         "2", "--vocabulary", "256")  # fmt: skip
LAUNCHERS = {
    "openmpi": ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
    "mpich": ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),
    "slurm": ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"),
}
SOUND = (str(PROGRAM),)
# The program with one bit of one weight flipped after the fourth step of rank 1.
FLIPPED = (
    "-c",
    f"""
import os, sys
sys.path.insert(0, {str(PROGRAM.parent)!r})
import program
whole = program.Trainer.update
def update(self, wide):
    whole(self, wide)
    if self._step == 4 and program.LaunchedRank.of(os.environ).rank == 1:
        tensor = dict(self.tensors())["layer1.up"]
        tensor.view(self._torch.int32)[3, 5] ^= 1
program.Trainer.update = update
sys.exit(program.main())
""",
)


@pytest.fixture(scope="module")
def python():
    """Debian's Python, which imports Debian's PyTorch."""
    return str(Path(programs.asked("torchrun")).with_name("python3"))


def launched(python, words, *argv, ranks):
    """Start the ranks as a launcher does; return exit codes, and what they printed."""
    port = free_port()
    started = []
    for rank in range(ranks):
        output = dict(zip(LAUNCHERS["openmpi"], map(str, (rank, ranks, rank)), strict=True))
        command = [python, *words, *argv, *SMALL, "--master", f"127.0.0.1:{port}"]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        environment = {"PATH": os.defpath, **output}
        started.append(subprocess.Popen(command, text=True, env=environment, **pipes))
    ended = [one.communicate(timeout=120) for one in started]
    return [one.returncode for one in started], "".join(out + err for out, err in ended)


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_the_rank_is_what_the_launcher_says(launcher):
    output = dict(zip(LAUNCHERS[launcher], ("3", "16", "1"), strict=True))
    assert program.LaunchedRank.of(output) == program.LaunchedRank(3, 16, 1)
    assert program.LaunchedRank.of({}) == program.LaunchedRank(0, 1, 0)


def test_ranks_have_the_same_bits(python):
    codes, out = launched(python, SOUND, "replay", ranks=2)
    parsed = train_bench.parse(out)
    assert (codes, parsed.problems) == ([0, 0], ())
    assert [s.value for s in parsed.samples if s.metric == "agreed"] == [6, 6]
    assert str(parsed.summary["library"]).startswith("torch ")


def test_a_flipped_bit_is_found_with_rank_step_and_tensor(python):
    codes, out = launched(python, FLIPPED, "replay", ranks=3)
    (found,) = train_bench.parse(out).errors
    assert codes == [1, 1, 1]
    assert found.kind == "data-corruption"
    host = os.uname().nodename
    assert found.message == f"{host} cpu1: other bits from step 3 on, first in layer1.up"


def test_ranks_that_train_together_have_the_same_weights(python):
    codes, out = launched(python, SOUND, "train", "-w", "1", ranks=2)
    parsed = train_bench.parse(out)
    assert (codes, parsed.problems) == ([0, 0], ())
    values = {(s.metric, s.placement): s.value for s in parsed.samples}
    assert values["tokens_per_s", None] > 0
    assert values["compute_tflops", "cpu0"] > values["model_tflops", None] > 0
    assert 0 < values["exchange_share", None] < 1


def test_a_flipped_bit_of_a_training_together_is_found(python):
    codes, out = launched(python, FLIPPED, "train", ranks=3)
    (found,) = train_bench.parse(out).errors
    assert (codes, found.kind) == ([0, 0, 0], "data-corruption")
    assert found.message == f"{os.uname().nodename} cpu1: other bits after step 5"


def test_another_seed_has_other_digests(python):
    digests = []
    for seed in ("1", "2"):
        _, out = launched(python, SOUND, "replay", "--seed", seed, ranks=1)
        digests.append([line.split()[-1] for line in out.splitlines() if " step " in line])
    assert len(digests[0]) == 6
    assert set(digests[0]).isdisjoint(digests[1])


def test_a_gpu_that_is_not_there_is_named(python):
    argv = ("replay", "--master", f"127.0.0.1:{free_port()}")
    done = subprocess.run(
        [python, *SOUND, *argv], capture_output=True, text=True, timeout=60, check=False,
        env={"PATH": os.defpath, "CUDA_VISIBLE_DEVICES": ""},
    )  # fmt: skip
    assert done.returncode == 2
    (found,) = train_bench.parse(done.stderr).errors
    assert (found.kind, "finds 0 GPUs, not 1" in found.message) == ("tool-missing", True)


def test_without_pytorch_the_tool_is_missing(tmp_path, python):
    (tmp_path / "torch.py").write_text("raise ImportError('no torch here')\n", encoding="utf-8")
    done = subprocess.run(
        [python, *SOUND, "replay", "--master", "127.0.0.1:1"],
        capture_output=True, text=True, timeout=60, check=False,
        env={"PATH": os.defpath, "PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 2
    assert [one.kind for one in train_bench.parse(done.stderr).errors] == ["tool-missing"]


@pytest.mark.parametrize("argv", [(), ("replay",), ("replay", "--master", "x"),
                                  ("replay", "--master", "a:1", "--width", "65")])  # fmt: skip
def test_a_bad_command_line_is_refused(argv, capsys):
    with pytest.raises(SystemExit) as left:
        program.read_options(argv)
    assert left.value.code == 2
    assert "train-bench: error: " in capsys.readouterr().err


# --- two nodes of a real network ---

LAUNCH = """
import json, shlex
for name, argv in json.loads(Path(sys.argv[0]).with_name("launches.json").read_text()).items():
    FOUND[name] = on("tcp01", f"timeout -k 1 90 {shlex.join(argv)}", 120)
"""
MPIRUN = (
    "mpirun.openmpi", "--allow-run-as-root", "-np", "2", "--host", "10.77.0.1:1,10.77.0.2:1",
    "--map-by", "slot", "--bind-to", "none", "--mca", "btl", "tcp,self", "--mca",
    "oob_tcp_if_include", "eth0",
)  # fmt: skip


@pytest.fixture(scope="module")
def between(tmp_path_factory, cannot_run, python):
    if shutil.which("mpirun.openmpi", path=programs.machine()) is None:
        cannot_run("not installed: mpirun.openmpi")
    if lacks := missing():
        cannot_run(f"no cluster of namespaces on this machine: {lacks}")
    folder = tmp_path_factory.mktemp("launches")
    planned = {
        name: [*MPIRUN, python, *words, "replay", "--master", f"10.77.0.1:{port}", *SMALL]
        for name, words, port in (("sound", SOUND, 29501), ("flipped", FLIPPED, 29502))
    }
    (folder / "launches.json").write_text(json.dumps(planned), encoding="utf-8")
    found = visit(LAUNCH, folder, "--nodes", "2")
    return {name: train_bench.parse(ran["out"] + ran["err"]) for name, ran in found.items()}


def test_ranks_of_two_nodes_have_the_same_bits(between):
    parsed: Parsed = between["sound"]
    assert parsed.problems == ()
    assert parsed.summary["ranks"] == {"tcp01": 1, "tcp02": 1}
    assert [s.value for s in parsed.samples if s.metric == "agreed"] == [6, 6]


def test_a_flipped_bit_shows_between_two_nodes(between):
    wrong = [one for one in between["flipped"].errors if one.kind == "data-corruption"]
    assert len(wrong) == 1, between["flipped"]
    assert "tcp01 cpu0" in wrong[0].message
    assert "tcp02 cpu1" in wrong[0].message or "tcp02 cpu0" in wrong[0].message
    assert "from step 3 on, first in layer1.up" in wrong[0].message
