"""A tool that prints just what a test wants it to, and cases that were measured with it.

Its output is a line a value (``bw_average 390 8388608``, size and placement are optional),
``transport NAME``, or ``error KIND`` for a complaint.
"""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

from railgauge.config import thresholds
from railgauge.core.limits import Basis
from railgauge.core.model import Parsed, Sample
from railgauge.core.problems import Problem, ProblemKind
from railgauge.core.question import CaseResult
from railgauge.core.terms import Severity
from railgauge.judging import agreement, assess
from railgauge.judging.assess import limits, read
from testing.core_values import case, document, limit, transcript

SIZE = 8388608
NAME = "host_write_bandwidth"
CASE = case("n1", "n2")
PLATFORM = thresholds.load_file(Path("bench.json"), json.dumps(document()))
PLAIN = PLATFORM.measurements[NAME]
BASIS = Basis("derived", "made up")
UNITS = {"bw_average": "Gb/s", "bw_peak": "Gb/s", "busbw": "GB/s", "avg_busbw": "GB/s"}


def platform(**changes):
    return replace(PLATFORM, measurements={NAME: replace(PLAIN, **changes)})


def parse(text):
    samples, problems, summary = [], [], {}
    for line in filter(None, text.splitlines()):
        word, value, *more = line.split()
        if word == "error":
            problems.append(Problem(ProblemKind(value), Severity.ERROR, "it says so"))
        elif word == "transport":
            summary["transports"] = (*summary.get("transports", ()), value)
        else:
            size = int(more.pop(0)) if more and more[0].isdecimal() else None
            place = more[0] if more else None
            samples.append(Sample(word, UNITS[word], float(value), size, 0, place))
    return Parsed("perftest", text, tuple(samples), summary, tuple(problems))


def made_up_tool(monkeypatch):
    """The checks that the tool makes, and the payload that it reports."""
    fake = SimpleNamespace(parse=parse, payload_bytes=lambda parsed: 1e6, sides=[], asked=[])
    fake.checks, fake.joined = (), None

    def checks(asked, sides):
        fake.asked.append(asked)
        fake.sides.append(sides)
        return fake.checks

    fake.output_checks = checks
    for module in (assess, agreement):
        monkeypatch.setattr(module, "tool", lambda name: fake)
    return fake


def out(value=390, size=SIZE, metric="bw_average", place=None, **more):
    words = [metric, value, *([size] if size else []), *([place] if place else [])]
    return transcript("n1", stdout=" ".join(map(str, words)) + "\n", **more)


def runs(*transcripts, **more):
    return CaseResult(tuple((one,) for one in transcripts), **more)


def measured(*transcripts, on=PLATFORM, of=None, **more):
    return read(on, replace(of or CASE, repeats=len(transcripts)), runs(*transcripts, **more))


def outcomes(assessment):
    return [str(one.outcome) for one in assessment.judgements], [
        one.kind for one in assessment.errors
    ]


def judged(one, size=SIZE, placement=None, on=PLATFORM, **more):
    return limits(on, one, size, placement, **more)


SCALED = platform(limits=(*PLAIN.limits, limit(metric="scaling", unit="1", floor=0.9)))


class Kept:
    """Evidence that counts its requests."""

    def __init__(self, *transcripts, found=None, error=None):
        self.results, self.error, self.asked = runs(*transcripts), error, []
        self.found = found or {}

    def result(self, of):
        self.asked.append(of)
        if self.error:
            raise self.error
        return self.results
