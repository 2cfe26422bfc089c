"""What nodes print moves no cursor and sets no title: in no summary of pytest, with -n K too."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from testing.acceptance import HOMELAB, SMOKE, make_project
from testing.standing_lab import StandingLab, standing_lab

PRINTED = "evil\x1b]0;title\x07\x1b[2J\x1b[1;1H\x08\x7f\x9b31m\r\u202e\u2066rubbed out"
SEEN = "rubbed out"
# The whole ladder takes longer, and shows no other way to the terminal.
WORDS = ("tests/preflight/test_host.py", "tests/network", "-k", "governor or write_bandwidth")
WAYS = {
    "all": ("-rA", "--tb=long", "-v", "--no-gates"),
    "workers": ("-ra", "--tb=short", "-v", "-n", "2", "--junitxml=own.xml"),
    "lines": ("-rA", "--tb=line", "-q", "-n", "2", "--color=yes", "--no-gates"),
}


def spoil(lab: StandingLab) -> None:
    for node in lab.logins:
        tool = lab.home(node) / "bin" / "ib_write_bw"
        tool.unlink()
        tool.write_text(
            f"#!/bin/sh\nprintf '%s\\n' '{PRINTED}'\nprintf '%s\\n' '{PRINTED}' >&2\nexit 3\n"
        )
        tool.chmod(0o755)
        for path in lab.file(node, "sys/devices/system/cpu").rglob("scaling_governor"):
            path.write_text(f"{PRINTED}\n")


@pytest.fixture(scope="module")
def spoilt(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, Path]]:
    folder = tmp_path_factory.mktemp("spoilt")
    with standing_lab(folder / "lab", "connectx4-homelab") as lab:
        spoil(lab)
        found = {}
        for name, options in WAYS.items():
            project = make_project(folder / name)
            run = project.run(*lab.hostfile(project), *SMOKE, *WORDS, *options)
            assert run.code in (1, 10)
            found[name] = (run.output, run.latest)
        return found


@pytest.mark.parametrize("way", WAYS)
def test_no_control_character_reaches_the_terminal(
    spoilt: dict[str, tuple[str, Path]], way: str
) -> None:
    reported, _ = spoilt[way]
    assert SEEN in reported  # what the nodes printed is shown, so this proves something
    plain = reported.replace("\x1b[", "") if way == "lines" else reported  # pytest's own colours
    strange = {char for char in plain if not char.isprintable()} - {"\n", "\t"}
    assert strange == set()
    assert "\x1b]" not in reported
    assert "\x1b[2J" not in reported
    assert "\x1b[1;1H" not in reported


@pytest.mark.parametrize("way", WAYS)
def test_junit_is_read_and_holds_none(spoilt: dict[str, tuple[str, Path]], way: str) -> None:
    _, folder = spoilt[way]
    text = (folder / "junit.xml").read_text(encoding="utf-8")
    assert SEEN in text
    ElementTree.fromstring(text)
    assert not {char for char in text if not char.isprintable()} - {"\n", "\t", "\r"}


SECRET = "hunT3rq7Z"
_PLUGIN = f"""
def pytest_report_header():
    return ["password: {SECRET}", "title \\x1b]0;title\\x07 seen"]
def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line("GIT_URL is https://bot:{SECRET}@git.example/x.git")
"""


@pytest.mark.parametrize("workers", [(), ("-n", "1")])
def test_what_other_plugins_print_is_masked_too(tmp_path: Path, workers: tuple[str, ...]) -> None:
    """CI servers give URLs with passwords to pytest-metadata, which prints them with -v."""
    project = make_project(tmp_path / "site")
    project.write("tests/talking.py", _PLUGIN)
    (project.folder / "conftest.py").open("a").write('pytest_plugins += ["tests.talking"]\n')
    words = (*HOMELAB, *SMOKE, "-v", "-k", "governor", "--metadata", "SITE_TOKEN", SECRET)
    words += ("--metadata", "GIT_URL", f"https://bot:{SECRET}@git.example", "--html=own.html")
    run = project.run(*words, *workers)
    assert run.code == 10, run.output
    assert "title" in run.output
    assert "GIT_URL is https://bot:[secret]@git.example/x.git" in run.output
    assert "'SITE_TOKEN': '[secret]'" in run.output
    assert SECRET not in run.output
    assert "\x1b]" not in run.output
    report = (project.folder / "own.html").read_text(encoding="utf-8")
    assert "https://bot:[secret]@git.example" in report
    assert SECRET not in report
