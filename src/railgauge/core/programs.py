"""Where the programs of a node are, by ``tools`` of the hostfile.

``tools`` gives for a tool, or for one program, a folder or the full path of the program: under
``{"perftest": "/opt/pt", "mpirun": "/opt/ompi/bin/mpirun"}`` the suite starts
``/opt/pt/ib_write_bw`` and ``/opt/ompi/bin/mpirun``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import PurePosixPath

from railgauge.core.model import Command


def located(
    tools: Mapping[str, str], name: str, keys: Iterable[str] = (), beside: Iterable[str] = ()
) -> str:
    """Return the path of the program ``name``, or ``name`` alone if ``tools`` has no path for it.

    ``keys`` are the names of its tool; the program's own name comes before them. A path may also
    be that of one of the programs ``beside`` it.
    """
    given = next((tools[key] for key in (name, *keys) if key in tools), "")
    if not given:
        return name
    path = PurePosixPath(given)
    return str((path.parent if path.name in (name, *beside) else path) / name)


def placed(command: Command, tools: Mapping[str, str]) -> Command:
    """Return the command with the paths of its programs, if ``tools`` gives them any."""
    first = located(tools, command.argv[0])
    started = tuple(located(tools, one) for one in command.programs)
    if (first, started) == (command.argv[0], command.programs):
        return command
    return replace(command, argv=(first, *command.argv[1:]), programs=started)


def folders(tools: Mapping[str, str], names: Iterable[str]) -> tuple[str, ...]:
    """Return the folders that hold those of the programs ``names`` that ``tools`` locates."""
    found = (PurePosixPath(located(tools, name)).parent for name in names if name in tools)
    return tuple(dict.fromkeys(map(str, found)))
