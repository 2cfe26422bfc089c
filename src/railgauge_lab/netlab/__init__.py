"""A real TCP cluster in one machine: network namespaces, joined by a bridge, with real SSH.

Every node is a set of namespaces (network, mounts, host name, IPC, processes) of the Linux kernel
that runs this program. Its link is a veth pair, shaped to a declared rate. No privilege is needed
where user namespaces are allowed. Nothing is simulated: the tools really measure these links, and
the rest of the project treats such a node like any other.
"""

from railgauge_lab.netlab.cluster import run
from railgauge_lab.netlab.settings import settings

__all__ = ["run", "settings"]
