"""The simulated launchers: which rank runs where, and how jobs fail."""

from __future__ import annotations

import pytest
from testing.lab_bench import Bench, StartLab, ssh

SMALL = ("all_reduce_perf", "-b", "1M", "-e", "1M", "-g", "1")


def ranks(text: str) -> list[tuple[str, int]]:
    found = []
    for line in text.splitlines():
        words = line.replace("#", "").split()
        if words[:1] == ["Rank"]:
            found.append((words[words.index("on") + 1], int(words[words.index("device") + 1])))
    return found


LAUNCHES = {
    "mpirun by name": "mpirun -np 16 --host h200-02:8,h200-03:8 --bind-to numa --map-by slot",
    "mpirun by address": "mpirun -np 16 -host {1}:8,{2}:8 -mca pml ^ucx --mca btl ^openib",
    "mpiexec": "mpiexec -hosts {1}:8,{2}:8 -ppn 8 -bind-to numa -n 16 -env NCCL_X 1",
    "mpiexec evenly": "mpiexec -n 16 -hosts h200-02,h200-03 -genv NCCL_X 1",
    "srun": "srun --nodes=2 --nodelist=h200-[02-03] --ntasks=16 --ntasks-per-node=8 --export=ALL",
    "srun env": "srun -N2 -w h200-02,h200-03 --ntasks-per-node 8 env A=b,c",
}


@pytest.mark.parametrize("words", LAUNCHES.values(), ids=LAUNCHES)
def test_each_gpu_has_one_process(h200: Bench, words: str) -> None:
    addresses = [node.data_address for node in h200.nodes]
    ran = h200.run(0, *words.format(*addresses).split(), *SMALL)
    assert (ran.returncode, ran.stderr) == (0, "")
    expected = [(name, gpu) for name in ("h200-02", "h200-03") for gpu in range(8)]
    assert ranks(ran.stdout) == expected


@pytest.mark.parametrize(
    ("words", "agent"),
    [
        ("mpirun -np 4 --host h200-01:2,h200-02:2", "OMPI_MCA_plm_rsh_agent"),
        ("mpiexec -n 4 -hosts h200-01,h200-02", "HYDRA_LAUNCHER_EXEC"),
    ],
)
def test_daemons_of_other_nodes_are_started_by_the_agent(
    h200: Bench, words: str, agent: str
) -> None:
    script, asked = h200.home(0) / "agent", h200.home(0) / "asked"
    asked.unlink(missing_ok=True)
    script.write_text(f'#!/bin/sh\necho "$1" >>{asked}; exec /bin/sh -c "$2"\n')
    script.chmod(0o755)
    ran = h200.run(0, *words.split(), *SMALL, **{agent: str(script)})
    assert (ran.returncode, ran.stderr) == (0, "")
    assert asked.read_text() == "h200-02\n"
    script.write_text("#!/bin/sh\necho refused by the agent >&2; exit 255\n")
    ran = h200.run(0, *words.split(), *SMALL, **{agent: str(script)})
    assert ran.returncode != 0
    assert "refused by the agent" in ran.stderr


def test_hostfiles_and_slots_are_read(h200: Bench) -> None:
    (h200.home(0) / "hosts").write_text("# two nodes\nh200-01 slots=2\nh200-02 slots=2\n\n")
    ran = h200.run(0, "mpirun", "--hostfile", "hosts", *SMALL)
    assert ranks(ran.stdout) == [("h200-01", 0), ("h200-01", 1), ("h200-02", 0), ("h200-02", 1)]
    ran = h200.run(0, "mpirun", "--hostfile", "none", *SMALL)
    assert (ran.returncode, "unable to open the hostfile" in ran.stderr) == (1, True)


def test_each_launcher_passes_the_environment_by_its_own_rules(h200: Bench) -> None:
    """Open MPI passes variables to other nodes only with -x; the others pass all of them."""
    hosts = ("-np", "16", "--host", "h200-01:8,h200-02:8")
    printed = {"NCCL_DEBUG": "INFO"}
    assert "INFO" not in h200.run(0, "mpirun", *hosts, *SMALL, **printed).stdout
    assert "INFO" in h200.run(0, "mpirun", *hosts, "-x", "NCCL_DEBUG", *SMALL, **printed).stdout
    assert "INFO" in h200.run(0, "mpirun", "-np", "8", *SMALL, **printed).stdout
    mpich = ("mpiexec", "-n", "16", "-hosts", "h200-01,h200-02")
    assert "INFO" in h200.run(0, *mpich, *SMALL, **printed).stdout
    slurm = ("srun", "-N", "2", "--ntasks-per-node=8")
    assert "INFO" in h200.run(0, *slurm, *SMALL, **printed).stdout
    assert "INFO" not in h200.run(0, *slurm, "--export=NONE", *SMALL, **printed).stdout


def test_missing_tuning_variables_cost_bandwidth(h200: Bench) -> None:
    big = ("all_reduce_perf", "-b", "8G", "-e", "8G")
    hosts = ("mpirun", "-np", "32", "--host", ",".join(f"h200-0{i}:8" for i in range(1, 5)))
    three = ("-x", "NCCL_MIN_NCHANNELS=32", "-x", "NCCL_IB_QPS_PER_CONNECTION=4",
             "-x", "NCCL_P2P_NET_CHUNKSIZE=524288")  # fmt: skip
    full = (*three, "-x", "NCCL_IGNORE_CPU_AFFINITY=1")
    assert " 337.05 " in h200.run(0, *hosts, *three, *big).stdout
    assert " 390.09 " in h200.run(0, *hosts, *full, *big).stdout


REFUSED = {
    ("mpirun", "-np", "8", "--host", "nowhere:8"): (
        1, "ssh: Could not resolve hostname nowhere", "ORTE was unable to reliably start",
    ),
    ("mpirun", "-np", "9", "--host", "h200-01:4,h200-02:4"): (
        1, "There are not enough slots available in the system to satisfy the 9", "slots that",
    ),
    ("mpirun", "-np", "9", "--map-by", "ppr:8:node", "--host", "h200-01:8"): (
        1, "Your job has requested more processes than the ppr", "PPR: 8:node",
    ),
    ("mpiexec", "-n", "8", "-hosts", "nowhere"): (255, "Could not resolve", "HYDT_dmxu_poll_wait"),
    ("srun", "-N", "2", "-w", "h200-01,nowhere"): (
        1, "srun: error: Unable to allocate resources: Invalid node name specified", "",
    ),
    ("srun", "-N", "9"): (1, "Requested node configuration is not available", ""),
    ("srun", "-N", "1", "--ntasks-per-node=999"): (1, "More processors requested than", ""),
}  # fmt: skip


@pytest.mark.parametrize("words", REFUSED, ids=" ".join)
def test_jobs_that_cannot_start_have_the_real_messages(h200: Bench, words: tuple[str, ...]) -> None:
    code, *printed = REFUSED[words]
    ran = h200.run(0, *words, *SMALL)
    assert (ran.returncode, ran.stdout) == (code, "")
    assert all(text in ran.stderr for text in printed)


TO_BOTH = {
    "mpirun": ("-np", "16", "--host", "h200-01:8,h200-02:8"),
    "mpiexec": ("-n", "16", "-hosts", "h200-01,h200-02"),
    "srun": ("-N", "2", "--ntasks-per-node=8", "-w", "h200-01,h200-02"),
}
GONE = {
    "unreachable": ("Connection refused", "Connection refused", "Communication connection failure"),
    "tool-missing@h200-02:all_reduce_perf": (
        "mpirun was unable to find the specified executable file",
        "execvp error on file all_reduce_perf (No such file or directory)",
        "tasks 8-15: Exited with exit code 2",
    ),
}
CODES = {"unreachable": (1, 255, 1), "tool-missing@h200-02:all_reduce_perf": (134, 255, 2)}


@pytest.mark.parametrize("fault", GONE)
def test_a_node_that_cannot_take_part_fails_the_job(start_lab: StartLab, fault: str) -> None:
    bench = start_lab("h200", fault)
    for launcher, code, printed in zip(TO_BOTH, CODES[fault], GONE[fault], strict=True):
        ran = bench.run(0, launcher, *TO_BOTH[launcher], *SMALL)
        assert (ran.returncode, ran.stdout) == (code, "")
        assert printed in ran.stderr


def test_wrong_keys_fail_the_job(start_lab: StartLab) -> None:
    bench = start_lab("h200", "host-key-changed")
    assert (
        "Host key verification failed." in bench.run(0, "mpirun", *TO_BOTH["mpirun"], *SMALL).stderr
    )
    bench = start_lab("h200", "wrong-key")
    assert (
        "Permission denied (publickey)" in bench.run(0, "mpirun", *TO_BOTH["mpirun"], *SMALL).stderr
    )


@pytest.mark.parametrize("launcher", TO_BOTH)
def test_ranks_without_a_gpu_fail_the_job(start_lab: StartLab, launcher: str) -> None:
    bench = start_lab("h200", "gpu-missing")
    ran = bench.run(0, launcher, *TO_BOTH[launcher], *SMALL)
    assert ran.returncode == 3
    assert "Invalid number of GPUs: 8 requested but only 7 were found.\n" in ran.stdout
    assert "# Out of bounds" not in ran.stdout
    assert ran.stderr


@pytest.mark.parametrize("how", ["tool-silent", "tool-garbage"])
def test_a_broken_tool_on_any_node_spoils_the_output(start_lab: StartLab, how: str) -> None:
    bench = start_lab("metax-c500", f"{how}@mx02:all_reduce_perf")
    home = bench.home(0)
    argv = ("mpirun", "-np", "16", "--host", "mx01:8,mx02:8", *SMALL)
    child = bench.run(0, "sh", "-c", f"{' '.join(argv)} | wc -c")
    assert home.exists()
    assert int(child.stdout) == (0 if how == "tool-silent" else 4096)


def test_mpirun_as_root_needs_its_option(h200: Bench) -> None:
    ran = h200.run(0, "mpirun", "-np", "8", *SMALL, USER="root")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "mpirun has detected an attempt to run as root." in ran.stderr
    assert h200.run(0, "mpirun", "--allow-run-as-root", "-np", "8", *SMALL, USER="root").stdout


def test_bad_command_lines_of_the_collective_tests_fail(h200: Bench) -> None:
    ran = h200.run(0, "all_reduce_perf", "-b", "much", "-g", "8")
    assert (ran.returncode, ran.stdout) == (255, "invalid size specified for 'minbytes'\n")
    assert h200.run(0, "all_reduce_perf", "-b", "2M", "-e", "1M", "-g", "8").returncode == 255
    assert "invalid option -- 'Q'" in h200.run(0, "all_reduce_perf", "-Q", "1").stdout
    assert h200.run(0, "mpirun", "-np", "8").returncode == 1


def test_jobs_run_over_ssh_too(h200: Bench) -> None:
    done = ssh(
        h200.nodes[0], "mpirun -np 16 --host h200-01:8,h200-02:8 all_reduce_perf -b 1M -e 1M"
    )
    assert done.returncode == 0
    assert b"# Out of bounds values : 0 OK" in done.stdout
