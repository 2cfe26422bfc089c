"""Run each rank on the CPUs that are next to its GPU. Pure.

A launcher that binds ranks to NUMA nodes in turn ignores the GPUs: with two sockets, half of the
ranks of eight GPUs end on the far one. So each rank is started by a few lines of shell, which find
the GPU of the rank on its node, bind themselves to the GPU's ``local_cpulist``, print that, and
execute the program::

    railgauge: rank 3 of gpu01: GPU 0000:5d:00.0, CPUs 0-51,104-155

The first rank of a node uses the first GPU in PCI order, or the first one in the variable that
limits the visible GPUs, and so on. A rank whose GPU is not found, or whose CPUs it may not use, is
not bound: it prints ``GPU none``, or other CPUs. A missing program is reported as the launcher
would.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from railgauge.launchers import ranks

NAME = "railgauge-rank"
# Options by which a measurement or a site places the ranks itself.
OWN_PLACEMENT = (
    *("--bind-to", "-bind-to", "--cpu-bind", "--cpu_bind", "--rankfile", "-rankfile"),
    *("--rank-by", "-rank-by", "--cpu-set", "-cpu-set", "--cpu-list"),
)
_SCRIPT = " ".join(
    (
        ranks.NUMBER,
        'vendor=$1; eval "seen=\\${$2-}"; shift 2; k=$n;',
        '[ -z "$seen" ] || k=$(echo "$seen," | cut -d, -f$((n + 1)));',
        ranks.AT,
        ranks.INSTALLED,
        "i=0; gpu=; for d in /sys/bus/pci/devices/*; do v=; c=;",
        'read -r v <"$d/vendor"; read -r c <"$d/class";',
        'case $v:$c in "$vendor":0x03*|"$vendor":0x12*)',
        '[ "$i" = "$k" ] && gpu=$d; i=$((i + 1));; esac; done 2>/dev/null;',
        'if [ -n "$gpu" ] && read -r cpus <"$gpu/local_cpulist"; then',
        'taskset -cp "$cpus" $$ >/dev/null 2>&1; fi;',
        ranks.ALLOWED,
        'gpu=${gpu##*/}; echo "$at GPU ${gpu:-none}, CPUs $mine";',
        'exec "$@"',
    )
)
_LINE = re.compile(rf"{ranks.LINE}GPU (none|[0-9a-fA-F:.]{{7,16}}), CPUs ({ranks.CPUS})")


@dataclass(frozen=True, slots=True)
class PlacedRank:
    """Where a rank runs: its number on its ``host``, its GPU's PCI address, its CPUs as a list.

    ``gpu`` is empty if the rank found none, and is then not bound.
    """

    rank: int
    host: str
    gpu: str
    cpus: str


def beside_gpu(program: Sequence[str], pci_vendor: str, visible: str) -> tuple[str, ...]:
    """Return the command of a rank. ``pci_vendor`` is ``0x10de``; ``visible`` names a variable."""
    return ("sh", "-c", _SCRIPT, NAME, pci_vendor, visible, *program)


def read(line: str) -> PlacedRank | None:
    """Return the place that a rank's line reports; ``None`` for any other line."""
    match = _LINE.match(line)
    if match is None:
        return None
    gpu = "" if match[3] == "none" else match[3].lower()
    return PlacedRank(int(match[1]), match[2], gpu, match[4])
