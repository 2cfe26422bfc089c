"""The command that asks a node about itself, and its output, which is untrusted.

What may become a line of the hostfile runs on every node: it is taken only if it is a plain path or
name, whatever a node prints.
"""

from __future__ import annotations

import ipaddress
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files

from railgauge.core.model import Cluster, Command, Transcript
from railgauge.describing import bus
from railgauge.describing.readiness.model import NodeDisk, ProgramPlace, SelfReport
from railgauge.facts.probe import lines_of, split_sections
from railgauge.stacks import Section, section

TIME_LIMIT_S = 25.0
# No folder that everybody may write: a path that one node prints runs on the others.
_FOLDER = re.compile(
    r"/(?!tmp/|var/tmp/|dev/|proc/|run/|sys/)(?!.*\.\.)[A-Za-z0-9._+/-]{1,200}", re.ASCII
)
_MODULE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+/-]{0,100}", re.ASCII)
_DISK = re.compile(r"(/\S{0,200}) (\d{1,15}) (yes|no) (\S{1,500})", re.ASCII)
_MOST_ADDRESSES = 4


def command(cluster: Cluster, programs: Sequence[str], nonce: str) -> Command:
    """Return the command, which runs after ``setup`` as that of a tool does."""
    become = next((shlex.join(node.become) for node in cluster.nodes if node.become), "")
    settings = {
        "R": cluster.rootfs.rstrip("/"),
        "N": nonce,
        "NAMES": " ".join(programs),
        "BECOME": become,
    }
    head = "; ".join(f"{name}={shlex.quote(value)}" for name, value in settings.items())
    script = "\n".join((head, *lines_of("sections.sh"), text("ask.sh")))
    return Command("", ("sh", "-c", script), {}, TIME_LIMIT_S)


def text(name: str) -> str:
    """Return a script beside this module without its comments, which need not be sent."""
    lines = (
        files("railgauge.describing.readiness")
        .joinpath(name)
        .read_text(encoding="utf-8")
        .splitlines()
    )
    return "\n".join(line for line in lines if line and not line.lstrip().startswith("#"))


def parsed(done: Transcript, programs: Sequence[str], nonce: str) -> SelfReport:
    """Read the output. Never raises, whatever was printed."""
    parts = split_sections(done.stdout, nonce)
    found = {name: _lines(parts, name) for name in parts}
    who = found.get("who", [])
    return SelfReport(
        shell=who[0] if who else "",
        user=who[1] if len(who) > 1 else "",
        root=next(iter(found.get("root", [])), "")[:200],
        has_bash=section(parts, "bash").exit_code == 0,
        programs=_programs(_whole(parts, "programs"), programs),
        places=tuple(_places(found, programs)),
        bus=bus.parsed("\n".join(found.get("bus", []))),
        disks=tuple(_disks(found.get("disks", []))),
        addresses=tuple(_addresses(found.get("addresses", []))),
        cut=_why_cut(done, parts),
    )


def _lines(parts: Mapping[str, Section], name: str) -> list[str]:
    return section(parts, name).text.split("\n")


def _whole(parts: Mapping[str, Section], name: str) -> list[str]:
    """The lines of a section that ended; a section that was cut may lack existing programs."""
    return _lines(parts, name) if section(parts, name).exit_code is not None else []


def _why_cut(done: Transcript, parts: Mapping[str, Section]) -> str:
    """Why an answer is not whole; empty if all sections have ended."""
    last = parts.get("modules")
    if last and last.exit_code is not None:
        return ""
    return done.error or f"ended with {done.exit_code}"


def _programs(lines: Sequence[str], asked: Sequence[str]) -> dict[str, str]:
    found = (line.partition(" ") for line in lines)
    return {name: path[:200] for name, _, path in found if name in asked and path}


def _places(found: Mapping[str, list[str]], asked: Sequence[str]) -> Iterator[ProgramPlace]:
    """Yield what would find a program: a file of profile.d first, then a module, then a folder."""
    for words in _split(found.get("profile", []), 3, asked):
        name, path, file = words
        if _FOLDER.fullmatch(file):
            yield ProgramPlace(name, path, (f"source {file}",))
    for words in _split(found.get("modules", []), 4, asked):
        name, path, file, module = words
        if _FOLDER.fullmatch(file) and _MODULE.fullmatch(module):
            yield ProgramPlace(name, path, (f"source {file}", f"module load {module}"))
    for words in _split(found.get("folders", []), 2, asked):
        name, folder = words
        if _FOLDER.fullmatch(folder):
            yield ProgramPlace(name, f"{folder}/{name}", (f"export PATH={folder}:$PATH",))


def _split(lines: Sequence[str], count: int, asked: Sequence[str]) -> Iterator[list[str]]:
    for line in lines:
        words = line.split()
        if len(words) == count and words[0] in asked:
            yield words


def _disks(lines: Sequence[str]) -> Iterator[NodeDisk]:
    for line in lines:
        if found := _DISK.fullmatch(line):
            runs = "noexec" not in found[4].split(",")
            yield NodeDisk(found[1], int(found[2]), found[3] == "yes", runs)


def _addresses(lines: Sequence[str]) -> Iterator[str]:
    """Yield the addresses at which others may reach the node, that of the login first."""
    found: dict[str, None] = {}
    for line in lines:
        try:
            address = ipaddress.ip_address(line.partition("/")[0].strip())
        except ValueError:
            continue
        if not (address.is_loopback or address.is_link_local or address.is_unspecified):
            found[str(address)] = None
    yield from list(found)[:_MOST_ADDRESSES]
