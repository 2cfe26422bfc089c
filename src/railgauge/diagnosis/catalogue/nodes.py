"""Causes of a node as a whole: how it is reached, who it is, which programs it has."""

from __future__ import annotations

from collections.abc import Mapping

from railgauge.core.problems import ProblemKind
from railgauge.diagnosis.catalogue.effect import (
    ABOVE,
    ANY_FACT,
    BETWEEN,
    BLIND,
    DOUBTS,
    LESS,
    NETWORK,
    OUT,
    PORT_FACTS,
    SETTING,
    STOPS,
    Effect,
)
from railgauge.diagnosis.catalogue.kind import (
    CORRECT,
    CRITICAL,
    DRAIN,
    MEASURE_AGAIN,
    MINOR,
    UNKNOWN,
    Kind,
)
from railgauge.diagnosis.symptoms import Symptom

KINDS: Mapping[str, Kind] = {
    "node-unreachable": Kind(
        "the node cannot be reached, refuses the login, or stopped answering",
        "check power, network and sshd of the node; then log in by hand with the hostfile's user",
        "derived: a node that does not answer cannot be judged",
        over_slurm="ask Slurm why: scontrol show node NODE, sinfo -R; check slurmd and munge on the"
        " node (systemctl status slurmd munge); scontrol update nodename=NODE state=resume gives a"
        " repaired node back",
        severity=CRITICAL,
        action=DRAIN,
        # It may stop answering between a measurement and the reading of its counters.
        effect=Effect(
            OUT,
            ABOVE,
            STOPS | {Symptom.LOST, Symptom.UNKNOWN},
            facts=frozenset({ANY_FACT}),
            problems=frozenset({ProblemKind.NODE_FAILED, ProblemKind.NODE_UNAVAILABLE}),
        ),
    ),
    "host-key-rejected": Kind(
        "the node presents an SSH host key that is not known, or not the known one",
        "compare the key's fingerprint with the node's own (ssh-keygen -lf"
        " /etc/ssh/ssh_host_ed25519_key.pub there); if it is right, replace the entry:"
        " ssh-keygen -R NODE, then ssh-keyscan NODE >> ~/.ssh/known_hosts (behind a jump host:"
        " ssh JUMP ssh-keyscan NODE); host_keys: accept-new"
        " in the hostfile adds unknown keys, never changed ones",
        "standard: RFC 4251, 4.1: without a known host key the server may be any machine",
        severity=UNKNOWN,
        action=CORRECT,
        effect=Effect(OUT, ABOVE, STOPS | {Symptom.LOST}, facts=frozenset({ANY_FACT})),
    ),
    "other-machine": Kind(
        "another machine answers in the name of a node since it was rebooted: its machine id, or"
        " the serial number or UUID of a part, is another one; what was measured before is not"
        " counted for it",
        "look which machine has the node's address (DHCP, DNS, a node that was replaced); put back"
        " the machine or the part and carry the run on with --resume, or start a new run",
        "standard: machine-id(5), the id of an installation is unique, as are UUIDs of parts",
        severity=UNKNOWN,
        action=CORRECT,
        effect=Effect(OUT, ABOVE, STOPS | {Symptom.LOST, Symptom.UNKNOWN}),
    ),
    "setup-failed": Kind(
        "a line of setup in the hostfile failed, so that nothing was run on the node",
        "run the line on the node in bash; it is not a login shell, so a line before may have to"
        " define module or conda: source /etc/profile.d/modules.sh",
        "derived: a tool without its environment measures another one, or nothing",
        folds=True,
        severity=UNKNOWN,
        action=CORRECT,
        effect=Effect(OUT, ABOVE, STOPS | {Symptom.LOST}, facts=frozenset({ANY_FACT})),
    ),
    "become-refused": Kind(
        "become in the hostfile did not run a command as root, so that nothing was run on the node",
        "give the login the right to run every program as root without a password (sudoers: USER"
        " ALL=(root) NOPASSWD: ALL), log in as root, or remove become: then what needs root is"
        " missing (railgauge docs hostfile, Root)",
        "derived: a site that asks for root has tests that are errors without it",
        folds=True,
        severity=UNKNOWN,
        action=CORRECT,
        effect=Effect(OUT, ABOVE, STOPS | {Symptom.LOST}, facts=frozenset({ANY_FACT})),
    ),
    "name-not-resolved": Kind(
        "other nodes do not know the address of a node's name, or a node knows none of theirs",
        "give the node an address in the hostfile that the others can resolve: data_address:"
        " ADDRESS; or enter its name in DNS or in /etc/hosts of the nodes (getent hosts NAME)",
        "derived: a tool that is given a name that its node cannot resolve measures nothing",
        folds=True,
        severity=UNKNOWN,
        action=CORRECT,
        effect=Effect(BLIND, NETWORK, frozenset({Symptom.UNRESOLVED})),
    ),
    "login-between-nodes": Kind(
        "the launcher cannot log in by ssh from the first node of a collective to the others",
        "set launch: through-suite in the hostfile, which needs no login between nodes; or make"
        " ssh -o BatchMode=yes ADDRESS true work on that node as the hostfile's user: its key in"
        " authorized_keys there, the host key in known_hosts, another port in ~/.ssh/config",
        "derived: mpirun starts a daemon on each other node by ssh, which nobody answers",
        folds=True,
        severity=UNKNOWN,
        action=CORRECT,
        effect=Effect(BLIND, BETWEEN, STOPS, facts=frozenset({"node_login"})),
    ),
    "one-machine": Kind(
        "several names of the hostfile are one running kernel: one machine counts as several",
        "keep one name of each machine in the hostfile; reboot a machine resumed from a snapshot",
        "derived: the kernel draws its boot id anew at each boot, see random(4)",
        severity=UNKNOWN,
        action=CORRECT,
        effect=Effect(OUT),
    ),
    "cloned-image": Kind(
        "several nodes have one machine id: their system image was cloned with its identity",
        "empty /etc/machine-id in the image; systemd-machine-id-setup gives each node its own",
        "standard: machine-id(5), the id of an installation is unique; DHCP and logs rely on it",
        severity=MINOR,
        action=CORRECT,
        effect=Effect(SETTING),
    ),
    "duplicate-address": Kind(
        "several ports have one LID, GID or GUID: what is sent to one of them may reach another",
        "restart the subnet manager for a LID; give each port its own GUID or IP address for a GID",
        "standard: InfiniBand Architecture Specification, volume 1: an address names one port",
        severity=CRITICAL,
        action=CORRECT,
        effect=Effect(OUT, NETWORK, STOPS | LESS, "nic"),
    ),
    "guid-unset": Kind(
        "an adapter has no GUID: the subnet manager cannot tell it from others",
        "give it the GUID of its label (flint -d DEVICE -guid GUID sg), and reset it; a virtual"
        " function gets its GUID of the host (ip link set … vf N node_guid GUID)",
        "standard: InfiniBand Architecture Specification, volume 1: each adapter has a GUID",
        severity=CRITICAL,
        action=CORRECT,
        effect=Effect(OUT, NETWORK, STOPS | LESS, "nic", PORT_FACTS),
    ),
    "clock-off": Kind(
        "the clock of a node does not show the time of the others",
        "start chronyd or ntpd and check its servers (chronyc tracking); then compare the hardware"
        " clock: hwclock",
        "standard: RFC 4120, 3.2.3: a clock that is off by more than the skew, such as 5 minutes,"
        " is refused",
        folds=True,
        severity=MINOR,
        action=CORRECT,
        effect=Effect(SETTING),
    ),
    "control-host-busy": Kind(
        "the machine that runs the suite was busy while nodes that run on it (namespaces, the local"
        " machine) missed their limits: the misses say nothing of these nodes",
        "end what else runs on the control host, make fewer measurements at once"
        " (--at-once, -n), and measure again; a node that misses its limits while the host is"
        " quiet is named by a cause of its own",
        "derived: tasks that wait for a CPU before a measurement begins and after it has ended are"
        " not those of the measurement; proc_stat(5), accounting/psi of the Linux kernel",
        severity=UNKNOWN,
        action=MEASURE_AGAIN,
        effect=Effect(DOUBTS),
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
        severity=UNKNOWN,
        action=MEASURE_AGAIN,
        effect=Effect(DOUBTS),
    ),
    "tool-missing": Kind(
        "a program that the measurement needs is not installed on the node",
        "install it, or give its path under 'tools' in the hostfile",
        "derived: without the program there is no measurement",
        folds=True,
        severity=UNKNOWN,
        action=CORRECT,
        effect=Effect(BLIND, ABOVE, STOPS | {Symptom.NO_TOOL}, "tool"),
    ),
    "tool-failing": Kind(
        "a tool hangs, ends early or prints output that cannot be parsed",
        "run the command of the transcript by hand on that node",
        "derived: no verdict without a printed figure",
        severity=UNKNOWN,
        action=MEASURE_AGAIN,
        effect=Effect(BLIND),
    ),
}
