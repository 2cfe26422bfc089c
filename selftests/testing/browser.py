"""Headless Chromium on a page on disk: the rendered page, its console, and its requests."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome")
_TIME_LIMIT_S = 180
_FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--no-first-run", "--hide-scrollbars", "--host-resolver-rules=MAP * ~NOTFOUND",
    "--virtual-time-budget=20000", "--enable-logging=stderr", "--window-size=1280,900",
)  # fmt: skip
# Hosts that Chromium itself contacts for any page.
_OWN = ("google.com", "googleapis.com", "gvt1.com", "gstatic.com")


@dataclass(frozen=True)
class Seen:
    """The document after its scripts, console lines, and hosts that the page contacted."""

    dom: str
    console: list[str]
    hosts: set[str]

    @property
    def text(self) -> str:
        """The visible text: no scripts, no styles, no tags."""
        shown = re.sub(r"<(script|style)\b.*?</\1>", " ", self.dom, flags=re.DOTALL)
        return " ".join(re.sub(r"<[^>]*>", " ", shown).split())


def program() -> str | None:
    return next((found for name in NAMES if (found := shutil.which(name))), None)


def look(page: Path, folder: Path, then: str = "") -> Seen:
    """Show a page; ``then`` is JavaScript that runs a moment after it has loaded."""
    name = program()
    assert name
    folder.mkdir(parents=True, exist_ok=True)
    shown = page
    if then:
        shown = folder / f"then-{page.name}"
        script = f"<script>setTimeout(() => {{{then}}}, 2000)</script>"
        shown.write_text(page.read_text(encoding="utf-8") + script, encoding="utf-8")
    log = folder / "net.json"
    command = [name, *_FLAGS, f"--user-data-dir={folder / 'profile'}", f"--log-net-log={log}"]
    done = subprocess.run(
        [*command, "--dump-dom", shown.resolve().as_uri()],
        capture_output=True, text=True, errors="replace", timeout=_TIME_LIMIT_S, check=True,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return Seen(done.stdout, console, _hosts(log))


def _hosts(log: Path) -> set[str]:
    """The hosts of all requests, except Chromium's own."""
    found = re.findall(r'"url":"(?:https?|wss?)://([^/:"]+)', log.read_text(encoding="utf-8"))
    return {host for host in found if not host.endswith(_OWN)}


def at_phone_width(page: Path, folder: Path) -> dict[str, int]:
    """The width of the page and of its window, in a window as wide as a phone."""
    folder.mkdir(parents=True, exist_ok=True)
    inner, outer = folder / "inner.html", folder / "outer.html"
    tell = (
        "<script>setTimeout(() => parent.postMessage(JSON.stringify({"
        "page: document.documentElement.scrollWidth, window: innerWidth}), '*'), 1500)</script>"
    )
    inner.write_text(page.read_text(encoding="utf-8") + tell, encoding="utf-8")
    outer.write_text(
        "<script>onmessage = (event) => document.body.append('WIDTHS' + event.data + 'END')"
        f"</script><body><iframe src='{inner.name}' style='width:390px;height:800px;border:0'>",
        encoding="utf-8",
    )
    reported = re.search(r"WIDTHS(\{.*?\})END", look(outer, folder).dom)
    assert reported, "the page did not say how wide it is"
    widths: dict[str, int] = json.loads(reported[1])
    return widths
