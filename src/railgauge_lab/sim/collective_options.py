"""Read the command line of nccl-tests and its two forks into a plain description of the run.

For example, ``all_reduce_perf -b 1G -e 2G -f 2 -g 8`` becomes ``op`` all_reduce, ``sizes``
[1073741824, 2147483648], ``gpus`` 8, with the defaults for everything else.
"""

from __future__ import annotations

from .options import UsageError, parse, sized

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Run = dict[str, Any]

_SHORT = {
    "t": "threads", "g": "gpus", "b": "min", "e": "max", "i": "step", "f": "factor", "n": "iters",
    "m": "aggregated", "w": "warmup", "N": "cycles", "p": "parallel_init", "c": "check", "o": "op",
    "d": "type", "r": "root", "z": "blocking", "y": "stream_null", "T": "timeout", "G": "graph",
    "C": "cputime", "a": "average", "R": "register", "J": "json", "u": "unalign", "Y": "memory",
    "F": "flush", "O": "out_of_place",
}  # fmt: skip
_LONG = {
    "nthreads": "threads", "ngpus": "gpus", "minbytes": "min", "maxbytes": "max",
    "stepbytes": "step", "stepfactor": "factor", "iters": "iters", "agg_iters": "aggregated",
    "warmup_iters": "warmup", "run_cycles": "cycles", "parallel_init": "parallel_init",
    "check": "check", "op": "op", "datatype": "type", "root": "root", "blocking": "blocking",
    "stream_null": "stream_null", "timeout": "timeout", "cudagraph": "graph",
    "report_cputime": "cputime", "average": "average", "local_register": "register",
    "output_file": "json", "unalign": "unalign",
}  # fmt: skip
_VALUED = frozenset(_SHORT.values())
_FACTOR = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
TYPES = {
    "int8": 1, "uint8": 1, "int32": 4, "uint32": 4, "int64": 8, "uint64": 8, "half": 2, "float": 4,
    "double": 8, "bfloat16": 2, "f8e4m3": 1, "f8e5m2": 1,
}  # fmt: skip
_OPS = ("sum", "prod", "max", "min", "avg", "mulsum")
_DEFAULT_BYTES = 32 << 20
_STEP_BYTES = 1 << 20
_ITERATIONS = {"nccl": (20, 1), "rccl": (20, 5), "mccl": (20, 5)}


class CollectiveRefused(Exception):
    """The tool stops: ``args[0]`` is what it prints on stdout, ``args[1]`` its exit code."""


def read_options(tool: str, arguments: list[str], dialect: str) -> Run:
    """Return everything that the run depends on.

    Raises ``CollectiveRefused`` with the real tool's message.
    """
    known = {key: meaning for key, meaning in _SHORT.items() if dialect == "nccl" or key != "J"}
    try:
        given, words = parse(arguments, known, _LONG, _VALUED)
    except UsageError as error:
        raise CollectiveRefused(_usage(tool, str(error)), 1) from None
    if words:
        raise CollectiveRefused(_usage(tool, f"unexpected argument '{words[0]}'"), 1)
    iterations, warmup = _ITERATIONS[dialect]
    return {
        "tool": tool,
        "op": tool.removesuffix("_perf"),
        "dialect": dialect,
        "sizes": _sizes(given),
        "min": _bytes(given, "min", _DEFAULT_BYTES),
        "max": _bytes(given, "max", _DEFAULT_BYTES),
        "step": _step(given),
        "type": _choice(given, "type", "float", TYPES),
        "redop": _choice(given, "op", "sum", _OPS),
        "root": int(given.get("root", 0)),
        "json": given.get("json", ""),
        **{
            key: int(given.get(key, default))
            for key, default in (
                ("threads", 1),
                ("gpus", 1),
                ("iters", iterations),
                ("warmup", warmup),
                ("aggregated", 1),
                ("cycles", 1),
                ("check", 1),
                ("graph", 0),
                ("cputime", 0),
                ("unalign", 0),
            )
        },
    }


def _usage(tool: str, complaint: str) -> str:
    return (
        f"{tool}: {complaint}\nUSAGE: {tool} \n\t[-t,--nthreads <num threads>] \n"
        "\t[-g,--ngpus <gpus per thread>] \n\t[-b,--minbytes <min size in bytes>] \n"
        "\t[-e,--maxbytes <max size in bytes>] \n\t[-i,--stepbytes <increment size>] \n"
        "\t[-f,--stepfactor <increment factor>] \n\t[-n,--iters <iteration count>] \n"
    )


def _bytes(given: dict[str, str], key: str, default: int) -> int:
    text = given.get(key, str(default))
    size = sized(text[:-1] if text[-1:] in ("b", "B") else text, _FACTOR)
    if size is None:
        raise CollectiveRefused(f"invalid size specified for '{key}bytes'\n", 255)
    return size


def _step(given: dict[str, str]) -> str:
    if int(given.get("factor", 1)) > 1:
        return f"{given['factor']}(factor)"
    return f"{_bytes(given, 'step', _STEP_BYTES)}(bytes)"


def _sizes(given: dict[str, str]) -> list[int]:
    low = _bytes(given, "min", _DEFAULT_BYTES)
    high = _bytes(given, "max", _DEFAULT_BYTES)
    if high < low:
        raise CollectiveRefused(
            f"invalid option values (minbytes={low} must be <= maxbytes={high})\n", 255
        )
    factor = int(given.get("factor", 1))
    found = [low]
    while (after := _next(found[-1], factor, given)) <= high:
        found.append(after)
    return found


def _next(size: int, factor: int, given: dict[str, str]) -> int:
    if factor > 1:
        return size * factor if size else 1
    return size + max(1, _bytes(given, "step", _STEP_BYTES))


def _choice(given: dict[str, str], key: str, default: str, known: Any) -> str:
    wanted = given.get(key, default)
    if wanted not in known:
        raise CollectiveRefused(f"invalid {key} '{wanted}'\n", 255)
    return wanted
