"""Where the fault is: from slow pairs to nodes, and down the paths to NICs, GPUs and links.

Everything here is a pure function of results; nothing is guessed. What the evidence does not
decide is returned as such, with the measurement that would decide it.
"""

from railgauge.localise.nodes import Blamed, PairResult, Undecided, blame

__all__ = ["Blamed", "PairResult", "Undecided", "blame"]
