"""Samples of the GPUs of one node, in measurements ``case1``, ``case2`` …, and what is judged."""

from railgauge.config import thresholds
from railgauge.core.model import Outcome
from railgauge.judging.telemetry import judged, watched
from testing.core_values import ROOT
from testing.gpu_samples import BOOT, client, telemetry

H200 = thresholds.load("h200", ROOT / "thresholds")
TITLE = "node_all_reduce[n1]"


def seen(text=None, lasted_s=4.5, title=TITLE, **changes):
    run = (client(lasted_s=lasted_s), telemetry(text=text, **changes))
    return watched("n1", title, run, H200, {BOOT})


def of(*texts, platform=H200):
    found = [seen(text, title=f"case{number}") for number, text in enumerate(texts, 1)]
    return judged("n1", found, platform)


def failed(*texts):
    judgements, _ = of(*texts)
    return [one for one in judgements if one.outcome is Outcome.FAILED]
