"""The faults of a collective itself: memory that cannot be locked, and wrong results."""

from __future__ import annotations

from . import collective_layout
from .collective_options import CollectiveRefused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Job = dict[str, Any]
    Row = dict[str, Any]

TEST_FAILURE = 3
_UNCHECKED_IN_PLACE = {"alltoall", "sendrecv"}
_REDUCING = {"all_reduce", "reduce_scatter", "reduce"}
_RESULT_EVERYWHERE = {"all_reduce"}
# No document shows wrong results. One wrong value in 1024 is chosen; small sizes get at least one.
_SPOILT_SHARE = 1024
_UNREGISTERED = (
    "{host}:{pid}:{thread} [{device}] misc/ibvwrap.cc:278 NCCL WARN Call to ibv_reg_mr_iova2 failed"
    " with error Cannot allocate memory"
)
_NO_RDMA = (
    "{host}: Test NCCL failure common.cu:999 'unhandled system error (run with NCCL_DEBUG=INFO for"
    " details) / '\n .. {host} pid {pid}: Test failure common.cu:891\n"
)
_NO_ALGORITHM = (
    "{host}:{pid}:{thread} [{device}] graph/tuning.cc:440 {log} WARN Error : no algorithm/protocol"
    " available"
)
_INTERNAL = (
    "{host}: Test NCCL failure common.cu:291 'internal error - please report this issue to the NCCL"
    " developers / '\n .. {host} pid {pid}: Test failure common.cu:891\n"
)


def check_memlock(job: Job) -> None:
    """Raise ``CollectiveRefused`` for the first rank that may not lock memory, if there is one."""
    bound = [node["name"] for node in job["nodes"] if _is_bound(node["host"])]
    struck = [rank for rank, (host, *_) in enumerate(job["places"]) if host in bound]
    if job["path"]["network"] != "IB" or not struck:
        return
    host, device, _ = job["places"][struck[0]]
    pid = job["pids"][struck[0]]
    words = {"host": host, "pid": pid, "thread": pid + 64, "device": device}
    lines = [*collective_layout.opening(job), *collective_layout.devices(job)]
    if job["environment"].get(f"{job['library']['prefix']}_DEBUG"):
        lines.append(_UNREGISTERED.format(**words))
    raise CollectiveRefused("\n".join([*lines, _NO_RDMA.format(**words)]), TEST_FAILURE)


def check_algorithm(job: Job) -> None:
    """Raise ``CollectiveRefused`` if the variables ask for an algorithm that is not there."""
    if job["algorithm"] or len(job["nodes"]) == 1:
        return
    host, device, _ = job["places"][0]
    pid = job["pids"][0]
    words = {"host": host, "pid": pid, "thread": pid + 64, "device": device}
    lines = [*collective_layout.opening(job), *collective_layout.devices(job)]
    lines.append(_NO_ALGORITHM.format(**words, log=job["library"]["log_name"]))
    raise CollectiveRefused("\n".join([*lines, _INTERNAL.format(**words)]), TEST_FAILURE)


def _is_bound(host: dict[str, Any]) -> bool:
    """Tell whether the limit on locked memory applies; it does not apply to root."""
    return bool(host["memlock"] != "unlimited" and not host["root_login"])


def wrong(job: Job, count: int, side: int) -> str:
    """Return the column ``#wrong``, over all ranks; only collectives that reduce have wrong values.

    ``side`` is 0 for out of place, 1 for in place. ``N/A`` if that side is not checked.
    """
    op, ranks = job["run"]["op"], job["ranks"]
    if not job["run"]["check"] or (side == 1 and op in _UNCHECKED_IN_PLACE):
        return "N/A"
    if op not in _REDUCING or not any(gpu.get("computes_wrong") for *_, gpu in job["places"]):
        return "0"
    # The wrong values are in the part that the faulty GPU reduces, and in every copy of that part.
    return str(max(1, count // ranks // _SPOILT_SHARE) * _copies(job))


def out_of_bounds(job: Job, rows: list[Row]) -> int:
    """Return how many row halves (out of place, in place) have wrong values, summed over ranks."""
    spoilt = sum(side[3] not in ("0", "N/A") for row in rows for side in row["sides"])
    return spoilt * _copies(job)


def _copies(job: Job) -> int:
    return int(job["ranks"]) if job["run"]["op"] in _RESULT_EVERYWHERE else 1
