"""What can be wrong with a tool's output: every kind, the error that it becomes, and what to do.

This is the one table. A parser gives each ``Problem`` a kind from it, and judging raises the error
that stands beside the kind::

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
    NoEvidence,
    RankDied,
    ToolError,
    ToolFailed,
    ToolMissing,
    Unparsable,
)
from railgauge.core.terms import Term


class Severity(Term):
    """After an error no value of the output can be trusted; after a warning they can."""

    ERROR = "error"
    WARNING = "warning"


class ProblemKind(Term):
    """A kind of problem: its stable name, ``error``, and ``remedy`` where one is known.

    Kinds that are only ever warnings have no error of their own (``ToolError``).
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

    # The tool, or what it should measure, is not there.
    TOOL_MISSING = (
        "tool-missing",
        ToolMissing,
        "install it there, or say where it is under 'tools' in the hostfile",
    )
    DEVICE_NOT_FOUND = (
        "device-not-found",
        DeviceMissing,
        "no RDMA device: see what ibv_devices and lspci list, load the driver",
    )

    # What was moved did not arrive as it was sent.
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
        "put the node's host key into known_hosts of the first node's user",
    )
    LOGIN_REFUSED = (
        "login-refused",
        LaunchFailed,
        "let the first node's user log in on the other nodes by key",
    )
    UNKNOWN_HOST = (
        "unknown-host",
        LaunchFailed,
        "give addresses that the nodes themselves can resolve",
    )
    HOST_UNREACHABLE = (
        "host-unreachable",
        LaunchFailed,
        "log in from the first node by hand: ssh ADDRESS true",
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
        "ask for fewer ranks on a node, or let the launcher have more slots",
    )
    LAUNCHER_DAEMON_MISSING = (
        "launcher-daemon-missing",
        LaunchFailed,
        "install the same MPI on that node, or put its folder on the PATH "
        "of logins without a terminal",
    )
    LAUNCHER_DAEMON_LOST = (
        "launcher-daemon-lost",
        LaunchFailed,
        "see that the same version of MPICH is on every node",
    )
    LAUNCHER_DAEMON = (
        "launcher-daemon",
        LaunchFailed,
        "log in from the first node to every other one by hand: ssh ADDRESS true",
    )

    # Ranks ran, and ended before they were done.
    TOOL_CRASHED = (
        "tool-crashed",
        RankDied,
        "look at the tool's own stack above, and for a core file on that node",
    )
    RANK_DIED = (
        "rank-died",
        RankDied,
        "see the kernel's log of that node: dmesg, for signal 9 the out-of-memory killer",
    )

    # The scheduler took the job away, or gave it less than it asked for.
    JOB_TIME_LIMIT = "job-time-limit", ToolFailed
    JOB_CANCELLED = "job-cancelled", ToolFailed
    NODE_FAILED = "node-failed", ToolFailed
    NODE_UNAVAILABLE = "node-unavailable", ToolFailed
    NODE_OUTSIDE_ALLOCATION = "node-outside-allocation", ToolFailed
    ALLOCATION_OVER = "allocation-over", ToolFailed
    MPI_UNSUPPORTED = "mpi-unsupported", ToolFailed

    # The tool, or a library below it, says that it failed.
    TOOL_FAILED = "tool-failed", ToolFailed
    INVALID_ARGUMENT = "invalid-argument", ToolFailed
    UNKNOWN_FLAG = "unknown-flag", ToolFailed
    UNKNOWN_COLUMN = "unknown-column", ToolFailed
    OUT_OF_MEMORY = "out-of-memory", ToolFailed
    GPU_MEMORY_ERRORS = "gpu-memory-errors", ToolFailed
    GPU_MISSING = "gpu-missing", ToolFailed
    GPU_FAILED = "gpu-failed", ToolFailed
    HIP_ERROR = "hip-error", ToolFailed
    COLLECTIVE_FAILED = "collective-failed", ToolFailed
    MPI_FAILED = "mpi-failed", ToolFailed
    TOO_FEW_RANKS = "too-few-ranks", ToolFailed
    BITWISE_MISMATCH = "bitwise-mismatch", ToolFailed
    AVERAGE_MISMATCH = "average-mismatch", ToolFailed
    BELOW_TOOL_LIMIT = "below-tool-limit", ToolFailed
    TESTCASE_FAILED = "testcase-failed", ToolFailed
    FAILED_REQUESTS = "failed-requests", ToolFailed
    NO_HEADING = "no-heading", ToolFailed

    # The two sides, or the tool and its service, did not come together or lost each other.
    CONNECTION_REFUSED = "connection-refused", ToolFailed
    CONNECTION_LOST = "connection-lost", ToolFailed
    PORT_IN_USE = "port-in-use", ToolFailed
    SERVER_BUSY = "server-busy", ToolFailed
    PEER_GONE = "peer-gone", ToolFailed
    SOCKET_FAILED = "socket-failed", ToolFailed

    # The RDMA device, its port or its queue pairs.
    PORT_DOWN = "port-down", ToolFailed
    MEMORY_REGISTRATION = (
        "memory-registration",
        ToolFailed,
        "raise the locked-memory limit (ulimit -l unlimited)",
    )
    QP_TRANSITION = "qp-transition", ToolFailed
    COMPLETION_ERROR = "completion-error", ToolFailed
    NO_SUBNET_MANAGER = "no-subnet-manager", ToolFailed
    COUNTERS_UNREAD = "counters-unread", ToolFailed

    # What the RAS service says of a job's communicators.
    COMMUNICATOR_INCOMPLETE = "incomplete", ToolFailed
    COMMUNICATOR_ERRORS = "communicator-errors", ToolFailed
    COMMUNICATOR_STATUS = "communicator-status", ToolFailed

    # Warnings: the values stand.
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
    NO_CLOSING_LINE = "no-closing-line"
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
    """Something that the tool complained about, or that is wrong with its output."""

    kind: ProblemKind
    severity: Severity
    message: str
