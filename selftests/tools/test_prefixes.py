"""Prefixes of launchers, logs and mails before the lines of an output are removed for all tools."""

import pytest
from testing.recorded_outputs import recorded

from railgauge import tools
from railgauge.tools.text import clean

# The name of the form, and how it makes a prefix of the number of a line.
FORMS_OF_LINES = {
    "[1,0]<stdout>:": lambda _: "[1,0]<stdout>:",
    "[1,0]<stdout>: ": lambda _: "[1,0]<stdout>: ",
    "[prterun-nodeA-4711@1,0]<stdout>: ": lambda _: "[prterun-nodeA-4711@1,0]<stdout>: ",
    "[node01@1234,0]<stdout>:": lambda _: "[node01@1234,0]<stdout>:",
    "<stdout>: ": lambda _: "<stdout>: ",
    "srun --label": lambda _: "0: ",
    "srun --label, wide": lambda _: "  3: ",
    "mpiexec -prepend-rank": lambda _: "[0] ",
    "date[1,0]<stdout>:": lambda n: f"Tue Feb 13 13:12:{n % 60:02d} 2024[1,0]<stdout>:",
    "ISO": lambda n: f"2026-01-31T12:00:{n % 60:02d}.250Z ",
    "[date time]": lambda n: f"[2026-01-31 12:00:{n % 60:02d}] ",
    "[time]": lambda n: f"[12:00:{n % 60:02d}] ",
    "time": lambda n: f"12:00:{n % 60:02d}.5 ",
    "month": lambda n: f"Jan  1 12:00:{n % 60:02d} ",
    "[date]": lambda n: f"[Tue Feb  3 13:12:{n % 60:02d} 2026] ",
    "container": lambda n: f"2026-01-31T12:00:{n % 60:02d}.250Z stdout F ",
    "container, srun": lambda n: f"2026-01-31T12:00:{n % 60:02d}.250Z stdout F 0: ",
    "syslog": lambda n: f"Jan 31 12:00:{n % 60:02d} node003 bench[4711]: ",
    "syslog without pid": lambda n: f"Jan 31 12:00:{n % 60:02d} node003 bench: ",
    "syslog, ISO": lambda n: f"2026-01-31T12:00:{n % 60:02d}.250000+01:00 node003 bench[47]: ",
    "syslog 5424": lambda n: f"<13>1 2026-01-31T12:00:{n % 60:02d}Z node003 bench 4711 - - ",
    "journalctl, srun": lambda n: f"Jan 31 12:00:{n % 60:02d} node003 bench[4711]: 0: ",
    "kubectl logs --prefix": lambda _: "[pod/bench-launcher-x2x/bench] ",
    "pdsh": lambda _: "node003: ",
    "clush, full name": lambda _: "node003.cluster.example: ",
    "swarm": lambda _: "bench.1.4f2k@node003    | ",
    "ray": lambda _: "(RayWorker pid=4711, ip=10.0.0.3) ",
    "ray, one node": lambda _: "(RayWorker pid=4711) ",
    "torchrun": lambda _: "[default0]:",
    "[rank]": lambda _: "[rank0]: ",
    "[node]": lambda _: "[node003] ",
    "[rank@node]": lambda _: "[0@node003] ",
    "grep": lambda _: "logs/slurm-4711.out:",
    "grep -n": lambda n: f"logs/slurm-4711.out:{n + 1}:",
    "loguru": lambda n: f"2026-01-31 12:00:{n % 60:02d}.123 | INFO     | bench.run:main:42 - ",
    "glog": lambda n: f"I0131 12:00:{n % 60:02d}.123456    4711 bench.cc:42] ",
    "compose": lambda _: "bench-1  | ",
    "logging.basicConfig": lambda _: "INFO:root:",
    "logging": lambda n: f"2026-01-31 12:00:{n % 60:02d},123 - bench.runner - INFO - ",
    "logging, short": lambda n: f"2026-01-31 12:00:{n % 60:02d},123 INFO ",
    "logging, [level]": lambda n: f"2026-01-31 12:00:{n % 60:02d},123 [INFO] ",
    "vLLM": lambda n: f"INFO 01-31 12:00:{n % 60:02d} [serve.py:42] ",
    "vLLM, process": lambda n: f"(APIServer pid=42) INFO 01-31 12:00:{n % 60:02d} [serve.py:4] ",
    "quote": lambda _: "> ",
    "quote of a quote": lambda _: ">> ",
    "> > ": lambda _: "> > ",
}  # fmt: skip


def prefixed(text, of):
    *whole, last = text.split("\n")
    rest = [of(len(whole)) + last] if last else [""]
    return "\n".join([*(of(n) + line for n, line in enumerate(whole)), *rest])


@pytest.mark.parametrize(("tool", "path"), recorded())
def test_a_prefix_changes_no_reading_of_a_recorded_output(tool, path):
    """A prefix loses and changes nothing: samples, summary and problems are the same."""
    text = clean(path.read_text(encoding="utf-8", errors="replace"))
    parse = tools.tool(tool).parse
    expected = parse(text)
    for name, of in FORMS_OF_LINES.items():
        found = parse(prefixed(text, of))
        assert found.samples == expected.samples, name
        assert {p.kind for p in found.errors} == {p.kind for p in expected.errors}, name


SWEEP = """\
---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 65536      5000             392.30             392.10 \t\t     0.747871
 131072     5000             392.40             392.20 \t\t     0.374031
---------------------------------------------------------------------------------------
"""
OTHER = SWEEP.replace("392.10", "196.05").replace("0.747871", "0.373936").replace(
    "392.20", "196.10").replace("0.374031", "0.187016").replace("392.", "197.")  # fmt: skip


def read(text):
    parsed = tools.tool("perftest").parse(text)
    return [(s.metric, s.size_bytes, s.value, s.iteration) for s in parsed.samples], parsed


@pytest.mark.parametrize(
    "names",
    [
        ("node003: ", "node004: "),
        ("0: ", "12: "),
        ("[1,0]<stdout>:", "[1,1]<stdout>:"),
        ("[pod/a/x] ", "[pod/b/x] "),
        ("a-1  | ", "b-1  | "),
    ],
)
def test_lines_of_two_origins_are_sorted_before_they_are_read(names):
    """Rows that alternate in the output are read as the two tables that they belong to."""
    pairs = zip(SWEEP.splitlines(), OTHER.splitlines(), strict=True)
    mixed = "".join(f"{names[0]}{one}\n{names[1]}{two}\n" for one, two in pairs)
    both = [line.strip() for line in (SWEEP + OTHER).splitlines()]
    assert [line.strip() for line in clean(mixed).splitlines()] == both
    assert read(mixed)[0] == read(SWEEP + OTHER)[0]


def test_two_runs_of_a_tool_that_runs_once_are_still_two():
    """Interleaved by their origin, and not read as repeats of one run."""
    table = "============ Serving Benchmark Result ============\n" + "=" * 50 + "\n"
    mixed = "".join(f"a1: {line}\nb1: {line}\n" for line in table.splitlines())
    kinds = {p.kind for p in tools.tool("vllm-bench").parse(mixed).errors}
    assert "several-tables" in kinds


@pytest.mark.parametrize("prefix", ["0: ", "[1,0]<stdout>:", "node003: ", "12:00:01 ", "> "])
@pytest.mark.parametrize("at", range(7))
def test_a_row_without_the_prefix_is_never_read_with_the_others(prefix, at):
    """A row or heading that lacks the prefix is no part of the table, and nothing is read."""
    lines = SWEEP.splitlines()
    text = "".join(f"{'' if n == at else prefix}{line}\n" for n, line in enumerate(lines))
    found, parsed = read(text)
    assert found == read(SWEEP)[0] or parsed.errors
    if lines[at].strip()[:1].isdigit():
        assert not found


@pytest.mark.parametrize("prefix", ["node003:", "0:", "[0]", "bench-1  |"])
def test_a_prefix_without_a_blank_takes_no_row_away(prefix):
    """The row that fills its column has no blank of its own: it was once dropped alone."""
    rows = SWEEP.replace(" 65536 ", "   65536 ").replace(" 131072 ", "17179869184 ")
    found, parsed = read(prefixed(rows, lambda _: prefix))
    assert found == read(rows)[0] or (found == [] and parsed.errors)


def test_a_row_of_another_source_is_not_read_under_this_heading():
    text = prefixed(SWEEP, lambda _: "0: ") + " 262144     5000   99.0   98.00   0.046730\n"
    assert read(text)[0] == []


def test_messages_of_the_launcher_among_the_lines_stay_where_they_are_read():
    text = prefixed(SWEEP, lambda _: "0: ") + "srun: error: c1: task 0: Exited with exit code 1\n"
    assert read(text)[0] == read(SWEEP)[0]
    assert "srun: error: c1" in clean(text)


@pytest.mark.parametrize(
    "text",
    [
        "srun: error: c1: task 0: Exited with exit code 1\nsrun: error: c2: task 1: Killed\n",
        "sminfo: sm lid 1 sm guid 0x1, activity count 3 priority 15 state 3 SMINFO_MASTER\n",
        "SUCCESS: nhc: Health check passed: a: b\nSUCCESS: nhc: Health check passed: c: d\n",
        "node 0 1\n  0:  10  21 \n  1:  21  10 \n",
        "GPU: 0\nBDF: 0000:01:00.0\nLINK: 3\nGPU: 1\nBDF: 0000:02:00.0\nLINK: 3\n",
        "[  5]   0.00-1.00   sec  1.00 GBytes\n[105]   0.00-1.00   sec  1.00 GBytes\n"
        "[105]   1.00-2.00   sec  1.00 GBytes\n[105]   2.00-3.00   sec  1.00 GBytes\n",
        '[1] "S-0002c90000000001"[3]\n[2] "S-0002c90000000001"[4]\n',
        "     8     2   float   sum   -1   12.5   0.00   0.00   0\n",
        "|  a  |\n|  b  |\n",
    ],
)
def test_text_of_the_program_itself_is_no_prefix(text):
    assert clean(text) == text


def test_a_kernel_log_keeps_its_times_and_loses_the_name_of_the_node():
    line = "Jan 31 12:00:01 node003 kernel: NVRM: Xid (PCI:0000:01:00): 79, pid=1\n"
    assert clean(line * 3, is_log=True) == line * 3
    assert clean(f"c1: [ 1.5] {line}" * 3, is_log=True) == f"[ 1.5] {line}" * 3


def test_a_cut_inside_a_prefix_gives_the_same_problem_as_without_one():
    """The text ends with a complete row, then with each part of the next line's prefix."""
    prefix = "[1,0]<stdout>: "
    before = SWEEP[: SWEEP.index(" 131072")]
    for end in range(len(prefix)):
        found, parsed = read(prefixed(before, lambda _: prefix) + prefix[:end])
        assert found == read(before)[0]
        assert parsed.problems


def test_the_incomplete_line_stays_the_last_one():
    """Sorting by origin must not give a row that was cut off the line end of another line."""
    mixed = "a: 1 2\nb: 3 4\na: 5 6\nb: 7 8\na: 9 1"
    assert clean(mixed) == "3 4\n7 8\n1 2\n5 6\n9 1"


def test_digits_of_other_scripts_are_no_digits():
    assert read(SWEEP.replace("392.10", "\u0663\u0669\u0662.10"))[1].errors
    assert "\u0663" not in clean("\u0663")


def test_a_byte_order_mark_is_no_part_of_the_first_line():
    assert clean("\ufeff" + SWEEP) == SWEEP
