"""The text of the probe: one shell script for a node, and its output cut into sections."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from importlib.resources import files

from railgauge.stacks import Section, Stack

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def probe_script(rootfs: str, stack: Stack | None, nonce: str) -> str:
    """POSIX shell text for ``sh -c`` that prints every section of one node.

    ``rootfs`` is where the host's /sys, /proc and /etc are (``/``, ``/host``, or relative to the
    working directory of the command). ``nonce`` is a word that no output can contain by chance.
    """
    settings = f"R={shlex.quote(rootfs.rstrip('/'))}; N={shlex.quote(nonce)}"
    return "\n".join((settings, *_host_lines(), *_stack_lines(stack))) + "\n"


def _host_lines() -> Iterator[str]:
    text = files("railgauge.facts").joinpath("probe.sh").read_text(encoding="utf-8")
    return (line for line in text.splitlines() if line and not line.startswith("#"))


def _stack_lines(stack: Stack | None) -> Iterator[str]:
    if not stack:
        return
    # A command that still runs is known by its first word; its arguments are looked at later.
    names = dict.fromkeys(diagnostic.split()[0] for diagnostic in stack.diagnostics)
    yield " ".join(("section diagnostics named", *map(shlex.quote, names)))
    for name, text in stack.probe_commands.items():
        yield f"section {shlex.quote(name)} asked {shlex.quote(text)}"


def split_sections(output: str, nonce: str) -> dict[str, Section]:
    """The sections by name, without carriage returns and colour.

    A section that was cut off, or that appears twice, is kept with its problem and no exit code.
    """
    sections: dict[str, Section] = {}
    for found in _sections(output, nonce):
        known = found.name in sections
        sections[found.name] = Section(found.name, "", None, "printed twice") if known else found
    return sections


def _sections(output: str, nonce: str) -> Iterator[Section]:
    name, lines = "", list[str]()
    for line in output.replace("\r", "").split("\n"):
        mark = _mark(line, nonce)
        if not mark:
            lines.append(line)
            continue
        if mark[0] == "end" and mark[1] == name:
            yield Section(name, _text(lines), int(mark[2]))
        elif name:
            yield Section(name, _text(lines), None)
        name, lines = (mark[1] if mark[0] == "begin" else ""), []
    if name:
        yield Section(name, _text(lines), None)


def _mark(line: str, nonce: str) -> tuple[str, str, str] | None:
    """``begin NAME`` or ``end NAME EXITCODE`` of the probe itself, else nothing."""
    if not line.startswith(f"{nonce} "):
        return None
    match = re.fullmatch(r"(begin|end) (\S+)(?: (\d{1,3}))?", line[len(nonce) + 1 :])
    if not match or (match[1] == "end") != (match[3] is not None):
        return None
    return match[1], match[2], match[3] or ""


def _text(lines: list[str]) -> str:
    # The probe starts its end mark on a line of its own, which adds one line end.
    return _ESCAPES.sub("", "\n".join(lines)).removesuffix("\n")
