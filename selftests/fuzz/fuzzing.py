"""Tries changed texts on every reader for a time, by chance or by coverage.

    python selftests/fuzz/fuzzing.py [--seconds S] [--seed N] [--coverage] [TARGET ...]

A text that fails is shortened and kept in ``selftests/fuzz/kept``, which the selftests read from
then on. ``--coverage`` needs atheris: each target then has a process of its own, and texts that
reach new code stay in ``.cache/fuzz``. Exit code 1: something failed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from testing.fuzz_changes import changed
from testing.fuzz_checks import KEPT, Target
from testing.fuzz_targets import targets
from testing.places import ROOT

FOUND = ROOT / ".cache" / "fuzz"
_RUNS = re.compile(r"stat::number_of_executed_units: *(\d+)")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=600, help="for all targets together")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--coverage", action="store_true", help="by coverage, with atheris")
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    asked = parser.parse_args()
    names = asked.targets or list(targets())
    search = by_coverage if asked.coverage else by_chance
    tried = failed = 0
    for name in names:
        of_name, failures = search(targets()[name], asked.seconds / len(names), asked.seed)
        tried, failed = tried + of_name, failed + failures
        print(f"{name}: {of_name} inputs, {failures} failures", flush=True)
    printed = {"targets": len(names), "inputs": tried, "failures": failed, "seed": asked.seed}
    print(json.dumps({"by": search.__name__, **printed}))
    return 1 if failed else 0


def by_chance(target: Target, seconds: float, seed: int) -> tuple[int, int]:
    """How many texts were tried, and how many different failures there were."""
    chance, seeds = random.Random(f"{seed} {target.name}"), target.seeds
    until, tried, failures = time.process_time() + seconds, 0, set[str]()
    while time.process_time() < until:
        text = changed(chance.choice(seeds), seeds, chance.randrange)
        tried += 1
        if (why := failure(target, text)) and why not in failures:
            failures.add(why)
            keep(target, text, why)
    return tried, len(failures)


def failure(target: Target, text: str) -> str:
    """Where and how a text fails, without its numbers; empty if it does not."""
    try:
        target.check(text)
    except Exception as error:
        trace = error.__traceback__
        while trace and trace.tb_next:
            trace = trace.tb_next
        at = f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else ""
        return f"{at} {type(error).__name__} {re.sub('[0-9.]+', '', str(error))[:40]}"
    return ""


def keep(target: Target, text: str, why: str) -> None:
    short = shortened(text, lambda less: failure(target, less) == why)
    data = short.encode("utf-8", "surrogatepass")
    path = KEPT / target.name / f"found-{hashlib.sha256(data).hexdigest()[:8]}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    print(f"{target.name}: {why}: {short[:200]!r}: {path.name}", flush=True)


def shortened(text: str, still_fails: Callable[[str], bool]) -> str:
    """The text without all parts that are not needed to fail."""
    size = len(text) // 2
    while size:
        at = 0
        while at < len(text):
            less = text[:at] + text[at + size :]
            if still_fails(less):
                text = less
            else:
                at += size
        size //= 2
    return text


def by_coverage(target: Target, seconds: float, seed: int) -> tuple[int, int]:
    """The same, by libFuzzer, which ends at the first failure."""
    folder = FOUND / target.name
    folder.mkdir(parents=True, exist_ok=True)
    for number, text in enumerate(target.seeds):
        (folder / f"seed-{number}").write_bytes(text.encode("utf-8", "surrogatepass"))
    script = str(Path(__file__).with_name("by_coverage.py"))
    limits = [f"-max_total_time={max(1, round(seconds))}", "-max_len=8000", f"-seed={1 + seed}"]
    kept = [f"-artifact_prefix={folder}/failed-", "-print_final_stats=1"]
    argv = [sys.executable, script, target.name, *limits, *kept, str(folder)]
    done = subprocess.run(argv, capture_output=True, text=True, errors="replace", check=False)
    for path in folder.glob("failed-*"):
        text = path.read_bytes().decode("utf-8", "replace")
        keep(target, text, failure(target, text))
        path.unlink()
    runs = _RUNS.search(done.stderr)
    if not runs:
        print(done.stderr[-2000:])
    return int(runs[1]) if runs else 0, int(done.returncode != 0)


if __name__ == "__main__":
    sys.exit(main())
