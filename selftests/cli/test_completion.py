"""What ``railgauge completion`` prints, in real shells: keys are typed on a terminal."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from testing.programs import asked
from testing.waiting import wait_until

SHELLS = ("bash", "zsh", "fish", "tcsh")
TERMINAL = "vt100"  # without one, tcsh does not edit lines
TYPED = {
    "comple\tzs\t": ["completion", "zsh"],
    "plan --lev\tsmo\t": ["plan", "--level", "smoke"],
    "parse perft\t": ["parse", "perftest"],
    "check hostfiles/mi\t": ["check", "hostfiles/mine.yaml"],
    "plan --level smoke --hostfile hostf\tmi\t":
        ["plan", "--level", "smoke", "--hostfile", "hostfiles/mine.yaml"],
    "triage reports/2026\t": ["triage", "reports/20261130-021500-lab/"],
    "init hostf\t": ["init", "hostfiles/"],
}  # fmt: skip
# The start-up files of these shells, with the lines of EXAMPLE.
START = {
    "bash": (".bashrc", 'eval "$(cat {script})"'),
    "zsh": (".zshrc", 'autoload -Uz compinit && compinit -u\neval "$(cat {script})"'),
    "tcsh": (".tcshrc", "set edit\nsource {script}"),
}
WORDS = "words"


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scripts")
    program = "from railgauge.cli import main; raise SystemExit(main())"
    for shell in SHELLS:
        done = subprocess.run(
            [sys.executable, "-c", program, "completion", shell],
            capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
        (folder / shell).write_text(done.stdout)
    return folder


@pytest.fixture
def site(tmp_path):
    """A folder with a hostfile, a run, and a ``railgauge`` that notes the words that it gets."""
    for name in ("hostfiles", "reports/20261130-021500-lab", "bin"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "hostfiles" / "mine.yaml").touch()
    program = tmp_path / "bin" / "railgauge"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >{WORDS}.part && mv {WORDS}.part {WORDS}\n')
    program.chmod(0o755)
    return tmp_path


def environment(site: Path) -> dict[str, str]:
    path = f"{site / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return {"PATH": path, "HOME": str(site), "TERM": TERMINAL, "LC_ALL": "C.UTF-8"}


def typed(shell: str, keys: str, site: Path) -> list[str]:
    """The words that the program got after these keys on a terminal of the shell."""
    ours, theirs = pty.openpty()
    started = subprocess.Popen(
        [asked(shell), "-i"], cwd=site, env=environment(site),
        stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    os.set_blocking(ours, False)
    screen = bytearray()

    def has_run() -> bool:
        with suppress(BlockingIOError, OSError):
            screen.extend(os.read(ours, 4096))
        return (site / WORDS).is_file()

    try:
        os.write(ours, f"railgauge {keys}\n".encode())
        wait_until(has_run, 20.0, f"{shell} to run the completed line")
    except AssertionError as error:
        pytest.fail(f"{error}; the screen:\n{screen.decode(errors='replace')}")
    finally:
        started.kill()
        started.wait()
        os.close(ours)
    return (site / WORDS).read_text().splitlines()


@pytest.mark.parametrize("shell", START)
@pytest.mark.parametrize("keys", TYPED)
def test_keys_on_a_terminal_are_completed(scripts, site, shell, keys):
    name, lines = START[shell]
    (site / name).write_text(lines.format(script=scripts / shell) + "\n")
    got = typed(shell, keys, site)
    assert [word.rstrip("/") for word in got] == [word.rstrip("/") for word in TYPED[keys]]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("railgauge comple", ["completion"]),
        ("railgauge completion z", ["zsh"]),
        ("railgauge plan --lev", ["--level"]),
        ("railgauge plan --level s", ["smoke", "signoff"]),
        ("railgauge check hostfiles/m", ["hostfiles/mine.yaml"]),
        ("railgauge init h", ["hostfiles/"]),
    ],
)
def test_fish_completes_a_line(scripts, site, line, found):
    done = subprocess.run(
        [asked("fish"), "-c", f"source {scripts / 'fish'}; complete -C '{line}'"],
        cwd=site, env=environment(site), capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert [row.partition("\t")[0] for row in done.stdout.splitlines()] == found


def test_a_shell_that_cannot_be_helped_is_bad_usage(railgauge):
    code, out, err = railgauge("completion", "cmd")
    assert (code, out) == (2, "")
    assert "invalid choice: 'cmd'" in err


def test_json_has_the_script(railgauge, scripts):
    code, out, _ = railgauge("completion", "bash", "--json")
    assert code == 0
    found = json.loads(out)
    assert (found["shell"], found["script"] + "\n") == ("bash", (scripts / "bash").read_text())


def test_no_other_command_imports_shtab():
    program = "import sys; from railgauge.cli import COMMANDS, parser; parser(COMMANDS)"
    done = subprocess.run(
        [sys.executable, "-c", f"{program}; print('shtab' in sys.modules)"],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert done.stdout == "False\n"
