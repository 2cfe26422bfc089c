"""The messages of Open MPI 4 and MPICH's Hydra when they cannot run a job."""

from __future__ import annotations

_RULE = "-" * 74
VERSIONS = {
    "mpirun": "mpirun (Open MPI) 4.1.5\n\nReport bugs to http://www.open-mpi.org/community/help/",
    "mpiexec": "HYDRA build details:\n    Version:                                 4.1.2",
}
AS_ROOT = f"""\
{_RULE}
mpirun has detected an attempt to run as root.

Running as root is *strongly* discouraged as any mistake (e.g., in
defining TMPDIR) or bug can result in catastrophic damage to the OS
file system, leaving your system in an unusable state.

We strongly suggest that you run mpirun as a non-root user.

You can override this protection by adding the --allow-run-as-root option
to the cmd line or by setting two environment variables in the following way:
the variable OMPI_ALLOW_RUN_AS_ROOT=1 to indicate the desire to override this
protection, and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 to confirm the choice and
add one more layer of certainty that you want to do so.
We reiterate our advice against doing so - please proceed at your own risk.
{_RULE}
"""
_DAEMONS = f"""\
{_RULE}
ORTE was unable to reliably start one or more daemons.
This usually is caused by:

* not finding the required libraries and/or binaries on
  one or more nodes. Please check your PATH and LD_LIBRARY_PATH
  settings, or configure OMPI with --enable-orterun-prefix-by-default

* lack of authority to execute on one or more specified nodes.
  Please verify your allocation and authorities.

* the inability to write startup files into /tmp (--tmpdir/orte_tmpdir_base).
  Please check with your sys admin to determine the correct location to use.

*  compilation of the orted with dynamic libraries when static are required
  (e.g., on Cray). Please check your configure cmd line and consider using
  one of the contrib/platform definitions for your system type.

* an inability to create a connection back to mpirun due to a
  lack of common network interfaces and/or no route found between
  them. Please check network connectivity (including firewalls
  and network routing requirements).
{_RULE}
"""
_SLOTS = """\
Either request fewer slots for your application, or make more slots
available for use.

A "slot" is the Open MPI term for an allocatable unit where we can
launch a process.  The number of slots available are defined by the
environment in which Open MPI processes are run:

  1. Hostfile, via "slots=N" clauses (N defaults to number of
     processor cores if not provided)
  2. The --host command line parameter, via a ":N" suffix on the
     hostname (N defaults to 1 if not provided)
  3. Resource manager (e.g., SLURM, PBS/Torque, LSF, etc.)
  4. If none of a hostfile, the --host command line parameter, or an
     RM is present, Open MPI defaults to the number of processor cores

In all the above cases, if you want Open MPI to default to the number
of hardware threads instead of the number of processor cores, use the
--use-hwthread-cpus option.

Alternatively, you can use the --oversubscribe option to ignore the
number of available slots when deciding the number of processes to
launch.
"""


def nothing_to_run(tool: str) -> str:
    """The command line names no program."""
    if tool == "mpiexec":
        return "[mpiexec] set_default_values (ui/mpich/utils.c:1807): no executable provided\n"
    return (
        f"{_RULE}\n{tool} could not find anything to do.\n\nIt is possible that you forgot to"
        f' specify how many processes to run\nvia the "-np" argument.\n{_RULE}\n'
    )


def no_hostfile(path: str) -> str:
    """The hostfile cannot be read."""
    return (
        f"{_RULE}\nOpen RTE was unable to open the hostfile:\n    {path}\n"
        f"Check to make sure the path and filename are correct.\n{_RULE}\n"
    )


def not_enough_slots(name: str, count: int) -> str:
    """The job asks for more processes than there are slots."""
    return (
        f"{_RULE}\nThere are not enough slots available in the system to satisfy the {count}\n"
        f"slots that were requested by the application:\n\n  {name}\n\n{_SLOTS}{_RULE}\n"
    )


def ppr_conflict(name: str, count: int, per_node: int) -> str:
    """The job asks for more processes than ``ppr:N:node`` allows on the hosts."""
    return (
        f"{_RULE}\nYour job has requested more processes than the ppr for\nthis topology can"
        f" support:\n\n  App: {name}\n  Number of procs:  {count}\n  PPR: {per_node}:node\n\n"
        f"Please revise the conflict and try again.\n{_RULE}\n"
    )


def unreachable(tool: str, own: str) -> str:
    """The launcher's daemon did not start on a host; printed after ssh's own message."""
    if tool == "mpirun":
        return _DAEMONS
    where = "../../../../src/pm/hydra"
    return (
        f"[mpiexec@{own}] control_cb ({where}/pm/pmiserv/pmiserv_cb.c:206): assert (!closed)"
        f" failed\n[mpiexec@{own}] HYDT_dmxu_poll_wait_for_event ({where}/tools/demux/"
        f"demux_poll.c:76): callback returned error status\n"
        f"[mpiexec@{own}] HYD_pmci_wait_for_completion ({where}/pm/pmiserv/pmiserv_pmci.c:196):"
        f" error waiting for event\n[mpiexec@{own}] main ({where}/ui/mpich/mpiexec.c:336):"
        " process manager error waiting for completion\n"
    )


def not_found(tool: str, host: str, name: str, rank: int, lost: int) -> str:
    """The program is not installed on a host."""
    if tool == "mpiexec":
        return (
            f"[proxy:0:{min(rank, 1)}@{host}] HYDU_create_process (lib/utils/launch.c:24): execvp"
            f" error on file {name} (No such file or directory)\n"
        )
    return (
        f"{_RULE}\nmpirun was unable to find the specified executable file, and therefore\n"
        f"did not launch the job.  This error was first reported for process\nrank {rank}; it may"
        " have occurred for other processes as well.\n\n"
        "NOTE: A common cause for this error is misspelling a mpirun command\n"
        "      line parameter option (remember that mpirun interprets the first\n"
        "      unrecognized command line token as the executable).\n\n"
        f"Node:       {host}\nExecutable: {name}\n{_RULE}\n{lost} total processes failed to start\n"
    )


def failed(tool: str, host: str, code: int) -> str:
    """A process of the job ended with a non-zero exit code."""
    if tool == "mpiexec":
        bar = "=" * 83
        return (
            f"\n{bar}\n=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   RUNNING AT"
            f" {host}\n=   EXIT CODE: {code}\n=   CLEANING UP REMAINING PROCESSES\n"
            f"=   YOU CAN IGNORE THE BELOW CLEANUP MESSAGES\n{bar}\n"
        )
    return (
        f"{_RULE}\nPrimary job  terminated normally, but 1 process returned\na non-zero exit code."
        f" Per user-direction, the job has been aborted.\n{_RULE}\n{_RULE}\n"
        "mpirun detected that one or more processes exited with non-zero status, thus causing\n"
        "the job to be terminated. The first process to do so was:\n\n"
        f"  Process name: [[32573,1],0]\n  Exit code:    {code}\n{_RULE}\n"
    )
