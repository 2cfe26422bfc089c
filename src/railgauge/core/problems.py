"""The table of problem kinds: each kind's stable name, the error it becomes, and the remedy.

A parser gives each ``Problem`` a kind from this table, and judging raises the kind's error::

    >>> kind = ProblemKind("tool-missing")
    >>> kind.error.__name__, kind.remedy[:16]
    ('ToolMissing', 'install it there')
"""

from __future__ import annotations

from dataclasses import dataclass

from railgauge.core.errors import (
    DataCorrupted,
    DeviceMissing,
    LaunchFailed,
    MetricMissing,
    NameNotResolved,
    NoEvidence,
    RankDied,
    ToolError,
    ToolFailed,
    ToolMissing,
    Unparsable,
)
from railgauge.core.terms import Severity, Term

_RESOLVED = (
    "give the node an address in the hostfile that the others can resolve: data_address: ADDRESS"
)
_JUDGE_WHOLE = "judge the complete output of one run, from its first line to its last"


class ProblemKind(Term):
    """A kind of problem: its stable name, the ``error`` that it becomes, and the ``remedy``.

    ``remedy`` is empty if none is known. Kinds that only occur as warnings have the error
    ``ToolError`` and no remedy.
    """

    error: type[NoEvidence]
    remedy: str

    def __new__(
        cls, name: str, error: type[NoEvidence] = ToolError, remedy: str = ""
    ) -> ProblemKind:
        kind = str.__new__(cls, name)
        kind._value_ = name
        kind.error = error
        kind.remedy = remedy
        return kind

    # The tool, or the device that it should measure, is missing.
    TOOL_MISSING = (
        "tool-missing",
        ToolMissing,
        "install it there, or say where it is under 'tools' in the hostfile",
    )
    DEVICE_NOT_FOUND = (
        "device-not-found",
        DeviceMissing,
        "no RDMA device: check that lspci and ibv_devices list it, and load its driver",
    )

    # Data did not arrive as it was sent.
    DATA_CORRUPTION = "data-corruption", DataCorrupted
    OUT_OF_BOUNDS = "out-of-bounds", DataCorrupted

    # The output is not what the tool prints, is cut off, or contradicts itself.
    NO_OUTPUT = "no-output", Unparsable, "run the command of the transcript by hand on that node"
    NO_TABLE = "no-table", Unparsable
    TRUNCATED = "truncated", Unparsable
    UNPARSABLE = "unparsable", Unparsable
    NOT_A_NUMBER = "not-a-number", Unparsable
    ZERO_VALUE = "zero-value", Unparsable
    UNIT_UNKNOWN = "unit-unknown", Unparsable
    UNIT_MISMATCH = "unit-mismatch", Unparsable
    INCONSISTENT = "inconsistent", Unparsable
    SWEEP_GAP = "sweep-gap", Unparsable
    SEVERAL_TABLES = "several-tables", Unparsable

    # A metric, a message size or a link is not in the output.
    METRIC_MISSING = "metric-missing", MetricMissing
    SIZE_SKIPPED = "size-skipped", MetricMissing
    MISSING_LINK = "missing-link", MetricMissing

    # The launcher could not start the ranks: they never ran together.
    VERSION_MISMATCH = (
        "version-mismatch",
        LaunchFailed,
        "install the same version of MPI on every node",
    )
    HOST_KEY = (
        "host-key",
        LaunchFailed,
        "set launch: through-suite, or add the host key to known_hosts of the first node's user",
    )
    LOGIN_REFUSED = (
        "login-refused",
        LaunchFailed,
        "set launch: through-suite, or let the first node's user log in on the others by key",
    )
    UNKNOWN_HOST = "unknown-host", LaunchFailed, "name the node as Slurm does (scontrol show nodes)"
    NAME_NOT_RESOLVED = "name-not-resolved", NameNotResolved, _RESOLVED
    HOST_UNREACHABLE = (
        "host-unreachable",
        LaunchFailed,
        "set launch: through-suite, or log in from the first node by hand: ssh ADDRESS true",
    )
    RUN_AS_ROOT = (
        "run-as-root",
        LaunchFailed,
        "set OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1, "
        "or log in as another user",
    )
    NOT_ENOUGH_SLOTS = (
        "not-enough-slots",
        LaunchFailed,
        "use fewer ranks a node, or give the launcher more slots",
    )
    BINDING_OVERLOAD = "binding-overload", LaunchFailed, "set launcher_args: [--bind-to, none]"
    LAUNCHER_DAEMON_MISSING = (
        "launcher-daemon-missing",
        LaunchFailed,
        "install the same MPI on that node, or put its folder on the PATH "
        "of logins without a terminal",
    )
    LAUNCHER_DAEMON_LOST = (
        "launcher-daemon-lost",
        LaunchFailed,
        "install the same version of MPICH on every node",
    )
    LAUNCHER_DAEMON = (
        "launcher-daemon",
        LaunchFailed,
        "check that nodes reach each other by TCP (mpi_network); with launch: ssh, also by ssh",
    )

    # Ranks started, but ended before they were done.
    TOOL_CRASHED = (
        "tool-crashed",
        RankDied,
        "read the stack trace in the transcript, and look for a core file on that node",
    )
    RANK_DIED = (
        "rank-died",
        RankDied,
        "read the kernel's log of that node (dmesg); signal 9 may be the out-of-memory killer",
    )

    # The scheduler took the job away, or gave it less than it asked for.
    JOB_TIME_LIMIT = (
        "job-time-limit",
        ToolFailed,
        "give the job more time (time_limit_min under 'slurm' in the "
        "hostfile), or run a lower level",
    )
    JOB_CANCELLED = (
        "job-cancelled",
        ToolFailed,
        "see why the job was cancelled (sacct -j JOB), then run again",
    )
    NODE_FAILED = (
        "node-failed",
        ToolFailed,
        "see why the node failed (scontrol show node NODE), repair it, then run again",
    )
    NODE_UNAVAILABLE = (
        "node-unavailable",
        ToolFailed,
        "see whether the node is busy (squeue), down or drained (sinfo -R); "
        "free it, or take it out of the hostfile",
    )
    NODE_OUTSIDE_ALLOCATION = (
        "node-outside-allocation",
        ToolFailed,
        "add the node to the allocation, or take it out of the hostfile",
    )
    ALLOCATION_OVER = (
        "allocation-over",
        ToolFailed,
        "run again in a new allocation with a longer time limit",
    )
    MPI_UNSUPPORTED = (
        "mpi-unsupported",
        ToolFailed,
        "choose a type of MPI that srun --mpi=list names, or build the tool with PMI support",
    )

    # The tool, or a library below it, reports a failure.
    TOOL_FAILED = (
        "tool-failed",
        ToolFailed,
        "read the tool's own message, and run the command of the transcript by hand on that node",
    )
    INVALID_ARGUMENT = (
        "invalid-argument",
        ToolFailed,
        "correct the measurement's options in the platform file: see the "
        "tool's --help on that node",
    )
    UNKNOWN_FLAG = (
        "unknown-flag",
        ToolFailed,
        "install a version of the tool that has this option, or leave the "
        "option out of the measurement",
    )
    UNKNOWN_COLUMN = (
        "unknown-column",
        ToolFailed,
        "install a released version of the tool; its heading has columns that no release prints",
    )
    OUT_OF_MEMORY = (
        "out-of-memory",
        ToolFailed,
        "see which other processes use memory of the GPUs (nvidia-smi, "
        "rocm-smi) and of the host (free)",
    )
    GPU_MEMORY_ERRORS = (
        "gpu-memory-errors",
        ToolFailed,
        "drain the node and read the GPU's ECC counters (nvidia-smi -q -d ECC)",
    )
    GPU_MISSING = (
        "gpu-missing",
        ToolFailed,
        "compare the GPUs that the driver lists (nvidia-smi -L, rocm-smi) with "
        "those that the platform declares",
    )
    GPU_FAILED = (
        "gpu-failed",
        ToolFailed,
        "look for GPU errors, such as Xid, in the kernel's log of that node (dmesg)",
    )
    HIP_ERROR = (
        "hip-error",
        ToolFailed,
        "look for amdgpu errors in the kernel's log of that node (dmesg)",
    )
    COLLECTIVE_FAILED = (
        "collective-failed",
        ToolFailed,
        "set the measurement's option debug, and read the library's log in the transcript",
    )
    MPI_FAILED = (
        "mpi-failed",
        ToolFailed,
        "read MPI's message in the transcript; where nodes have several "
        "networks, set mpi_network in the hostfile",
    )
    BUILT_WITHOUT_MPI = "built-without-mpi", ToolFailed, "build the collective tests with MPI=1"
    TOO_FEW_RANKS = (
        "too-few-ranks",
        ToolFailed,
        "measure with 2 ranks or more: more nodes, or more ranks a node",
    )
    BITWISE_MISMATCH = (
        "bitwise-mismatch",
        ToolFailed,
        "repeat the run on each node alone to find the one whose results differ",
    )
    AVERAGE_MISMATCH = (
        "average-mismatch",
        ToolFailed,
        "judge the complete, unedited output of one run",
    )
    BELOW_TOOL_LIMIT = (
        "below-tool-limit",
        ToolFailed,
        "unset NCCL_TESTS_MIN_BW: the platform file holds the limits",
    )
    TESTCASE_FAILED = (
        "testcase-failed",
        ToolFailed,
        "run this test case alone on that node (nvbandwidth -t NAME) and read its message",
    )
    FAILED_REQUESTS = (
        "failed-requests",
        ToolFailed,
        "read the server's log for the requests that failed",
    )
    NO_HEADING = (
        "no-heading",
        ToolFailed,
        "judge the complete output, with the heading of each table",
    )

    # The two sides, or the tool and its service, could not connect or lost their connection.
    CONNECTION_REFUSED = (
        "connection-refused",
        ToolFailed,
        "check that the server runs on the other node, and that no firewall blocks its port",
    )
    CONNECTION_LOST = (
        "connection-lost",
        ToolFailed,
        "check that the other side still runs, and look for network errors in "
        "the nodes' kernel logs",
    )
    PORT_IN_USE = (
        "port-in-use",
        ToolFailed,
        "see which process of the node listens on that port (ss -ltnp), and stop it",
    )
    SERVER_BUSY = (
        "server-busy",
        ToolFailed,
        "stop the other client of this server, or wait until it ends",
    )
    PEER_GONE = "peer-gone", ToolFailed, "read the other side's transcript: it ended first"
    SOCKET_FAILED = (
        "socket-failed",
        ToolFailed,
        "check the data address in the hostfile, the firewall, and the limit "
        "of open files (ulimit -n)",
    )

    # The RDMA device, its port or its queue pairs failed.
    PORT_DOWN = "port-down", ToolFailed, "check the cable and the state of the port (ibstat)"
    MEMORY_REGISTRATION = (
        "memory-registration",
        ToolFailed,
        "raise the locked-memory limit (ulimit -l unlimited)",
    )
    QP_TRANSITION = (
        "qp-transition",
        ToolFailed,
        "check the GID index, the MTU and the link layer of both ports (ibv_devinfo -v)",
    )
    COMPLETION_ERROR = (
        "completion-error",
        ToolFailed,
        "check the error counters of both ports, and on Ethernet the route between the two NICs",
    )
    NO_SUBNET_MANAGER = (
        "no-subnet-manager",
        ToolFailed,
        "start a subnet manager: opensm on a node, or the one in a managed switch",
    )
    COUNTERS_UNREAD = (
        "counters-unread",
        ToolFailed,
        "query that port by hand (perfquery LID PORT), and check that its node is up",
    )

    # The RAS service reports a fault of a job's communicators.
    COMMUNICATOR_INCOMPLETE = (
        "incomplete",
        ToolFailed,
        "look at the processes of the missing ranks on their nodes: they ended or hang",
    )
    COMMUNICATOR_ERRORS = (
        "communicator-errors",
        ToolFailed,
        "read the errors in the RAS report, and the library's log of those ranks (NCCL_DEBUG=INFO)",
    )
    COMMUNICATOR_STATUS = (
        "communicator-status",
        ToolFailed,
        "query the RAS service again; if the status stays the same, look at the job's processes",
    )

    # Warnings: the output does not show that all its rows are there.
    NO_CLOSING_LINE = "no-closing-line", Unparsable, _JUDGE_WHOLE
    NO_OPENING_LINE = "no-opening-line", Unparsable, _JUDGE_WHOLE

    # Warnings: the values remain valid.
    TOOL_WARNING = "tool-warning"
    LIBRARY_WARNING = "library-warning"
    RAS_WARNING = "ras-warning"
    TEST_FAILED = "test-failed"
    TEST_WARNED = "test-warned"
    CHECK_FAILED = "check-failed"
    WAIVED = "waived"
    CPU_FREQUENCY = "cpu-frequency"
    RELAXED_ORDERING = "relaxed-ordering"
    PEAK_NOT_MEASURED = "peak-not-measured"
    BELOW_RESOLUTION = "below-resolution"
    COUNTER_FULL = "counter-full"
    HAND_EDITED = "hand-edited"
    ROWS_ELIDED = "rows-elided"
    RANKS_ELIDED = "ranks-elided"
    SEVERAL_DTYPES = "several-dtypes"
    REPEATED_LABEL = "repeated-label"
    TEXT_BEFORE_JSON = "text-before-json"
    ASKED_UNKNOWN = "asked-unknown"
    MISSING_CELL = "missing-cell"
    OTHER_ACTUAL = "other-actual"
    NO_BANDWIDTH = "no-bandwidth"
    NO_PEER_ACCESS = "no-peer-access"


@dataclass(frozen=True, slots=True)
class Problem:
    """A complaint that the tool printed, or a fault of its output."""

    kind: ProblemKind
    severity: Severity
    message: str
