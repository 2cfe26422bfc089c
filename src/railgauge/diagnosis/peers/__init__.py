"""Parts that are slower than their peers although no limit shows it. Pure.

Peers are the other nodes, measured in the same way: by the same measurement, over the same NIC, GPU
or link, at the same message size, and between leaves or within one (``standing``). A part that is
behind all of them in several measurements is a straggler (``rule``).

Which node of a pair is slow
    A pair is as fast as the slower of its nodes. A node is therefore as fast as its fastest pair,
    and the partner of a slow node is cleared by its other partner. If it has no other partner,
    both are suspects. Collectives over more than two nodes blame no single node and are left out.

Which direction
    A node that is fine in one direction is as fast as that one, so each direction is compared by
    itself as well: what a node sends with what the others send. In it the partner is known from
    what it does the other way, so that in two rounds both are suspects. A partner that takes part
    in some of the slow measurements alone is none, and collectives tell which of two it is.

Which GPUs are peers
    What a GPU reaches by itself depends on nothing beside it: it is compared with all other GPUs of
    the cluster, on its own node too, so that one node is enough (``alone``). It may be behind in
    its products alone, or in its memory alone.

Which rails are peers
    Two nodes have no other node as a peer. Their rails are peers of each other, where the platform
    file holds three or more of them to the same limit (``rails``); both nodes are suspects.

Which figures count
    Only rates. A latency contains the length of the cables and the number of switches, which differ
    legitimately between the nodes of one cluster: 5 ns a metre, against 1 us in total.

How far behind
    Healthy like parts differ by up to 1.04 % in the documents (002, the two directions of a link
    between GPUs). A straggler is behind by ``BEHIND_MIN``, twice as much. Taken as two standard
    deviations, 1.04 % is 0.5 % for one: no measurement is assumed to be less noisy (``NOISE_MIN``).
    A measurement's own noise is the largest of this, the spread of its repeats, and the spread of
    all parts that it measured (median absolute deviation, at the upper end of its 95 % interval).

How many measurements
    In each run of a tool, the part's distance from the median of its peers, divided by the noise,
    is its score. The part itself is left out of that median. For a healthy part a score is at most
    standard normal. The scores of n independent runs are added and divided by sqrt(n), which is
    standard normal again and exceeds t with a probability below exp(-t^2/2). N parts are compared,
    so that the suite raises a false alarm with a probability below N exp(-t^2/2).
    ``FALSE_ALARMS`` is the permitted probability; hence t = sqrt(2 ln(N / FALSE_ALARMS)), 5.3 for
    10 parts and 5.9 for 300. All sizes and metrics of one run of a tool are one score, the median.
    Repeats are runs of their own.

    A score counts at most t / sqrt(2), so that one wild run names no part and two that agree do. If
    a part has too few runs of its own, the collectives that use it count too, since the slowest
    part slows them; a NIC has no part in those inside a node. A part that only one run shows is
    named, undecided, if its score exceeds t and the measurement is quiet: the spread of 16 values
    or more is below ``NOISE_MIN``. One run cannot tell a slow part from a slow moment, and of a
    noisy measurement one value shows nothing: the largest of 16 normal values exceeds 5.3 of their
    estimated deviations in 3 of 10,000 cases.

Which part
    Two thirds of a part's runs must show it; the others may be bound by something else. The whole
    node comes first, then the NIC, GPU or link with the most runs, then one direction of the node,
    or of a NIC, and last what uses all of it. A node takes two thirds of its parts as well as of
    its collectives, as a single slow part slows most of the latter.

``FALSE_ALARMS`` is 1e-5: five platforms at three levels with 1,000 seeds are 15,000 healthy runs,
in which 0.15 false alarms may be expected. ``BEHIND_MIN`` makes them rarer still.
docs/false-alarms.md holds what was counted.
"""

from railgauge.diagnosis.peers.claims import (
    STRAGGLER,
    with_items,
    with_stragglers,
    without_slow_partners,
)
from railgauge.diagnosis.peers.limit import ITEMS, compared

__all__ = [
    "ITEMS",
    "STRAGGLER",
    "compared",
    "with_items",
    "with_stragglers",
    "without_slow_partners",
]
