"""A real TCP cluster in one machine: network namespaces, joined by a bridge, with real SSH.

Every node is a set of namespaces (network, mounts, host name, IPC, processes) of the Linux kernel
that runs this program; its link is a veth pair, shaped to a declared rate. No privilege is needed
where user namespaces are allowed. Nothing here is made up: what tools measure on these nodes they
really measure, and the rest of the project cannot tell such a node from one in a rack.
"""

from railgauge.netlab.cluster import run
from railgauge.netlab.settings import settings

__all__ = ["run", "settings"]
