"""``fio --output-format=json`` with jobs on the command line: what each finds of a declared path.

The figures are those of a data centre NVMe disk over PCIe 4.0 x4 as its maker gives them (Samsung
PM9A3, 3.84 TB: 6,800 and 4,000 MB/s, 1,000 and 180 thousand IOPS); those of metadata are of the
size that a local file system shows. No document of the project measures storage.
"""

from __future__ import annotations

import json
import os
import sys

from . import figures
from .counters import turn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]
    Job = dict[str, str]

_BLOCKS = {"1M": 1 << 20, "4k": 4096}
OPERATIONS = {
    ("write", "1M"): 4000e6 / (1 << 20),
    ("read", "1M"): 6800e6 / (1 << 20),
    ("randwrite", "4k"): 180e3,
    ("randread", "4k"): 1000e3,
}
_OF_FILES = {"filecreate": 45e3, "filestat": 250e3, "filedelete": 60e3}
_WITHOUT_JOBS = 1
_OUTPUT = "--output="
_WRONG_BLOCKS = 3
# What all nodes do at the same time has these names, without that of a mount.
_TOGETHER = ("write", "read")
_NOISE_BYTES = 1 << 29  # the noise of a job is that of a large message
_NOTHING = {"io_bytes": 0, "bw_bytes": 0, "iops": 0.0, "runtime": 0, "total_ios": 0}


def run(_tool: str, arguments: list[str], node: Node) -> int:
    """Return 0, or 1 for a command line without jobs, or with one that the lab does not know."""
    jobs = _jobs(arguments)
    if not jobs:
        sys.stderr.write("No job(s) defined\n")
        return _WITHOUT_JOBS
    reported = [_checked(job, node) if "verify" in job else _job(job, node) for job in jobs]
    if None in reported:
        sys.stderr.write("fio: the lab does not know this job\n")
        return _WITHOUT_JOBS
    text = json.dumps({"fio version": "fio-3.36", "global options": {}, "jobs": reported}, indent=2)
    outputs = [word for word in arguments if word.startswith(_OUTPUT)]
    if not outputs:
        print(text)
        return 0
    with open(outputs[-1].removeprefix(_OUTPUT), "w", encoding="utf-8") as output:  # noqa: PTH123
        output.write(text)
    return 0


def _checked(job: Job, node: Node) -> dict[str, Any] | None:
    """A file with checksums: what it holds in the lab is whether its blocks are wrong."""
    path = os.path.join(job.get("directory", ""), job.get("filename", ""))  # noqa: PTH118
    if job.get("rw") == "write":
        with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123 - see main.py
            file.write("wrong" if node.get("storage_corrupts") else "right")
        errors = 0
    else:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123 - see main.py
            errors = _WRONG_BLOCKS * (file.read() == "wrong")
    moved = {"io_bytes": 1 << 20, "bw_bytes": 1 << 20, "iops": 1.0, "runtime": 1000, "total_ios": 1}
    read, write = (_NOTHING, moved) if job["rw"] == "write" else (moved, _NOTHING)
    reported = {
        "jobname": job["name"],
        "groupid": 0,
        "error": 84 if errors else 0,
        "job options": job,
    }
    counted = {"total_err": errors} if "continue_on_error" in job else {}
    return {**reported, **counted, "read": read, "write": write, "trim": _NOTHING}


def _jobs(arguments: list[str]) -> list[Job]:
    jobs: list[Job] = []
    for word in arguments:
        name, _, value = word.removeprefix("--").partition("=")
        if name == "name":
            jobs.append({})
        if jobs:
            jobs[-1][name] = value
    return jobs


def _job(job: Job, node: Node) -> dict[str, Any] | None:
    """What fio prints of one job; ``None`` for a job that the lab does not know."""
    of_files = _OF_FILES.get(job.get("ioengine", ""))
    best = of_files or OPERATIONS.get((job.get("rw", ""), job.get("bs", "")))
    if best is None:
        return None
    key = f"{node['name']} fio {job['name']}"
    key = f"{key} turn {turn(node, key)}"
    which = "client_speed" if job["name"] in _TOGETHER else "storage_speed"
    rate = best * node.get(which, 1.0) * figures.noise(node, key, _NOISE_BYTES)
    count = int(job["nrfiles"]) if of_files else int(rate * int(job.get("runtime", "1")))
    size = count * (4096 if of_files else _BLOCKS[job["bs"]])
    time_ms = max(1, round(1e3 * count / rate))
    moved = {
        "io_bytes": size,
        "bw_bytes": round(size / time_ms * 1e3),
        "iops": round(count / time_ms * 1e3, 6),
        "runtime": time_ms,
        "total_ios": count,
    }
    is_read = job.get("rw", "").endswith("read") or job.get("ioengine") == "filestat"
    read, write = (moved, _NOTHING) if is_read else (_NOTHING, moved)
    reported = {"jobname": job["name"], "groupid": 0, "error": 0, "job options": job}
    return {**reported, "read": read, "write": write, "trim": _NOTHING}
