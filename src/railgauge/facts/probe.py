"""The text of the probe, one shell script for a node, and the sections of its output.

With the nonce ``ab12``, the section ``kernel`` is printed as::

    ab12 begin kernel
    6.8.0-45-generic

    ab12 end kernel 0
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from importlib.resources import files

from railgauge.core import digits
from railgauge.core.terms import Term
from railgauge.stacks import Section, Stack

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


# The programs of the probe that a node may have in a folder of its own.
PROGRAMS = (
    *("nvidia-smi", "nv-fabricmanager", "amd-smi", "rocm-smi", "mx-smi"),
    *("ibv_devinfo", "ibv_devices", "ibdev2netdev", "show_gids", "ofed_info", "lspci", "ethtool"),
    *("nvme", "smartctl"),
)


# The sections that only root can read, or read in full.
_ROOTS = ("lspci", "kernel_log", "dmi", "nvme_smart")
_SECTION = "section "


class ProbePart(Term):
    """Which sections a script of the probe prints: all, those of the login user, or root's."""

    ALL = "all"
    USER = "user"
    ROOT = "root"

    def has(self, line: str) -> bool:
        """Whether a line of the script belongs to this part; all functions belong to each."""
        if self is ProbePart.ALL or not line.startswith(_SECTION):
            return True
        return (line.split()[1] in _ROOTS) == (self is ProbePart.ROOT)


def probe_script(
    rootfs: str,
    stack: Stack | None,
    nonce: str,
    folders: Sequence[str] = (),
    part: ProbePart = ProbePart.ALL,
) -> str:
    """Return the POSIX shell text, for ``sh -c``, that prints the sections of one node.

    ``rootfs`` is the folder of the host's /sys, /proc and /etc: ``/``, ``/host``, or a path
    relative to the working directory of the command. ``nonce`` is a word that no output contains
    by chance. ``folders`` are searched for programs before the PATH of the login.
    """
    settings = f"R={shlex.quote(rootfs.rstrip('/'))}; N={shlex.quote(nonce)}"
    if folders:
        settings += f"; PATH={':'.join(map(shlex.quote, folders))}:$PATH; export PATH"
    lines = (*lines_of("sections.sh"), *lines_of("probe.sh"), *_stack_lines(stack))
    return "\n".join((settings, *filter(part.has, lines))) + "\n"


def lines_of(name: str) -> Iterator[str]:
    """The lines of a script beside this module, without comments."""
    text = files("railgauge.facts").joinpath(name).read_text(encoding="utf-8")
    return (line for line in text.splitlines() if line and not line.startswith("#"))


def _stack_lines(stack: Stack | None) -> Iterator[str]:
    if not stack:
        return
    # The node finds running diagnostics by name only; ``parse`` compares their arguments.
    names = dict.fromkeys(diagnostic.split()[0] for diagnostic in stack.diagnostics)
    yield " ".join(("section diagnostics named", *map(shlex.quote, names)))
    for name, text in stack.probe_commands.items():
        yield f"section {shlex.quote(name)} asked {shlex.quote(text)}"


def split_sections(output: str, nonce: str) -> dict[str, Section]:
    """Return the sections by name, without colour codes and the like.

    A section that was cut off has no exit code; one that appears twice has no text and a problem.
    """
    sections: dict[str, Section] = {}
    for found in _sections(output, nonce):
        known = found.name in sections
        sections[found.name] = Section(found.name, "", None, "printed twice") if known else found
    return sections


def _sections(output: str, nonce: str) -> Iterator[Section]:
    name, lines = "", list[str]()
    for line in digits.of_ascii(output).replace("\r", "").split("\n"):
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
    """Return the parts of a line ``begin NAME`` or ``end NAME EXITCODE`` with the nonce.

    ``None`` for any other line.
    """
    if not line.startswith(f"{nonce} "):
        return None
    match = re.fullmatch(r"(begin|end) (\S+)(?: (\d{1,3}))?", line[len(nonce) + 1 :])
    if not match or (match[1] == "end") != (match[3] is not None):
        return None
    return match[1], match[2], match[3] or ""


def _text(lines: list[str]) -> str:
    # The probe prints a line end before its end mark.
    return _ESCAPES.sub("", "\n".join(lines)).removesuffix("\n")
