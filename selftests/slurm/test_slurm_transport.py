"""Sessions and surveys through a real Slurm: reasons, time limits, and cleanup."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from testing.slurm_cluster import UP_LIMIT_S, Slurm, cluster
from testing.waiting import wait_until

from railgauge.core.errors import (
    BadInput,
    CommandTimedOut,
    ConnectionLost,
    NodeUnreachable,
    NoEvidence,
    TransportError,
)
from railgauge.core.model import Cluster, Command, Transcript
from railgauge.facts import NodeFacts
from railgauge.run.survey import survey
from railgauge.transport import silence
from railgauge.transport.registry import connect, fan_out, opened
from railgauge.transport.sessions import Sessions
from railgauge.transport.slurm.steps import folded, unfolded

WHO = Command("", ("sh", "-c", "echo $SLURMD_NODENAME"))
FOUR = ("n01", "n02", "n03", "n04")
TICKET = "bad DIMM | slot 3; see ticket 17"


def printed(answers: dict[str, Transcript | NoEvidence]) -> dict[str, str]:
    return {
        node: answer.stdout.strip() if isinstance(answer, Transcript) else str(answer)
        for node, answer in answers.items()
    }


def asked(reached: Cluster, command: Command) -> dict[str, Transcript | NoEvidence]:
    at_once = fan_out("slurm")
    assert at_once
    return dict(at_once(reached.nodes, command))


def own_text(script: str, time_limit_s: float = 60.0) -> Command:
    return Command("", ("sh", "-c", script), {}, time_limit_s)


# --- the allocation ---


def test_allocation_has_the_nodes_and_lets_them_go(slurm: Slurm) -> None:
    with opened(cluster("n01", "n03")) as reached:
        (job,) = slurm.jobs()
        assert {node.slurm.job for node in reached.nodes} == {job}
        assert slurm.call("squeue", "-h", "-o", "%N").strip() == "n[01,03]"
        transcript = connect("slurm", reached.node("n03")).run(replace(WHO, node="n03"))
        assert transcript.stdout == "n03\n"
    slurm.wait_until_free()


def test_lists_of_nodes_are_read_as_slurm_writes_them(slurm: Slurm) -> None:
    names = [f"n{number:02}" for number in range(8, 102)]
    assert slurm.call("scontrol", "show", "hostlist", ",".join(names)).strip() == "n[08-101]"
    assert unfolded("n[08-101]") == set(names)
    assert unfolded("") == set()
    assert unfolded(folded(names)) == set(names)


RUN = """
import sys, time
sys.path.insert(0, sys.argv[1])
from testing.slurm_cluster import cluster
from railgauge.core.model import Command
from railgauge.transport.registry import connect, opened
with opened(cluster("n01")) as reached:
    session = connect("slurm", reached.nodes[0])
    program = ("sh", "-c", "echo $$; exec sleep 600")
    job = session.start(Command("n01", program, time_limit_s=600.0))
    print(job.first_line(30), flush=True)
    time.sleep(600)
"""


def killed_run() -> int:
    """Kills a run with SIGKILL; returns the process that it had on its node."""
    command = (sys.executable, "-c", RUN, str(Path(__file__).parents[1]))
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout
        pid = int(process.stdout.readline())
        process.kill()
    return pid


def test_a_killed_run_gives_its_nodes_back(slurm: Slurm) -> None:
    pid = killed_run()
    slurm.wait_until_free()
    wait_until(lambda: not Path(f"/proc/{pid}").exists(), UP_LIMIT_S, f"the end of {pid}")


def test_a_killed_run_leaves_nothing_in_the_job_that_it_was_part_of(
    slurm: Slurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    with slurm.job("n01") as job:
        monkeypatch.setenv("SLURM_JOB_ID", job)
        pid = killed_run()
        wait_until(lambda: not Path(f"/proc/{pid}").exists(), UP_LIMIT_S, f"the end of {pid}")
        assert slurm.jobs() == [job]


def test_a_run_within_an_allocation_uses_it(slurm: Slurm, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(cluster("n01", "n02")) as outer:
        job = outer.nodes[0].slurm.job
        monkeypatch.setenv("SLURM_JOB_ID", job)
        monkeypatch.setenv(
            "SLURM_NTASKS", "7"
        )  # of the surrounding job; a step must not inherit them
        with opened(cluster("n02", "n03")) as reached:
            assert slurm.jobs() == [job]
            assert printed(asked(reached, WHO)) == {
                "n02": "n02",
                "n03": f"n03: not in the allocation {job}, in which this run was started; "
                "see: scontrol show node n03",
            }
        with pytest.raises(BadInput, match=f"allocation {job}.*has none of the nodes"):
            opened(cluster("n04")).__enter__()
        monkeypatch.delenv("SLURM_JOB_ID")


def test_busy_nodes_are_waited_for_but_not_for_ever(slurm: Slurm) -> None:
    why = r"n\[01-02\] within 1 s: job \d+ is pending \(Resources\)"
    with opened(cluster("n02")):
        with pytest.raises(TransportError, match=why):
            opened(cluster("n01", "n02", wait_s=1.0)).__enter__()
        assert len(slurm.jobs()) == 1


def test_nodes_that_come_free_are_had(slurm: Slurm) -> None:
    reported: list[str] = []
    with ExitStack() as other:
        other.enter_context(opened(cluster("n02")))

        def hear(line: str) -> None:
            reported.append(line)
            other.close()

        with opened(cluster("n01", "n02", wait_s=60.0), hear) as reached:
            assert printed(asked(reached, WHO)) == {"n01": "n01", "n02": "n02"}
    (line,) = reported
    assert re.fullmatch(r"slurm: waiting up to 60 s for n\[01-02\]: job \d+ is pending .*", line)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"gres": "gpu:8"}, r"Invalid generic resource \(gres\) specification"),
        ({"allocation_options": ("--reservation=none",)}, "reservation"),
    ],
)
def test_what_slurm_refuses_is_said_in_its_words(
    slurm: Slurm, settings: dict[str, object], why: str
) -> None:
    with pytest.raises(TransportError, match=rf"no allocation of n01: salloc: error: .*{why}"):
        opened(cluster("n01", **settings)).__enter__()


# --- nodes that Slurm does not give ---


def test_nodes_have_slurms_reason_and_the_others_go_on(slurm: Slurm) -> None:
    names = ("n01", "n02", "n05", "n09")
    with slurm.marked("n02", "drain", TICKET), opened(cluster(*names)) as reached:
        answers = asked(reached, WHO)
        assert printed(answers) == {
            "n01": "n01",
            "n02": f"n02: its Slurm state is drained: {TICKET}; see: scontrol show node n02",
            "n05": "n05: not in the default partition but in spare; see: scontrol show node n05",
            "n09": "n09: Slurm knows no node of this name; see: scontrol show node n09",
        }
        with pytest.raises(NodeUnreachable, match="bad DIMM"):
            connect("slurm", reached.node("n02"))


def test_where_no_node_is_to_be_had_each_says_why(slurm: Slurm) -> None:
    with slurm.marked("n02", "drain", TICKET), opened(cluster("n02")) as reached:
        assert slurm.jobs() == []
        assert TICKET in printed(asked(reached, WHO))["n02"]


def test_a_node_that_goes_down_during_the_run_has_its_reason(slurm: Slurm) -> None:
    with opened(cluster("n01", "n02")) as reached, slurm.marked("n02", "down", "power lost"):
        with pytest.raises(NodeUnreachable, match="its Slurm state is down: power lost"):
            connect("slurm", reached.node("n02"))
        one = connect("slurm", reached.node("n01")).run(replace(WHO, node="n01"))
        assert one.stdout == "n01\n"


def test_an_allocation_that_is_over_is_told(slurm: Slurm) -> None:
    with opened(cluster("n01")) as reached:
        slurm.call("scancel", reached.nodes[0].slurm.job)
        slurm.wait_until_free()
        with pytest.raises(NodeUnreachable, match=r"allocation \d+ has ended|Invalid job id"):
            connect("slurm", reached.node("n01"))


# --- one step for all nodes ---


def test_one_step_asks_all_nodes(slurm: Slurm) -> None:
    # A site's setting under which one failed task ends all others; it must have no effect.
    text = (
        "printf 'x%.0s' $(seq 9000); echo; [ $SLURMD_NODENAME = n02 ] || sleep 1; "
        "echo æ $SLURMD_NODENAME; echo lost >&2; exit 3"
    )
    with opened(cluster(*FOUR)) as reached:
        answers = asked(reached, own_text(text))
        for node, answer in answers.items():
            assert isinstance(answer, Transcript)
            assert (answer.stdout, answer.exit_code) == (f"{'x' * 9000}\næ {node}\n", 3)
        assert sorted(answers) == list(FOUR)


def test_a_slow_node_costs_its_own_time_only(slurm: Slurm) -> None:
    text = "echo begun; [ $SLURMD_NODENAME != n02 ] || sleep 600"
    with opened(cluster(*FOUR)) as reached:
        began, seen = time.monotonic(), {}
        at_once = fan_out("slurm")
        assert at_once
        for node, answer in at_once(reached.nodes, own_text(text, 3.0)):
            seen[node] = (answer, time.monotonic() - began)
    slow = seen.pop("n02")[0]
    assert isinstance(slow, Transcript)
    assert (slow.error, slow.exit_code, slow.stdout) == (CommandTimedOut.kind, None, "begun\n")
    assert sorted(seen) == ["n01", "n03", "n04"]
    assert all(after_s < 3 for _, after_s in seen.values())


def test_a_node_that_hangs_is_named_and_the_others_answer(slurm: Slurm) -> None:
    with opened(cluster(*FOUR)) as reached, slurm.frozen("n03"):
        answers = asked(reached, WHO)
    assert isinstance(answers["n03"], NodeUnreachable)
    assert "failed on node n03" in str(answers["n03"])
    del answers["n03"]
    assert printed(answers) == {name: name for name in ("n01", "n02", "n04")}


def test_the_survey_has_facts_and_reasons(slurm: Slurm) -> None:
    seen: list[object] = []
    with slurm.marked("n02", "drain", TICKET), opened(cluster("n01", "n02", "n03")) as reached:
        sessions = Sessions(reached, lambda node: connect("slurm", node))
        found = survey(reached, sessions, None, seen.append)
        sessions.close()
    assert list(found) == ["n01", "n02", "n03"]
    assert TICKET in str(found["n02"])
    assert isinstance(found["n01"], NodeFacts)
    assert isinstance(found["n03"], NodeFacts)
    assert len(seen) == 3


# --- what is left behind ---


def test_a_command_whose_srun_is_killed_ends(slurm: Slurm) -> None:
    with opened(cluster("n01")) as reached:
        session = connect("slurm", reached.nodes[0])
        running = session.start(Command("n01", ("sh", "-c", "echo $$; exec sleep 600")))
        pid = int(running.first_line(30))
        (srun,) = _children("srun")
        os.kill(srun, signal.SIGKILL)
        wait_until(lambda: not Path(f"/proc/{pid}").exists(), UP_LIMIT_S, f"the end of {pid}")
        transcript = running.wait(30)
        assert (transcript.exit_code, transcript.error) == (None, "connection-lost")
        session.close()


def test_a_node_that_hangs_while_a_command_runs_is_lost(
    slurm: Slurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slurm itself notices it after minutes. A tool that prints nothing shows that it runs."""
    monkeypatch.setattr(silence, "BEAT_S", 1.0)
    monkeypatch.setattr(silence, "LIMIT_S", 4.0)
    with opened(cluster("n01", "n02")) as reached:
        whole, hung = (connect("slurm", node) for node in reached.nodes)
        works = whole.start(Command("n01", ("sh", "-c", "sleep 7; echo done")))
        running = hung.start(Command("n02", ("sh", "-c", "echo $$; exec sleep 600")))
        stepd = _ancestor(int(running.first_line(30)), "slurmstepd")
        with slurm.frozen("n02"), _stopped(stepd):
            began = time.monotonic()
            lost = running.wait(60)
            assert (lost.exit_code, lost.error) == (None, "connection-lost")
            assert time.monotonic() - began < 15
            with pytest.raises(ConnectionLost, match="nothing has come from the node"):
                hung.run(Command("n02", ("true",)))
        assert works.wait(60).stdout == "done\n"
        for session in (whole, hung):
            session.close()


def _ancestor(pid: int, program: str) -> int:
    while True:
        name, _, rest = Path(f"/proc/{pid}/stat").read_text().partition("(")[2].rpartition(")")
        if name.startswith(program):
            return pid
        pid = int(rest.split()[1])


@contextmanager
def _stopped(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def _children(program: str) -> Sequence[int]:
    """Processes that run ``program``, except this process's own children."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = path.read_text().partition("(")[2].rpartition(")")
        except OSError:
            continue
        if name == program and int(rest.split()[1]) == os.getpid():
            found.append(int(path.parent.name))
    return found
