"""``train-bench``: training steps of the GPUs of a launch.

Digests are those of a healthy GPU of the model with that library; a GPU with a fault has others
from a step on.
"""

from __future__ import annotations

import os
import sys

from . import gemm, train_together
from .chance import chance
from .counters import turn
from .nvidia_query import uuid
from .options import UsageError, parse
from .train_model import compute_s, joined, loss, parameters

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]
    Run = dict[str, Any]
    Slots = list[tuple[Node, int]]

_SHORT = {"d": "devices", "n": "steps", "w": "warmup"}
_SIZES = ("steps", "warmup", "seed", "layers", "width", "sequence", "batch", "vocabulary")
_LONG = {name: name for name in ("devices", "master", *_SIZES)}
_DEFAULTS = {
    "steps": "100", "warmup": "0", "seed": "1", "layers": "4", "width": "1024",
    "sequence": "512", "batch": "4", "vocabulary": "8192",
}  # fmt: skip
_MODES = "'replay', 'train'"


def run(tool: str, arguments: list[str], node: Node) -> int:
    """Run one process without a launcher."""
    return run_job(tool, arguments, [(node, 0)], dict(os.environ))


def run_job(_tool: str, arguments: list[str], slots: Slots, environment: dict[str, str]) -> int:
    """Return 0 if all ranks agree, 1 if not, 2 for what the nodes cannot measure."""
    try:
        asked = _read(arguments)
        ranks = [_rank(asked, node, local) for node, local in slots]
    except UsageError as error:
        sys.stderr.write(f"train-bench: {error}\n")
        return 2
    lines = _header(asked, ranks)
    if asked["mode"] == "train":
        lines += train_together.lines(asked, ranks, slots, environment)
        code = 0
    else:
        printed, code = _replayed(asked, ranks)
        lines += printed
    print("\n".join(lines))
    return code


def _replayed(asked: Run, ranks: list[Run]) -> tuple[list[str], int]:
    """Return the lines of a replay, and the exit code: 1 if ranks differ."""
    steps = [_step(asked, ranks[0], number, "") for number in range(asked["steps"])]
    lines = [
        f"train-bench step {number} loss={loss(asked, number)} digest={digest}"
        for number, digest in enumerate(steps)
    ]
    differ = {rank: at for rank, one in enumerate(ranks) if (at := _spoilt(asked, one)) is not None}
    for rank, one in enumerate(ranks):
        own = [
            _step(asked, one, number, f"spoilt {rank}")
            if _is_from(differ.get(rank), number)
            else good
            for number, good in enumerate(steps)
        ]
        seconds = asked["steps"] * compute_s(asked, one)
        lines.append(
            f"train-bench replayed rank={rank} steps={len(own)} "
            f"seconds={seconds:.6f} chain={joined(own)}"
        )
    for rank, at in differ.items():
        name, spoilt, good = _tensor(asked, ranks[rank], at)
        lines.append(
            f"train-bench differs rank={rank} step={at} tensor={name} digest={spoilt} others={good}"
        )
    lines.append(f"train-bench end ranks={len(ranks)} differing={len(differ)}")
    return lines, 1 if differ else 0


def _read(arguments: list[str]) -> Run:
    """Return the command line. Raises ``UsageError``."""
    options, words = parse(arguments, _SHORT, _LONG, frozenset(_LONG))
    if words not in (["replay"], ["train"]):
        raise UsageError(f"error: argument mode: invalid choice: {words!r} (choose from {_MODES})")
    given = _DEFAULTS | {"devices": "gpu"} | options
    if bad := [name for name in _SIZES if not given[name].isdecimal()]:
        raise UsageError(f"error: argument {bad[0]}: invalid int value: {given[bad[0]]!r}")
    if "master" not in given:
        raise UsageError("error: the following arguments are required: --master")
    return {name: int(given[name]) for name in _SIZES} | {
        "devices": given["devices"],
        "mode": words[0],
    }


def _rank(asked: Run, node: Node, local: int) -> Run:
    """Return the place of a rank. Raises ``UsageError`` if it has no GPU."""
    gpus = gemm.visible(node)
    if asked["devices"] != "gpu":
        raise UsageError(f"cannot measure {asked['mode']}: the lab simulates GPUs alone")
    if local >= len(gpus):
        library = gemm.library(node)
        raise UsageError(
            f"cannot measure {asked['mode']}: {library} finds {len(gpus)} GPUs, not {local + 1}"
        )
    number, gpu = gpus[local]
    key = f"{node['name']} train-bench {asked['mode']} gpu{number}"
    return {
        "node": node, "local": local, "number": number, "gpu": gpu,
        "key": f"{key} turn {turn(node, key)}",
    }  # fmt: skip


def _header(asked: Run, ranks: list[Run]) -> list[str]:
    sizes = " ".join(f"{name}={asked[name]}" for name in _SIZES)
    return [
        "train-bench version 1",
        f"train-bench run mode={asked['mode']} devices=gpu ranks={len(ranks)} {sizes} "
        f"parameters={parameters(asked)}",
        f"train-bench library {gemm.library(ranks[0]['node'])}",
        *(
            f"train-bench rank {rank} host={one['node']['name']} device=gpu{one['local']} "
            f"uuid={uuid(one['gpu'])} name={one['gpu']['model']}"
            for rank, one in enumerate(ranks)
        ),
    ]


def _step(asked: Run, one: Run, step: int, otherwise: str) -> str:
    sizes = [asked[name] for name in _SIZES]
    return joined([gemm.library(one["node"]), one["gpu"]["model"], *sizes, step, otherwise])


def _spoilt(asked: Run, one: Run) -> int | None:
    """Return the first step with a wrong bit: the first, or any if one bit in many is wrong."""
    if one["gpu"].get("computes_wrong"):
        return 0
    if one["gpu"].get("flips_a_bit"):
        return int(asked["steps"] * chance(f"{one['node']['seed']} {one['key']} flips"))
    return None


def _is_from(at: int | None, step: int) -> bool:
    return at is not None and step >= at


def _tensor(asked: Run, one: Run, step: int) -> tuple[str, str, str]:
    """Return the tensor of the wrong bit, with its digest and that of the others."""
    drawn = chance(f"{one['node']['seed']} {one['key']} tensor {step}")
    name = f"layer{int(asked['layers'] * drawn)}.{('attention', 'joined', 'up', 'down')[step % 4]}"
    return name, _step(asked, one, step, f"{name} spoilt"), _step(asked, one, step, name)
