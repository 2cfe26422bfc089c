"""The argv of every launcher follows the launcher's documentation; no argument is split again."""

import pytest
from testing.places import ROOT

from railgauge.core.errors import BadInput
from railgauge.launchers import LAUNCHED, NAMES, Host, Launch, launcher, mpich, through

HOSTS = (Host("mx01", "10.0.0.1", 8), Host("mx02", "10.0.0.2", 8))
PROGRAM = ("/opt/tests/all_reduce_perf", "-b", "1024", "-g", "1")
ENVIRONMENT = {"MCCL_IB_HCA": "mlx5_0,mlx5_1", "MCCL_CROSS_NIC": "1"}


def argv(name, **changes):
    given = {"hosts": HOSTS, "program": PROGRAM, **changes}
    return launcher(name).argv(Launch(**given))


def test_the_command_of_openmpi_is_complete():
    options = ("-mca", "pml", "^ucx", "-mca", "btl", "^openib")
    assert argv("openmpi", environment=ENVIRONMENT, options=options, allow_run_as_root=True) == (
        "mpirun", "--allow-run-as-root", "-np", "16", "--host", "10.0.0.1:8,10.0.0.2:8",
        "--map-by", "slot", "--bind-to", "numa", *options,
        "-x", "MCCL_CROSS_NIC", "-x", "MCCL_IB_HCA", *PROGRAM,
    )  # fmt: skip


def test_the_command_of_mpich_is_complete():
    assert argv("mpich", environment=ENVIRONMENT, options=("-iface", "eth1")) == (
        "mpiexec", "-hosts", "10.0.0.1:8,10.0.0.2:8", "-ppn", "8", "-bind-to", "numa",
        "-iface", "eth1", "-n", "16", *PROGRAM,
    )  # fmt: skip


def test_openmpi_over_the_network_that_the_hostfile_names():
    """000, 3.2: -mca btl_tcp_if_include ${IP_MASK} -mca oob_tcp_if_include ${IP_MASK}."""
    made = " ".join(argv("openmpi", network="10.2.122.0/24,eth1", options=("-mca", "pml", "^ucx")))
    assert (
        " -mca btl_tcp_if_include 10.2.122.0/24,eth1 -mca oob_tcp_if_include 10.2.122.0/24,eth1"
        " -mca pml ^ucx /opt/tests/all_reduce_perf"
    ) in made
    assert "if_include" not in " ".join(argv("openmpi"))


def test_mpich_takes_one_interface_and_slurm_none():
    # Open MPI refuses a parameter that is given twice.
    own = argv("openmpi", network="eth1", options=("--mca", "btl_tcp_if_include", "eth0"))
    assert own.count("btl_tcp_if_include") == 1
    assert own[own.index("oob_tcp_if_include") - 1 :][:3] == ("-mca", "oob_tcp_if_include", "eth1")
    assert "-iface eth1" in " ".join(argv("mpich", network="eth1"))
    for name, network in (("mpich", "10.2.122.0/24"), ("mpich", "eth0,eth1"), ("slurm", "eth1")):
        with pytest.raises(BadInput, match="mpi_network"):
            argv(name, network=network)


def test_no_value_of_the_environment_is_an_argument():
    """Every user of a node reads them; where programs are, no launcher is to search itself."""
    given = {"API_TOKEN": "planted", "LD_LIBRARY_PATH": "/opt/a", "PATH": "/x,y"}
    for name in NAMES:
        made = " ".join(argv(name, environment=given))
        assert "planted" not in made
        assert "/opt/a" in made
        assert "/x,y" in made
    assert "-x API_TOKEN -x LD_LIBRARY_PATH=/opt/a " in " ".join(argv("openmpi", environment=given))
    assert Launch(HOSTS, PROGRAM, given).by_name == {"API_TOKEN": "planted"}


def test_slurm_passes_a_comma_by_env():
    where = {"LD_LIBRARY_PATH": "/a", "PATH": "/b,c", **ENVIRONMENT}
    assert argv("slurm", environment=where, options=("--mpi=pmix", "--gres=gpu:8")) == (
        "srun", "--nodes=2", "--nodelist=mx01,mx02", "--ntasks=16", "--ntasks-per-node=8",
        "--distribution=block", "--cpu-bind=ldoms", "--kill-on-bad-exit=1",
        "--export=ALL,LD_LIBRARY_PATH=/a", "--mpi=pmix", "--gres=gpu:8",
        "env", "PATH=/b,c", *PROGRAM,
    )  # fmt: skip


def test_slurm_without_awkward_values_runs_the_program_itself():
    made = argv("slurm", environment={"A": "1", "B": "x=y"})
    assert "--export=ALL" in made
    assert "env" not in made


@pytest.mark.parametrize("name", NAMES)
def test_the_program_comes_last_and_unchanged(name):
    assert argv(name)[-len(PROGRAM) :] == PROGRAM


@pytest.mark.parametrize(
    ("name", "unbound"),
    [("openmpi", ("--bind-to", "none")), ("mpich", ("-bind-to", "none")),
     ("slurm", ("--cpu-bind=none",))],
)  # fmt: skip
def test_a_launch_without_binding_binds_no_rank(name, unbound):
    text = " ".join(argv(name, bind="none"))
    assert " ".join(unbound) in text


@pytest.mark.parametrize(
    ("name", "options", "replaced"),
    [
        ("openmpi", ("--bind-to", "core", "--map-by", "ppr:4:numa"), ("numa", "slot")),
        ("mpich", ("-bind-to", "core"), ("numa",)),
        ("slurm", ("--cpu-bind=cores", "--distribution=cyclic"), ("--cpu-bind=ldoms",)),
    ],
)
def test_options_replace_binding_and_mapping(name, options, replaced):
    made = argv(name, options=options)
    assert not set(replaced) & set(made)
    assert " ".join(options) in " ".join(made)


@pytest.mark.parametrize("name", ["openmpi", "mpich"])
def test_hosts_may_have_different_numbers_of_ranks(name):
    made = argv(name, hosts=(HOSTS[0], Host("mx02", "10.0.0.2", 4)))
    assert "10.0.0.1:8,10.0.0.2:4" in made
    assert "12" in made
    assert "-ppn" not in made


def test_slurm_refuses_different_numbers_of_ranks():
    with pytest.raises(BadInput, match="same number"):
        argv("slurm", hosts=(HOSTS[0], Host("mx02", "10.0.0.2", 4)))


@pytest.mark.parametrize(
    "changes",
    [
        {"hosts": ()},
        {"program": ()},
        {"bind": "core"},
        {"hosts": (Host("a", "a,b", 8),)},
        {"hosts": (Host("a", "fe80::1", 8),)},
        {"hosts": (Host("a", "-x", 8),)},
        {"hosts": (Host("a", "a", 0),)},
        {"environment": {"A B": "1"}},
        {"environment": {"A": "1\n2"}},
    ],
)
def test_a_launch_that_no_launcher_can_start_is_refused(changes):
    with pytest.raises(BadInput):
        argv("openmpi", **changes)


def test_an_unknown_launcher_is_refused_with_the_known_names():
    with pytest.raises(BadInput, match="openmpi, mpich, slurm"):
        launcher("pdsh")


def test_ports_are_shared_by_daemons_and_ranks():
    """Open MPI's daemon listens on every port that it is given."""
    made = " ".join(argv("openmpi", ports=(20000, 20099)))
    assert "-mca oob_tcp_dynamic_ipv4_ports 20000-20003" in made
    assert "-mca btl_tcp_port_min_v4 20004 -mca btl_tcp_port_range_v4 96" in made
    own = argv("openmpi", ports=(20000, 20099), options=("-mca", "btl_tcp_port_min_v4", "7000"))
    assert own.count("btl_tcp_port_min_v4") == 1
    made = " ".join(argv("mpich", ports=(20000, 20099)))
    assert "-env MPIR_CVAR_CH3_PORT_RANGE 20000:20099 -env UCX_TCP_PORT_RANGE 20000-20099" in made
    assert mpich.within((20000, 20099)) == {"MPIEXEC_PORT_RANGE": "20000:20099"}


def test_every_launcher_with_daemons_starts_them_by_the_agent():
    made = through("/tmp/x/agent")
    assert made["HYDRA_ENV"] == "none"
    named = argv("mpich", environment=ENVIRONMENT, through_suite=True)
    assert named[named.index("-genvlist") + 1] == "MCCL_CROSS_NIC,MCCL_IB_HCA"
    assert made["HYDRA_LAUNCHER_EXEC"] == "/tmp/x/agent"
    # Version 4 hands the agent on to daemons that do not have it: its first word must be there.
    for name in ("OMPI_MCA_plm_rsh_agent", "PRTE_MCA_plm_ssh_agent"):
        assert made[name] == "/bin/sh /tmp/x/agent"
    for name in NAMES:
        assert (launcher(name).through("/a").items() <= through("/a").items()) or name == "slurm"
    assert launcher("slurm").through("/a") == {}


def test_the_launched_tools_are_those_that_plan_a_launch():
    plans = (ROOT / "src" / "railgauge" / "tools").rglob("*.py")
    users = {p.parent.name for p in plans if "launched(setting" in p.read_text(encoding="utf-8")}
    of_others = {"congestion"}  # ccl-tests plans its load
    assert users - {"tools"} == {name.replace("-", "_") for name in LAUNCHED} - of_others
