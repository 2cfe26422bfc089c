"""Messages of failed Open MPI and MPICH launches, recorded from real ones, and their errors."""

from pathlib import Path

import pytest

from railgauge.core.errors import LaunchFailed, NameNotResolved, NoEvidence, RankDied, ToolMissing
from railgauge.core.model import Transcript
from railgauge.judging.evidence import refuse_failure
from railgauge.launchers.failures import culprit, find_failures, launched_on
from railgauge.tools import tool

RECORDED = Path(__file__).parent / "recorded"
NODES = ("tcp01", "tcp02")
LAUNCH = ("mpirun", "-np", "2", "--host", "10.77.0.1:1,10.77.0.2:1", "mpi-bench", "all_reduce")

# Two nodes each: the node that is named, the error's type, and a word of the remedy.
MEANS = {
    "openmpi-daemon": ("launcher-daemon-missing", "tcp02", LaunchFailed, "install the same MPI"),
    "openmpi-daemonperm": ("launcher-daemon-missing", "tcp02", LaunchFailed, "on the PATH"),
    "openmpi-hostkey": ("host-key", "tcp02", LaunchFailed, "known_hosts"),
    "openmpi-keychanged": ("host-key", "tcp02", LaunchFailed, "known_hosts"),
    "openmpi-login": ("login-refused", "tcp02", LaunchFailed, "log in on the other"),
    "openmpi-unreach": ("host-unreachable", "tcp02", LaunchFailed, "by hand: ssh"),
    "openmpi-unknown": ("name-not-resolved", "tcp02", NameNotResolved, "can resolve"),
    "openmpi-overload": ("binding-overload", "tcp02", LaunchFailed, "--bind-to, none"),
    "openmpi-slots": ("not-enough-slots", "", LaunchFailed, "fewer ranks"),
    "openmpi-root": ("run-as-root", "", LaunchFailed, "OMPI_ALLOW_RUN_AS_ROOT=1"),
    "openmpi-noprog": ("tool-missing", "tcp01", ToolMissing, "under 'tools'"),
    "openmpi-mpikilled": ("rank-died", "tcp02", RankDied, "dmesg"),
    "openmpi-mpisegv": ("rank-died", "tcp02", RankDied, "dmesg"),
    "openmpi-killed": ("rank-died", "", RankDied, "dmesg"),
    "openmpi-exit": ("rank-died", "", RankDied, "dmesg"),
    "mpich-daemon": ("launcher-daemon-missing", "tcp02", LaunchFailed, "install the same MPI"),
    "mpich-hostkey": ("host-key", "tcp02", LaunchFailed, "known_hosts"),
    "mpich-login": ("login-refused", "tcp02", LaunchFailed, "log in on the other"),
    "mpich-unreach": ("host-unreachable", "tcp02", LaunchFailed, "by hand: ssh"),
    "mpich-unknown": ("name-not-resolved", "tcp02", NameNotResolved, "can resolve"),
    "mpich-version": ("launcher-daemon-lost", "tcp02", LaunchFailed, "version of MPICH"),
    "mpich-noprog": ("tool-missing", "tcp01", ToolMissing, "under 'tools'"),
    "mpich-killed": ("rank-died", "tcp02", RankDied, "dmesg"),
}


def recorded(name):
    return (RECORDED / f"{name}.txt").read_text(encoding="utf-8")


def error(text, *, reader="mpi-bench", argv=LAUNCH, nodes=NODES, cut=""):
    """The suite's error for a launch that printed ``text``."""
    transcript = Transcript(
        nodes[0], argv, None if cut else 1, "", text, 1.0, error=cut, role="client"
    )
    with pytest.raises(NoEvidence) as caught:
        refuse_failure([transcript], [tool(reader).parse(text)], nodes)
    return caught.value


def test_a_proxy_that_the_first_node_lacks_is_a_missing_program_of_that_node():
    text = (
        "[mpiexec@tcp01] HYDU_create_process (utils/launch/launch.c:73): execvp error on file "
        "/opt/bin/hydra_pmi_proxy (No such file or directory)\n[mpiexec@tcp01] "
        "HYD_pmcd_pmiserv_proxy_init_cb (pm/pmiserv/pmiserv_cb.c:446): assert (!closed) failed\n"
    )
    found = error(text)
    assert (type(found), found.where) == (ToolMissing, "tcp01: mpirun")


@pytest.mark.parametrize(
    "text",
    [
        "railgauge: launch: tcp02: the daemon ended: connection-lost",
        "railgauge: launch: tcp02: the node does not start another command: Timeout\n"
        "ORTE was unable to reliably start one or more daemons.",
    ],
)
def test_a_daemon_that_the_suite_lost_is_of_its_node(text):
    found = error(text, nodes=("tcp01", "tcp02", "tcp03"), argv=THREE)
    assert (type(found), found.where) == (LaunchFailed, "tcp02: mpirun")
    assert "railgauge: launch: tcp02" in found.what


THREE = ("mpirun", "-np", "3", "--host", "10.77.0.1:1,10.77.0.2:1,10.77.0.3:1", "mpi-bench")


def test_every_recorded_failure_is_asked_for():
    assert {path.stem for path in RECORDED.glob("*.txt")} == set(MEANS)


@pytest.mark.parametrize("reader", ["mpi-bench", "ccl-tests"])
@pytest.mark.parametrize("name", MEANS)
def test_a_failed_launch_is_a_typed_error_that_names_the_node(name, reader):
    kind, node, wanted, remedy = MEANS[name]
    if (name, reader) == ("openmpi-mpisegv", "ccl-tests"):
        kind, remedy = "tool-crashed", "core file"  # the cause is printed before its consequences
    found = error(recorded(name), reader=reader)
    assert type(found) is wanted
    assert f"({kind})" in found.what
    assert remedy in found.remedy
    named = found.where.partition(": ")[0]
    assert named == node if node else named not in NODES


@pytest.mark.parametrize("name", [name for name in MEANS if name.startswith("mpich-h")])
def test_a_time_limit_of_hydra_has_the_failure_that_it_printed_before(name):
    found = error(recorded(name), cut="command-timed-out")
    assert type(found) is LaunchFailed
    assert "command-timed-out after 1.0 s" in found.what


def test_a_rank_that_died_does_not_explain_a_time_limit():
    assert error(recorded("openmpi-killed"), cut="command-timed-out").kind == "command-timed-out"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        # From the help texts of Open MPI 4.1 (help-oob-tcp.txt) and the sources of Hydra.
        ("Open MPI detected a mismatch in versions between two processes.", "version-mismatch"),
        ("[proxy:0:1@tcp02] version_fn (pm/pmip_utils.c:9): UI version string does not match proxy "
         "version", "version-mismatch"),
        ('orted: Error: unknown option "--tree-spawn"', "version-mismatch"),
        ("bash: line 1: prted: command not found", "launcher-daemon-missing"),
        ("ssh: connect to host n2 port 22: Connection refused", "host-unreachable"),
    ],
)  # fmt: skip
def test_documented_messages_are_recognised(text, kind):
    assert find_failures(text)[0].kind == kind


@pytest.mark.parametrize(
    "text",
    [
        "", "mpi-bench version 1\n", "PATH is not on the list of orted, which is fine\n",
        "Permission denied while reading a file\n", "tcp01 slots=8\n",
    ],
)  # fmt: skip
def test_a_healthy_output_has_no_failure(text):
    assert find_failures(text) == []


@pytest.mark.parametrize(
    ("argv", "hosts"),
    [
        (LAUNCH, ("10.77.0.1", "10.77.0.2")),
        (("/opt/mpich/bin/mpiexec", "-hosts", "a:8,b:8", "-n", "16", "x"), ("a", "b")),
        (("mpirun", "-H", "a,b", "x"), ("a", "b")),
        (("srun", "--nodelist=a,b", "x"), ()),
        (("ib_write_bw", "-H", "a"), ()),
        (("mpirun", "--host"), ()),
        ((), ()),
    ],
)
def test_the_hosts_of_a_launch(argv, hosts):
    assert launched_on(argv) == hosts


THREE = ("mpirun", "--host", "10.0.0.1:1,10.0.0.2:1,10.0.0.21:1", "x")
NAMED = ("a", "b", "b.c")


@pytest.mark.parametrize(
    ("kind", "message", "node"),
    [
        ("host-key", "No ED25519 host key is known for 10.0.0.2 and you", "b"),
        ("host-key", "No ED25519 host key is known for 10.0.0.21 and you", "b.c"),
        ("host-key", "Host key verification failed", ""),
        ("launcher-daemon-missing", "sh: orted: not found", ""),
        ("launcher-daemon-lost", "[mpiexec@a] control_cb (x): assert (!closed) failed", ""),
        ("launcher-daemon", "10.0.0.2 and 10.0.0.21 do not answer", ""),
        ("rank-died", "rank 0 with PID 7 on node 10.0.0.1 exited on signal 9", "a"),
        ("rank-died", "PID 7 RUNNING AT b.c", "b.c"),
        ("rank-died", "PID 7 RUNNING AT b.", "b"),
        ("not-enough-slots", "not enough slots", ""),
    ],
)
def test_a_node_is_named_only_if_the_words_say_which(kind, message, node):
    assert culprit(kind, message, THREE, NAMED) == node


def test_no_node_is_named_for_a_launch_on_other_hosts():
    assert culprit("host-key", "10.0.0.2", THREE, ("a", "b")) == ""
