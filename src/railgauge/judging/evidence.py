"""Turn a tool's output into samples that can be judged, or into the reason why there are none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from railgauge.core.errors import (
    BecomeRefused,
    CommandTimedOut,
    ConditionsUnmet,
    ConnectionLost,
    DataCorrupted,
    MetricMissing,
    NoEvidence,
    SetupFailed,
    StabilityUnproven,
    ToolFailed,
)
from railgauge.core.limits import Dispersion, Limit
from railgauge.core.model import Judgement, Parsed, Sample, Transcript
from railgauge.core.problems import Problem, ProblemKind
from railgauge.core.terms import Role
from railgauge.core.units import format_size, format_sweep
from railgauge.launchers.failures import DIED, NOT_STARTED, culprit
from railgauge.tools import declared_metric
from railgauge.tools.metric import SWEEP

_CUT_OFF: dict[str, type[NoEvidence]] = {
    "command-timed-out": CommandTimedOut,
    "connection-lost": ConnectionLost,
}
_NEVER_STARTED: Mapping[str, type[NoEvidence]] = {
    kind.kind: kind for kind in (SetupFailed, BecomeRefused)
}
_NOT_FOUND = 127
_NAMED_SCRIPT = 3  # words of ``sh -c SCRIPT`` before the name


def refuse_failure(
    transcripts: Sequence[Transcript], parsed: Sequence[Parsed], nodes: Sequence[str] = ()
) -> None:
    """Raise the error of the first command that gives no evidence.

    ``parsed`` holds what was read from each transcript, in the same order. Commands that report
    nothing themselves (servers) must still have ended without an error. The kind of error depends,
    in this order, on how the command ended, on the problems in its output, and on its exit code.
    One exception: a rank that a launcher could not start explains the timeout that followed.
    ``nodes`` are the nodes of a launch, in their order; the error names the one that failed.
    """
    for transcript, output in zip(transcripts, parsed, strict=True):
        if transcript.error:
            raise _cut_off(transcript, output, nodes)
    for transcript, output in zip(transcripts, parsed, strict=True):
        problems = _serious(transcript, output)
        if problems:
            problem = _gravest(problems)
            raise _error(problem, _where(transcript, problem, nodes))
        if transcript.exit_code != 0 and not _tells_why(output):
            raise _exit_error(transcript, f"{transcript.node}: {program(transcript)}")


# A diagnostic ends with an exit code if a test failed; its printed results are evidence
# nevertheless.
_ANSWERS = frozenset({ProblemKind.TEST_FAILED, ProblemKind.TEST_WARNED, ProblemKind.CHECK_FAILED})


def _tells_why(output: Parsed) -> bool:
    return any(problem.kind in _ANSWERS for problem in output.problems)


def _gravest(problems: Sequence[Problem]) -> Problem:
    """Wrong results if there are any, else the first problem.

    A tool that finds wrong results fails, so its launcher reports a problem as well.
    """
    wrong = (one for one in problems if one.kind.error is DataCorrupted)
    return next(wrong, problems[0])


def _cut_off(transcript: Transcript, output: Parsed, nodes: Sequence[str]) -> NoEvidence:
    """The error of a command that was cut off.

    A launcher may report the node that it cannot start on and then wait for it forever, as Hydra
    does. Then the error is that report, not the timeout.
    """
    if never := _NEVER_STARTED.get(transcript.error):
        return never(transcript.stderr, where=transcript.node)
    ended = f"{transcript.error} after {transcript.duration_s:.1f} s"
    failure = next((problem for problem in output.errors if problem.kind in NOT_STARTED), None)
    if failure is not None:
        failure = replace(failure, message=f"{failure.message}; {ended}")
        return _error(failure, _where(transcript, failure, nodes))
    kind = _CUT_OFF.get(transcript.error, ToolFailed)
    return kind(ended, where=f"{transcript.node}: {program(transcript)}")


def _where(transcript: Transcript, problem: Problem, nodes: Sequence[str]) -> str:
    """``NODE: TOOL`` for the node that a launch failed on; ``TOOL on NODE`` if that is unknown."""
    node, tool = transcript.node, program(transcript)
    if len(nodes) > 1 and problem.kind in (*NOT_STARTED, *DIED, ProblemKind.TOOL_MISSING):
        named = culprit(problem.kind, problem.message, transcript.argv, nodes)
        if not named and problem.kind is not ProblemKind.TOOL_MISSING:
            return f"{tool} on {node}"
        node = named or node
    return f"{node}: {tool}"


def program(transcript: Transcript) -> str:
    """The tool's name without its folder; for ``sh -c SCRIPT NAME`` it is ``NAME``."""
    argv = transcript.argv
    name = argv[3] if argv[:2] == ("sh", "-c") and len(argv) > _NAMED_SCRIPT else "".join(argv[:1])
    return name.rsplit("/", 1)[-1] or "?"


_MAY_BE_SILENT = frozenset({ProblemKind.NO_OUTPUT, ProblemKind.NO_TABLE, ProblemKind.TRUNCATED})


def _serious(transcript: Transcript, output: Parsed) -> Sequence[Problem]:
    """The errors in the output. A server may print nothing; a reporting command may not."""
    if transcript.role == Role.SERVER:
        return [problem for problem in output.errors if problem.kind not in _MAY_BE_SILENT]
    return output.errors


def _error(problem: Problem, where: str) -> NoEvidence:
    kind = problem.kind
    return kind.error(f"{problem.message} ({kind})", where=where, remedy=kind.remedy)


def _exit_error(transcript: Transcript, where: str) -> NoEvidence:
    lines = (transcript.stderr.strip() or transcript.stdout.strip()).splitlines()
    words = f": {lines[-1][:200]}" if lines else " and printed nothing"
    if transcript.exit_code == _NOT_FOUND:
        missing = ProblemKind.TOOL_MISSING
        return missing.error(f"not found{words}", where=where, remedy=missing.remedy)
    return ToolFailed(f"ended with exit code {transcript.exit_code}{words}", where=where)


def samples_of(
    runs: Sequence[Parsed], metric: str, size_bytes: int | None, placement: str | None = None
) -> tuple[Sample, ...]:
    """Return every sample of ``metric`` at ``size_bytes``, renumbered over all runs.

    ``metric`` may name its placement (``busbw/out_of_place``), or ``placement`` gives it (a link, a
    GPU). No sample is dropped. Raises ``MetricMissing`` if a run printed none.
    """
    found: list[Sample] = []
    for number, run in enumerate(runs, 1):
        rows = (
            _of_summary(run, metric)
            if _is_average(run, metric)
            else _rows(run, metric, size_bytes, placement)
        )
        if not rows:
            raise MetricMissing(_missing(run, metric, size_bytes, placement, (number, len(runs))))
        found.extend(rows)
    return tuple(replace(sample, iteration=index) for index, sample in enumerate(found))


def _is_average(run: Parsed, metric: str) -> bool:
    declared = declared_metric(run.tool, metric)
    return declared is not None and declared.per == SWEEP


def _of_summary(run: Parsed, metric: str) -> list[Sample]:
    """The value that a tool prints once for all sizes, below its table."""
    value, declared = run.summary.get(metric), declared_metric(run.tool, metric)
    if declared is None or not isinstance(value, float):
        return []
    return [Sample(metric, declared.units[0], value)]


def refuse_other_sizes(runs: Sequence[Parsed], limit: Limit) -> None:
    """Raise ``MetricMissing`` if an average covers other sizes than those its limit is for.

    An average over fewer, larger sizes is higher, so it would pass on faulty hardware too.
    """
    if limit.over is None:
        return
    for run in runs:
        printed = {sample.size_bytes for sample in run.samples if sample.size_bytes is not None}
        if printed != set(limit.over.sizes):
            raise MetricMissing(
                f"{limit.metric} is printed over {_words(printed)}, but its limit is for "
                f"{len(limit.over.sizes)}: {format_sweep(limit.over)}",
                remedy="measure exactly these sizes",
            )


def _words(printed: set[int]) -> str:
    count = f"{len(printed)} size{'' if len(printed) == 1 else 's'}"
    ends = dict.fromkeys(map(format_size, (min(printed), max(printed)))) if printed else ()
    return f"{count} ({' to '.join(ends)})" if ends else count


def _rows(run: Parsed, metric: str, size_bytes: int | None, placement: str | None) -> list[Sample]:
    name, _, named = metric.partition("/")
    wanted = placement or named or None
    return [
        sample
        for sample in run.samples
        if sample.metric == name
        and (size_bytes is None or sample.size_bytes == size_bytes)
        and (wanted is None or sample.placement == wanted)
    ]


def _missing(
    run: Parsed,
    metric: str,
    size_bytes: int | None,
    placement: str | None,
    of_runs: tuple[int, int],
) -> str:
    at = "" if size_bytes is None else f" at {format_size(size_bytes)}"
    on = f" for {placement}" if placement else ""
    of = f" in run {of_runs[0]} of {of_runs[1]}" if of_runs[1] > 1 else ""
    return f"{run.tool} printed no {metric}{on}{at}{of}"


def stability_doubt(
    runs: Sequence[Parsed],
    limit: Limit,
    size_bytes: int | None,
    options: Mapping[str, object],
    *,
    is_planned: bool = True,
) -> StabilityUnproven | None:
    """Return why the rows of a size cannot show whether iterations are alike, else ``None``.

    The check applies where the measurement's ``options`` plan several rows (``cycles``) and the
    limit judges their dispersion: then each run must have printed all rows. An output that the
    suite did not plan (not ``is_planned``) needs only two.
    """
    cycles = options.get("cycles")
    judges = limit.dispersion != Dispersion() and not limit.record_only
    if not judges or not isinstance(cycles, int) or cycles < _SEVERAL:
        return None
    least = cycles if is_planned else _SEVERAL
    for run in runs:
        rows = _row_count(run, limit.metric, size_bytes)
        if rows < least:
            remedy = f"run with -n {options.get('iterations', 1)} -N {cycles}"
            return StabilityUnproven(_too_few_rows(run, rows, least), remedy=remedy)
    return None


_SEVERAL = 2


def _row_count(run: Parsed, metric: str, size_bytes: int | None) -> int:
    """The number of table rows; out of place and in place are two columns of one row."""
    columns = Counter(sample.placement for sample in _rows(run, metric, size_bytes, None))
    return max(columns.values(), default=0)


def _too_few_rows(run: Parsed, rows: int, least: int) -> str:
    iterations = run.summary.get("iterations")
    over = ""
    if isinstance(iterations, int):
        over = f" over {iterations} iteration{'s' if iterations > 1 else ''}"
    if rows == 1:
        return f"one row{over} cannot show whether iterations are alike"
    each = f", each{over}," if over else ""
    return f"{rows} of {least} planned rows{each} cannot show whether iterations are alike"


# Signs that rows of an output are missing. A row below its limit still fails.
DOUBTS = frozenset(
    {ProblemKind.NO_CLOSING_LINE, ProblemKind.NO_OPENING_LINE, ProblemKind.NO_HEADING}
)


def whole_doubt(runs: Sequence[Parsed]) -> NoEvidence | None:
    """Return the doubt about figures of an output that may lack its first or last rows."""
    missing = (one for run in runs for one in run.problems if one.kind in DOUBTS)
    found = next(missing, None)
    return _error(found, "") if found else None


def frequency_doubt(runs: Sequence[Parsed], judged: Judgement) -> ConditionsUnmet | None:
    """Return the doubt about a figure measured with a CPU below its frequency, else ``None``.

    A faster CPU would not improve a bandwidth that saturates the link (document 004 finds the same
    plateau before and after), but message rates and latencies.
    """
    warned = (
        p.message for run in runs for p in run.problems if p.kind == ProblemKind.CPU_FREQUENCY
    )
    message, ceiling, worst = next(warned, ""), judged.physical_ceiling, judged.worst
    if not message or (ceiling and worst is not None and worst >= _SATURATED * ceiling):
        return None
    remedy = "set the governor to performance on both nodes, and measure again"
    return ConditionsUnmet(f"measured with a CPU below its frequency ({message})", remedy=remedy)


# Derived limits set the floor of a link at 90 % of its physical ceiling.
_SATURATED = 0.9
