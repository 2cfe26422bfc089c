"""The examples that run ``railgauge node`` for Slurm and node-problem-detector."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys

import pytest
from testing.node_checks import entered, hostfile, state
from testing.places import ROOT
from testing.programs import folder_of

from railgauge.cli import parser

FAULT = "port-down@viper:mlx5_0"
SINFO = "#!/bin/sh\nprintf '%s\\n' \"$SINFO_LINE\"\n"
SCONTROL = "#!/bin/sh\nprintf '<%s>' \"$@\"\n"


@pytest.fixture
def run(start_lab, tmp_path):
    """``run(script, *faults, printed=...)``: on a node whose state sinfo prints so."""
    basic = str(folder_of(tmp_path / "basic", "realpath", "hostname"))

    def run(script, *faults, printed="idle none"):
        bench = start_lab("connectx4-homelab", *faults)
        for name, text in {"sinfo": SINFO, "scontrol": SCONTROL}.items():
            (bench.home(0) / "bin" / name).write_text(text)
            (bench.home(0) / "bin" / name).chmod(0o755)
        name = bench.nodes[0].name
        made = entered(bench, tmp_path, script, basic, SINFO_LINE=printed, SLURMD_NODENAME=name)
        return subprocess.run([made], capture_output=True, text=True, timeout=60, check=False)

    return run


def outcome(done):
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("script", ["slurm-health.sh", "slurm-prolog.sh"])
def test_a_good_node_is_checked_in_silence(run, script):
    assert outcome(run(script)) == (0, "", "")


def test_a_node_with_a_fault_is_drained_with_the_cause(run):
    reason = "railgauge: link-down mlx5_0, simulated node check"
    drained = f"<update><nodename=viper><state=drain><reason={reason}>"
    assert outcome(run("slurm-health.sh", FAULT)) == (0, drained, "")
    failed = run("slurm-health.sh", FAULT, printed="drained Prolog error")
    assert outcome(failed) == (0, drained, "")


def test_a_node_that_somebody_drained_keeps_its_reason(run):
    assert outcome(run("slurm-health.sh", FAULT, printed="drained fan 3 is loud")) == (0, "", "")


def test_a_prolog_fails_for_a_fault_alone(run):
    printed = "node check (1): railgauge: link-down mlx5_0, simulated node check\n"
    assert outcome(run("slurm-prolog.sh", FAULT)) == (1, "", printed)
    unseen = run("slurm-prolog.sh", "tool-missing@viper:ibv_devinfo")
    assert (unseen.returncode, unseen.stdout) == (0, "")
    assert unseen.stderr.startswith("node check (10): viper: incomplete (simulated): ")


def test_a_setting_that_is_wrong_drains_no_node(run):
    done = run("slurm-health.sh", "governor@viper")
    assert (done.returncode, done.stdout) == (0, "")
    assert "viper: rejected (simulated): cpu-governor" in done.stderr


# --- node-problem-detector, as its documentation of custom plugins has it: what a plugin prints is
# --- its message, and its exit code is 0 for a good node, 1 for a problem, 2 for what is not known.
# --- The detector itself is in no registry that the tests may use.

PLUGIN = json.loads((ROOT / "examples" / "node-problem-detector.json").read_text(encoding="utf-8"))


@pytest.fixture
def detect(start_lab, tmp_path):
    """``detect(*faults)``: what the detector would make of the plugin on a node of a lab."""

    def detect(*faults):
        bench = start_lab("connectx4-homelab", *faults)
        (rule,) = PLUGIN["rules"]
        made = plugin(bench, tmp_path, rule["args"])
        limit_s = float(rule["timeout"].removesuffix("s"))
        done = subprocess.run([made], capture_output=True, text=True, timeout=limit_s, check=False)
        (line,) = done.stdout.splitlines()
        return done.returncode, line, done.stderr

    return detect


def plugin(bench, folder, args):
    """A script that runs the command of the plugin on the first node of the lab."""
    imports = "from railgauge.cli import main; raise SystemExit(main())"
    words = [word.replace("/opt/site/hostfiles/mine.yaml", str(hostfile(bench))) for word in args]
    words = [word.replace("/opt/site", str(ROOT)) for word in words]
    words += ["--name", bench.nodes[0].name, "--state", str(state(bench))]
    made = folder / "plugin"
    run = shlex.join((sys.executable, "-c", imports, *words))
    made.write_text(f"#!/bin/sh\ncd {bench.home(0)}\nexport PATH={bench.home(0)}/bin\nexec {run}\n")
    made.chmod(0o755)
    return made


@pytest.mark.parametrize(
    ("faults", "code", "says"),
    [
        ((), 0, "viper: accepted (simulated): "),
        ((FAULT,), 1, "railgauge: link-down mlx5_0, simulated node check"),
        (("governor@viper",), 0, "viper: rejected (simulated): cpu-governor"),
        (("tool-missing@viper:ibv_devinfo",), 2, "viper: incomplete (simulated): "),
        ((FAULT, "tool-missing@viper:ibv_devinfo"), 1, "railgauge: link-down mlx5_0"),
    ],
)
def test_node_problem_detector_gets_an_exit_code_and_one_line(detect, faults, code, says):
    found, line, _ = detect(*faults)
    assert found == code
    assert line.startswith(says)
    assert len(line) <= PLUGIN["pluginConfig"]["max_output_length"]
    assert line.isprintable()


def test_the_example_for_node_problem_detector_names_options_that_there_are(start_lab):
    (rule,), (condition,) = PLUGIN["rules"], PLUGIN["conditions"]
    assert rule["condition"] == condition["type"]
    bench = start_lab("connectx4-homelab")
    words = [word.replace("/opt/site/hostfiles/mine.yaml", str(hostfile(bench)))
             for word in rule["args"]]  # fmt: skip
    asked = parser(["node"]).parse_args(words)
    assert (asked.format, asked.busy) == ("npd", True)
    assert asked.budget < float(rule["timeout"].removesuffix("s"))
