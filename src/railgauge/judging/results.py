"""Compare the tests that a diagnostic printed with those that must have passed. Pure.

A pass needs a printed result: a test that is missing, was skipped, or covers fewer GPUs than the
node has is an error. A warning counts as a failure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from railgauge.config.thresholds.model import Results
from railgauge.core.errors import MetricMissing, NoEvidence
from railgauge.core.model import Judgement, Outcome, Parsed

PASS, FAIL, WARN = "pass", "fail", "warn"
# The key of the results in a tool's summary, as plain data.
SUMMARY = "tests"
_LONGEST = 300


@dataclass(frozen=True, slots=True)
class NamedResult:
    """A tool's result of one of its tests, for the GPUs in ``gpus``, or for all if it is empty.

    ``printed`` is the result as printed (``Fail - GPU: 3``), ``says`` the tool's message.
    """

    name: str
    status: str
    printed: str
    gpus: tuple[int, ...] = ()
    says: str = ""


def judge_results(
    parsed: Parsed, spec: Results, gpus: int, node: str
) -> tuple[tuple[Judgement, ...], tuple[NoEvidence, ...]]:
    """Return judgements and errors: one for each test of ``spec`` and each other test that failed.

    ``gpus`` is the number of GPUs of the node; ``node`` is where the tool ran.
    """
    found = _by_name(parsed)
    judgements: list[Judgement] = []
    errors: list[NoEvidence] = []
    for name in [*spec.tests, *_wrong_beside(found, spec)]:
        try:
            judgements.append(_judge(name, found.get(name, []), spec, (parsed.tool, gpus, node)))
        except NoEvidence as error:
            errors.append(error)
    return tuple(judgements), tuple(errors)


def _by_name(parsed: Parsed) -> dict[str, list[NamedResult]]:
    found: dict[str, list[NamedResult]] = {}
    listed = parsed.summary.get(SUMMARY)
    for entry in listed if isinstance(listed, Sequence) else ():
        if isinstance(entry, Mapping):
            result = NamedResult(**{**entry, "gpus": tuple(entry["gpus"])})
            found.setdefault(result.name, []).append(result)
    return found


def _wrong_beside(found: Mapping[str, Sequence[NamedResult]], spec: Results) -> Iterator[str]:
    for name, results in found.items():
        if name not in spec.tests and any(map(_is_wrong, results)):
            yield name


def _is_wrong(result: NamedResult) -> bool:
    return result.status in (FAIL, WARN)


def _judge(
    name: str, results: Sequence[NamedResult], spec: Results, of: tuple[str, int, str]
) -> Judgement:
    tool, gpus, node = of
    if not results:
        raise MetricMissing(f"{tool} printed no result for {name}", where=node)
    if wrong := [result for result in results if _is_wrong(result)]:
        return _failed(name, wrong, spec, node)
    if absent := [result for result in results if result.status != PASS]:
        raise MetricMissing(f"{name} was not run: {_words(absent)}", where=node)
    named = {gpu for result in results for gpu in result.gpus}
    if named and (silent := sorted(set(range(gpus)) - named)):
        those = ", ".join(f"gpu{gpu}" for gpu in silent)
        raise MetricMissing(f"{name} has no result for {those}: {_words(results)}", where=node)
    printed = _text(results[0].printed)
    return Judgement(name, Outcome.PASSED, printed, "passed", str(spec.basis))


def _failed(name: str, wrong: Sequence[NamedResult], spec: Results, node: str) -> Judgement:
    devices = dict.fromkeys(f"gpu{gpu}" for result in wrong for gpu in result.gpus)
    return Judgement(
        metric=name,
        outcome=Outcome.FAILED,
        measured=_text("; ".join(dict.fromkeys(result.printed for result in wrong))),
        limit="passed",
        basis=str(spec.basis),
        reason=f"{name}: {_words(wrong)}",
        points_at=tuple((node, device) for device in devices),
    )


def _words(results: Iterable[NamedResult]) -> str:
    lines = (f"{result.printed} {result.says}".strip() for result in results)
    return _text("; ".join(dict.fromkeys(lines)))


def _text(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
