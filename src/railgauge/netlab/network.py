"""The network as batches for ``ip``, ``tc`` and ``nft``. Pure: text only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from railgauge.netlab.settings import LinkSettings, Settings

DEVICE = "eth0"
_BRIDGE = "br0"
_PREFIX_BITS = 16
_HERE = "10.77.255.254"

# The shaper needs room for one segment as large as the kernel makes them (64 KiB), twice.
_BURST_BYTES = 1 << 17
# What the queue may hold, in time: as long as a switch with shallow buffers would.
_QUEUE_MS = 20


def addresses(settings: Settings) -> dict[str, str]:
    """Node -> IPv4 address."""
    return {node: f"10.77.0.{number}" for number, node in enumerate(settings.nodes, 1)}


def bridge() -> str:
    """The switch, and the address at which the nodes reach whoever accepts them."""
    return (
        "link set lo up\n"
        f"link add {_BRIDGE} type bridge forward_delay 0 stp_state 0\n"
        f"addr add {_HERE}/{_PREFIX_BITS} dev {_BRIDGE}\n"
        f"link set {_BRIDGE} up\n"
    )


def cables(settings: Settings, pids: Mapping[str, int]) -> str:
    """A veth pair for each node: one end in the node, the other, with its name, on the bridge."""
    return "".join(
        f"link add {node} mtu {link.mtu_bytes} type veth "
        f"peer name {DEVICE} mtu {link.mtu_bytes} netns {pids[node]}\n"
        f"link set {node} master {_BRIDGE} up\n"
        for node, link in ((node, settings.link(node)) for node in settings.nodes)
    )


def inside(settings: Settings, address: str) -> str:
    """What is set in a node's own network namespace.

    Where some get lost packets leave it as the frames of a wire, not as the 64 KiB that a kernel
    hands itself: so loss takes single frames.
    """
    is_lossy = any(link.loss for link in settings.links.values())
    return (
        "link set lo up\n"
        f"addr add {address}/{_PREFIX_BITS} dev {DEVICE}\n"
        f"link set {DEVICE} {'gso_max_segs 1 ' if is_lossy else ''}up\n"
    )


def shaper(device: str, link: LinkSettings) -> str:
    """A token bucket: what is sent through ``device`` is sent at the link's rate."""
    return (
        f"qdisc add dev {device} root tbf rate {link.rate_mbit * 1000:.0f}kbit "
        f"burst {_BURST_BYTES} latency {_QUEUE_MS}ms\n"
    )


def drops(settings: Settings) -> str:
    """Rules for the bridge's ports: what comes from a node, or goes to it, and gets lost."""
    rules = [
        (way, f'{name} "{node}" {rule}')
        for node, link in settings.links.items()
        for way, name, rule in _rules(link)
    ]
    chains = (_chain(way, [rule for at, rule in rules if at == way]) for way in _WAYS)
    return f"table bridge railgauge {{\n{''.join(chains)}}}\n" if rules else ""


# Hook -> how a rule names the port there.
_WAYS = {"prerouting": "iifname", "postrouting": "oifname"}
_EXCEPT_SSH = ("ether type arp accept", "tcp dport 22 accept", "tcp sport 22 accept")


def _rules(link: LinkSettings) -> Iterator[tuple[str, str, str]]:
    """Hook, how it names the port, and what becomes of a packet there."""
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
