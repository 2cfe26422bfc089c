"""What to run: one preset on one node."""

from __future__ import annotations

from railgauge.core.model import Command
from railgauge.tools import Setting
from railgauge.tools.options import Options, one_size, program, read_options

PRESETS = ("a2a", "p2p")

_OPTIONS = frozenset({"preset", "subexecutors"})
_SUFFIXES = ((2**30, "G"), (2**20, "M"), (2**10, "K"))
_WORD_BYTES = 4


def commands(setting: Setting, port: int) -> tuple[Command, ...]:  # noqa: ARG001 - no server
    """``TransferBench a2a 64M 8`` on the case's node; the case's size is bytes per transfer.

    Options: ``preset`` (``a2a`` or ``p2p``) and ``subexecutors`` (compute units per transfer,
    8 for a2a; the tool's own choice for p2p). Raises ``BadInput`` for anything else.
    """
    options = read_options(setting, _OPTIONS)
    preset = options.text("preset", "a2a")
    if preset not in PRESETS:
        options.refuse(f"preset is {preset!r}", f"one of {', '.join(PRESETS)}")
    is_all = preset == "a2a"
    subexecutors = options.count("subexecutors", 8 if is_all else None)
    position = (str(subexecutors),) if is_all else ()
    command = Command(
        node=setting.case.nodes[0],
        argv=(_program(setting), preset, _size(setting, options), *position),
        environment={**_variables(is_all, subexecutors), **setting.environment},
        time_limit_s=setting.measurement.time_limit_s,
    )
    return (command,)


def _program(setting: Setting) -> str:
    return program(setting, "TransferBench", "transferbench", "TransferBench")


def _variables(is_all: bool, subexecutors: int | None) -> dict[str, str]:
    # Since 1.5x the tool reads the number from the environment, older ones from the command line.
    if subexecutors is None:
        return {}
    return {"NUM_SUB_EXEC" if is_all else "NUM_GPU_SE": str(subexecutors)}


def _size(setting: Setting, options: Options) -> str:
    size = one_size(setting)
    if size is None or size < _WORD_BYTES or size % _WORD_BYTES:
        options.refuse(f"{size} bytes per transfer", "give one size that is a multiple of 4 bytes")
    for factor, suffix in _SUFFIXES:
        if size % factor == 0:
            return f"{size // factor}{suffix}"
    return str(size)
