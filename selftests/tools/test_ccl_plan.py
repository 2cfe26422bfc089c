"""The launcher's command for a case: one process per GPU, with every size of the case."""

from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import pytest

from railgauge.config.thresholds.model import Gpus, Measurement
from railgauge.core.devices import AS_DECLARED
from railgauge.core.errors import BadInput
from railgauge.core.model import Case, Cluster, Node, Pairing, SshSettings
from railgauge.core.terms import RankPlace
from railgauge.tools.ccl_tests import commands

ROOT = SshSettings(user="root")
NODES = tuple(Node(f"mx0{n}", f"192.168.0.{n}", f"10.0.0.{n}", ROOT) for n in (1, 2))
CLUSTER = Cluster("c", "p", "ssh", NODES, "h.yaml", tools={"ccl_tests": "/opt/perf/mccl_perf"})
SWEEP = tuple(1024 * 2**n for n in range(21))


def platform(vendor):
    return SimpleNamespace(gpus=Gpus(vendor, "X", 8, 65536), devices=AS_DECLARED)


@dataclass(frozen=True)
class Given:
    """The platform, cluster and case that a tool plans for."""

    case: Case = field(default=Case("two", ("mx01", "mx02"), None, SWEEP))
    measurement: Measurement = field(
        default=Measurement("two", 4, "ccl-tests", "all_reduce_perf", "gpu", (), {}, (), 300, 60)
    )
    cluster: Cluster = CLUSTER
    stack: object = field(default_factory=lambda: SimpleNamespace(collective_prefix="MCCL"))
    platform: object = field(default_factory=lambda: platform("metax"))
    environment: dict = field(default_factory=dict)


def command(given=None, **options):
    given = given or Given()
    measurement = replace(given.measurement, options=options)
    (made,) = commands(replace(given, measurement=measurement), 4711)
    return made


def test_two_nodes_of_eight_gpus_start_sixteen_ranks():
    made = command(Given(environment={"MCCL_CROSS_NIC": "1"}), dtype="float", iterations=10)
    assert made.argv == (
        "mpirun", "--allow-run-as-root", "-np", "16", "--host", "10.0.0.1:8,10.0.0.2:8",
        "--map-by", "slot", "--bind-to", "numa", "-x", "MCCL_CROSS_NIC",
        "/opt/perf/mccl_perf/all_reduce_perf",
        "-b", "1024", "-e", "1073741824", "-f", "2", "-g", "1", "-d", "float", "-n", "10",
    )  # fmt: skip
    assert (made.node, made.time_limit_s, made.listens_on) == ("mx01", 300, None)


def test_one_process_with_all_gpus_of_its_node_is_not_bound():
    argv = command(cluster_with_ranks(), gpus_per_process=8).argv
    assert argv[argv.index("-np") :][:4] == ("-np", "2", "--host", "10.0.0.1:1,10.0.0.2:1")
    assert argv[argv.index("--bind-to") + 1] == "none"
    assert argv[argv.index("-g") + 1] == "8"
    assert "railgauge-rank" not in argv


def cluster_with_ranks():
    stack = SimpleNamespace(collective_prefix="MCCL", pci_vendor="0x9999")
    return Given(cluster=BESIDE, stack=stack)


@pytest.mark.parametrize("each", [3, 16, 0, "8"])
def test_processes_that_do_not_share_the_gpus_of_a_node_are_refused(each):
    with pytest.raises(BadInput, match=r"gpus_per_process|processes of"):
        command(gpus_per_process=each)


BESIDE = replace(CLUSTER, ranks=RankPlace.BESIDE_GPU)


def beside(cluster=BESIDE, **options):
    stack = SimpleNamespace(collective_prefix="MCCL", pci_vendor="0x9999")
    return command(Given(cluster=cluster, stack=stack), **options).argv


@pytest.mark.parametrize("launcher", ["openmpi", "mpich", "slurm"])
def test_each_rank_finds_the_cpus_beside_its_gpu(launcher):
    argv = beside(replace(BESIDE, launcher=launcher))
    at = argv.index("railgauge-rank")
    assert argv[at - 3 : at - 1] == ("sh", "-c")
    assert argv[at + 1 : at + 3] == ("0x9999", "MACA_VISIBLE_DEVICES")
    assert argv[at + 3 :][0] == "/opt/perf/mccl_perf/all_reduce_perf"
    assert "none" in " ".join(argv[: at - 3]), "the launcher binds nothing"


@pytest.mark.parametrize("word", ["--bind-to", "--rankfile", "--cpu-bind=ldoms"])
def test_a_site_that_places_its_ranks_keeps_that(word):
    own = replace(BESIDE, launcher_args=(word, *(["core"] * ("=" not in word))))
    assert "railgauge-rank" not in beside(own)
    assert "railgauge-rank" not in beside(launcher_args=[word, "x"])
    assert "railgauge-rank" not in beside(replace(BESIDE, ranks=RankPlace.LAUNCHER))


@pytest.mark.parametrize("key", ["ccl_tests", "all_reduce_perf"])
def test_a_build_with_mpi_keeps_its_ending(key):
    tools = {key: "/opt/nccl/all_reduce_perf_mpi"}
    made = command(Given(cluster=replace(CLUSTER, tools=tools)))
    assert "/opt/nccl/all_reduce_perf_mpi" in made.argv
    gather = replace(Given().measurement, command="all_gather_perf")
    tools = {"ccl_tests": "/opt/nccl/all_reduce_perf_mpi"}
    made = command(Given(cluster=replace(CLUSTER, tools=tools), measurement=gather))
    assert "/opt/nccl/all_gather_perf_mpi" in made.argv


def test_options_become_flags_of_the_tool():
    made = command(warmup=5, cycles=20, graph=True, check=0, launcher_args=["-mca", "pml", "^ucx"])
    text = " ".join(made.argv)
    assert "-w 5 -N 20 -G 1 -c 0" in text
    assert "--bind-to numa -mca pml ^ucx /opt" in text


def test_launcher_arguments_may_be_given_by_launcher():
    by_launcher = {"openmpi": ["-mca", "pml", "^ucx"], "slurm": ["--mpi=pmix"]}
    slurm = Given(cluster=replace(CLUSTER, launcher="slurm"))
    assert "^ucx" in command(launcher_args=by_launcher).argv
    assert "--mpi=pmix" in command(slurm, launcher_args=by_launcher).argv
    assert "^ucx" not in command(slurm, launcher_args=by_launcher).argv


@pytest.mark.parametrize(
    ("directory", "program"),
    [
        ("", "all_reduce_perf"),
        ("/opt/perf", "/opt/perf/all_reduce_perf"),
        ("/opt/perf/sendrecv_perf", "/opt/perf/all_reduce_perf"),
    ],
)
def test_the_program_is_found_in_the_folder_or_beside_another(directory, program):
    given = Given(cluster=replace(CLUSTER, tools={"ccl_tests": directory} if directory else {}))
    assert program in command(given).argv


def test_one_size_is_a_sweep_of_one():
    given = Given(case=replace(Given().case, sizes=(8589934592,)))
    assert "-b 8589934592 -e 8589934592 -f 2" in " ".join(command(given).argv)


def test_another_factor_of_the_sweep_becomes_a_flag():
    given = Given(case=replace(Given().case, sizes=(8, 32, 128)))
    assert "-b 8 -e 128 -f 4" in " ".join(command(given, factor=4).argv)


@pytest.mark.parametrize("sizes", [(), (0, 1), (8, 24), (8, 32), (8, 16, 64)])
def test_sizes_that_no_sweep_prints_are_refused(sizes):
    with pytest.raises(BadInput, match="two: "):
        command(Given(case=replace(Given().case, sizes=sizes)))


def test_debug_makes_the_library_name_its_transports():
    variables = {"MCCL_DEBUG": "INFO", "MCCL_DEBUG_SUBSYS": "INIT,NET"}
    assert variables.items() <= command(debug=True).environment.items()
    assert set(variables) <= set(command(debug=True).argv)
    assert "MCCL_DEBUG" not in command(debug=False).environment


def test_rccl_reads_the_variables_of_nccl():
    given = Given(stack=SimpleNamespace(collective_prefix="RCCL"))
    assert command(given, debug=True).environment["NCCL_DEBUG"] == "INFO"


@pytest.mark.parametrize(
    ("vendor", "variable"),
    [
        ("nvidia", "CUDA_VISIBLE_DEVICES"),
        ("amd", "HIP_VISIBLE_DEVICES"),
        ("metax", "MACA_VISIBLE_DEVICES"),
    ],
)
def test_a_measurement_may_use_one_gpu_a_node(vendor, variable):
    given = Given(platform=platform(vendor))
    made = command(given, gpus_per_node=1)
    assert {"2", "10.0.0.1:1,10.0.0.2:1", variable} <= set(made.argv)
    assert made.environment[variable] == "0"
    assert variable not in command(given).environment


def test_the_case_chooses_the_gpu():
    given = Given(case=replace(Given().case, pairing=Pairing("mlx5_1", 4, "near")))
    assert command(given, gpus_per_node=1).environment["MACA_VISIBLE_DEVICES"] == "4"


def test_the_hostfiles_environment_wins():
    given = Given(environment={"MACA_VISIBLE_DEVICES": "7"})
    assert command(given, gpus_per_node=1).environment["MACA_VISIBLE_DEVICES"] == "7"


def test_the_launcher_is_that_of_the_cluster():
    slurm = command(Given(cluster=replace(CLUSTER, launcher="slurm")))
    assert slurm.argv[:3] == ("srun", "--nodes=2", "--nodelist=mx01,mx02")
    assert command(Given(cluster=replace(CLUSTER, launcher="mpich"))).argv[0] == "mpiexec"


def test_another_user_needs_no_permission_to_be_root():
    nodes = tuple(replace(node, ssh=SshSettings(user="bench")) for node in NODES)
    made = command(Given(cluster=replace(CLUSTER, nodes=nodes)))
    assert "--allow-run-as-root" not in made.argv


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"speed": 1}, "unknown option speed; ccl-tests takes check, cycles, debug"),
        ({"gpus_per_node": 9}, "gpus_per_node is 9; give 1 to 8"),
        ({"gpus_per_node": 0}, "gpus_per_node is 0"),
        ({"factor": 1}, "factor is 1"),
        ({"iterations": "many"}, "iterations is 'many'"),
        ({"launcher_args": "-mca x"}, "a list of words"),
    ],
)
def test_wrong_options_are_refused(options, words):
    with pytest.raises(BadInput, match=words):
        command(**options)


def test_a_command_that_is_no_collective_is_refused():
    measurement = replace(Given().measurement, command="ib_write_bw")
    with pytest.raises(BadInput, match="is not a command of ccl-tests"):
        commands(replace(Given(), measurement=measurement), 1)


def test_a_single_rank_is_refused():
    given = Given(case=Case("one", ("mx01",), None, (8,)))
    with pytest.raises(BadInput, match="2 ranks or more"):
        command(given, gpus_per_node=1)


def test_a_platform_without_gpus_is_refused():
    with pytest.raises(BadInput, match="declares no GPUs"):
        command(Given(platform=SimpleNamespace(gpus=None)))
