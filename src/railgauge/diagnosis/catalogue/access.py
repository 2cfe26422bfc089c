"""Causes that keep the suite from running a command on a node."""

from __future__ import annotations

from collections.abc import Mapping

from railgauge.diagnosis.catalogue.kind import Kind

KINDS: Mapping[str, Kind] = {
    "node-unreachable": Kind(
        "the node cannot be reached, refuses the login, or stopped answering",
        "check power, network and sshd of the node; then log in by hand with the hostfile's user",
        "derived: a node that does not answer cannot be judged",
        over_slurm="ask Slurm why: scontrol show node NODE, sinfo -R; check slurmd and munge on the"
        " node (systemctl status slurmd munge); scontrol update nodename=NODE state=resume gives a"
        " repaired node back",
    ),
    "host-key-rejected": Kind(
        "the node presents an SSH host key that is not known, or not the known one",
        "compare the key's fingerprint with the node's own (ssh-keygen -lf"
        " /etc/ssh/ssh_host_ed25519_key.pub there); if it is right, replace the entry:"
        " ssh-keygen -R NODE, then ssh-keyscan NODE >> ~/.ssh/known_hosts (behind a jump host:"
        " ssh JUMP ssh-keyscan NODE); host_keys: accept-new"
        " in the hostfile adds unknown keys, never changed ones",
        "standard: RFC 4251, 4.1: without a known host key the server may be any machine",
    ),
    "other-machine": Kind(
        "another machine answers in the name of a node since it was rebooted: its machine id, or"
        " the serial number or UUID of a part, is another one; what was measured before is not"
        " counted for it",
        "look which machine has the node's address (DHCP, DNS, a node that was replaced); put back"
        " the machine or the part and carry the run on with --resume, or start a new run",
        "standard: machine-id(5), the id of an installation is unique, as are UUIDs of parts",
    ),
    "setup-failed": Kind(
        "a line of setup in the hostfile failed, so that nothing was run on the node",
        "run the line on the node in bash; it is not a login shell, so a line before may have to"
        " define module or conda: source /etc/profile.d/modules.sh",
        "derived: a tool without its environment measures another one, or nothing",
        folds=True,
    ),
    "become-refused": Kind(
        "become in the hostfile did not run a command as root, so that nothing was run on the node",
        "give the login the right to run every program as root without a password (sudoers: USER"
        " ALL=(root) NOPASSWD: ALL), log in as root, or remove become: then what needs root is"
        " missing (railgauge docs hostfile, Root)",
        "derived: a site that asks for root has tests that are errors without it",
        folds=True,
    ),
    "name-not-resolved": Kind(
        "other nodes do not know the address of a node's name, or a node knows none of theirs",
        "give the node an address in the hostfile that the others can resolve: data_address:"
        " ADDRESS; or enter its name in DNS or in /etc/hosts of the nodes (getent hosts NAME)",
        "derived: a tool that is given a name that its node cannot resolve measures nothing",
        folds=True,
    ),
    "login-between-nodes": Kind(
        "the launcher cannot log in by ssh from the first node of a collective to the others",
        "set launch: through-suite in the hostfile, which needs no login between nodes; or make"
        " ssh -o BatchMode=yes ADDRESS true work on that node as the hostfile's user: its key in"
        " authorized_keys there, the host key in known_hosts, another port in ~/.ssh/config",
        "derived: mpirun starts a daemon on each other node by ssh, which nobody answers",
        folds=True,
    ),
}
