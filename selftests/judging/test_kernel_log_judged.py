"""Judgements on a node's kernel log: faults, notes, times, and lines that are not listed."""

from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest
from testing.core_values import ROOT

from railgauge.config import thresholds
from railgauge.core.model import Outcome
from railgauge.facts.kernel.log import KernelRecord
from railgauge.facts.model import LoggedFault
from railgauge.judging.kernel_log import (
    ITEMS,
    KernelWindow,
    LogSince,
    Ran,
    judged,
    judged_alone,
    shown,
)

H200 = thresholds.load("h200", ROOT / "thresholds")
KNOWN = {"0000:4e:00": "gpu3", "0000:5c:00": "mlx5_0", "ib0": "mlx5_0", "eno1": "eno1"}
XID = "NVRM: Xid (PCI:0000:4e:00): 79, pid=1, GPU has fallen off the bus."
PROGRAMS_XID = "NVRM: Xid (PCI:0000:4e:00): 31, pid=1, name=python3, Ch 00000008"
NOON = datetime(2026, 11, 23, 12, 0, 0, tzinfo=timezone.utc)


def test_its_items_are_of_the_kernel_and_read_from_the_node():
    assert ITEMS.item_id("n1") == "kernel::kernel_log[n1]"
    assert ITEMS.question_of("n1").case.nodes == ("n1",)


def record(number, text, level=6, is_kernels=True):
    return KernelRecord(number, level, is_kernels, number * 1_000_000, text)


def window(*texts, own_mark=0, gap="", **fields):
    records = [record(number, text, **fields) for number, text in enumerate(texts, 11)]
    at = {one.number: NOON + timedelta(minutes=one.number) for one in records}
    return KernelWindow(records, at, own_mark, gap)


def ran(title, begin, end):
    return Ran(title, NOON + timedelta(minutes=begin), NOON + timedelta(minutes=end))


def of(found, running=()):
    return judged("n1", found, KNOWN, H200, lambda: running)


def test_a_log_without_a_known_line_passes_with_the_number_of_its_lines():
    (one,) = of(window("eth0: renamed", "fine"))
    assert (one.outcome, one.measured, one.basis, one.pointer) == (
        Outcome.PASSED,
        "2 lines",
        str(H200.kernel_log.basis),
        "/kernel_log",
    )


def test_errors_of_no_known_kind_are_counted():
    (one,) = of(window("ACPI: bad table", level=3))
    assert (one.outcome, one.measured) == (
        Outcome.PASSED,
        "1 lines, 1 of them at level error or above",
    )


def test_lines_worse_than_an_error_are_counted_too():
    whole, _ = of(window("ACPI: bad table", level=2, gap="lost"))
    assert whole.measured == "1 lines, 1 of them at level error or above"


def test_a_fault_fails_and_names_its_device():
    (one,) = of(window("fine", XID))
    assert (one.metric, one.outcome, one.measured) == (
        "gpu-xid",
        Outcome.FAILED,
        "Xid 79 at gpu3, 1 line",
    )
    assert one.points_at == (("n1", "gpu3"),)
    assert one.pointer == "/kernel_log"
    assert "fallen off the bus" in one.reason
    assert "Xid Catalog" in one.basis


def test_a_note_is_reported_and_fails_nothing():
    (one,) = of(window(PROGRAMS_XID))
    assert (one.outcome, one.measured) == (Outcome.MARGINAL, "Xid 31 at gpu3, 1 line")
    assert "look at the program" in one.reason


def written_by(*who):
    """The lines of one Xid, each by the kernel or by a program, with their number in the text."""
    texts = [XID.replace("pid=1", f"pid={number}") for number in range(len(who))]
    found = window(*texts)
    records = [
        replace(one, is_kernels=name == "kernel")
        for one, name in zip(found.records, who, strict=True)
    ]
    return replace(found, records=records)


@pytest.mark.parametrize(
    ("who", "outcome", "line"),
    [
        (("program", "kernel", "program"), Outcome.FAILED, "pid=1,"),
        (("program", "kernel", "kernel"), Outcome.FAILED, "pid=1,"),
        (("kernel", "program"), Outcome.FAILED, "pid=0,"),
        (("program", "program"), Outcome.MARGINAL, "pid=0,"),
    ],
)
def test_one_line_of_the_kernel_among_those_of_programs_is_a_fault(who, outcome, line):
    """That line is shown, with the time of the first line."""
    (one,) = of(written_by(*who))
    assert (one.outcome, line in one.reason) == (outcome, True)
    assert "first at 12:11:00 UTC" in one.reason


def test_a_fault_comes_before_a_note():
    first, second = of(window(PROGRAMS_XID, XID))
    assert (first.outcome, second.outcome) == (Outcome.FAILED, Outcome.MARGINAL)


def test_lines_of_one_kind_and_device_are_one_judgement():
    (one,) = of(window(*[XID] * 1000))
    assert one.measured == "Xid 79 at gpu3, 1000 lines"
    assert len(one.reason) < 600


def test_lines_of_many_devices_do_not_grow_without_end_and_are_not_lost():
    texts = [f"NVRM: Xid (PCI:{n:04x}:01:00): 31, pid=1" for n in range(100)]
    whole, *rest = of(window(*texts))
    assert len(rest) == 40
    assert (whole.metric, whole.outcome) == ("kernel_log", Outcome.FAILED)
    assert whole.reason.startswith("60 more kinds of lines")


def test_the_measurement_that_ran_is_named():
    running = [ran("a[n1]", 0, 10.9), ran("b[n1:n2]", 11, 11.5), ran("c[n1]", 12, 13)]
    (one,) = of(window(XID), running)
    assert "first at 12:11:00 UTC, while b[n1:n2] ran" in one.reason
    (one,) = of(window("fine", "fine", "fine", XID), running)
    assert "between measurements" in one.reason


@pytest.mark.parametrize(
    ("begin", "end", "is_told"),
    [(2, 60, True), (3, 60, False), (-60, -2, True), (-60, -3, False)],
)
def test_a_clock_that_drifts_by_two_seconds_still_finds_the_measurement(begin, end, is_told):
    """The line is of 12:11; ``begin`` and ``end`` are seconds from there."""
    (one,) = of(window(XID), [ran("b[n1:n2]", 11 + begin / 60, 11 + end / 60)])
    assert ("while b[n1:n2] ran" in one.reason) is is_told


def test_of_many_measurements_that_ran_three_are_named():
    (one,) = of(window(XID), [ran(f"{name}[n1]", 10, 12) for name in "abcde"])
    assert "while a[n1], b[n1], c[n1] and 2 more ran" in one.reason


def test_a_line_without_a_time_is_reported_as_such():
    found = window(XID)
    (one,) = of(KernelWindow(found.records, {}, 0))
    assert (one.outcome, "at an unknown time" in one.reason) == (Outcome.FAILED, True)


def test_the_measurements_are_read_only_if_a_line_needs_them():
    def never():
        raise AssertionError

    judged("n1", window("fine"), KNOWN, H200, never)


# --- link flaps ---


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("mlx5_core 0000:5c:00.0 mlx5_0: Port: 1 Link DOWN", Outcome.FAILED),
        ("mlx5_core 0000:5c:00.0 ib0: Link down", Outcome.FAILED),
        ("igb 0000:01:00.0 eno1: igb: eno1 NIC Link is Down", Outcome.MARGINAL),
    ],
)
def test_only_the_link_of_a_declared_nic_fails(text, outcome):
    (one,) = of(window(text))
    assert (one.metric, one.outcome) == ("link-flap", outcome)


def test_another_fault_of_a_device_that_is_not_declared_fails():
    (one,) = of(window("pcieport 0000:01:00.0: AER: PCIe Bus Error: severity=Uncorrected (Fatal)"))
    assert (one.metric, one.outcome) == ("pcie-errors", Outcome.FAILED)


# --- a run that carries another one on ---


def test_a_line_between_two_runs_is_a_note():
    """Somebody repaired the node there: what is broken still shows in what is measured now."""
    for mark in (11, 12):
        (one,) = of(window(XID, own_mark=mark), [ran("a[n1]", 0, 5)])
        assert (one.outcome, "between two runs" in one.reason) == (Outcome.MARGINAL, True)


@pytest.mark.parametrize("begin", [11, 12])
def test_one_line_of_the_earlier_runs_measurement_makes_it_a_fault(begin):
    """Of two lines, at 12:11 and 12:12, the other is from between the runs."""
    (one,) = of(window(XID, XID, own_mark=12), [ran("a[n1]", begin - 0.1, begin + 0.1)])
    assert one.outcome is Outcome.FAILED


def test_a_line_of_the_earlier_runs_measurement_fails():
    (one,) = of(window(XID, own_mark=11), [ran("a[n1]", 10, 12)])
    assert (one.outcome, "while a[n1] ran" in one.reason) == (Outcome.FAILED, True)


def test_one_line_of_this_run_makes_it_a_fault_of_this_run():
    (one,) = of(window(XID, XID, own_mark=11))
    assert one.outcome is Outcome.FAILED


def test_a_line_before_the_survey_without_a_time_is_a_fault():
    found = window(XID, own_mark=11)
    (one,) = of(KernelWindow(found.records, {}, 11))
    assert one.outcome is Outcome.FAILED


def test_a_gap_is_reported_and_no_clean_pass():
    (one,) = of(window("fine", gap="what was logged in run-1 is lost"))
    assert (one.outcome, one.reason) == (Outcome.MARGINAL, "what was logged in run-1 is lost")
    whole, fault = of(window(XID, gap="lost"))
    assert (whole.outcome, fault.outcome) == (Outcome.MARGINAL, Outcome.FAILED)


def test_a_line_is_shown_without_control_characters():
    assert shown("a\x1b[2Jb") == "a?[2Jb"
    assert shown("x" * 600) == "x" * 500 + "…"
    assert shown("x" * 500) == "x" * 500


# --- faults from before the run ---


def before(level, platform=H200):
    faults = (LoggedFault(f"3,4,4000000,-;{XID}", 2),)
    found = replace(window("fine"), before=faults, level=level)
    return judged("n1", found, KNOWN, platform, list)


def test_faults_from_before_the_run_fail_a_sign_off_and_are_listed_below_it():
    for level, outcome in (("smoke", "marginal"), ("nightly", "marginal"), ("signoff", "failed")):
        whole, one = before(level)
        assert (whole.metric, whole.outcome) == ("kernel_log", Outcome.PASSED)
        assert (one.outcome, one.measured) == (outcome, "Xid 79 at gpu3, 2 lines")
        assert (one.metric, one.pointer) == ("faults-before-run", "/kernel_log/since_boot")
        assert one.points_at == (("n1", "gpu3"),)
        assert "Xid 79 at gpu3 before the run: the GPU has fallen off the bus" in one.reason


def test_a_platform_that_does_not_limit_them_judges_none():
    old = replace(H200, kernel_log=replace(H200.kernel_log, since_boot=None))
    assert [one.metric for one in before("signoff", old)] == ["kernel_log"]


# --- a node that checks itself, without a run ---


def test_of_a_node_that_checks_itself_each_fault_since_its_boot_fails():
    faults = [
        LoggedFault(f"3,{4 + i},4000000,-;{text}", i + 1) for i, text in enumerate((XID, "x"))
    ]
    (one,) = judged_alone("n1", faults, KNOWN, "basis", LogSince())
    assert (one.metric, one.outcome) == ("gpu-xid", Outcome.FAILED)
    assert (one.measured, one.points_at) == ("Xid 79 at gpu3, 1 line", (("n1", "gpu3"),))
    assert "(1 line, since boot)" in one.reason
    (two,) = judged_alone("n1", [replace(faults[0], count=2)], {}, "basis", LogSince())
    assert two.measured.endswith(", 2 lines")


def test_of_a_node_that_checks_itself_no_fault_is_a_pass():
    (one,) = judged_alone("n1", (), KNOWN, "basis", LogSince())
    assert (one.metric, one.outcome, one.basis) == ("kernel_log", Outcome.PASSED, "basis")


def test_a_fault_that_was_logged_again_counts_since_its_last_line():
    first, last = f"3,4,4000000,-;{XID}", f"3,9,9000000,-;{XID} again"
    again, once = LoggedFault(first, 3, last), LoggedFault(first, 1)
    for since in (LogSince("later", number=8), LogSince("later", at_us=8.5e6)):
        assert since.of((once, again)) == (again,)
        (one,) = judged_alone("n1", since.of((once, again)), KNOWN, "basis", since)
        assert "(3 lines, since boot, the last one later)" in one.reason
        assert "again" in one.reason
    assert LogSince("later", number=9).of((again,)) == ()
    assert LogSince("later", at_us=9e6).of((again,)) == (again,)
    first_of_all = LoggedFault(f"3,0,0,-;{XID}", 1)
    assert LogSince().of((first_of_all, once, again)) == (first_of_all, once, again)
