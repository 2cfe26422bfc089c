"""Locate a fault: from slow pairs to nodes, and from paths to NICs, GPUs and links. Pure.

What the evidence does not decide is returned as undecided, with the measurement that would decide
it.
"""

from railgauge.diagnosis.localise.capacity import PathRate, likeliest
from railgauge.diagnosis.localise.directions import SENDING, parted, plain, ways
from railgauge.diagnosis.localise.links import LinkBlame, blame_links
from railgauge.diagnosis.localise.nodes import Blamed, PairResult, Undecided, blame
from railgauge.diagnosis.localise.parts import Part, PathResult
from railgauge.diagnosis.localise.paths import Located, blame_paths

__all__ = [
    "SENDING",
    "Blamed",
    "LinkBlame",
    "Located",
    "PairResult",
    "Part",
    "PathRate",
    "PathResult",
    "Undecided",
    "blame",
    "blame_links",
    "blame_paths",
    "likeliest",
    "parted",
    "plain",
    "ways",
]
