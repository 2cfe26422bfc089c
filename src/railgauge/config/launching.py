"""How collectives are launched on the nodes of a hostfile: ``launch``, ``ranks``, ``ports``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from railgauge import launchers
from railgauge.config.refusal import refuse
from railgauge.core.terms import LaunchWay, RankPlace

# Transports with which mpirun's daemons would need ssh between the nodes.
_LAUNCHES = ("ssh", "exec")
# Transports to nodes that have GPUs of their own.
_PLACES = ("ssh", "exec", "slurm")
_FEWEST_PORTS = 16  # a launch needs one for each rank of a node and some for its daemon


def way(path: Path, document: Mapping[str, Any], line: int) -> LaunchWay:
    """Return how a launcher's daemons are started; by default through the suite."""
    transport, launch = document.get("transport", "ssh"), document.get("launch", "")
    launcher = document.get("launcher", launchers.NAMES[0])
    has_daemons = bool(launchers.launcher(launcher).through("agent"))
    if launch and (transport == "slurm" or not has_daemons):
        by = launcher if not has_daemons else transport
        refuse(path, f"launch: {launch}: {by} starts the ranks itself", "remove launch:", line)
    if launch or transport not in _LAUNCHES or not has_daemons:
        return LaunchWay(launch)
    return LaunchWay.THROUGH_SUITE


def placement(document: Mapping[str, Any]) -> RankPlace:
    """Return which CPUs the ranks use; by default those beside their GPU."""
    default = RankPlace.BESIDE_GPU if document.get("transport", "ssh") in _PLACES else ""
    return RankPlace(document.get("ranks", default))


def ports(path: Path, text: str | None, line: int) -> tuple[int, int] | None:
    """Return the first and the last TCP port that ``ports`` names. Raises ``HostfileError``."""
    if text is None:
        return None
    first, last = map(int, text.split("-"))
    if not 0 < first <= last < 1 << 16 or last - first + 1 < _FEWEST_PORTS:
        what = f"ports: {text} is not a range of {_FEWEST_PORTS} TCP ports or more"
        refuse(path, what, "write 20000-20099", line)
    return first, last
