"""Faults that the kernel logged before the survey: what the node prints of them, what is kept."""

import re
import subprocess
from importlib.resources import files

import pytest
from test_kernel_kinds import LINES

from railgauge.core.secret_forms import MASK
from railgauge.facts.kernel.before import LATER_FAULTS, parse_faults, up_to
from railgauge.facts.kernel.kinds import OF_A_RUN
from railgauge.facts.kernel.xids import Gravity
from railgauge.facts.model import LoggedFault
from railgauge.facts.parse import parse_probe

END = "dd: error reading '/dev/kmsg': Resource temporarily unavailable"
XID = "NVRM: Xid (PCI:0000:4e:00): 79, pid=1, GPU has fallen off the bus."
OTHER = XID.replace("4e", "5d")


def line(number, text, priority=3):
    return f"{priority},{number},{number}000000,-;{text}"


def texts(*lines):
    return [(one.line.partition(";")[2], one.count) for one in parse_faults("\n".join(lines))]


def test_lines_of_one_kind_and_device_are_one_fault_with_their_number():
    found = texts(line(3, XID), line(4, OTHER), line(5, XID), line(6, "all is well"))
    assert found == [(XID, 2), (OTHER, 1)]


@pytest.mark.parametrize(
    "text",
    [
        "NVRM: Xid (PCI:0000:4e:00): 31, pid=812, name=python3, Ch 00000008",
        "mlx5_core 0000:5c:00.0: Port module event: module 0, Cable unplugged",
        "Out of memory: Killed process 4711 (python3)",
        "pcieport 0000:00:01.0: pciehp: Slot(5): Card not present",
        "INFO: task kworker/u8:1:42 blocked for more than 120 seconds.",
    ],
)
def test_notes_and_lines_that_count_only_during_a_run_are_no_faults(text):
    assert texts(line(3, text)) == []


def test_the_first_and_the_last_of_its_lines_are_kept_however_many_kinds_there_are():
    others = [line(10 + n, XID.replace("79", str(800 + n))) for n in range(150)]
    found = parse_faults("\n".join((line(3, XID), line(4, OTHER), *others, line(500, XID))))
    assert (found[0].line, found[0].latest) == (line(3, XID), line(500, XID))
    assert (found[0].count, found[1].latest) == (2, line(4, OTHER))
    assert len(found) == 100


@pytest.mark.parametrize(("count", "has_more"), [(499, False), (500, False), (501, True)])
def test_the_node_prints_the_first_of_many_lines_and_a_sign_of_more(tmp_path, count, has_more):
    script = files("railgauge.facts").joinpath("probe.sh").read_text(encoding="utf-8")
    (program,) = re.findall(r"awk '\n(    /\^dd: /.*?)' faults=", script, re.DOTALL)
    lines = [line(n, XID) for n in range(count)] + [line(count, "all is well"), END]
    asked = ("awk", program, "faults=Xid")
    done = subprocess.run(asked, input="\n".join(lines), capture_output=True, text=True, check=True)
    found = facts(done.stdout.rstrip("\n"))
    assert sum(one.count for one in found.kernel_faults) == min(count, 500)
    assert found.kernel_log == str(count)
    assert (LATER_FAULTS in found.missing) is has_more


def test_a_line_that_a_program_wrote_is_no_fault():
    assert texts(line(3, XID, priority=30)) == []


def test_a_line_with_a_mask_is_kept_because_it_may_be_one():
    assert texts(line(3, f"{MASK} (PCI:0000:4e:00): 79")) == [(f"{MASK} (PCI:0000:4e:00): 79", 1)]


def test_faults_after_a_mark_are_not_of_the_time_before_it():
    faults = (LoggedFault(line(3, XID), 2), LoggedFault(line(12, OTHER), 1))
    assert list(up_to(faults, 10)) == [faults[0]]


FAULTS = [row for row in LINES if row[5] is Gravity.FAULT and row[2] not in OF_A_RUN]


@pytest.mark.parametrize("row", FAULTS, ids=lambda row: f"{row[2]}-{row[3]}")
def test_the_node_prints_each_line_that_names_a_fault(row):
    script = files("railgauge.facts").joinpath("probe.sh").read_text(encoding="utf-8")
    (pattern,) = re.findall(r"faults='([^']+)'", script)
    assert re.search(pattern, line(1, row[1]))
    assert len(parse_faults(line(1, row[1]))) == 1


def facts(printed, code=0):
    text = f"ab begin kernel_log\n{printed}\n\nab end kernel_log {code}\n"
    return parse_probe("n1", text, "ab", None)


def test_the_survey_has_the_faults_beside_the_end_of_the_log():
    found = facts("\n".join([line(3, XID), END, "6,418,1698393149,-"]))
    assert (found.kernel_log, found.kernel_faults) == ("418", (LoggedFault(line(3, XID), 1),))
    assert "kernel_faults" not in found.missing


def test_a_log_that_was_not_read_to_its_end_gives_no_faults():
    fake = line(3, "NVRM: Xid: Resource temporarily unavailable")
    for printed in (DENIED, f"{fake}\n6,418,1698393149,-"):
        found = facts(printed, 1)
        assert (found.kernel_log, found.kernel_faults) == (None, ())
        assert found.missing["kernel_faults"]


DENIED = "dd: failed to open '/dev/kmsg': Operation not permitted"
