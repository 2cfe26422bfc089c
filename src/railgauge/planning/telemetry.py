"""The commands that sample the GPUs of a case's nodes while it is measured. Pure."""

from __future__ import annotations

from railgauge.config.thresholds import Platform
from railgauge.core.model import Case, Cluster, Command
from railgauge.core.programs import located
from railgauge.stacks.sampling import last_of_each, sampling_argv

# A server gets ready within one time limit and the client ends within another; the rest is for
# retries on other ports, and for stopping hung commands.
_LIMITS, _SPARE_S = 2, 300.0


def samplers(case: Case, platform: Platform, cluster: Cluster) -> tuple[Command, ...]:
    """Return one command for each node of the case; none if its GPUs are not sampled."""
    asked = platform.telemetry
    if asked is None or not platform.samples(case.measurement):
        return ()
    program = located(cluster.tools, asked.sampler.program)
    argv = sampling_argv(cluster.rootfs, program, asked.sampler, asked.interval_ms)
    limit_s = _LIMITS * platform.measurements[case.measurement].time_limit_s + _SPARE_S
    return tuple(Command(node, argv, time_limit_s=limit_s) for node in case.nodes)


def last_samples(text: str, platform: Platform) -> int:
    """The place in a sampler's output at which the last sample of each GPU begins."""
    if platform.telemetry is None or platform.gpus is None:
        return 0
    return last_of_each(text, platform.telemetry.sampler, platform.gpus.count)
