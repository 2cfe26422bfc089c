"""The parser of train-bench: from its lines to samples and problems."""

from __future__ import annotations

import math
from collections.abc import Iterator

from railgauge.core.model import Parsed
from railgauge.core.problems import Problem, ProblemKind
from railgauge.launchers.failures import find_failures
from railgauge.tools.collector import OutputCollector, problem
from railgauge.tools.own_bench import complaints
from railgauge.tools.text import clean
from railgauge.tools.train_bench import lines, replayed, together
from railgauge.tools.train_bench.lines import TRAIN, TrainBenchRun

# A launcher that is missing is reported under its own name.
_STARTED_BY = ("python3", "mpirun", "mpiexec", "srun")
_FEWEST_RANKS = 2
# The first weights are small, so that the first loss is that of equal odds, ln(vocabulary); random
# tokens cannot be learnt, so that it stays near it.
_LOSS_APART = 0.2
_WIDTHS_OF_A_LAYER = 12  # matrices of width x width: 3 and 1 of the attention, 4 and 4 behind it


def parse(text: str) -> Parsed:
    """Read one run. Never raises and takes time linear in the text.

    Samples of a replay, of each rank, with the placement ``gpu3`` if all ranks are on one node:
    ``agreed`` (``count``), the steps from the first on in which it has the bits of the other ranks,
    and ``wrong`` (``count``), 1 if it has others. Samples of training together: ``tokens_per_s``
    (``1/s``), ``model_tflops`` (``TFLOP/s`` of a GPU over the whole step), ``step_p99`` (over the
    median), ``exchange_share`` and ``load_share`` of the step (``1``); of each rank
    ``compute_tflops`` (``TFLOP/s``) and ``wrong``. Every rank must have a device of its own and all
    steps; chains must be those of the printed steps, no two steps may have one digest, and losses
    must be those of random tokens. ``summary``: ``mode``, ``devices``, what was asked (``steps``,
    ``layers``, …), ``library``, ``nranks``, ``nnodes``, ``ranks`` (host -> how many), ``places`` (a
    ``TrainRank`` for each rank), ``seconds`` of the slowest rank.
    """
    text = clean(text)
    collector = OutputCollector()
    run = lines.read(text, collector)
    if run.runs == 1:
        of_mode = together if run.header["mode"] == TRAIN else replayed
        for complaint in (*_incomplete(run), *of_mode.incomplete(run)):
            collector.error(ProblemKind.METRIC_MISSING, complaint)
        for complaint in (*_contradictions(run), *of_mode.contradictions(run)):
            collector.error(ProblemKind.INCONSISTENT, complaint)
        _check_end(run, collector)
        of_mode.add(run, collector)
    collector.problems[:0] = _complaints(text)
    if run.runs > 1:
        collector.several_runs()
    elif not run.runs and not collector.has_errors:
        collector.nothing(text, "no run of train-bench in this text")
    return collector.parsed("train-bench", run.version, run.summary() if run.runs else {})


def payload_bytes(parsed: Parsed) -> float:
    """Return the bytes that each node sent to the next; 0 inside one node and for a replay."""
    nodes = parsed.summary.get("nnodes")
    if parsed.summary.get("mode") != TRAIN or not isinstance(nodes, int) or nodes < 2:  # noqa: PLR2004
        return 0.0
    return together.payload_bytes(TrainBenchRun(header=dict(parsed.summary)))


def _complaints(text: str) -> Iterator[Problem]:
    """Yield what prevented the measurement, the most likely cause first."""
    yield from complaints(text, "train-bench", _STARTED_BY)
    yield from (problem(found.kind, found.message) for found in find_failures(text))


def _incomplete(run: TrainBenchRun) -> Iterator[str]:
    if len(run.ranks) != (asked := run.count("asked_ranks")):
        yield f"{len(run.ranks)} of {asked} ranks are listed"


def _contradictions(run: TrainBenchRun) -> Iterator[str]:
    """Yield what cannot be: a device twice, another model, losses of no training."""
    places = [(one.host, one.device) for one in run.ranks.values()]
    uuids = [one.uuid for one in run.ranks.values() if one.uuid != "-"]
    if len(set(places)) < len(places) or len(set(uuids)) < len(uuids):
        yield "two ranks ran on one device"
    if any(not one.device.startswith(str(run.header["devices"])) for one in run.ranks.values()):
        yield "a rank ran on another kind of device"
    if run.header["parameters"] != _parameters(run):
        yield f"{run.header['parameters']} parameters are not those of such a model"
    wanted = math.log(max(run.count("vocabulary"), 1))
    if odd := [loss for loss in run.losses if abs(loss - wanted) > _LOSS_APART * wanted]:
        yield f"a loss is {odd[0]:g}, not about {wanted:.3f}, that of equal odds"


def _parameters(run: TrainBenchRun) -> int:
    layers, width, vocabulary = (run.count(name) for name in ("layers", "width", "vocabulary"))
    each = _WIDTHS_OF_A_LAYER * width**2 + 2 * width
    return layers * each + width + 2 * vocabulary * width


def _check_end(run: TrainBenchRun, collector: OutputCollector) -> None:
    if run.count("asked_ranks") < _FEWEST_RANKS:
        collector.error(ProblemKind.TOO_FEW_RANKS, "a single rank has no other to agree with")
    if run.end is None:
        collector.error(ProblemKind.TRUNCATED, "no closing line: the run did not finish")
    elif run.end[0] != len(run.ranks):
        collector.error(
            ProblemKind.TRUNCATED,
            f"{len(run.ranks)} ranks, but the closing line counts {run.end[0]}",
        )
