"""The network as batches for ``ip``, ``tc`` and ``nft``. Pure: text only.

For example, ``shaper("eth0", LinkSettings(rate_mbit=50))`` returns the line
``qdisc add dev eth0 root tbf rate 50000kbit burst 131072 latency 20ms``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from railgauge_lab.netlab.settings import LinkSettings, Settings

DEVICE = "eth0"
_BRIDGE = "br0"
_PREFIX_BITS = 16
_HERE = "10.77.255.254"

# The shaper's bucket must hold two of the largest segments that the kernel makes (64 KiB).
_BURST_BYTES = 1 << 17
# The longest time that a packet waits in the queue, as in a switch with shallow buffers.
_QUEUE_MS = 20


def addresses(settings: Settings) -> dict[str, str]:
    """Return node -> IPv4 address."""
    return {node: f"10.77.0.{number}" for number, node in enumerate(settings.nodes, 1)}


def bridge() -> str:
    """Return the batch for the bridge and for the address of the machine that tests the nodes."""
    return (
        "link set lo up\n"
        f"link add {_BRIDGE} type bridge forward_delay 0 stp_state 0\n"
        f"addr add {_HERE}/{_PREFIX_BITS} dev {_BRIDGE}\n"
        f"link set {_BRIDGE} up\n"
    )


def cables(settings: Settings, pids: Mapping[str, int]) -> str:
    """Return the batch for a veth pair for each node.

    One end is ``eth0`` in the node; the other end has the node's name and is a port of the bridge.
    ``pids`` gives each node's process 1.
    """
    return "".join(
        f"link add {node} mtu {link.mtu_bytes} type veth "
        f"peer name {DEVICE} mtu {link.mtu_bytes} netns {pids[node]}\n"
        f"link set {node} master {_BRIDGE} up\n"
        for node, link in ((node, settings.link(node)) for node in settings.nodes)
    )


def inside(settings: Settings, address: str) -> str:
    """Return the batch for a node's own network namespace.

    If any link of the cluster loses packets, segmentation offload is limited to one segment. The
    loss then drops single frames, as on a wire, instead of up to 64 KiB at once.
    """
    is_lossy = any(link.loss for link in settings.links.values())
    return (
        "link set lo up\n"
        f"addr add {address}/{_PREFIX_BITS} dev {DEVICE}\n"
        f"link set {DEVICE} {'gso_max_segs 1 ' if is_lossy else ''}up\n"
    )


def shaper(device: str, link: LinkSettings) -> str:
    """Return the batch for a token bucket that limits ``device`` to the link's rate."""
    return (
        f"qdisc add dev {device} root tbf rate {link.rate_mbit * 1000:.0f}kbit "
        f"burst {_BURST_BYTES} latency {_QUEUE_MS}ms\n"
    )


def drops(settings: Settings) -> str:
    """Return the nft rules that drop packets from and to nodes; empty if no packet is dropped."""
    rules = [
        (way, f'{name} "{node}" {rule}')
        for node, link in settings.links.items()
        for way, name, rule in _rules(link)
    ]
    chains = (_chain(way, [rule for at, rule in rules if at == way]) for way in _WAYS)
    return f"table bridge railgauge {{\n{''.join(chains)}}}\n" if rules else ""


# Hook -> the keyword with which a rule names the port there.
_WAYS = {"prerouting": "iifname", "postrouting": "oifname"}
_EXCEPT_SSH = ("ether type arp accept", "tcp dport 22 accept", "tcp sport 22 accept")


def _rules(link: LinkSettings) -> Iterator[tuple[str, str, str]]:
    """Yield the hook, its keyword for the port, and the rule."""
    if link.loss:
        lost = f"numgen random mod 1000 < {link.loss * 1000:.0f} drop"
        yield from ((way, name, lost) for way, name in _WAYS.items())
    if link.cut:
        allowed = _EXCEPT_SSH if link.cut == "data" else ()
        for way, name in _WAYS.items():
            yield from ((way, name, rule) for rule in (*allowed, "drop"))


def _chain(way: str, rules: Sequence[str]) -> str:
    lines = (f"type filter hook {way} priority 0; policy accept;", *rules)
    return f"  chain {way} {{\n{''.join(f'    {line}{chr(10)}' for line in lines)}  }}\n"
