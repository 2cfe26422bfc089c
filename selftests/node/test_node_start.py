"""What ``railgauge node`` imports until its first command, and in all: a prolog waits for it."""

from __future__ import annotations

import json
import subprocess
import sys

from testing import node_checks

# It says which modules there are at the first command, and at the end, with the memory used most.
NOTING = """
import json, re, sys
from railgauge.transport import local
from railgauge.cli import main

noted = []
start = local.started

def started(*argv):
    noted.append(sorted(sys.modules))
    return start(*argv)

local.started = started
main(sys.argv[1:])
(most_kib,) = re.findall(r"VmHWM:\\s*(\\d+) kB", open("/proc/self/status").read())
print(json.dumps([noted[:1], sorted(sys.modules), int(most_kib)]), file=sys.stderr)
"""
NEVER = {"pytest", "jsonschema", "cryptography", "asyncssh", "fabric", "paramiko", "railgauge_lab"}
LATER = {"railgauge.diagnosis", "railgauge.judging.judge", "railgauge.tools", "railgauge.run.store"}
MOST_KIB = 50 * 1024  # 38 MiB were measured


def noted(bench, *options):
    words = node_checks.words(bench, *options)
    argv = (sys.executable, "-c", NOTING, *words)
    done = subprocess.run(
        argv, cwd=bench.home(0), env=node_checks.here(bench), capture_output=True, text=True,
        timeout=node_checks.TIME_LIMIT_S, check=True,
    )  # fmt: skip
    first, every, most_kib = json.loads(done.stderr)
    return [set(modules) for modules in first], set(every), most_kib


def test_the_survey_begins_before_what_judges_is_imported(start_lab):
    bench = start_lab("h200")
    (first,), every, most_kib = noted(bench)
    assert not NEVER & every
    assert not LATER & first
    assert every >= LATER
    assert most_kib < MOST_KIB


def test_a_kept_result_is_told_without_what_makes_one(start_lab):
    bench = start_lab("connectx4-homelab")
    assert noted(bench)[0]
    first, every, _ = noted(bench, "--cache", "5")
    assert first == []
    assert not {*LATER, "railgauge.facts", "railgauge.config", "yaml", "cattrs"} & every
