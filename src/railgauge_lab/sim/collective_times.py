"""How long a collective takes: the documents' tables, and what is derived from them.

The rows of a table are all_reduce times, ``[size, out of place, in place, basis]``, in bytes and
microseconds. Several rows of one size are successive iterations in the document; successive cycles
use them in turn. Between two sizes the times are interpolated linearly on log-log axes. Another
number of ranks keeps the busbw. Another collective has the busbw of all_reduce times a factor that
the figures state.
"""

from __future__ import annotations

import math

from . import algorithms, fabric, figures, interference

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Job = dict[str, Any]
    Table = dict[str, Any]

_FACTORS = {
    "all_reduce": lambda n: 2 * (n - 1) / n,
    "all_gather": lambda n: (n - 1) / n,
    "reduce_scatter": lambda n: (n - 1) / n,
    "alltoall": lambda n: (n - 1) / n,
}


def bus_factor(op: str, ranks: int) -> float:
    """Return busbw divided by algbw, by the definition of nccl-tests."""
    return float(_FACTORS[op](ranks)) if op in _FACTORS else 1.0


def times(job: Job, size: int, cycle: int) -> tuple[float, float]:
    """Return the times out of place and in place, in microseconds, without noise."""
    if job["ranks"] < 2 or size == 0:  # noqa: PLR2004 - a rank alone moves nothing
        return job["smallest_us"], job["smallest_us"]
    table, share = job["table"], job["share"]
    # An empty message spends no time on the network, so a slow network does not slow it down.
    floor = [min(row[side] for row in table["rows"]) for side in (1, 2)]
    exact = _row(table, size, cycle)
    scale = _scale(job)
    slowed = [scale * (low + (t - low) / share) for low, t in zip(floor, exact)]  # noqa: B905
    return slowed[0], slowed[1]


def prepare(job: Job) -> None:
    """Choose the job's table and its share of the healthy bandwidth, once for all sizes."""
    loaded = figures.load(job["nodes"][0]["figures"])["collectives"]
    per_node = math.ceil(job["ranks"] / len(job["nodes"]))
    table, factor = _table(loaded, job, per_node)
    job["table"] = table
    job["share"] = factor * job["path"]["share"] * _fewer(loaded, job, table, per_node)
    place = "network" if len(job["nodes"]) > 1 else "node"
    job["share"] *= _of_algorithm(loaded, job)
    if (job["run"]["op"], place) != ("sendrecv", "network"):
        job["share"] *= interference.link_share(job)
    factor = loaded["factors"][place].get(job["run"]["op"], [1.0])[0]
    job["op_factor"] = _over_the_network(job, per_node, factor) if place == "network" else factor
    if job["run"]["op"] == "sendrecv" and place == "network":
        job["share"] *= _inside_first(loaded, job)
    job["smallest_us"] = _row(table, table["rows"][0][0], 0)[0] / 2


def _of_algorithm(loaded: dict[str, Any], job: Job) -> float:
    """Return the busbw of an all-reduce with its algorithm, divided by that of a ring.

    It is the higher the less a node sends to others, up to what the links inside a node carry.
    """
    nodes, ranks = len(job["nodes"]), job["ranks"]
    if nodes == 1 or job["run"]["op"] != "all_reduce" or job["algorithm"] == algorithms.RING:
        return 1.0
    ring = algorithms.sent(algorithms.RING, nodes, ranks)
    factor = ring / algorithms.sent(job["algorithm"], nodes, ranks)
    inside = next(t for t in loaded["tables"] if t["nodes"][0] == 1 and not t["variant"])
    return float(min(factor, max(1.0, _busbw(inside) / _busbw(job["table"]))))


def _inside_first(loaded: dict[str, Any], job: Job) -> float:
    """Return the share that a sendrecv keeps if a node's links are slower than its network."""
    if job["ranks"] == len(job["nodes"]):
        return 1.0
    table = next(t for t in loaded["tables"] if t["nodes"][0] == 1 and not t["variant"])
    inside = _busbw(table) * float(loaded["factors"]["node"]["sendrecv"][0])
    inside *= fabric.gpus_share(job["nodes"], job["devices"]) * interference.link_share(job)
    return float(min(1.0, inside / (_busbw(job["table"]) * job["op_factor"] * job["share"])))


def _busbw(table: Table) -> float:
    """Return the busbw of the table's largest all_reduce, in GB/s."""
    size, time_us = table["rows"][-1][:2]
    return float(size / time_us / 1e3 * bus_factor("all_reduce", table["ranks"]))


def _over_the_network(job: Job, per_node: int, factor: float) -> float:
    """Return the collective's busbw between nodes, divided by that of all_reduce.

    ``factor`` is the ratio in the figures. It holds for a collective that runs as a ring, which
    sends exactly the bytes that busbw counts. An alltoall and a sendrecv need a correction.
    """
    op, ranks = job["run"]["op"], job["ranks"]
    if op == "alltoall" and ranks > per_node:
        # Each GPU of a node sends its part to each GPU of the other nodes.
        return float(factor * (ranks - 1) / (per_node * (ranks - per_node)))
    if op == "sendrecv":
        # The fewer GPUs a node has in the job, the fewer of its NICs are idle.
        return min(1.0, factor * len(job["nodes"][0]["gpus"]) / per_node)
    return factor


def _scale(job: Job) -> float:
    """Return this collective's time divided by that of the table's all_reduce, at equal busbw."""
    own = bus_factor(job["run"]["op"], job["ranks"])
    return own / bus_factor("all_reduce", job["table"]["ranks"]) / float(job["op_factor"])


def _table(loaded: dict[str, Any], job: Job, per_node: int) -> tuple[Table, float]:
    """Return the best table, and the bandwidth factor of a variant that has no table of its own."""
    count, factor = len(job["nodes"]), 1.0
    variants = job["variants"]
    for variant in [*variants, ""]:
        fitting = [
            table
            for table in loaded["tables"]
            if table["nodes"][0] <= count <= table["nodes"][1] and table["variant"] == variant
        ]
        if fitting:
            return min(fitting, key=lambda table: abs(table["per_node"] - per_node)), factor
        factor *= loaded["variants"][variant]["factor"]
    raise KeyError(f"no table for {count} nodes")


def _fewer(loaded: dict[str, Any], job: Job, table: Table, per_node: int) -> float:
    """Return the share of the bandwidth that is left if the table has more GPUs in a node."""
    if per_node >= table["per_node"]:
        return 1.0
    rule = loaded["fewer_gpus"]["network" if len(job["nodes"]) > 1 else "node"]
    if rule == "links":
        # In a full mesh each GPU has a link to every other GPU, and uses those to its partners.
        share = float((per_node - 1) / (table["per_node"] - 1))
        wanted = loaded["fewer_gpus"].get("channels", ["", "", 1.0])
        tuned = job["environment"].get(wanted[0]) == wanted[1]
        return share * (1.0 if tuned else float(wanted[2]))
    return per_node / float(table["per_node"]) if rule == "proportional" else 1.0


def _row(table: Table, size: int, cycle: int) -> list[float]:
    rows = table["rows"]
    if size <= rows[0][0]:
        return rows[0][1:3]  # type: ignore[no-any-return]
    same = [row for row in rows if row[0] == size]
    if same:
        return same[cycle % len(same)][1:3]  # type: ignore[no-any-return]
    above = next((i for i, row in enumerate(rows) if row[0] > size), 0)
    low, high = (rows[above - 1], rows[above]) if above else (rows[-1], rows[-1])
    if low is high:
        # Above the largest size the bandwidth is that of the last row.
        return [value * size / low[0] for value in low[1:3]]
    at = math.log(size / low[0]) / math.log(high[0] / low[0])
    return [a * (b / a) ** at for a, b in zip(low[1:3], high[1:3])]  # noqa: B905
