"""Untrusted text moves no cursor and shows no secret on the terminal of a command."""

import json

import pytest
from testing.core_values import ROOT

from railgauge.cli import main

LOG = """\
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 4194304    5000             392.31             392.30             0.011691
---------------------------------------------------------------------------------------
"""
HOSTILE = "evil\x1b]0;t\x07\x1b[2J\x08\x7f\x9b31m\u202e\u2066\U000e0001 seen"


@pytest.mark.parametrize("tool", ["perftest", "auto"])
def test_no_control_character_of_a_log_reaches_the_terminal(tool, tmp_path, capsys):
    """DEL, and the CSI of terminals with eight bits, are no control characters of JSON."""
    path = tmp_path / "log.txt"
    path.write_text(f"{LOG}Couldn't connect to {HOSTILE}:18515\n", encoding="utf-8")
    assert main(["parse", tool, str(path)]) == 10
    output = capsys.readouterr().out
    assert {c for c in output if not c.isprintable()} <= {"\n"}
    assert "seen" in str(json.loads(output)["problems"])


def test_no_control_character_of_an_argument_reaches_the_terminal(capsys):
    with pytest.raises(SystemExit):
        main(["triage", "a", HOSTILE])
    output = capsys.readouterr().err
    assert "seen" in output
    assert {c for c in output if not c.isprintable()} <= {"\n"}


def test_an_error_repeats_no_secret_of_a_hostfile(tmp_path, capsys):
    path = tmp_path / "c.yaml"
    path.write_text("cluster: c\nplatform: h200\nnodes: n1\ntransport: ssh --token hunT3rq7Z\n")
    assert main(["plan", "--hostfile", str(path), "--root", str(ROOT)]) == 2
    output = capsys.readouterr().err
    assert "ssh --token [secret]" in output
    assert "q7Z" not in output
