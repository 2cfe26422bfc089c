"""The command (one preset on one node), and the output checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from railgauge.core.model import Command
from railgauge.tools import Setting
from railgauge.tools.form import (
    TO,
    FigureForm,
    ToolFigure,
    of_all_links,
    of_placement,
    of_slowest_link,
)
from railgauge.tools.metric import several
from railgauge.tools.options import Options, on_its_node, one_size, program, read_options
from railgauge.tools.output_checks import OutputCheck, SideOutput, ToolRequest, equal, joined

# Unidirectional; then of a bidirectional run each direction, and their sum.
_WAYS = ("", "_forward", "_backward", "_bidirectional")
_BETWEEN = ("link_bw", "host_link_bw", "cpu_link_bw", "local_bw")
_OVER_LINKS = ("slowest_link", "average_bw")
_OF_GPUS = ("gpu_sum", "gpu_actual", "derived_aggregate", "aggregate_bw", "cpu_aggregate_bw")
_TRANSFERS = ("executor_bw", "transfer_bw", "test_cpu_bw")

METRICS = (
    *several(tuple(f"{name}{way}" for name in _BETWEEN for way in _WAYS), "GB/s"),
    *several(tuple(f"{name}{way}" for name in _OVER_LINKS for way in ("", _WAYS[-1])), "GB/s"),
    *several((*_OF_GPUS, *_TRANSFERS), "GB/s"),
    *several(("links",), "count"),
)


PRESETS = ("a2a", "p2p")

# Options, the variables that ask for them, and the letters of the rows that show them.
_EXECUTORS = {"gfx": ("0", "G"), "dma": ("1", "D")}
_MEMORIES = {"fine": ("1", "F"), "coarse": ("0", "G")}
_OPTIONS = frozenset({"preset", "subexecutors", "unroll", "executor", "memory"})
# What each a2a transfer is, unless the environment says otherwise: a copy of whole buffers by any
# compute unit of its source.
_A2A = {
    "A2A_LOCAL": "0",
    "A2A_MODE": "0",
    "USE_REMOTE_READ": "0",
    "BYTE_OFFSET": "0",
    "CU_MASK": "0",
}
_SUFFIXES = ((2**30, "G"), (2**20, "M"), (2**10, "K"))
_WORD_BYTES = 4
# Document 002: the seven links of a GPU of a healthy node differ by up to 4.4 %.
_LINKS_APART = 0.05


def commands(setting: Setting, port: int) -> tuple[Command, ...]:  # noqa: ARG001 - no server
    """Return ``TransferBench a2a 64M 8`` on the case's node; the size is bytes per transfer.

    Options: ``preset`` (``a2a`` or ``p2p``), ``subexecutors`` (compute units per transfer, default
    8 for a2a, the tool's own for p2p), ``unroll`` (a factor), ``executor`` (``gfx`` or ``dma``) and
    ``memory`` (``fine`` or ``coarse``). Raises ``BadInput`` for other options.
    """
    options = read_options(setting, _OPTIONS)
    options.choice("executor", _EXECUTORS)
    options.choice("memory", _MEMORIES)
    options.count("unroll", None)
    preset = options.choice("preset", PRESETS, "a2a")
    is_all = preset == "a2a"
    subexecutors = options.count("subexecutors", 8 if is_all else None)
    position = (str(subexecutors),) if is_all else ()
    argv = (program(setting, "TransferBench"), preset, _size(setting, options), *position)
    own = {**_variables(is_all, subexecutors), **_asked(setting.measurement.options)}
    return on_its_node(setting, argv, {**own, **setting.environment})


def form(figure: ToolFigure) -> FigureForm | None:
    """Return the form of a link, of the slowest link of a GPU, or of all links together."""
    if not figure.placement:
        return of_all_links(figure)
    if TO in figure.placement:
        return of_placement(figure)
    return of_slowest_link(figure, _LINKS_APART)


def _variables(is_all: bool, subexecutors: int | None) -> dict[str, str]:
    # Versions since 1.5x read the number from the environment, older ones from the command line.
    if subexecutors is None:
        return {}
    return {"NUM_SUB_EXEC" if is_all else "NUM_GPU_SE": str(subexecutors)}


def _asked(options: Mapping[str, object]) -> dict[str, str]:
    """Return the variables of the options, which the printed configuration repeats."""
    executor, memory = options.get("executor"), options.get("memory")
    found = {
        "GFX_UNROLL": str(options["unroll"]) if "unroll" in options else None,
        "USE_DMA_EXEC": _EXECUTORS[str(executor)][0] if executor else None,
        "USE_FINE_GRAIN": _MEMORIES[str(memory)][0] if memory else None,
    }
    return {name: value for name, value in found.items() if value is not None}


def _size(setting: Setting, options: Options) -> str:
    size = one_size(setting)
    if size is None or size < _WORD_BYTES or size % _WORD_BYTES:
        options.refuse(f"{size} bytes per transfer", "give one size that is a multiple of 4 bytes")
    for factor, suffix in _SUFFIXES:
        if size % factor == 0:
            return f"{size // factor}{suffix}"
    return str(size)


def output_checks(asked: ToolRequest, sides: tuple[SideOutput, ...]) -> tuple[OutputCheck, ...]:
    """Compare the GPUs, and preset, bytes, compute units, executor, memory, unrolling of transfers.

    Executor and memory are in the printed configuration and in each row of a transfer.
    """
    summary = sides[0].parsed.summary
    preset = asked.option("preset", "a2a")
    units = asked.option("subexecutors", 8 if preset == "a2a" else None)
    found = [equal("preset", preset, joined(summary.get("presets")))]
    if asked.case.sizes:
        size = asked.case.sizes[0]
        found.append(equal("bytes per transfer", size, summary.get("bytes_per_transfer")))
    if units is not None:
        found.append(equal("compute units", units, joined(summary.get("subexecutors"))))
    if asked.platform.gpus:
        found.append(equal("GPUs", asked.platform.gpus.count, summary.get("gpus")))
    return (*found, *_of_configuration(asked, summary), *_of_routes(asked, summary))


def _of_configuration(asked: ToolRequest, summary: Mapping[str, object]) -> Iterator[OutputCheck]:
    printed = summary.get("settings")
    shown = printed if isinstance(printed, Mapping) else {}
    for name, value in _asked(asked.measurement.options).items():
        yield equal(name, value, shown.get(name))
    if asked.option("preset", "a2a") == "a2a":
        yield from (equal(name, _A2A[name], shown[name]) for name in _A2A if name in shown)


def _of_routes(asked: ToolRequest, summary: Mapping[str, object]) -> Iterator[OutputCheck]:
    """Check the executor and the memories of the rows, if the options name them."""
    routes = summary.get("routes")
    rows = routes if isinstance(routes, tuple) else ()
    executors, memories = (
        {row[1] for row in rows},
        {one for row in rows for one in (row[0], row[2])},
    )
    for name, known, shown in (
        ("executor", _EXECUTORS, executors),
        ("memory", _MEMORIES, memories),
    ):
        if asked.option(name):
            wanted = known[str(asked.option(name))][1]
            yield equal(f"{name} of the transfers", wanted, ", ".join(sorted(shown)) or None)
