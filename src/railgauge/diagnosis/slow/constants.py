"""The numbers of the model, each with its source. Pure.

*Documents* are those of docs/calibration.md. *Calibrated* means that ``make blind-quick`` was
played with other values on the seeds 610001 to 610003, and that this one had the fewest wrong
causes, then the most exact ones. Logarithms are natural.
"""

from __future__ import annotations

from math import log

from railgauge.core.terms import Term
from railgauge.tools.form import KindOfPart

# --- noise ---

NOISE = 0.004
"""One standard deviation of a rate. Document 002: healthy like parts differ by up to 1.04 %, which
is 2.6 of them."""
LATENCY_NOISE = 0.012
"""The same of a time in microseconds: two steps of 0.01 us of the shortest latencies (document
003), as in the study of blind runs."""
ALIKE = 5.5
"""Values that are so many standard deviations below the fastest one may be healthy. Of a rate that
is 2.2 %, twice what document 002 shows."""
MISFIT = 0.015
"""The share of a loss that the forms predict only roughly. Calibrated."""
STEEP = 3.0
"""Beyond so many standard deviations a reading costs linearly: Huber's rule for outliers."""
WORST_READING = 30.0
"""One reading rules nothing out by more than that: the tool may have measured something else."""
BEND, BEND_SOFT = 30.0, 10.0
"""The readings of one execution are not independent: beyond ``BEND`` what they say together grows
with its logarithm only. Calibrated."""

# --- what healthy parts reach, where nothing tells ---

LIMIT_ROOM = 0.03
"""Healthy parts are that far above their limit. The tightest limit is three times 1.04 % below the
figure that it is derived from (railgauge docs calibration)."""
UNKNOWN_HEALTHY = 2.0
"""Without a peer and without a best value: between the limit and this multiple of it."""

# --- priors ---

FAULT = -3.5
"""That some part of the cluster is slow by a given loss: one run in five has one, and losses are
spread over some seven distinguishable sizes. Calibrated on the seeds 880001 to 880007; with -3
instead, effects of slow NICs were named as faults (seed 850002, ``--physics nics``)."""
NOT_PERMANENT = -2.5
"""More for a fault that is not there always: one in twelve. Calibrated."""
OFTEN: dict[KindOfPart, float] = {
    KindOfPart.NODE: 1.0,
    KindOfPart.NIC: 1.0,
    KindOfPart.SEND: 0.6,
    KindOfPart.RECEIVE: 0.6,
    KindOfPart.GPU: 0.8,
    KindOfPart.PCIE: 0.3,
    KindOfPart.PATH: 0.6,
    KindOfPart.LINK: 0.4,
}
"""How often a slow part is of each kind, relative to the others. No document counts them: a whole
device fails more often than a way between two."""
PRIOR: dict[KindOfPart, float] = {
    kind: FAULT + log(weight / sum(OFTEN.values())) for kind, weight in OFTEN.items()
}
SIDE_EFFECT = -1.5
"""That the smaller of two faults of a node is what a larger NIC fault costs the other NICs: one in
five. No document counts them; beyond one in thirty such a fault is not decided."""
CHANCES = (0.1, 0.3, 0.5, 0.7, 0.9)
"""The probabilities of a fault that acts at times, each as likely as the others."""
TAKES_PART = (True, False, None)
"""A part that may take part does so in all figures of an execution, in none of them, or in some of
them: each as likely as the others, for nothing tells how a library chose."""
SIZES = 16
"""How many sizes of a varying loss can be distinguished: each is as likely as the others."""
MOST_STATES = 32
"""What a hypothesis with faults that act at times may have acted on an execution, at most: five of
them. More is nothing that a run could show."""
LEAST_LOSS = 0.012
"""No reading by itself asks for a smaller fault: three standard deviations of it. All readings of a
part together may show one of ``NOISE``."""

SMALLEST_SHARE = -3.9
"""2 %. What is slower is taken as if it were as fast: how slow it is tells nothing more."""

# --- the search ---

BEAM, REFINED, SPLIT, DEPTH, FOCUS, ROUNDS = 8, 3, 8, 8, 3, 6
"""Hypotheses that grow together; that are refined by exchanges; that are split in two; the most
faults; the worst executions that give the candidates; and how often a better hypothesis is refined
again. Calibrated: more of them found nothing more."""
ALIKE_PARTS = 16
"""Of parts that only fine readings tell apart so many are tried. Calibrated: all found no more."""
WINDOW = 14.0
"""A hypothesis that is less likely by this is no longer followed."""
UNEXPLAINED = 9.0
"""An execution that costs more has something to explain: four standard deviations."""
SURELY = 3.0
"""That the larger loss hides the smaller one must be so much likelier than that losses add up."""

# --- decisions ---

DECIDED = 0.97
"""A part of that probability is decided. Calibrated: fewer than 0.3 % of the causes are wrong."""
SUSPECT = 0.05
"""A part of that probability is named among the suspects of an undecided cause."""
STRAGGLES = 0.018
"""A part that costs less beside the other slow parts is not named. Document 002: healthy like parts
differ by up to 1.04 %. ``make stragglers``: no part that loses 1 % is named, most that lose 2 %
are, and all that lose 3 %. Where two thirds of a group are slow, half of a loss within ``ALIKE`` is
taken for what healthy parts reach."""
STRAGGLERS_SEEN = 2
"""A part that keeps its limits is not named for one execution alone: it may be a slow moment."""

# --- asking ---

LEAST_TOLD = 0.01 / 20
"""Nats a second that a measurement must tell: a check of a small rest is worth no 20 seconds."""
TEMPER, CHECKS = 0.5, 7
"""Until so many cases are measured again, odds count as if less sure, by that power: what the prior
decided rather than a measurement is worth some checks. Calibrated: without them one of 599 causes
was wrong and a run had 8.3 executions more (seeds 820001 and 820003), with them none of 1,201 and
10.7 (820001 to 820004)."""


class When(Term):
    """The timing of a fault."""

    ALWAYS = "always"
    SINCE = "since"
    AT_TIMES = "at times"
    VARYING = "varying"
