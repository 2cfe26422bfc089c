"""``make kills``: runs that are killed at random moments, and carried on.

A run measures several pairs at once on a lab that stands by itself. ``kill -9`` ends it at a random
moment of its time. Afterwards no process of it may be left on a node, and ``--resume`` must end
with the verdict and the outcome of every item of a run that nobody disturbed.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from testing.acceptance import BARE_SMOKE, Project, Run, environment, make_project
from testing.standing_lab import StandingLab, standing_lab
from testing.waiting import pass_time, wait_until

_GONE_LIMIT_S = 30.0


def main() -> int:
    options = _options()
    chance = random.Random(options.seed)
    with TemporaryDirectory(prefix="railgauge-kills-") as name:
        folder = Path(name)
        size = ("--nodes", str(options.nodes))
        with standing_lab(folder / "lab", "connectx4-homelab", *size) as lab:
            whole = _run(lab, make_project(folder / "whole"), options.at_once)
            print(f"seed {options.seed}: undisturbed {whole.duration_s:.1f} s, {whole.counts}")
            wrong = 0
            for number in range(1, options.kills + 1):
                after_s = chance.uniform(0.2, 1.0) * whole.duration_s
                reported = _killed(
                    lab, make_project(folder / str(number)), options.at_once, after_s
                )
                complaint = reported if isinstance(reported, str) else _difference(reported, whole)
                wrong += bool(complaint)
                print(f"{number:3} killed after {after_s:5.1f} s: {complaint or 'as undisturbed'}")
                sys.stdout.flush()
    print(f"{options.kills - wrong} of {options.kills} ended as the undisturbed run did")
    return 1 if wrong else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="kill_study.py", description=__doc__)
    parser.add_argument("--kills", type=int, default=20, metavar="N")
    parser.add_argument("--nodes", type=int, default=6, metavar="N")
    parser.add_argument("--at-once", type=int, default=3, metavar="K")
    parser.add_argument("--seed", type=int, default=random.randrange(2**31), metavar="S")
    return parser.parse_args()


def _words(lab: StandingLab, project: Project, at_once: int) -> tuple[str, ...]:
    measured = (*BARE_SMOKE, "--rounds", "3", "--at-once", str(at_once))
    return (*lab.hostfile(project), *measured)


def _run(lab: StandingLab, project: Project, at_once: int, *more: str) -> Run:
    return project.run(*_words(lab, project, at_once), *more)


def _killed(lab: StandingLab, project: Project, at_once: int, after_s: float) -> Run | str:
    """The run that carries a killed one on, or what is wrong with the killed one."""
    process = subprocess.Popen(
        project.command(*_words(lab, project, at_once)),
        cwd=project.folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        env=environment(),
        start_new_session=True,
    )
    pass_time(after_s, "a random moment of the run")
    process.kill()
    process.wait()
    latest = project.folder / "reports" / "latest"
    if not latest.exists():
        return _run(lab, project, at_once)  # it had not begun
    tag = latest.resolve().name
    try:
        wait_until(lambda: not _processes_of(tag), _GONE_LIMIT_S, "the end of what it started")
    except AssertionError as error:
        return f"left on the nodes: {error}"
    again = () if (latest / "manifest.json").exists() else ("--resume", "latest")
    return _run(lab, project, at_once, *again)


def _processes_of(tag: str) -> list[str]:
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if f"RAILGAUGE_RUN={tag}".encode() in (entry / "environ").read_bytes():
                found.append((entry / "cmdline").read_text(errors="replace")[:60])
        except OSError:
            continue
    return found


def _difference(run: Run, whole: Run) -> str:
    """What differs from the undisturbed run; empty if nothing does."""
    if not run.latest or not (run.latest / "verdict.json").exists():
        return f"no verdict, exit code {run.code}: {_end_of(run.output)}"
    if run.code != whole.code:
        return f"exit code {run.code}, not {whole.code}: {_end_of(run.output)}"
    outcomes, expected = run.outcomes, whole.outcomes
    differing = [item for item in expected if outcomes.get(item) != expected[item]]
    others = sorted(set(outcomes) - set(expected))
    return "; ".join(f"{item}: {outcomes.get(item)}" for item in [*differing, *others][:3])


def _end_of(text: str, lines: Sequence[int] = range(-3, 0)) -> str:
    found = text.strip().splitlines()
    return " | ".join(found[line] for line in lines if -line <= len(found))


if __name__ == "__main__":
    sys.exit(main())
