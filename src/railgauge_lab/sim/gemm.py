"""``gemm-bench``: matrix products and memory copies of each GPU by itself.

A healthy GPU reaches the platform's figure of its format (``alone`` in the figures), less what its
own chip is behind the best one, which is the same in every run and format, and the noise of a row.
"""

from __future__ import annotations

import os
import sys

from . import figures
from .chance import chance
from .counters import turn
from .nvidia_query import uuid
from .options import UsageError, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]
    Run = dict[str, Any]

_SHORT = {"d": "devices", "s": "size", "n": "iterations", "w": "warmup", "N": "cycles"}
_LONG = {name: name for name in (*_SHORT.values(), "seed", "library")}
_DEFAULTS = {"size": "8192", "iterations": "4", "warmup": "5", "cycles": "5", "seed": "1"}
_FORMS = ("bf16", "copy", "fp32", "fp64", "fp8", "tf32")
_VISIBLE = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
_TORCH = "2.5.1"
_ROW_BYTES = 1 << 29  # the noise of a row is that of a large message
_FEWEST, _STEP = 256, 16
_MOST_WRONG = 900


def run(_tool: str, arguments: list[str], node: Node) -> int:
    """Return 0 if all results are right, 1 if not, 2 for what the node cannot measure."""
    try:
        asked = _read(arguments)
    except UsageError as error:
        sys.stderr.write(f"gemm-bench: error: {error}\n")
        return 2
    gpus = visible(node)
    known = figures.load(node["figures"]).get("alone", {})
    if asked["devices"] != "gpu" or not gpus or asked["form"] not in known:
        sys.stderr.write(f"gemm-bench: cannot measure {asked['form']}: {_why(asked, gpus)}\n")
        return 2
    print("\n".join(_header(asked, gpus, node)))
    rows = wrong = 0
    for place, (number, gpu) in enumerate(gpus):
        key = f"{node['name']} gemm-bench {asked['form']} gpu{number}"
        for cycle, rate in enumerate(_rates(asked, node, number)):
            errors = _wrong(gpu, node, f"{key} {cycle}")
            print(_row(asked, (f"gpu{place}", cycle, rate, errors), gpu, node))
            rows, wrong = rows + 1, wrong + errors
    print(f"gemm-bench end rows={rows} wrong={wrong}")
    return 1 if wrong else 0


def _read(arguments: list[str]) -> Run:
    """Return the command line. Raises ``UsageError``."""
    options, words = parse(arguments, _SHORT, _LONG, frozenset(_LONG))
    if len(words) != 1 or words[0] not in _FORMS:
        listed = ", ".join(map(repr, _FORMS))
        raise UsageError(f"argument format: invalid choice: {words!r} (choose from {listed})")
    given = _DEFAULTS | {"devices": "gpu"} | options
    if bad := [name for name in _DEFAULTS if not given[name].isdecimal()]:
        raise UsageError(f"argument {bad[0]}: invalid int value: {given[bad[0]]!r}")
    counts = {name: int(given[name]) for name in _DEFAULTS}
    if counts["size"] < _FEWEST or counts["size"] % _STEP:
        raise UsageError(f"size {counts['size']}: give a multiple of 16 from {_FEWEST} on")
    if min(counts["iterations"], counts["cycles"]) < 1:
        raise UsageError("iterations and cycles must be 1 or more, warmup and seed 0 or more")
    return counts | {"devices": given["devices"], "form": words[0]}


def visible(node: Node) -> list[tuple[int, dict[str, Any]]]:
    """Return the GPUs that the login's variables leave, each with its number on the node."""
    every = list(enumerate(node["gpus"]))
    for name in _VISIBLE:
        if name in os.environ:
            shown = os.environ[name].split(",")
            every = [one for one in every if str(one[0]) in shown]
    return every


def _why(asked: Run, gpus: list[tuple[int, dict[str, Any]]]) -> str:
    if asked["devices"] != "gpu":
        return "the lab simulates GPUs alone; install NumPy for /usr/bin/python3"
    what = f"{_TORCH} has no product of {asked['form']}" if gpus else "finds no GPU"
    return f"torch: {what}; install PyTorch (or CuPy) built for its GPUs for /usr/bin/python3"


def _header(asked: Run, gpus: list[tuple[int, dict[str, Any]]], node: Node) -> list[str]:
    return [
        "gemm-bench version 1",
        f"gemm-bench run format={asked['form']} devices=gpu size={asked['size']} "
        f"iterations={asked['iterations']} warmup_s={asked['warmup']} cycles={asked['cycles']} "
        f"seed={asked['seed']}",
        f"gemm-bench library {library(node)}",
        f"gemm-bench host {node['name']}",
        *(
            f"gemm-bench device gpu{place} uuid={uuid(gpu)} name={gpu['model']}"
            for place, (_, gpu) in enumerate(gpus)
        ),
    ]


def library(node: Node) -> str:
    """Return the node's PyTorch, with the stack for which it was built."""
    smi = node["smi"]
    if "cuda" in smi:
        return f"torch {_TORCH}+cu{smi['cuda'].replace('.', '')}"
    built = f"rocm{smi['rocm'][:3]}" if "rocm" in smi else f"metax{smi['maca']}"
    return f"torch {_TORCH}+{built}"


def _rates(asked: Run, node: Node, number: int) -> list[float]:
    """Return the rate of each cycle of a GPU, in TFLOP/s, or GB/s for a copy."""
    gpu, form = node["gpus"][number], asked["form"]
    best = figures.load(node["figures"])["alone"][form][0]
    clock = 1.0 if form == "copy" else gpu.get("clock_share", 1.0)
    reached = best * node["speed"] * figures.gpu_share(node, number) * clock
    reached *= figures.link_noise(node, f"{node['name']} chip of gpu{number}")
    key = f"{node['name']} gemm-bench {form} gpu{number}"
    key = f"{key} turn {turn(node, key)}"
    cycles = range(asked["cycles"])
    return [reached * figures.noise(node, f"{key} {i}", _ROW_BYTES) for i in cycles]


def _wrong(gpu: dict[str, Any], node: Node, key: str) -> int:
    if not gpu.get("computes_wrong"):
        return 0
    return 1 + int(_MOST_WRONG * chance(f"{node['seed']} {key} wrong"))


def _row(asked: Run, row: tuple[str, int, float, int], gpu: dict[str, Any], node: Node) -> str:
    device, cycle, rate, wrong = row
    n, times = asked["size"], asked["iterations"]
    is_copy = asked["form"] == "copy"
    work = (2 * 4 * n**2 / 1e9 if is_copy else 2 * n**3 / 1e12) * times
    name = "copy_gb_s" if is_copy else "tflops"
    clock = _clock(gpu, node)
    return (
        f"gemm-bench row device={device} format={asked['form']} size={n} cycle={cycle} "
        f"seconds={work / rate:.9f} {name}={rate:.6f} clock_mhz={clock}:{clock} "
        f"checked={times} wrong={wrong}"
    )


def _clock(gpu: dict[str, Any], node: Node) -> str:
    """Return the clock that NVML tells; ``-`` where there is no NVML."""
    return str(gpu["max_clock_mhz"]) if node["smi"]["vendor"] == "nvidia" else "-"
