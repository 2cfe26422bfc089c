"""Output of several nodes in one step, separated by label; needs no Slurm."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterable

from railgauge.core.errors import ConnectionLost, NodeUnreachable, NoEvidence
from railgauge.core.model import Command, Transcript
from railgauge.transport import silence
from railgauge.transport.job import Start
from railgauge.transport.slurm.fan_out import Answers

COMMAND = Command("", ("true",), {}, 5.0)
START = Start.now()
PID, EXIT = (f"::railgauge {START.nonce} {word}\n" for word in ("pid 7", "exit 3"))


def answers(*names: str, ago_s: float = 0.0) -> Answers:
    start = Start(START.nonce, START.at, time.monotonic() - ago_s)
    return Answers(COMMAND, start, set(names))


def encoded(label: int, text: str) -> list[bytes]:
    lines = base64.encodebytes(text.encode()).splitlines()
    return [b"%3d: %s\n" % (label, line) for line in lines]


def named(label: int, name: str) -> bytes:
    return f"{label}: {START.nonce} {name}\n".encode()


def taken(found: Answers, lines: Iterable[bytes]) -> dict[str, Transcript | NoEvidence]:
    return dict(answer for line in lines for answer in found.take(line))


def test_lines_of_nodes_are_mixed_and_told_apart() -> None:
    found, long = answers("a", "b"), "é" * 5000
    first, second = (encoded(0, f"{PID}{long}\n{EXIT}"), encoded(11, f"{PID}short\n{EXIT}"))
    mixed = [line for pair in zip(first, second * 99, strict=False) for line in pair]
    lines = [named(0, "a"), named(11, "b"), *second, *first, b" 11: .\n", b"  0: .\n", *mixed]
    got = taken(found, lines)
    assert {n: (t.stdout, t.exit_code) for n, t in got.items() if isinstance(t, Transcript)} == {
        "a": (f"{long}\n", 3),
        "b": ("short\n", 3),
    }
    assert found.waiting == set()


def test_a_command_that_was_killed_has_no_exit_code() -> None:
    lines = [named(0, "a"), *encoded(0, f"{PID}begun\n"), b"0: .\n"]
    late, early = taken(answers("a", ago_s=9.0), lines)["a"], taken(answers("a"), lines)["a"]
    assert isinstance(late, Transcript)
    assert isinstance(early, Transcript)
    assert (late.exit_code, late.error, late.stdout) == (None, "command-timed-out", "begun\n")
    assert (early.exit_code, early.error) == (None, "connection-lost")


def test_a_node_where_nothing_began_is_left_to_be_asked_by_itself() -> None:
    found = answers("a")
    assert taken(found, [named(0, "a"), b"0: .\n"]) == {}
    assert looked(found, LIMIT_LOOKS) == {}
    assert dict(found.failures("")) == {}
    assert found.waiting == {"a"}


def test_no_node_speaks_for_another() -> None:
    found, printed = answers("a", "b"), f"{PID}x\n{EXIT}"
    lines = [
        named(0, "a"),
        named(1, "a"),
        *encoded(1, printed),
        b"1: .\n",
        *encoded(0, printed),
        b"0: .\n",
    ]
    assert taken(found, [*lines, b"a: no label of srun\n", b"rubbish\n"]) == {}


def test_srun_names_the_nodes_that_it_could_not_reach() -> None:
    found = answers("a", "b")
    text = "srun: error: Task launch for StepId=8.1 failed on node b: Communication failure\n"
    (failure,) = found.failures(text * 2)
    assert failure[0] == "b"
    assert isinstance(failure[1], NodeUnreachable)
    assert "failed on node b: Communication failure" in str(failure[1])
    assert found.waiting == {"a"}


def looked(found: Answers, times: int) -> dict[str, type[object]]:
    return {name: type(why) for _ in range(times) for name, why in found.looked()}


LIMIT_LOOKS = int(silence.LIMIT_S)  # one a second


def test_a_node_that_falls_silent_is_lost_and_no_other_one() -> None:
    found = answers("a", "b")
    taken(found, [named(0, "a"), named(1, "b")])
    assert looked(found, LIMIT_LOOKS - 1) == {}
    assert taken(found, [b"1: !\n"]) == {}, "it shows that it runs"
    assert looked(found, 1) == {"a": ConnectionLost}
    assert found.waiting == {"b"}
    assert looked(found, LIMIT_LOOKS - 2) == {}
    assert looked(found, 1) == {"b": ConnectionLost}


def test_a_step_that_never_ends_is_waited_for_as_long_as_the_command_may_last() -> None:
    found = answers("a", ago_s=COMMAND.time_limit_s + 80)
    taken(found, [named(0, "a")])
    assert looked(found, 1) == {"a": ConnectionLost}


def test_a_node_on_which_slurm_starts_nothing_is_out_of_reach() -> None:
    assert looked(answers("a", ago_s=50), 1) == {}
    assert looked(answers("a", ago_s=61), 1) == {"a": NodeUnreachable}


def test_what_a_task_prolog_prints_is_no_nodes_name() -> None:
    lines = [b"0: Welcome!\n", named(0, "a"), *encoded(0, f"{PID}own\n{EXIT}"), b"0: .\n"]
    (answer,) = taken(answers("a"), lines).values()
    assert isinstance(answer, Transcript)
    assert answer.stdout == "own\n"
