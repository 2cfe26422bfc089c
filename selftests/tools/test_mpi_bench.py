"""mpi-bench: its command, its output, and every way in which the output can be wrong."""

from array import array

import pytest
from testing.tool_setting import kinds, setting

from railgauge.core.errors import BadInput
from railgauge.tools import mpi_bench
from railgauge.tools.mpi_bench import program
from railgauge.tools.mpi_bench.parse import factor
from railgauge.tools.mpi_bench.plan import COMMANDS

MIB = 1 << 20
WHOLE = """\
mpi-bench version 1
mpi-bench run collective=all_reduce ranks=3 type=float32 iterations=5 warmup=1 cycles=1
mpi-bench library Open MPI v4.1.4, package: Debian OpenMPI
mpi-bench rank 0 tcp01
mpi-bench rank 1 tcp02
mpi-bench rank 2 tcp03
mpi-bench row size=1048576 cycle=0 time_us=58000.000 algbw=0.018079 busbw=0.024105 wrong=0
mpi-bench row size=2097152 cycle=0 time_us=116000.000 algbw=0.018079 busbw=0.024105 wrong=0
mpi-bench end rows=2 wrong=0
"""
ROW = WHOLE.splitlines(keepends=True)[6]


def planned(*, nodes=("n1", "n2"), sizes=(MIB,), command="all_reduce", tools=None, **options):
    made = setting("mpi-bench", nodes=nodes, sizes=sizes, options=options, tools=tools or {})
    made.measurement.command = command
    return mpi_bench.commands(made, 0)


def test_a_sound_output_is_read_whole():
    parsed = mpi_bench.parse(WHOLE)
    assert parsed.problems == ()
    assert parsed.tool_version == "1"
    found = {(s.metric, s.size_bytes): (s.value, s.unit) for s in parsed.samples}
    assert found == {
        ("time_us", MIB): (58000.0, "us"), ("time_us", 2 * MIB): (116000.0, "us"),
        ("algbw", MIB): (0.018079, "GB/s"), ("algbw", 2 * MIB): (0.018079, "GB/s"),
        ("busbw", MIB): (0.024105, "GB/s"), ("busbw", 2 * MIB): (0.024105, "GB/s"),
        ("wrong", MIB): (0.0, "count"), ("wrong", 2 * MIB): (0.0, "count"),
    }  # fmt: skip
    assert parsed.summary["ranks"] == {"tcp01": 1, "tcp02": 1, "tcp03": 1}
    assert (parsed.summary["nranks"], parsed.summary["nnodes"]) == (3, 3)


def test_the_payload_is_that_of_a_ring_with_warm_up():
    # 2(n-1)/n of 1 MiB and of 2 MiB, six times.
    assert mpi_bench.payload_bytes(mpi_bench.parse(WHOLE)) == pytest.approx(6 * 4 * MIB, rel=1e-3)
    alone = WHOLE.replace("tcp02", "tcp01").replace("tcp03", "tcp01")
    assert mpi_bench.payload_bytes(mpi_bench.parse(alone)) == 0


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("busbw=0.024105", "busbw=0.034105", "inconsistent"),
        ("algbw=0.018079", "algbw=0.118079", "inconsistent"),
        ("time_us=58000.000", "time_us=5800.000", "inconsistent"),
        ("time_us=58000.000", "time_us=0.000", "zero-value"),
        ("time_us=58000.000", "time_us=nan", "unparsable"),
        ("size=1048576 cycle=0", "size=1048576 cycle=0 cycle=1", "unparsable"),
        ("wrong=0\n", "wrong=3\n", "data-corruption"),
        ("mpi-bench end rows=2 wrong=0\n", "", "truncated"),
        ("mpi-bench end rows=2", "mpi-bench end rows=3", "truncated"),
        (ROW, "", "truncated"),
        ("mpi-bench rank 2 tcp03\n", "", "inconsistent"),
        ("ranks=3", "ranks=1", "too-few-ranks"),
        ("ranks=3", "ranks=4", "inconsistent"),
        ("collective=all_reduce", "collective=all_produce", "inconsistent"),
        (WHOLE, WHOLE + WHOLE, "several-tables"),
        (WHOLE, "", "no-output"),
        (WHOLE, "hello\n", "no-table"),
        (WHOLE, "ModuleNotFoundError: No module named 'mpi4py'\n", "tool-missing"),
        (WHOLE, "bash: line 1: mpi-bench: command not found\n", "tool-missing"),
        (WHOLE, "bash: line 1: mpirun: command not found\n", "tool-missing"),
        (WHOLE, "Host key verification failed.\n", "host-key"),
    ],
)
def test_damage_is_named(old, new, kind):
    assert old in WHOLE
    found = kinds(mpi_bench.parse(WHOLE.replace(old, new, 1)))
    assert kind in found


def test_rows_of_one_size_are_iterations():
    more = ROW.replace("cycle=0", "cycle=1")
    text = WHOLE.replace(ROW, ROW + more).replace("rows=2", "rows=3")
    parsed = mpi_bench.parse(text)
    assert parsed.problems == ()
    rows = [s.iteration for s in parsed.samples if s.metric == "busbw" and s.size_bytes == MIB]
    assert rows == [0, 1]


def test_the_launcher_starts_a_rank_on_each_node():
    (command,) = planned(sizes=(2 * MIB, MIB), iterations=5, warmup=0, cycles=2,
                         launcher_args={"openmpi": ["--mca", "btl", "tcp,self"], "mpich": ["-x"]},
                         tools={"mpi_bench": "/opt/bin"})  # fmt: skip
    assert command.node == "n1"
    assert command.argv == (
        "mpirun", "--allow-run-as-root", "-np", "2", "--host", "10.0.0.1:1,10.0.0.2:1",
        "--map-by", "slot", "--bind-to", "none", "--mca", "btl", "tcp,self",
        "/opt/bin/mpi-bench", "all_reduce", "-b", "1048576", "-e", "2097152", "-f", "2",
        "-n", "5", "-w", "0", "-N", "2",
    )  # fmt: skip


def test_ranks_that_are_bound_to_cores_print_their_core():
    (command,) = planned(sizes=(MIB,), launcher_args=["--bind-to", "core"])
    at = command.argv.index("railgauge-core")
    assert command.argv[at + 1 : at + 3] == ("mpi-bench", "all_reduce")
    assert command.argv.count("--bind-to") == 1


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"command": "all_produce"}, "is not a command of"),
        ({"nodes": ("n1",)}, "2 ranks or more"),
        ({"sizes": ()}, "no message size"),
        ({"sizes": (0,)}, "no message size"),
        ({"sizes": (MIB, 3 * MIB)}, "are not a sweep"),
        ({"factor": 1}, "factor is 1"),
        ({"iterations": 0}, "iterations is 0"),
        ({"ranks_per_node": 0}, "ranks_per_node is 0"),
        ({"launcher_args": "--mca"}, "launcher_args"),
        ({"gpus_per_node": 8}, "unknown option gpus_per_node"),
    ],
)
def test_options_that_cannot_be_measured_are_refused(changes, says):
    with pytest.raises(BadInput, match=says):
        planned(**changes)


# --- the program itself, without MPI ---


@pytest.mark.parametrize("collective", COMMANDS)
@pytest.mark.parametrize("ranks", [2, 3, 5])
def test_reader_and_program_have_one_factor(collective, ranks):
    assert factor(collective, ranks) == program.SHAPES[collective].factor(ranks)


@pytest.mark.parametrize("ranks", [2, 3])
def test_the_expected_result_is_that_of_the_collective(ranks):
    count = 30 * ranks
    sent = [program._pattern(count, rank) for rank in range(ranks)]
    part = count // ranks
    summed = array("f", map(sum, zip(*sent, strict=True)))
    for rank in range(ranks):
        own = slice(rank * part, (rank + 1) * part)
        turned = [value for one in sent for value in one[own]]
        gathered = [value for one in sent for value in one[:part]]
        wanted = {"all_reduce": summed, "reduce_scatter": summed[own], "broadcast": sent[0],
                  "alltoall": array("f", turned), "all_gather": array("f", gathered)}  # fmt: skip
        for collective, values in wanted.items():
            assert program._expected(collective, count, rank, ranks) == values, collective


def test_wrong_elements_are_counted():
    good = program._pattern(100, 1)
    assert program.count_wrong(good, program._pattern(100, 1)) == 0
    bad = array("f", good)
    bad[3], bad[50] = float("nan"), bad[50] + 1
    assert program.count_wrong(bad, good) == 2
    assert program.count_wrong(good[:90], good) == 10


@pytest.mark.parametrize(
    "argv",
    [["all_produce"], ["all_reduce", "-b", "0"], ["all_reduce", "-b", "8", "-e", "4"],
     ["all_reduce", "-n", "0"], ["all_reduce", "-f", "1"], ["all_reduce", "-w", "-1"]],
)  # fmt: skip
def test_arguments_that_cannot_be_measured_end_with_2(argv, capsys):
    with pytest.raises(SystemExit) as ended:
        program.main(argv)
    assert ended.value.code == 2
    assert "mpi-bench: error: " in capsys.readouterr().err
