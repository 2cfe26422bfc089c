"""``train-bench train``: steps of a model that all ranks of a launch train together.

The exchange is an all-reduce of the collectives' figures, of four bytes for each parameter. All
ranks end a step together: the slowest waits for none, the others for it.
"""

from __future__ import annotations

from . import collective, collective_times, figures
from .collective_options import read_options
from .interference import slowdowns
from .train_model import compute_s, joined, loss, parameters

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Run = dict[str, Any]
    Slots = list[tuple[Run, int]]

# Drawing and copying the tokens of a step takes a node far less than the step.
_LOAD_S = 0.0004
_P99, _MEAN = 1.03, 1.004
_BYTES = 4


def lines(asked: Run, ranks: list[Run], slots: Slots, environment: dict[str, str]) -> list[str]:
    """Return the row of each rank, and the closing line."""
    exchange = _exchange_s(asked, slots, environment)
    loads = [_LOAD_S / one["node"].get("loader_share", 1.0) for one in ranks]
    works = [compute_s(asked, one) for one in ranks]
    slowest = max(map(sum, zip(loads, works)))  # noqa: B905
    step = slowest + exchange
    digest = _weights(asked, ranks[0])
    printed = [
        f"train-bench row rank={rank} steps={asked['steps']} step_ms={1e3 * step:.3f} "
        f"step_p99_ms={1e3 * step * _P99:.3f} load_ms={1e3 * load:.3f} "
        f"compute_ms={1e3 * work:.3f} exchange_ms={1e3 * (step - load - work):.3f} "
        f"loss={loss(asked, asked['steps'])} digest={digest}"
        for rank, (load, work) in enumerate(zip(loads, works))  # noqa: B905
    ]
    seconds = asked["steps"] * step * _MEAN
    return [*printed, f"train-bench end ranks={len(ranks)} seconds={seconds:.6f}"]


def _exchange_s(asked: Run, slots: Slots, environment: dict[str, str]) -> float:
    """Return the seconds of an all-reduce of the gradients, and count what all of them moved."""
    if len(slots) == 1:
        return 0.0
    nodes = {node["name"]: _in_training(node) for node, _ in slots}
    size = _BYTES * parameters(asked)
    arguments = ["-b", str(size), "-e", str(size), "-n", "1", "-w", "0", "-c", "0"]
    first = slots[0][0]
    options = read_options("all_reduce_perf", arguments, first["collectives"]["dialect"])
    options["tool"] = "train-bench"
    own = [(nodes[node["name"]], local) for node, local in slots]
    job = collective.job_of(options, arguments, own, environment)
    exact_us, _ = collective_times.times(job, size, 0)
    collective.count_moved(job, (asked["steps"] + asked["warmup"]) * float(size))
    calm = figures.noise(first, job["key"], size)
    return exact_us / calm * slowdowns(job, 0, asked["steps"]) / 1e6


def _in_training(node: Run) -> Run:
    library = node["collectives"]
    idle = [*library["idle_nics"], *library.get("idle_in_training", [])]
    return {**node, "collectives": {**library, "idle_nics": idle}}


def _weights(asked: Run, one: Run) -> str:
    """Return the digest of the weights: a wrong sum reaches all ranks, and they stay alike."""
    sizes = [asked[name] for name in ("seed", "steps", "layers", "width", "vocabulary")]
    return joined([one["gpu"]["model"], *sizes])
