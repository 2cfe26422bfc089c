"""A page in headless Chromium, driven over its debugging pipe: sizes, colour schemes, PDF, time."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from testing.browser import program

_FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--no-first-run", "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip
Json = dict[str, Any]


class Tab:
    """One tab. ``problems`` are errors of its scripts and of what it was not allowed to load.

    Cookies, storage and cache are its own, as if the browser had been started for it.
    """

    def __init__(
        self, send: Callable[[Json], None], messages: Iterator[Json], numbers: Iterator[int]
    ) -> None:
        self._send, self._messages, self._numbers = send, messages, numbers
        self._session = ""
        self.problems: list[str] = []
        self._context: str = self.call("Target.createBrowserContext")["browserContextId"]
        of = {"url": "about:blank", "browserContextId": self._context}
        target = self.call("Target.createTarget", **of)["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: object) -> Json:
        number = next(self._numbers)
        about = {"sessionId": self._session} if self._session else {}
        self._send({"id": number, "method": method, "params": params, **about})
        for message in self._messages:
            if message.get("id") == number:
                assert "error" not in message, message
                return dict(message["result"])
            self._note(message)
        raise AssertionError(f"the browser ended during {method}")

    def close(self) -> None:
        self._session = ""
        self.call("Target.disposeBrowserContext", browserContextId=self._context)

    def _note(self, message: Json) -> None:
        if message.get("sessionId") != self._session:
            return  # of an earlier tab
        if message.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown"):
            self.problems.append(json.dumps(message["params"])[:1000])

    def open(self, url: str) -> None:
        """Show a page, and return when it has loaded."""
        self.call("Page.navigate", url=url)
        for message in self._messages:
            self._note(message)
            is_own = message.get("sessionId") == self._session
            if is_own and message.get("method") == "Page.loadEventFired":
                return

    def emulate(
        self, width: int, height: int = 900, *, dark: bool = False, scripts: bool = True
    ) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 500,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)

    def of(self, script: str) -> Any:
        """Return the value of an expression in the page, after its promise."""
        reported = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in reported, reported
        return reported["result"].get("value")

    def press(self, key: str, code: int) -> None:
        """Press a key of the keyboard, such as Tab (9) or Enter (13)."""
        about: Json = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        text = {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", **about, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **about)

    def height(self) -> int:
        return round(self.call("Page.getLayoutMetrics")["cssContentSize"]["height"])

    def picture(self, path: Path, top: int = 0, most: int = 6000, width: int = 1440) -> None:
        height = max(1, min(self.height() - top, most))
        clip = {"x": 0, "y": top, "width": width, "height": height, "scale": 1}
        data = self.call("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)["data"]
        path.write_bytes(base64.b64decode(data))

    def pdf(self, path: Path) -> None:
        path.write_bytes(
            base64.b64decode(self.call("Page.printToPDF", preferCSSPageSize=True)["data"])
        )


@contextmanager
def tab() -> Iterator[Tab]:
    """A tab in a browser of its own, which ends with the block."""
    with tabs() as new:
        yield new()


@contextmanager
def tabs() -> Iterator[Callable[[], Tab]]:
    """A function that makes tabs in a browser, which ends with the block."""
    name = program()
    assert name
    (their_in, our_out), (our_in, their_out) = os.pipe(), os.pipe()
    with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = subprocess.Popen(
            [_shell(), "-c", 'exec 3<&"$1" 4>&"$2"; shift 2; exec "$@"', "sh",
             str(their_in), str(their_out), name, *_FLAGS, f"--user-data-dir={profile}"],
            pass_fds=(their_in, their_out), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(their_in)
        os.close(their_out)
        try:
            with os.fdopen(our_in, "rb") as answers, os.fdopen(our_out, "wb", 0) as asked:
                messages, numbers = _messages(answers), count(1)
                yield lambda: Tab(lambda one: _write(asked, one), messages, numbers)
        finally:
            browser.terminate()
            browser.wait()


def _shell() -> str:
    return shutil.which("bash") or "sh"


def _write(asked: Any, message: Json) -> None:
    asked.write(json.dumps(message).encode() + b"\0")


def _messages(answers: Any) -> Iterator[Json]:
    held = b""
    while part := answers.read1(1 << 20):
        held += part
        *whole, held = held.split(b"\0")
        yield from map(json.loads, whole)
