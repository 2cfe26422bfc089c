"""Scripts in texts of nodes and files: no page that railgauge makes runs them.

A hundred of them stand in what the tools and the kernels of a lab print, in the facts of its nodes,
in hostfile, limits, deviations and the operator's name. A browser opens each page.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from testing.acceptance import SMOKE, Project, Run, make_project
from testing.devtools import Tab
from testing.standing_lab import StandingLab, standing_lab
from testing.xss_payloads import PAYLOADS

from railgauge.cli import main

PLATFORM = "connectx4-homelab"
# One that stands in every page: what was planted did arrive there.
FIRST = PAYLOADS[0]
LINES = [text for text in PAYLOADS if text.isprintable()]
# Before any script of a page: what every payload calls.
ARMED = "window.pwned = () => { window.isPwned = true }"
FOUND = """(() => {
  const made = [...document.querySelectorAll(
    "x-pwned, [data-pwned], base, embed, object, marquee")];
  const places = ["href", "src", "srcdoc", "action", "style", "data", "xlink:href"];
  const says = (each) => each.value.includes("pwned")
    && (each.name.startsWith("on") || places.includes(each.name));
  made.push(...[...document.querySelectorAll("*")].filter((one) => [...one.attributes].some(says)));
  return {ran: window.isPwned === true, made: made.map((one) => one.outerHTML.slice(0, 200)),
          text: document.documentElement.textContent.includes("pwned()")};
})()"""


def plant(lab: StandingLab, folder: Path) -> None:
    """Plant all of them in the output of the nodes' tools, their kernels and their files."""
    output, kernel = folder / "output.txt", folder / "kernel.txt"
    output.write_text("".join(f"{text}\n" for text in PAYLOADS))
    kernel.write_text("".join(f"3,{10**6 + n},{10**6 + n},-;{t}\n" for n, t in enumerate(LINES)))
    for node in lab.logins:
        home = lab.home(node)
        (home / "real").mkdir()
        for name, script in {
            "ib_write_bw": f"cat {output}\ncat {output} >&2\nexit 3\n",
            "dd": f'case "$*" in *kmsg*) cat {kernel} ;; esac\nexec {home}/real/dd "$@"\n',
        }.items():
            tool = home / "bin" / name
            (home / "real" / name).symlink_to(tool.readlink())
            tool.unlink()
            tool.write_text(f"#!/bin/sh\n{script}")
            tool.chmod(0o755)
        with lab.file(node, "proc/cpuinfo").open("a") as file:
            file.writelines(f"model name\t: {text}\n" for text in LINES)
        for number, path in enumerate(
            sorted(lab.file(node, "sys/devices/system/cpu").rglob("scaling_governor"))
        ):
            path.write_text(f"{LINES[number % len(LINES)]}\n")


def limits(document: dict[str, Any]) -> None:
    document["title"] = FIRST
    document["not_applicable"] = {
        name: f"{why} {LINES[number % len(LINES)]}"
        for number, (name, why) in enumerate(document["not_applicable"].items())
    }


def files(project: Project) -> tuple[str, ...]:
    project.edit_platform(PLATFORM, limits)
    accepted = [
        {"subject": "viper", "cause": cause, "reason": text, "who": text, "until": "2099-01-01"}
        for cause, text in zip(("cpu-governor", "slow-node", "link-down"), LINES, strict=False)
    ]
    project.write("accepted.yaml", json.dumps(accepted))
    return ("--deviations", "accepted.yaml", "--operator", FIRST)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("injected")
    project = make_project(folder / "site")
    quoted = [f": '{text}'" for text in LINES if "'" not in text]
    more = f"setup: {json.dumps(quoted)}\nenvironment: {json.dumps({'ODD': FIRST})}\n"
    more += f"fabric: {{none: {json.dumps(FIRST)}}}\n"
    with standing_lab(folder / "lab", PLATFORM) as lab:
        plant(lab, folder)
        words = (*lab.hostfile(project, more), *SMOKE, "--no-gates", *files(project))
        first = project.run(*words)
        assert first.code in (1, 10), first.output[-2000:]
        return project.run(*words, "tests/preflight")


@pytest.fixture(scope="module")
def pages(run: Run, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """All pages of two runs."""
    folder, reports = tmp_path_factory.mktemp("pages"), run.project.folder / "reports"
    first, second = sorted(p for p in reports.iterdir() if p.is_dir() and not p.is_symlink())
    found = {name: folder / f"{name}.html" for name in ("certificate", "trend", "compare")}
    main(["certificate", str(first), "-o", str(found["certificate"])])
    main(["trend", "--root", str(run.project.folder), "--html", str(found["trend"])])
    main(["compare", str(first), str(second), "--html", str(found["compare"])])
    return {"report": first / "report.html", **found}


@pytest.fixture(scope="module")
def allure(run: Run, generator: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("allure")
    first = sorted((run.project.folder / "reports").glob("2*"))[0]
    main(["allure", str(first), "--allure", generator, "-o", str(folder / "made")])
    return folder / "made" / "index.html"


def opened(tab: Tab, page: Path, *, scripts: bool = True) -> dict[str, Any]:
    tab.emulate(1280, scripts=scripts)
    tab.call("Page.addScriptToEvaluateOnNewDocument", source=ARMED)
    tab.open(page.resolve().as_uri())
    tab.of("new Promise(done => setTimeout(done, 1500))")
    found: dict[str, Any] = tab.of(FOUND)
    return found


@pytest.mark.parametrize("page", ["report", "certificate", "trend", "compare"])
def test_no_page_runs_the_text_of_a_node(pages: dict[str, Path], tab: Tab, page: str) -> None:
    found = opened(tab, pages[page])
    assert found["made"] == []
    assert not found["ran"]
    if page in ("report", "certificate"):
        assert found["text"]  # as text it is there


def test_allure_runs_no_text_of_a_node(allure: Path, tab: Tab) -> None:
    found = opened(tab, allure)
    own = f'<base href="{allure.resolve().as_uri()}">'  # Allure's page makes it, of its own place
    assert [one for one in found["made"] if one != own] == []
    assert not found["ran"]


def test_the_browser_detects_a_script_that_runs(tmp_path: Path, tab: Tab) -> None:
    """The counter-check: unescaped, the texts run and make elements, and the browser sees it."""
    page = tmp_path / "open.html"
    page.write_text(
        f"<!DOCTYPE html><meta charset=utf-8><p>{FIRST}</p><a {LINES[-1]}>x</a><x-pwned>"
    )
    found = opened(tab, page)
    assert found["ran"]
    assert found["made"]


def test_each_payload_is_one(tmp_path: Path) -> None:
    assert len(PAYLOADS) >= 100
    assert all("pwned" in text for text in PAYLOADS)
