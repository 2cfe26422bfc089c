"""Causes of programs that are missing or do not work."""

from __future__ import annotations

from collections.abc import Mapping

from railgauge.diagnosis.catalogue.kind import Kind

KINDS: Mapping[str, Kind] = {
    "control-host-busy": Kind(
        "the machine that runs the suite was busy while nodes that run on it (namespaces, the local"
        " machine) missed their limits: the misses say nothing of these nodes",
        "end what else runs on the control host, make fewer measurements at once"
        " (--at-once, -n), and measure again; a node that misses its limits while the host is"
        " quiet is named by a cause of its own",
        "derived: tasks that wait for a CPU before a measurement begins and after it has ended are"
        " not those of the measurement; proc_stat(5), accounting/psi of the Linux kernel",
    ),
    "cpu-steal": Kind(
        "the node is a virtual machine, and its hypervisor gave CPU time that the node wanted to"
        " others while measurements missed their limits: the misses say nothing of the node's own"
        " parts",
        "give the virtual machine CPUs of its own (pinned, not overcommitted), or move what else"
        " runs on its host, and measure again; a node that misses its limits without steal is named"
        " by a cause of its own",
        "derived: CPU time that was stolen is missing to the measurement that wanted it; steal in"
        " proc_stat(5) of the Linux kernel",
    ),
    "tool-missing": Kind(
        "a program that the measurement needs is not installed on the node",
        "install it, or give its path under 'tools' in the hostfile",
        "derived: without the program there is no measurement",
        folds=True,
    ),
    "tool-failing": Kind(
        "a tool hangs, ends early or prints output that cannot be parsed",
        "run the command of the transcript by hand on that node",
        "derived: no verdict without a printed figure",
    ),
}
