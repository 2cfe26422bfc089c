"""The commands, the metrics, and the items that the output must confirm."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from railgauge.config.thresholds.storage import mounts_of
from railgauge.core.model import Command, Parsed
from railgauge.core.storage import FIGURES
from railgauge.tools import Setting, on_storage
from railgauge.tools.fio import together
from railgauge.tools.metric import HIGHER, LOWER, Metric
from railgauge.tools.options import on_its_node, program, read_options, starting
from railgauge.tools.output_checks import OutputCheck, SideOutput, ToolRequest, equal, long_enough

METRICS = (
    Metric("bandwidth_read", ("MB/s",), HIGHER),
    Metric("bandwidth_write", ("MB/s",), HIGHER),
    Metric("iops_read", ("1/s",), HIGHER),
    Metric("iops_write", ("1/s",), HIGHER),
    Metric("creates", ("1/s",), HIGHER),
    Metric("stats", ("1/s",), HIGHER),
    Metric("deletes", ("1/s",), HIGHER),
    # of all nodes at once
    Metric("shared_write", ("MB/s",), HIGHER),
    Metric("shared_read", ("MB/s",), HIGHER),
    Metric("fairness_write", ("1",), HIGHER),
    Metric("fairness_read", ("1",), HIGHER),
    Metric("corrupt", ("count",), LOWER, may_be_zero=True),
)
COMMANDS = ("fio",)
_DIRECTORY = "--directory="
# The words are the folders, the free space that each needs, and fio's command; it is one process.
_SCRIPT = (
    on_storage.FUNCTIONS
    + """\
folders=$1 needs=$2; shift 2
clean() { end_started; rm -rf -- $folders; } 2>/dev/null
prepare
start "$@"
exit "$code"
"""
)
# What every job of a kind is asked for. Only reads and writes that pass by the node's page cache
# are figures of the storage.
_TIMED = {"ioengine": "libaio", "direct": "1", "group_reporting": "1", "time_based": "1"}
_KINDS: Mapping[str, Mapping[str, str]] = {
    "write": {**_TIMED, "rw": "write", "bs": "1M", "iodepth": "16"},
    "read": {**_TIMED, "rw": "read", "bs": "1M", "iodepth": "16"},
    "randwrite": {**_TIMED, "rw": "randwrite", "bs": "4k", "iodepth": "32", "numjobs": "4"},
    "randread": {**_TIMED, "rw": "randread", "bs": "4k", "iodepth": "32", "numjobs": "4"},
    "create": {"ioengine": "filecreate"},
    "stat": {"ioengine": "filestat"},
    "delete": {"ioengine": "filedelete"},
}


@dataclass(frozen=True, slots=True)
class _Job:
    """One job of fio; ``asked`` is what is asked of its mount, as plain data."""

    name: str
    kind: str
    mount: str
    asked: Mapping[str, Any]

    @property
    def options(self) -> dict[str, str]:
        return {**_KINDS[self.kind], **(self._timed() if self.is_timed else self._counted())}

    @property
    def is_timed(self) -> bool:
        return "time_based" in _KINDS[self.kind]

    def _timed(self) -> dict[str, str]:
        return {
            "filename": "data",
            "size": f"{self.asked['size_mib']}M",
            "runtime": str(self.asked["seconds"]),
        }

    def _counted(self) -> dict[str, str]:
        files = self.asked["files"]
        return {
            "filename_format": "file.$filenum",
            "nrfiles": str(files),
            "filesize": f"{on_storage.FILE_KIB}k",
            "size": f"{files * on_storage.FILE_KIB}k",
            "openfiles": "1",
            "fallocate": "none",
        }

    def argv(self, folder: str) -> Iterator[str]:
        yield from (f"--name={self.name}", "--stonewall", f"{_DIRECTORY}{folder}")
        yield from (f"--{name}={value}" for name, value in self.options.items())


def commands(setting: Setting, port: int) -> tuple[Command, ...]:  # noqa: ARG001 - no server
    """Return one run on the case's node, which measures every mount one after the other.

    Option ``mounts``: what is asked of the mounts that the hostfile declares, by their names; with
    ``together`` all nodes of the case measure them at the same time. The program is ``fio`` on the
    node's PATH, or at the path under ``fio`` in the hostfile's ``tools``. Raises ``BadInput``.
    """
    options = read_options(setting, frozenset({"mounts", "together"}), COMMANDS)
    fio = program(setting, "fio")
    mounts = on_storage.reached_mounts(setting)
    if not mounts:
        options.refuse("no mounts to measure", "declare them in the hostfile, under storage:")
    if options.flag("together"):
        return starting((fio,), together.commands(setting, mounts, fio))
    folders = on_storage.own_folders(setting, mounts)
    jobs = (word for job in _jobs(mounts) for word in job.argv(folders[job.mount]))
    needs = on_storage.needs_kib(mounts)
    words = ("\n".join(folders.values()), needs, fio, "--output-format=json", "--thread", *jobs)
    return starting((fio,), on_its_node(setting, ("sh", "-c", _SCRIPT, "fio", *words)))


def _jobs(mounts: Mapping[str, Mapping[str, Any]]) -> Iterator[_Job]:
    for name, asked in mounts.items():
        for kind in (FIGURES[one].job for one in FIGURES if one in asked["figures"]):
            yield _Job(f"{name}-{kind}", kind, name, asked)


def joined(asked: ToolRequest, sides: tuple[SideOutput, ...]) -> Parsed:
    """Return what all sides of a run show; of a run on one node that is what this one shows."""
    return together.joined(asked, sides) if asked.option("together") else sides[0].parsed


# --- what the output must confirm ---


def output_checks(asked: ToolRequest, sides: tuple[SideOutput, ...]) -> tuple[OutputCheck, ...]:
    """Compare the jobs, the options of each, and the time of the command with that of its jobs."""
    mounts = mounts_of(asked.measurement)
    if asked.option("together"):
        return tuple(
            one for each in mounts.values() for one in together.output_checks(asked, sides, each)
        )
    jobs = list(_jobs(mounts))
    reported = sides[0].parsed.summary.get("jobs")
    of_jobs: Mapping[str, Any] = reported if isinstance(reported, dict) else {}
    wanted_s = sum(job.asked["seconds"] for job in jobs if job.is_timed)
    return (
        equal("jobs", ", ".join(job.name for job in jobs), ", ".join(of_jobs) or None),
        *(check for job in jobs for check in _of_job(job, of_jobs.get(job.name))),
        *_places(jobs, sides[0].argv, of_jobs),
        *long_enough(sides[0], float(wanted_s), "for all its jobs"),
    )


def _of_job(job: _Job, of_jobs: Mapping[str, str] | None) -> Iterator[OutputCheck]:
    for name, wanted in job.options.items():
        yield equal(f"{name} of {job.name}", wanted, of_jobs.get(name, "") if of_jobs else None)


def _places(
    jobs: Sequence[_Job], argv: Sequence[str], of_jobs: Mapping[str, Mapping[str, str]]
) -> Iterator[OutputCheck]:
    """Check that each job worked in the folder of the command; not of an output without it."""
    folders = [word.removeprefix(_DIRECTORY) for word in argv if word.startswith(_DIRECTORY)]
    for job, folder in zip(jobs, folders, strict=False):
        reported = of_jobs[job.name].get("directory", "") if job.name in of_jobs else None
        yield equal(f"folder of {job.name}", folder, reported)
