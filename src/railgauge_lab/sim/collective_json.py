"""The JSON file that nccl-tests writes with -J."""

from __future__ import annotations

import os
import time

from . import stored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Job = dict[str, Any]

_VERSION = 3


def open_new(wanted: str) -> str:
    """Create a new file and return its path; like the real tests, never overwrite a file."""
    path, number = wanted, 0
    while True:
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
            return path
        except FileExistsError:
            path, number = f"{wanted}.{number}", number + 1


def write(path: str, job: Job, rows: list[dict[str, Any]], average: float) -> None:
    """Write configuration, devices, rows and footer; booleans are strings, as in the real file."""
    run, now = job["run"], time.strftime("%Y-%m-%d %H:%M:%S")
    document = {
        "version": _VERSION,
        "start_time": now,
        "args": job["arguments"],
        "env": [f"{key}={value}" for key, value in job["environment"].items()],
        "nccl_version": job["library"]["headers"],
        "config": _config(run),
        "devices": [_device(job, rank) for rank in range(job["ranks"])],
        "results": [_result(run, row) for row in rows],
        "out_of_bounds": _bounds(job["out_of_bounds"]),
        "average_bus_bandwidth": {"bandwidth": average, "okay": "unchecked"},
        "errors": [],
        "end_time": now,
    }
    with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123 - see main.py
        file.write(stored.as_json(document, indent=2) + "\n")


def _bounds(count: int) -> dict[str, Any]:
    return {"count": count, "okay": "false" if count else "true"}


def _config(run: dict[str, Any]) -> dict[str, Any]:
    kind, step = run["step"].rstrip(")").split("(")[::-1]
    return {
        "nthreads": run["threads"],
        "ngpus": run["gpus"],
        "minimum_bytes": run["min"],
        "maximum_bytes": run["max"],
        f"step_{kind}": int(step),
        "warmup_iters": run["warmup"],
        "iterations": run["iters"],
        "aggregated_iterations": run["aggregated"],
        "validation": run["check"],
        "graph": run["graph"],
        "blocking_collectives": "false",
        "parallel_init": "false",
    }


def _device(job: Job, rank: int) -> dict[str, Any]:
    host, device, gpu = job["places"][rank]
    return {
        "rank": rank,
        "group": 0,
        "pid": job["pids"][rank],
        "hostname": host,
        "device": device,
        "device_hex": gpu["bus"].rpartition(".")[0],
        "device_info": gpu["model"],
    }


def _result(run: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
    sides = [_side(run, *side) for side in row["sides"]]
    return {
        "size": row["size"],
        "count": row["count"],
        "type": run["type"],
        "redop": row["redop"],
        "root": str(row["root"]),
        "out_of_place": sides[0],
        "in_place": sides[1],
        "actual_iterations": run["iters"],
        "experiment_name": "",
    }


def _side(run: dict[str, Any], time_us: float, alg: float, bus: float, wrong: str) -> Any:
    clock = "cpu_time" if run["cputime"] else "time"
    counted = None if wrong == "N/A" else int(wrong)
    return {clock: time_us, "alg_bw": alg, "bus_bw": bus, "nwrong": counted}
