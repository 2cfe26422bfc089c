"""Programs that measure storage: the shell that starts them, their folders, and what it prints.

Every file is made in a folder of its own in the declared path, whose name is of the cluster and the
node, so that a node can remove what an earlier run was killed over. The shell that starts the
program checks the free space first and removes the folder whatever ends it but ``kill -9`` of
itself; what that leaves, the next run of the node removes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from railgauge.config.thresholds.storage import mounts_of
from railgauge.tools import Setting

# What the scripts share; each defines ``clean``. ``start`` runs a program in the background,
# because a shell handles a signal only when its foreground has ended. It is killed: fio forgets a
# TERM that comes before its jobs run. ``folders`` and ``needs`` of ``prepare`` are the folders, one
# a line, and the free space in KiB that each needs.
FUNCTIONS = """\
set -f; IFS='
'
started=
fail() { echo "storage: $1"; exit 3; }
is_folder() { [ -d "$1" ] || fail "$1 is no folder on this node"; }
has_room() {
  free=$(df -Pk -- "$1" | awk 'END { print $4 }')
  [ "${free:-0}" -ge "$2" ] 2>/dev/null ||
    fail "$1 has ${free:-unknown} KiB free, and $2 are needed"
}
prepare() {
  for folder in $folders; do
    need=${needs%%,*} needs=${needs#*,}
    is_folder "${folder%/*}"
    rm -rf -- "$folder"
    has_room "${folder%/*}" "$need"
    mkdir -m 700 -- "$folder" || fail "$folder cannot be made"
  done
}
start() { "$@" & started=$!; wait "$started"; code=$?; started=; }
end_started() { [ -z "$started" ] || { kill -s KILL "$started"; wait "$started"; }; }
trap clean EXIT; trap 'exit 143' TERM; trap 'exit 130' INT; trap 'exit 129' HUP
"""
FILE_KIB = 4
FOLDER = ".railgauge-"
# A third more than the data: a file system that is full is slow, and has data of its own.
ROOM = 4 / 3

_REFUSED = re.compile(r"^storage: [^\n]{1,300}", re.MULTILINE)
PHASE_BEGINS = "railgauge storage phase "
"""What the shell prints before each phase of a run, with its name behind it."""
_PHASE = re.compile(rf"^{PHASE_BEGINS}([^\n]{{1,200}})$", re.MULTILINE)


def refused(text: str) -> str:
    """Return why the shell did not start the program; empty if it did."""
    found = _REFUSED.search(text)
    return found[0] if found else ""


def phases(text: str) -> Iterator[tuple[str, str]]:
    """Yield the name of each phase of a run, and what was printed in it."""
    found = _PHASE.split(text)[1:]
    return zip(found[::2], found[1::2], strict=True)


def reached_mounts(setting: Setting) -> dict[str, dict[str, Any]]:
    """Return what is asked of each mount; its path is the one in use, or as it was declared."""
    reached = setting.cluster.storage
    return {
        name: {**asked, "path": reached[name].path if name in reached else str(asked["path"])}
        for name, asked in mounts_of(setting.measurement).items()
    }


def own_folders(setting: Setting, mounts: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return the folder of the case's node in each mount."""
    own = f"{FOLDER}{setting.cluster.name}-{setting.case.nodes[0]}"
    return {name: f"{one['path']}/{own}" for name, one in mounts.items()}


def needs_kib(mounts: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the free space that each mount needs, in KiB with commas between them."""
    needs = (one["size_mib"] * 1024 + one.get("files", 0) * FILE_KIB for one in mounts.values())
    return ",".join(str(int(need * ROOM)) for need in needs)
