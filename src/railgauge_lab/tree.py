"""Write the files of a node: its executables and its own /sys, /proc and /etc.

A file that never changes is written once and hard-linked into every node. A file that a tool may
change, such as a traffic counter, is written for each node.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

from railgauge_lab import files, net_files, tool_server
from railgauge_lab.sim import ethtool, stored

CORE_UTILITIES = (  # noqa: SIM905 - read as words
    "sh timeout env cat grep sed awk head tail cut tr sort uniq wc ls readlink basename dirname"
    " find sleep kill mkdir rm mv touch test true false printf echo date id uname stat ps xargs"
    " setsid nohup dd cmp tee od seq mktemp flock mkfifo chmod chown rmdir bash df getent"
).split()
_LAUNCH = Path(__file__).parent / "launch.py"


class NodeFolders:
    """Writes the nodes' folders below one folder; equal files are shared."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._shared = folder / "shared"
        self._shared.mkdir(parents=True)
        self._become = _forked(self._shared)
        self._forked = self._script("forked", f"#!/bin/sh\n{self._become}")
        self._started = self._script("tool", f"#!/bin/sh\n{_start()}\n")
        self._core = [found for name in CORE_UTILITIES if (found := _find(name))]
        self._pool: dict[str, str] = {}

    @property
    def shared(self) -> Path:
        """The folder of the files that all nodes have."""
        return self._shared

    def _script(self, name: str, text: str) -> Path:
        path = self._shared / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
        return path

    def write(self, node: dict[str, Any]) -> Path:
        """Write the node's home and return its path.

        It holds ``bin/`` (the executables), ``root/`` (its /sys, /proc and /etc), ``node`` (the
        description that its tools read; ``node.1`` and so on with intermittent faults) and
        ``ethtool/`` (the counters of ``ethtool -S``).
        """
        home = self._folder / "nodes" / str(node["name"])
        root = home / "root"
        own = {"root": str(root), "figures": self._figures(node["figures"])}
        described = node | own
        variants = described.pop("variants", {})
        (home / "bin").mkdir(parents=True)
        stored.write(str(home / "node"), described)
        for number, variant in variants.items():
            shown = variant | own | {"address": node["address"]}
            stored.write(str(home / f"node.{number}"), shown)
        self._link_executables(home / "bin", node["tools"])
        self._write_statistics(home / "bin" / "ethtool", described)
        self._write_root(root, described)
        for path, text in net_files.ethtool(described).items():
            counter = home / "ethtool" / path
            counter.parent.mkdir(parents=True, exist_ok=True)
            counter.write_text(text, encoding="utf-8")
        return home

    def _figures(self, path: str) -> str:
        """Return the path of the lab's copy of the platform's figures.

        All figures files are copied, because one may refer to another.
        """
        copies = self._shared / "figures"
        if not copies.exists():
            copies.mkdir()
            for original in Path(path).parent.glob("*.json"):
                stored.write(str(copies / original.stem), stored.from_json(str(original)))
        return str(copies / Path(path).stem)

    def _link_executables(self, folder: Path, tools: dict[str, str]) -> None:
        for name, target in self._core:
            if name not in tools:
                (folder / name).symlink_to(target)
        for name, module in tools.items():
            is_forked = module in tool_server.FORKED
            (folder / name).symlink_to(self._forked if is_forked else self._started)

    def _write_statistics(self, tool: Path, node: dict[str, Any]) -> None:
        """Have a shell print what ``ethtool -S`` prints: a run asks for it around each measurement.

        The simulated tool does the rest, and all of it where a fault may be in its way.
        """
        is_plain = node["tools"].get(tool.name) == tool.name
        if is_plain and tool.name not in node["broken_tools"] and "timings" not in node:
            tool.unlink()
            text = _statistics(ethtool.drivers(node), self._become)
            tool.write_text(text, encoding="utf-8")
            tool.chmod(0o755)

    def _write_root(self, root: Path, node: dict[str, Any]) -> None:
        made: set[str] = set()
        (root / "run" / "lock").mkdir(parents=True)
        (root / "run" / "lock").chmod(0o1777)
        for path, text in files.of(node).items():
            target = f"{root}/{path}"
            _make_parent(target, made)
            if path.endswith(files.PRIVATE):
                Path(target).write_text(text, encoding="utf-8")
            else:
                os.link(self._pooled(text), target)
        for path, destination in files.links(node).items():
            _make_parent(f"{root}/{path}", made)
            os.symlink(destination, f"{root}/{path}")  # noqa: PTH211 - see _make_parent

    def _pooled(self, text: str) -> str:
        """Return the path of a file with this text; it is read-only, because it is shared."""
        if text not in self._pool:
            path = self._shared / sha256(text.encode()).hexdigest()[:24]
            path.write_text(text, encoding="utf-8")
            path.chmod(0o444)
            self._pool[text] = str(path)
        return self._pool[text]


def _make_parent(path: str, made: set[str]) -> None:
    parent = path.rpartition("/")[0]
    if parent not in made:
        os.makedirs(parent, exist_ok=True)  # noqa: PTH103 - pathlib is half of a node's cost here
        made.add(parent)


def _find(name: str) -> tuple[str, str] | None:
    found = shutil.which(name)
    return (name, found) if found else None


# A fork of the lab's tool server is the tool (tool_server.py), where it has one.
_FORKED = """\
lab={lab}
if [ -p "$lab/{ask}" ]; then
  code=$(
    exec {answer}>&1
    read -r asking _ </proc/self/stat
    echo $$ $asking 1<>"$lab/{ask}"
    read -r code <"$lab/{never}"
  )
  case $code in
  {taken}) kill -s KILL $$ ;;
  {taken}-*) kill -s "${{code#{taken}-}}" $$ ;;
  {taken}*) exit "${{code#{taken}}}" ;;
  esac
fi
{start}
"""


def _forked(shared: Path) -> str:
    names = {"ask": tool_server.ASK, "never": tool_server.NEVER, "answer": tool_server.ANSWER}
    names["taken"] = tool_server.TAKEN.decode()
    return _FORKED.format(lab=shlex.quote(str(shared)), start=_start(), **names)


def _start() -> str:
    """Return the line of a script in ``bin/`` that becomes the simulated tool."""
    python, launch = shlex.quote(sys.executable), shlex.quote(str(_LAUNCH))
    return f'exec {python} -SE {launch} "${{0##*/}}" "${{0%/*}}/../node" "$@"'


# As ``sim/ethtool.py`` prints it; a counter that has no file yet is 0. A shell starts in a tenth of
# the time that an interpreter takes.
_STATISTICS = """\
#!/bin/sh
case $#$1/$2 in
{known}) ;;
*)
{become} ;;
esac
LC_ALL=C
show() {{ count=; {{ read -r count <"$2"; }} 2>/dev/null; echo "     $1: ${{count:-0}}"; }}
home=${{0%/*}}/..
echo "NIC statistics:"
for name in {shown}; do show $name "$home/root/sys/class/net/$2/statistics/$name"; done
if [ -d "$home/ethtool/$2" ]; then
  for path in "$home/ethtool/$2"/*; do show "${{path##*/}}" "$path"; done
else
  for name in {absent}; do echo "     $name: 0"; done
fi
"""


def _statistics(netdevs: Iterable[str], become: str) -> str:
    known = "|".join(f"2-S/{name}" for name in netdevs) or "none"
    shown, absent = " ".join(ethtool.SHOWN), " ".join(ethtool.ABSENT)
    return _STATISTICS.format(known=known, become=become, shown=shown, absent=absent)
