"""Locate a fault: from slow pairs to nodes, and from paths to NICs, GPUs and links. Pure.

What the evidence does not decide is returned as undecided, with the measurement that would decide
it.
"""

from railgauge.diagnosis.localise.directions import SENDING, plain, ways
from railgauge.diagnosis.localise.links import LinkBlame, blame_links
from railgauge.diagnosis.localise.nodes import Blamed, PairResult, Undecided, blame
from railgauge.diagnosis.localise.parts import Part, PathResult
from railgauge.diagnosis.localise.paths import blame_paths

__all__ = [
    "SENDING",
    "Blamed",
    "LinkBlame",
    "PairResult",
    "Part",
    "PathResult",
    "Undecided",
    "blame",
    "blame_links",
    "blame_paths",
    "plain",
    "ways",
]
