"""The samples of a case as a file of columns. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import PurePosixPath

from railgauge.core.errors import TelemetryUnread
from railgauge.core.model import Transcript
from railgauge.core.terms import Role
from railgauge.judging.telemetry.seen import moved
from railgauge.stacks import stack, vendors
from railgauge.stacks.sampling import REASONS, UNITS, GpuSample, Sampler, parse_samples

_COLUMNS = (*UNITS,)


def columns(runs: Sequence[Sequence[Transcript]]) -> str:
    """Return the samples of a case as CSV, one line for each GPU and moment; empty without any.

    Time counts from the start of the repeat. Unreadable samples are left out; the transcripts of
    the case hold them as printed.
    """
    lines = [line for number, run in enumerate(runs, 1) for line in _lines(number, run)]
    heading = [f"{what} [{UNITS[what]}]" for what in _COLUMNS]
    first = ",".join(("repeat", "node", "gpu", "time [s]", *heading, REASONS))
    return "\n".join((first, *lines, "")) if lines else ""


def _lines(number: int, run: Sequence[Transcript]) -> Iterator[str]:
    for transcript in run:
        if transcript.role == Role.TELEMETRY and (sampler := _sampler_of(transcript.argv)):
            try:
                samples = moved(parse_samples(transcript.stdout, sampler), transcript, run)
            except TelemetryUnread:
                continue
            for one in samples:
                cells = (
                    str(number),
                    transcript.node,
                    str(one.gpu),
                    f"{one.at_s:.2f}",
                    *_cells(one),
                )
                yield ",".join(cells)


def _cells(sample: GpuSample) -> Iterator[str]:
    yield from (_shown(sample.values.get(what)) for what in _COLUMNS)
    yield "unknown" if sample.reasons is None else " ".join(sorted(sample.reasons))


@lru_cache(maxsize=1 << 12)
def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


@lru_cache(maxsize=64)
def _sampler_of(argv: tuple[str, ...]) -> Sampler | None:
    names = {PurePosixPath(word).name for word in argv}
    own = [one for vendor in vendors() for one in stack(vendor).samplers if one.program in names]
    joined = (one for one in own if one.joined and any(one.joined in word for word in argv))
    return next(joined, own[0] if own else None)
