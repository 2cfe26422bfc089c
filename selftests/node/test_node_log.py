"""``railgauge node --log-since``: which faults in the kernel's log count in one check of a node."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone

import pytest
from testing.node_checks import checked, reported

from railgauge.core.errors import BadInput
from railgauge.facts import NodeFacts
from railgauge.run import node_log
from railgauge.run.node_state import state_of

BOOT_ID = "c7d8b893-3f62-4444-9b87-401c6634192b"
LOGGED = "logged-before@h200-01"
UP_S = 86400.0  # of a node of the lab, whose kernel logs at boot what was before the run


def ago(**span):
    return (datetime.now(tz=timezone.utc) - timedelta(**span)).isoformat()


def causes(found):
    return [one["cause"] for one in found["causes"]]


def test_a_fault_is_told_by_one_check_of_those_that_look_at_the_time_since_the_last(start_lab):
    bench = start_lab("h200", LOGGED)
    new = ("--log-since", "check")
    assert causes(reported(bench, *new)) == ["gpu-xid"], "the first check looks back to the boot"
    found = reported(bench, *new)
    assert (found["verdict"], causes(found)) == ("accepted", [])
    assert causes(reported(bench)) == ["gpu-xid"], "it is there as long as the node is up"


def test_a_result_of_another_part_of_the_log_is_not_told(start_lab):
    bench = start_lab("h200", LOGGED)
    reported(bench)
    assert reported(bench, "--log-since", "check")["verdict"] == "accepted"
    assert reported(bench, "--cache", "5")["verdict"] == "rejected"


def test_what_was_logged_before_a_time_does_not_count(start_lab):
    bench = start_lab("h200", LOGGED)
    assert reported(bench, "--log-since", ago(hours=25))["verdict"] == "rejected"
    assert reported(bench, "--log-since", ago(hours=1))["verdict"] == "accepted"
    local = datetime.now() - timedelta(hours=1)
    assert reported(bench, "--log-since", f"{local:%Y-%m-%dT%H:%M}")["verdict"] == "accepted"


def test_a_log_that_cannot_be_read_is_accepted_since_no_time(start_lab):
    bench = start_lab("h200", "kernel-log-denied@h200-01")
    for when in ("boot", "check", ago(hours=1)):
        assert reported(bench, "--log-since", when)["verdict"] == "incomplete"


@pytest.mark.parametrize("when", ["yesterday", "", "9999", "2026-13-01", "-1"])
def test_what_is_no_time_is_refused(start_lab, when):
    done = checked(start_lab("connectx4-homelab"), f"--log-since={when}")
    assert (done.returncode, done.stdout) == (2, "")
    assert "is neither boot nor check nor a time" in done.stderr


def test_a_time_in_the_future_is_refused(start_lab):
    done = checked(start_lab("connectx4-homelab"), "--log-since", ago(hours=-1))
    assert (done.returncode, done.stdout) == (2, "")
    assert "is in the future" in done.stderr


# --- what is kept ---


@pytest.fixture
def since(tmp_path):
    """``since(asked, record, boot_id)``: the part of the log that a check of a node judges."""
    proc = tmp_path / "root" / "proc"
    proc.mkdir(parents=True)
    (proc / "uptime").write_text(f"{UP_S} 1.0\n")
    own = state_of("n1", tmp_path / "state")

    def since(asked, record="7", boot_id=BOOT_ID):
        answer = NodeFacts("n1", boot_id=boot_id, kernel_log=record)
        return node_log.since(asked, own, answer, str(tmp_path / "root"))

    since.mark = own.log_mark
    since.uptime = proc / "uptime"
    return since


def test_each_check_begins_where_the_one_before_has_ended(since):
    assert since("check").number == -1
    assert since("check", "9").number == 7
    assert since("boot", "12").number == -1
    assert since("check", "13").number == 12
    assert since("check", None).number == -1, "a log that was not read moves nothing"
    assert since("check", "20").number == 13


def test_after_a_reboot_all_of_the_log_counts(since):
    since("check")
    assert since("check", "3", f"{BOOT_ID[:-1]}c").number == -1


@pytest.mark.parametrize("text", ["", "[]", '{"boot_id": "x"}', '{"record": 7}'])
def test_a_damaged_mark_hides_nothing(since, text):
    since("check")
    since.mark.write_text(text)
    assert since("check").number == -1


def test_a_mark_with_another_kind_of_number_hides_nothing(since):
    for record in ("9", None, 1.5):
        since.mark.write_text(json.dumps({"boot_id": BOOT_ID, "record": record}))
        assert since("check").number == -1


def test_the_drift_of_the_clock_of_the_log_counts_for_the_node(since):
    at = since(ago(hours=1)).at_us / 1e6
    assert UP_S - 3600 - 10 < at < UP_S - 3600 - 8
    assert since(ago(hours=25)) == since("boot")
    assert since(ago(seconds=0)).at_us / 1e6 < UP_S - 8


def test_a_node_that_does_not_tell_how_long_it_is_up(since):
    since.uptime.write_text("soon\n")
    with pytest.raises(BadInput, match="does not show how long the node has been up"):
        since(ago(hours=1))
