"""The console command: output and exit codes, and one line instead of a traceback."""

import io
import json
import re
import shutil
import subprocess
import sys

import pytest
from testing import programs
from testing.core_values import (
    ROOT,
    TRANSCRIPTS,
    document,
    limit_of,
    measurement_of,
    needs_transcripts,
    one_line,
    put,
)

HEADING = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
RULE = "-" * 87 + "\n"
TABLE = (
    RULE
    + "                    RDMA_Write BW Test\n"
    + " Dual-port       : OFF          Device         : mlx5_0\n"
    + " Number of qps   : 1            Transport type : IB\n"
    + RULE
    + HEADING
    + " 4194304    5000             392.31             392.30             0.011691\n"
    + " 8388608    5000             392.26             392.25             0.005845\n"
    + RULE
)
SLOW = TABLE.replace("392.26", "39.22").replace("392.25", "39.20").replace("0.005845", "0.000584")
LAB = ROOT / "hostfiles" / "lab-metax-c500.yaml"


def judging(file, *more, platform="metax-c500", tool="perftest"):
    return ("judge", "--root", ROOT, "--platform", platform, "--tool", tool, *more, file)


def console(*argv, stdin=b"", **options):
    """The command in its own process, as a shell would start it."""
    command = [sys.executable, "-c", "from railgauge.cli import main; raise SystemExit(main())"]
    return subprocess.run(
        [*command, *map(str, argv)], input=stdin, capture_output=True, timeout=30, check=False,
        **options,
    )  # fmt: skip


# --- parse ---


def test_parse_prints_the_contract_s_json(railgauge, log):
    code, out, err = railgauge("parse", "perftest", log(TABLE))
    data = json.loads(out)
    assert (code, err) == (0, "")
    assert {"tool", "tool_version", "samples", "summary", "problems"} <= set(data)
    assert data["tool"] == "perftest"
    average = [s for s in data["samples"] if s["metric"] == "bw_average"]
    assert [(s["size_bytes"], s["value"], s["unit"]) for s in average] == [
        (4194304, 392.30, "Gb/s"), (8388608, 392.25, "Gb/s"),
    ]  # fmt: skip


def test_parse_reads_standard_input(railgauge, log, monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO(TABLE.encode()))
    monkeypatch.setattr(sys, "stdin", stdin)
    from_stdin = railgauge("parse", "perftest", "-")
    assert from_stdin == railgauge("parse", "perftest", log(TABLE))


@pytest.mark.parametrize(
    "text",
    ["", "\n", "hello\n", b"\x00\xff\xfe" * 500, "{}", "[" * 50_000, TABLE[:-400], HEADING,
     TABLE.replace("392.25", "nan"), TABLE.replace("392.25", "inf"),
     TABLE.replace("392.25", "1e999"), TABLE.replace("392.25", "-392.25")],
)  # fmt: skip
def test_a_faulty_output_gives_json_with_problems_and_not_0(railgauge, log, text):
    code, out, _ = railgauge("parse", "perftest", log(text))
    data = json.loads(out, parse_constant=pytest.fail)
    assert code == 10
    assert not data["samples"] or any(p["severity"] == "error" for p in data["problems"])


def test_the_output_of_another_tool_is_not_read_as_this_one_s(railgauge, log):
    iperf = (
        "[ ID] Interval           Transfer     Bandwidth\n[  3]  0.0-10.0 sec  11 GB  9.4 Gb/s\n"
    )
    code, out, _ = railgauge("parse", "perftest", log(iperf))
    assert code == 10
    assert json.loads(out)["samples"] == []


# --- judge ---


def test_a_healthy_table_is_accepted(railgauge, log):
    code, out, err = railgauge(*judging(log(TABLE)))
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == "accepted: asserted 2 values, 0 errors"
    assert "basis 000: 4.1" in out


def test_judge_prints_json(railgauge, log):
    code, out, _ = railgauge(*judging(log(TABLE), "--json"))
    data = json.loads(out)
    assert code == 0
    assert data["verdict"] == "accepted"
    assert data["measurement"] == "host_write_bandwidth"
    first = data["judgements"][0]
    assert (first["outcome"], first["floor"], first["worst"]) == ("passed", 372.7, 392.30)
    assert first["physical_ceiling"] == 400.0


def test_one_slow_size_rejects(railgauge, log):
    code, out, _ = railgauge(*judging(log(SLOW)))
    assert code == 1
    assert out.splitlines()[-1].startswith("rejected")


def test_a_size_of_the_level_that_was_not_printed_is_an_error(railgauge, log):
    without = "".join(line for line in TABLE.splitlines(True) if "8388608" not in line)
    code, out, _ = railgauge(*judging(log(without)))
    assert code == 10
    assert "no bw_average at 8MiB" in out
    assert out.splitlines()[-1].startswith("incomplete")


def test_the_level_says_which_sizes_must_be_there(railgauge, log):
    code, out, _ = railgauge(*judging(log(TABLE), "--level", "nightly"))
    assert code == 10
    assert "no bw_average at 1MiB" in out


def test_a_size_without_a_limit_is_not_passed_over(railgauge, log):
    row = " 16777216   5000             392.26             392.25             0.002922\n"
    more = TABLE.removesuffix(RULE) + row + RULE
    code, out, _ = railgauge(*judging(log(more)))
    assert code == 10
    assert "16MiB host has no limit" in out


def test_faster_than_the_link_is_no_acceptance(railgauge, log):
    fast = TABLE.replace("392.26", "792.26").replace("392.25", "792.25")
    fast = fast.replace("0.005845", "0.011806")
    code, out, _ = railgauge(*judging(log(fast)))
    assert code == 10
    assert "physical ceiling" in out


def test_a_limit_under_calibration_does_not_sign_off(railgauge, log, tmp_path):
    doc = document()
    limit_of(doc)["record_only"] = True
    put(tmp_path / "thresholds", doc)
    arguments = ("--root", tmp_path, "--platform", "bench", "--tool", "perftest")
    code, out, _ = railgauge("judge", *arguments, log(TABLE))
    assert code == 10
    assert "record_only" in out


def test_a_platform_with_a_hole_is_refused_before_anything_is_judged(railgauge, log, tmp_path):
    doc = document()
    measurement_of(doc)["limits"] = []
    put(tmp_path / "thresholds", doc)
    arguments = ("--root", tmp_path, "--platform", "bench", "--tool", "perftest")
    code, out, err = railgauge("judge", *arguments, log(TABLE))
    assert (code, out) == (2, "")
    assert err.startswith("railgauge: 3 complaints about the input:\n")
    assert [line.endswith("has no limit") for line in err.splitlines()[1:]] == [True] * 3


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"metric": "latency_us", "unit": "us"}, "perftest prints no latency_us; its metrics: "),
        ({"metric": "lat_avg", "unit": "us"}, "lat_avg has only a floor"),
        ({"unit": "us"}, "bw_average cannot be measured in us"),
    ],
)
def test_a_limit_in_the_wrong_direction_is_refused_by_judge_and_plan(
    railgauge, log, tmp_path, changed, says
):
    """With only ``floor: 5`` as its limit, a ``latency_us`` of 1000 us once passed."""
    doc = document()
    limit_of(doc).update(floor=5, **changed)
    measurement_of(doc)["asserts"] = [limit_of(doc)["metric"]]
    put(tmp_path / "thresholds", doc)
    (tmp_path / "hostfiles").mkdir()
    shutil.copy(ROOT / "hostfiles" / "schema.json", tmp_path / "hostfiles")
    hosts = log("cluster: x\nplatform: bench\nnodes: n[1-2]\n", "hosts.yaml")
    for words in (
        ("judge", "--root", tmp_path, "--platform", "bench", "--tool", "perftest", log(TABLE)),
        ("plan", "--root", tmp_path, "--hostfile", hosts),
    ):
        code, out, err = railgauge(*words)
        assert (code, out) == (2, "")
        assert says in one_line(err)
        assert "/measurements/host_write_bandwidth/limits/0" in err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no known test"),
        (b"\x00\xff", "no known test"),
        (TABLE.replace("RDMA_Write BW", "Atomic BW"), "ib_atomic_bw"),
        ("[  3]  0.0-10.0 sec  11 GB  9.4 Gb/s\n", "no known test"),
    ],
)
def test_an_output_that_fits_no_measurement_is_not_judged(railgauge, log, text, says):
    code, out, err = railgauge(*judging(log(text)))
    assert (code, out) == (2, "")
    assert says in one_line(err)
    assert "--measurement" in err


def test_a_measurement_that_is_named_is_taken(railgauge, log):
    """Rows alone show the measurement only if the option names it, and never the pairing."""
    rows = log(TABLE[TABLE.index(HEADING) :])
    assert railgauge(*judging(rows))[0] == 2
    for name, ended in (("gpu_write_bandwidth", 10), ("host_write_bandwidth", 0)):
        code, out, _ = railgauge(*judging(rows, "--measurement", name))
        assert out.startswith(name)
        assert code == ended
    code, _, err = railgauge(*judging(log(TABLE), "--measurement", "nonsense"))
    assert code == 2
    one_line(err)


HEALTHY = ("host", "gpu0-mlx5_0", "gpu4-mlx5_1")


@needs_transcripts
@pytest.mark.parametrize("which", HEALTHY)
@pytest.mark.parametrize("level", ["smoke", "nightly", "signoff"])
def test_the_recorded_healthy_transcripts_are_accepted(railgauge, which, level):
    path = TRANSCRIPTS / f"metax-ib_write_bw-{which}.txt"
    code, out, err = railgauge(*judging(path, "--level", level))
    assert (code, err) == (0, ""), out
    assert "asserted 23 values, 0 errors" in out


@needs_transcripts
@pytest.mark.parametrize("which", HEALTHY)
def test_a_copy_that_is_ten_times_slower_at_the_end_is_rejected(railgauge, log, which):
    lines = (TRANSCRIPTS / f"metax-ib_write_bw-{which}.txt").read_text().splitlines()
    slow = [
        " 8388608    5000             39.25              39.20              0.000584"
        if line.startswith(" 8388608") else line
        for line in lines
    ]  # fmt: skip
    assert slow != lines
    code, out, _ = railgauge(*judging(log("\n".join(slow))))
    assert code == 1, out
    assert "39.2 Gb/s" in out


@needs_transcripts
def test_no_part_of_a_transcript_is_accepted_but_the_whole_table(railgauge, log):
    text = (TRANSCRIPTS / "metax-ib_write_bw-host.txt").read_text()
    end = text.index("392.25") + len("392.25")
    for cut in range(200, end, 67):
        code, out, _ = railgauge(*judging(log(text[:cut])))
        assert code != 0, text[:cut][-120:] + out


# --- bad usage ---


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (("parse", "abacus", "x"), "unknown tool 'abacus'"),
        (("parse", "perftest", "/none/x.log"), "/none/x.log: cannot be read"),
        (("parse", "perftest", "/"), "cannot be read"),
        (judging("/none", platform="h2000"), "unknown platform 'h2000'"),
        (judging("/none", tool="abacus"), "unknown tool 'abacus'"),
        (judging("/none"), "/none: cannot be read"),
        (("judge", "--root", "/none", "--platform", "p", "--tool", "perftest", "x"), "--root"),
        (("plan", "--root", ROOT, "--hostfile", "/none.yaml"), "/none.yaml: cannot be read"),
        (("lab", "--root", ROOT, "--hostfile", "/none.yaml", "up"), "/none.yaml: cannot be read"),
    ],
)  # fmt: skip
def test_bad_input_gives_one_line_and_code_2(railgauge, argv, says):
    code, out, err = railgauge(*argv)
    assert (code, out) == (2, "")
    assert says in one_line(err)


@pytest.mark.parametrize(
    "argv",
    [(), ("dance",), ("parse",), ("parse", "perftest"), ("judge", "x"), ("plan",),
     ("plan", "--hostfile", LAB, "--rounds", "0"), ("plan", "--hostfile", LAB, "--rounds", "x"),
     ("plan", "--hostfile", LAB, "--level", "heroic")],
)  # fmt: skip
def test_bad_usage_gives_code_2(railgauge, argv):
    code, out, err = railgauge(*argv)
    assert (code, out) == (2, "")
    assert "usage:" in err


def test_the_help_lists_every_module_that_is_a_command(railgauge):
    _, out, _ = railgauge("--help")
    modules = (path for path in (ROOT / "src/railgauge/cli").glob("*.py"))
    with_a_help = [path.stem for path in modules if "\nHELP = " in path.read_text("utf-8")]
    assert len(with_a_help) > 20
    listed = re.findall(r"^    (\S+)", out, re.MULTILINE)
    assert sorted(listed) == sorted(name.replace("_", "-") for name in with_a_help)


def test_a_command_imports_no_other_command():
    """Importing all of them takes half a second."""
    code = (
        "import contextlib, sys; from railgauge.cli import main\n"
        "with contextlib.suppress(SystemExit):\n    main(['parse', '--help'])\n"
        "print('imported:', *(name for name in sys.modules if name.startswith('railgauge.cli.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported = done.stdout.partition("imported:")[2].split()
    assert sorted(imported) == ["railgauge.cli.parse", "railgauge.cli.text"]


def test_help_gives_code_0(railgauge):
    for argv in (("--help",), ("judge", "--help"), ("--version",)):
        code, out, err = railgauge(*argv)
        assert (code, err) == (0, "")
        assert "railgauge" in out


# --- in its own process ---


def test_standard_input_and_exit_codes_work_through_a_shell():
    accepted = console(*judging("-"), stdin=TABLE.encode())
    assert accepted.returncode == 0, accepted.stderr
    rejected = console(*judging("-"), stdin=SLOW.encode())
    assert rejected.returncode == 1
    assert b"Traceback" not in rejected.stderr


@pytest.mark.parametrize("argv", [("parse", "perftest", "-"), judging("-")])
def test_a_terminal_that_knows_only_ascii_gets_its_answer(argv):
    printed = TABLE.replace("mlx5_0", "mlx5_é").encode()
    found = console(*argv, stdin=printed, env={"PYTHONIOENCODING": "ascii", "PATH": ""})
    assert b"Traceback" not in found.stderr
    if argv[0] == "parse":
        assert found.returncode == 0
        assert json.loads(found.stdout)["summary"]["device"] == "mlx5_é"
    else:  # the platform has no such device, so no measurement of it fits
        assert found.returncode == 2
        assert b"not one of mlx5_0, mlx5_1 for host_write_bandwidth" in found.stderr


@pytest.mark.parametrize("argv", [("--json",), ()])
def test_a_closed_pipe_turns_no_rejection_into_0(log, argv):
    words = " ".join(map(str, judging(log(SLOW), *argv)))
    shell = (
        f"{sys.executable} -c 'from railgauge.cli import main; raise SystemExit(main())' {words}"
        " | true; echo ${PIPESTATUS[0]}"
    )
    found = subprocess.run(
        [programs.asked("bash"), "-c", shell], capture_output=True, timeout=30, check=False
    )
    assert b"Traceback" not in found.stderr
    assert b"BrokenPipe" not in found.stderr
    assert found.stdout.strip() in (b"1", b"141")
