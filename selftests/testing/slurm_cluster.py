"""A real Slurm on this machine: one slurmctld and several slurmd, run by the tests' user."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from railgauge.core.model import Cluster, Node, SlurmSettings
from testing import free_ports, programs
from testing.waiting import wait_until

PROGRAMS = ("setpriv", "slurmctld", "slurmd", "srun", "salloc", "sbatch", "sinfo", "scontrol")
# The nodes are this machine: they have what it has. Debian keeps daemons where only root looks.
PATH = programs.machine()
UP_LIMIT_S = 60.0

_CONF = """\
ClusterName=bench
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1,sched_min_interval=0
ReturnToService=0
WaitTime=1
KillOnBadExit=1
MessageTimeout=4
{nodes}
PartitionName=main Nodes={names} Default=YES State=UP
PartitionName=spare Nodes=n05 State=UP
"""


def missing() -> list[str]:
    """Programs that this machine lacks."""
    return [name for name in PROGRAMS if shutil.which(name, path=PATH) is None]


@dataclass(frozen=True)
class Slurm:
    """Nodes n01 to n04 are in the default partition ``main``, n05 in ``spare``."""

    folder: Path
    environment: Mapping[str, str]

    def call(self, *argv: str, limit_s: float = 60.0) -> str:
        done = subprocess.run(
            argv,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 0, (argv, done.stdout, done.stderr)
        return done.stdout

    def jobs(self) -> list[str]:
        return self.call("squeue", "-h", "-o", "%i").split()

    def wait_until_free(self) -> None:
        wait_until(lambda: not self.jobs(), UP_LIMIT_S, "the end of all jobs")

    @contextmanager
    def job(self, node: str) -> Iterator[str]:
        """Another user's job, on the whole node."""
        printed = self.call("sbatch", "--parsable", "--exclusive", f"--nodelist={node}",
                         "--output=/dev/null", "--wrap", "sleep 600")  # fmt: skip
        try:
            wait_until(lambda: node not in self.idle(), UP_LIMIT_S, "the start of the job")
            yield printed.strip()
        finally:
            self.call("scancel", printed.strip())
            self.wait_until_free()

    @contextmanager
    def marked(self, node: str, state: str, reason: str) -> Iterator[None]:
        """With ``state`` ``drain`` or ``down``, until the block ends."""
        self.call("scontrol", "update", f"nodename={node}", f"state={state}", f"reason={reason}")
        try:
            yield
        finally:
            self.call("scontrol", "update", f"nodename={node}", "state=resume")
            wait_until(lambda: node in self.idle(), UP_LIMIT_S, f"{node} to be idle")

    def idle(self) -> list[str]:
        """Nodes that are up and free; ``idle*`` is one that does not answer (yet)."""
        lines = self.call("sinfo", "-h", "-a", "-N", "-o", "%N %T").splitlines()
        return [line.split()[0] for line in lines if line.split()[1] == "idle"]

    def daemon(self, node: str) -> int:
        return int((self.folder / f"slurmd-{node}.pid").read_text())

    @contextmanager
    def frozen(self, node: str) -> Iterator[None]:
        """A slurmd that accepts connections and never answers, like a machine that hangs."""
        os.kill(self.daemon(node), signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.daemon(node), signal.SIGCONT)


def cluster(*names: str, **settings: object) -> Cluster:
    slurm = replace(SlurmSettings(), **settings)  # type: ignore[arg-type]
    nodes = tuple(Node(name, "127.0.0.1", "127.0.0.1", slurm=slurm) for name in names)
    return Cluster("bench", "bench", "slurm", nodes, "bench.yaml")


@contextmanager
def slurm_cluster(folder: Path, more: str = "") -> Iterator[Slurm]:
    """Every started process is ended by its process group. ``more`` is added to ``slurm.conf``."""
    names = [f"n{number:02}" for number in range(1, 6)]
    conf = folder / "slurm.conf"
    conf.write_text(_conf(folder, names) + more)
    (folder / "state").mkdir()
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "SALLOC"))}
    slurm = Slurm(folder, {**inherited, "PATH": PATH, "SLURM_CONF": str(conf)})
    with ExitStack() as daemons:
        daemons.enter_context(_daemon(slurm, "slurmctld", "-D", "-i"))
        for name in names:
            daemons.enter_context(_daemon(slurm, "slurmd", "-D", "-N", name))
        wait_until(lambda: _is_up(slurm, len(names)), UP_LIMIT_S, "Slurm to come up")
        yield slurm


def _conf(folder: Path, names: list[str]) -> str:
    host = socket.gethostname().split(".")[0]
    port, *ports = free_ports.free_ports(len(names) + 1)
    lines = [
        f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port_} CPUs=2 RealMemory=500"
        for name, port_ in zip(names, ports, strict=True)
    ]
    return _CONF.format(
        host=host,
        port=port,
        user=pwd.getpwuid(os.getuid()).pw_name,
        folder=folder,
        nodes="\n".join(lines),
        names=",".join(names[:4]),
    )


@contextmanager
def _daemon(slurm: Slurm, *argv: str) -> Iterator[None]:
    printed = slurm.folder / f"{'-'.join(argv)}.out"
    with printed.open("wb") as out:
        process = subprocess.Popen(
            # Even if the tests are killed, nothing is left running.
            ("setpriv", "--pdeathsig", "KILL", *argv),
            env=slurm.environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    try:
        yield
    finally:
        for end in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
                os.killpg(process.pid, end)
                process.wait(5)


def _is_up(slurm: Slurm, count: int) -> bool:
    try:
        return len(slurm.idle()) == count
    except AssertionError:  # slurmctld does not answer yet
        return False
