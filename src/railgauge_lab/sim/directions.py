"""What two nodes reach together, by the direction in which a test moves its payload.

A NIC may be slow in what it sends or in what it receives (``sends`` and ``receives`` are the shares
that are left). A test in one direction is as fast as the slower of its sender and its receiver.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Shares = dict[str, float]

SENDS, RECEIVES = "sends", "receives"


def shares(nic: dict[str, Any]) -> Shares:
    """Return the shares of a NIC's bandwidth that are left in each direction."""
    return {way: float(nic.get(way, 1.0)) for way in (SENDS, RECEIVES)}


def flow(one: float, sender: Shares, other: float, receiver: Shares) -> float:
    """Return what a sender that can carry ``one`` moves to a receiver that can carry ``other``."""
    return min(one * sender[SENDS], other * receiver[RECEIVES])


def perftest(test: dict[str, Any], able: tuple[float, float]) -> float:
    """Return what a bandwidth test reaches; ``able`` is what client and server can carry.

    ``test`` has the ``shares`` of both NICs, the client's first. Writes and sends move the
    payload to the server, reads move it to the client. For both directions at once it is the mean
    of the two.
    """
    mine, theirs = able
    client, server = test["shares"]
    away, back = flow(mine, client, theirs, server), flow(theirs, server, mine, client)
    if test["both_ways"]:
        return (away + back) / 2
    return back if test["verb"] == "read" else away
