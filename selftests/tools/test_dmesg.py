"""Saved logs of a kernel: every form in which they are printed, and texts that are no log."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from testing.tool_setting import kinds, values

from railgauge import tools
from railgauge.cli import main

XID = "NVRM: Xid (PCI:0000:4e:00): 79, pid=1, GPU has fallen off the bus."
# Where each form comes from: dev-kmsg, dmesg(1), and lines of public issues.
FORMS = {
    "/dev/kmsg": "3,4471,3023054882,-;{}",
    "/dev/kmsg with the caller": "3,4471,3023054882,-,caller=T1;{}",
    "dmesg": "[ 1843.308145] {}",
    "dmesg with the caller": "[ 1843.308145][  T812] {}",
    "dmesg --raw": "<3>[ 1843.308145] {}",
    "dmesg --decode": "kern  :err   : [ 1843.308145] {}",
    "dmesg --ctime": "[Fri Aug 30 11:43:09 2024] {}",
    "dmesg --time-format iso": "2025-05-27T04:18:56,089671+00:00 {}",
    "journalctl -k": "Feb 14 05:03:41 000-gpu-1 kernel: {}",
    "syslog": "Nov 22 18:29:55 hostname kernel: [ 966.503025] {}",
    "journalctl -k -o short-iso": "2026-02-14T05:03:41+0000 gpu-1 kernel: {}",
}


def parse(text):
    return tools.tool("dmesg").parse(text)


@pytest.mark.parametrize("form", FORMS)
def test_each_form_of_a_log_is_read(form):
    text = "\n".join(FORMS[form].format(one) for one in (XID, "usb 1-1: new device", ""))
    parsed = parse(text + "\n")
    assert (parsed.tool, parsed.problems) == ("dmesg", ())
    assert values(parsed) == {("lines", None): 3, ("faults", None): 1, ("notes", None): 0}
    (event,) = parsed.summary["events"]
    assert (event["line"], event["kind"], event["device"]) == (1, "Xid 79", "0000:4e:00")
    assert (event["gravity"], event["cause"], event["text"]) == ("fault", "gpu-xid", XID)


@pytest.mark.parametrize("before", ["", "2026-01-02 03:04:05 [rank3] ERROR: "])
def test_an_xid_that_another_log_quotes_is_a_note_with_its_place(before):
    parsed = parse(f"step 1\n{before}{XID}\nstep 2\n")
    (event,) = parsed.summary["events"]
    assert (event["line"], event["kind"], event["device"]) == (2, "Xid 79", "0000:4e:00")
    assert values(parsed) == {("lines", None): 0, ("faults", None): 0, ("notes", None): 1}
    assert [problem.kind for problem in parsed.problems] == ["no-heading"]


def test_a_line_that_a_program_wrote_is_a_note():
    assert values(parse(f"<11>[ 1.5] {XID}\n"))["notes", None] == 1


@pytest.mark.parametrize(
    ("text", "kind"), [("", "no-output"), ("NVRM: x\n", "no-table"), ("hello\n", "no-table")]
)
def test_a_text_that_is_no_log_is_an_error(text, kind):
    parsed = parse(text)
    assert (parsed.samples, kinds(parsed)) == ((), [kind])


def test_many_lines_are_counted_and_the_first_are_listed():
    parsed = parse("".join(f"[ {n}.5] {XID}\n" for n in range(1000)))
    assert (values(parsed)["faults", None], len(parsed.summary["events"])) == (1000, 200)


@given(st.text())
def test_any_text_gives_an_answer(text):
    parse(text)


def test_the_command_prints_it(tmp_path, capsys):
    log = tmp_path / "dmesg.txt"
    log.write_text(f"[ 1843.308145] {XID}\n")
    assert main(["parse", "dmesg", str(log)]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["summary"]["events"][0]["means"] == "the GPU has fallen off the bus"
