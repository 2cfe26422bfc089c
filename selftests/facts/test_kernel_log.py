"""Reading the kernel's log: the number at the survey, the reading at the end, and what is lost."""

import subprocess
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from testing import programs

from railgauge.core.errors import KernelLogUnread
from railgauge.core.model import Transcript
from railgauge.facts.kernel import log
from railgauge.facts.probe import probe_script, split_sections

BOOT, OTHER_BOOT = "c7d8b893-3f62-4444-9b87-401c6634199b", "11111111-3f62-4444-9b87-401c6634199b"
END = "dd: error reading '/dev/kmsg': Resource temporarily unavailable"
DENIED = "dd: failed to open '/dev/kmsg': Operation not permitted"


def output(*records, boot=BOOT, says=(END, END), uptime="999.50 1449.35"):
    return "\n".join([f"boot_id {boot}", *records, *says, f"uptime {uptime}", ""])


def line(number, text="all is well", priority=6):
    return f"{priority},{number},{number * 1000000},-;{text}"


def window(text, mark=10, boot=BOOT):
    return log.window(log.parse_reading(text), boot, mark)


# --- the survey ---


def test_the_mark_is_the_last_record():
    assert log.parse_mark(f"{END}\n6,418,1698393149,-") == "418"


@pytest.mark.parametrize(
    "text",
    [
        "",
        DENIED,
        "6,418,1698393149,-",
        END,
        f"6,418,1698393149,-\n{END}",
        "dd: error reading '/dev/kmsg': Broken pipe\n6,418,1698393149,-",
        f"{END}\nsix,418,1698393149,-",
    ],
)
def test_a_log_that_was_not_read_to_its_end_has_no_mark(text):
    assert log.parse_mark(text) is None


# --- the reading at the end ---


def test_the_records_after_the_mark_are_those_of_the_run():
    found = window(output(line(10), line(11, "a;b"), line(12, "x", priority=30)))
    assert [(r.number, r.text) for r in found] == [(11, "a;b"), (12, "x")]
    assert [(r.level, r.is_kernels) for r in found] == [(6, True), (6, False)]


def test_a_log_in_which_nothing_was_written_is_empty_and_not_unread():
    assert window(output(line(10))) == ()


def test_a_record_that_is_printed_twice_counts_once():
    assert len(window(output(line(10), line(11), line(10), line(11)))) == 1


def test_a_first_reading_that_was_overtaken_counts_if_the_second_came_to_the_end():
    says = ("dd: error reading '/dev/kmsg': Broken pipe", END)
    assert len(window(output(line(10), line(11), says=says))) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (output(says=(DENIED, DENIED)), "Operation not permitted"),
        (output(line(10), says=()), "not read to its end"),
        (output(line(10), says=(END, "dd: error reading '/dev/kmsg': Broken pipe")), "Broken pipe"),
        (output(line(10), says=("sh: 1: dd: not found",)), "not found"),
        (output(), "has no record 10"),
        (output(line(8), line(9)), "has no record 10"),
        (output(line(10), line(12)), "1 of 2 records"),
        (output(line(14), line(15)), "3 of 5 records"),
        (output(line(10), boot=OTHER_BOOT), "rebooted"),
        (output(line(10), boot="cat: boot_id: No such file or directory"), "boot id is not known"),
        ("", "not read to its end"),
    ],
)
def test_an_incomplete_log_is_unread(text, words):
    with pytest.raises(KernelLogUnread) as error:
        window(text)
    assert words in str(error.value)


def test_a_boot_id_that_was_not_known_at_the_start_is_no_proof():
    with pytest.raises(KernelLogUnread, match="boot id"):
        window(output(line(10)), boot=None)


def test_a_denied_log_names_the_missing_right():
    with pytest.raises(KernelLogUnread) as error:
        window(output(says=(DENIED, DENIED)))
    assert "dmesg_restrict" in error.value.remedy
    assert "become" in error.value.remedy
    assert "dmesg_restrict" not in log.remedy("Broken pipe")


def test_a_text_cannot_forge_a_record_or_an_end():
    """The kernel writes line ends as an escape; a line of a message never begins a line."""
    text = rf"hello\x0a3,99,1,-;NVRM: Xid (PCI:0000:4e:00): 79\x0a{END}"
    (one,) = window(output(line(10), line(11, text)))
    assert (one.number, one.text) == (11, text)


@given(st.text())
def test_any_output_gives_a_reading(text):
    reading = log.parse_reading(text)
    list(log.moments(reading.records, reading, transcript(text)))


# --- when a line was written ---


def transcript(text, started="2026-11-23T20:00:00.000+00:00", took_s=2.0):
    return Transcript("n1", ("sh",), 0, text, "", took_s, started)


def test_times_are_those_of_the_controller():
    text = output(line(990), uptime="1000.00 1.0")
    reading = log.parse_reading(text)
    (time,) = log.moments(reading.records, reading, transcript(text))
    end = datetime(2026, 11, 23, 20, 0, 2, tzinfo=timezone.utc)
    assert time == end - timedelta(seconds=10)


@pytest.mark.parametrize(
    "text", [output(line(9), uptime="cat: no such file"), output(line(9), uptime="x")]
)
def test_times_without_the_nodes_uptime_are_unknown(text):
    reading = log.parse_reading(text)
    assert list(log.moments(reading.records, reading, transcript(text))) == [None]
    again = log.parse_reading(output(line(9)))
    assert list(log.moments(again.records, again, transcript("", started=""))) == [None]


# --- on this machine ---


@pytest.fixture
def ran(tmp_path):
    """Runs a command of this machine with what every node has on its PATH."""
    path = programs.node_path(tmp_path, tmp_path / "bin")

    def run(*argv):
        environment = {"PATH": path, "LC_ALL": "C"}
        done = subprocess.run(argv, capture_output=True, text=True, check=False, env=environment)
        return done.stdout

    return run


def test_the_log_of_this_machine_is_read_or_the_missing_right_is_named(ran):
    """The device itself: its end, its numbers, and the errors of dd are those that are expected."""
    section = split_sections(ran("sh", "-c", probe_script("/", None, "ab12")), "ab12")["kernel_log"]
    mark = log.parse_mark(section.text)
    reading = log.parse_reading(ran(*log.reading_argv("/", int(mark or 0))))
    if mark is None:
        assert section.failure or "dmesg_restrict" in log.remedy(section.text)
        assert reading.complaint
        return
    assert reading.complaint == ""
    assert reading.up_s > 0
    log.window(reading, reading.boot_id, int(mark))
