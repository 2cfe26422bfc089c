"""Where the fault is: from slow pairs to nodes, and down the paths to NICs, GPUs and links.

Everything here is a pure function of results; nothing is guessed. What the evidence does not
decide is returned as such, with the measurement that would decide it.
"""

from railgauge.diagnosis.localise.links import blame_links
from railgauge.diagnosis.localise.nodes import Blamed, PairResult, Undecided, blame
from railgauge.diagnosis.localise.parts import Part, PathResult
from railgauge.diagnosis.localise.paths import blame_paths

__all__ = [
    "Blamed",
    "PairResult",
    "Part",
    "PathResult",
    "Undecided",
    "blame",
    "blame_links",
    "blame_paths",
]
