"""The parser of the serving benchmark: from its table or JSON to samples and problems."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import product, takewhile

from railgauge.core.model import Parsed
from railgauge.core.problems import ProblemKind
from railgauge.tools.collector import OutputCollector
from railgauge.tools.documents import integer, number, read_only_document
from railgauge.tools.relations import Statistics
from railgauge.tools.text import clean, lines
from railgauge.tools.torn import complain
from railgauge.tools.vllm_bench.consistency import Load, check

Meaning = tuple[str, str]
"""A metric and its unit. Tokens and requests per second are both ``1/s``."""

# A metric and its unit, its label in the table, and its key in the JSON.
_NAMED = (
    ("completed", "count", "successful requests", "completed"),
    ("failed", "count", "failed requests", "failed"),
    ("duration", "s", "benchmark duration (s)", "duration"),
    ("input_tokens", "count", "total input tokens", "total_input_tokens"),
    ("generated_tokens", "count", "total generated tokens", "total_output_tokens"),
    ("request_throughput", "1/s", "request throughput (req/s)", "request_throughput"),
    ("request_goodput", "1/s", "request goodput (req/s)", "request_goodput"),
    ("input_throughput", "1/s", "input token throughput (tok/s)", "input_throughput"),
    ("output_throughput", "1/s", "output token throughput (tok/s)", "output_throughput"),
    ("peak_output_throughput", "1/s", "peak output token throughput (tok/s)",
     "max_output_tokens_per_s"),
    ("total_throughput", "1/s", "total token throughput (tok/s)", "total_token_throughput"),
    ("user_throughput", "1/s", "user throughput (tok/s)", ""),
    ("peak_concurrency", "count", "peak concurrent requests", "max_concurrent_requests"),
)  # fmt: skip
_LABELS: dict[str, Meaning] = {label: (name, unit) for name, unit, label, _ in _NAMED}
_KEYS: dict[str, Meaning] = {
    **{key: (name, unit) for name, unit, _, key in _NAMED if key},
    "total_throughput": ("total_throughput", "1/s"),  # as other programs call it
}
_STATISTIC = r"(mean|median|std|min|max|p\d{1,3}(?:\.\d{1,3})?)"
_LATENCY_LABEL = re.compile(_STATISTIC + r" (ttft|tpot|itl|e2el|e2e latency) \((ms|s)\)")
_TIMES = ("ms", "s")
_RELATIONS = (Statistics(r"(?P<of>ttft|tpot|itl|e2el)_(?P<as>mean|median|min|max|p\d{1,5})", 0.01),)
# A value that contains a label: the text before the label is of another program.
_LABEL_BEHIND = re.compile(r":[ \t]{2,80}\S")
_LATENCY_KEY = re.compile(_STATISTIC + r"_(ttft|tpot|itl|e2el|e2e_latency)_(ms|s)")

# A valid run may print 0: no request failed, or no token was generated.
MAY_BE_ZERO = frozenset(
    {"failed", "generated_tokens", "output_throughput", "peak_output_throughput"}
)


def of_label(label: str) -> Meaning | None:
    """Return the metric of a printed label in any case; ``None`` for an unknown label."""
    words = " ".join(label.lower().split())
    return _LABELS.get(words) or _latency(_LATENCY_LABEL.fullmatch(words))


def of_key(key: str) -> Meaning | None:
    """Return the metric of a key of the JSON; ``None`` for an unknown key."""
    return _KEYS.get(key) or _latency(_LATENCY_KEY.fullmatch(key))


def _latency(match: re.Match[str] | None) -> Meaning | None:
    """Return ``ttft_mean``, ``tpot_p99``, ``e2el_p999`` (the 99.9th percentile) with the unit."""
    if match is None:
        return None
    name = "e2el" if match[2].startswith("e2e") else match[2]
    return f"{name}_{match[1].replace('.', '')}", match[3]


# --- the result table, or the JSON ---

_LONGEST_LINE = 300
_BANNER = re.compile(
    r"[ \t]{0,20}={4,60} ?(Serving|Offline Throughput) Benchmark Result ?={4,60}"
    r"[ \t]{0,20}"
)
_TITLE = re.compile(r"[ \t]{0,20}[-=]{3,120}(?:[^-=\n][^\n]{0,60}?[-=]{3,60})?[ \t]{0,20}")
_CLOSING = re.compile(r"[ \t]{0,20}={30,120}[ \t]{0,20}")
_LINE = re.compile(r"[ \t]{0,20}([A-Za-z][^:\n]{0,80}):[ \t]{1,80}(\S[^\n]{0,80}?)[ \t]{0,80}")
_NUMBER = re.compile(r"-?[0-9]{1,18}(?:\.[0-9]{1,12})?(?:e\+?[0-9]{1,2})?|-?(?:nan|inf)")
# Remarks that people write behind a value. A unit is none: it would contradict the label.
_NOTE = re.compile(r"[ \t]{1,80}(?:#|<-|←|//|\*|\([^)\s]{1,60}[ \t])[^\n]{0,80}$")
_OFFLINE = "Offline Throughput"
_LOAD = {
    "at_once": ("maximum_request_concurrency", "max_request_concurrency", "max_concurrency"),
    "rate": ("request_rate_configured_rps", "traffic_request_rate", "request_rate"),
}
_ASKED = re.compile(r"\bnum_prompts=(\d{1,9})\b")
_PROGRESS = re.compile(r"\| \d{1,9}/(\d{1,9}) \[\d\d:")
_SERVER = ("Application startup complete", "Started server process", "Uvicorn running on")
_FAILURE = re.compile(
    r"^(?:\w{1,40}(?:Error|Exception|Interrupt)\b|ValueError:|vllm(?:: | serve: | bench: )error:"
    r"|usage: vllm)[^\n]{0,200}",
    re.MULTILINE,
)


@dataclass(slots=True)
class Block:
    """The table of one run: label and printed value, in printed order.

    ``torn`` are other lines inside it: the program prints the table at once, so that they are of
    another program, and may interrupt a row.
    """

    title: str = ""
    lines: list[tuple[str, str]] = field(default_factory=list)
    torn: list[str] = field(default_factory=list)
    is_closed: bool = False


def parse(text: str) -> Parsed:
    """Read the result table, or the JSON of ``--save-result``.

    Never raises and takes time linear in the text. Samples: ``completed``, ``failed``,
    ``input_tokens``, ``generated_tokens``, ``peak_concurrency`` (``count``), ``duration`` (``s``),
    ``request_throughput`` (requests, ``1/s``), ``output_throughput``, ``input_throughput``,
    ``total_throughput``, ``peak_output_throughput``, ``user_throughput`` (tokens, ``1/s``), and for
    each of ``ttft``, ``tpot``, ``itl``, ``e2el`` the printed ``_mean``, ``_median``, ``_std``,
    ``_p99``, ``_p999`` (the 99.9th percentile), … in ``ms``. Each is one value for the run.

    Errors: requests that failed or are missing (``failed-requests``), placeholders instead of
    numbers (``not-a-number``), rates that differ from count over duration by more than 1 % and
    latencies that contradict the duration or the concurrency (``inconsistent``), a table without
    closing line (``truncated``), several runs (``several-tables``). ``summary`` holds the lines
    that are not metrics, and ``asked``, the number of requests.
    """
    text = clean(text)
    collector = OutputCollector(relations=_RELATIONS)
    if text.lstrip().startswith("{"):
        return _parse_json(text, collector)
    blocks = _read_blocks(text)
    if not blocks:
        _collect_nothing(text, collector)
        return collector.parsed("vllm-bench")
    if len(blocks) > 1:
        collector.several_runs()
    summary = _collect_block(blocks[0], _asked(text), collector)
    return collector.parsed("vllm-bench", None, summary)


def _asked(text: str) -> int | None:
    """Return the number of requests in the arguments or in the progress bar; else ``None``."""
    if arguments := _ASKED.search(text):
        return int(arguments[1])
    totals = _PROGRESS.findall(text.partition("Serving Benchmark Result")[0])
    return int(totals[-1]) if totals else None


def _read_blocks(text: str) -> list[Block]:
    blocks: list[Block] = []
    for line, is_whole in lines(text, _LONGEST_LINE):
        if banner := _BANNER.fullmatch(line):
            blocks.append(Block(banner[1]))
        elif blocks and not blocks[-1].is_closed:
            _read_line(line, is_whole, blocks[-1])
    return blocks


def _read_line(line: str, is_whole: bool, block: Block) -> None:
    if _CLOSING.fullmatch(line):
        block.is_closed = True
    elif is_whole and (match := _LINE.fullmatch(line)):
        block.lines.append((match[1].strip(), match[2]))
    elif is_whole and line.strip() and not _TITLE.fullmatch(line):
        block.torn.append(line)


def _collect_block(
    block: Block, asked: int | None, collector: OutputCollector
) -> dict[str, object]:
    summary: dict[str, object] = {} if asked is None else {"asked": asked}
    if block.title == _OFFLINE:
        summary["benchmark"] = "offline"
    for line in block.torn:
        complain(line, collector)
    values: dict[str, float] = {}
    for label, words in block.lines:
        printed = _NOTE.sub("", words)
        meaning = of_label(label)
        if meaning is None:
            if _is_part(label) or _LABEL_BEHIND.search(words):
                complain(f"{label}: {words}", collector)
            summary.setdefault(_name(label), printed)
            continue
        metric, unit = meaning
        if not _NUMBER.fullmatch(printed):
            collector.error(ProblemKind.NOT_A_NUMBER, f"{label} is {printed!r}")
        elif metric not in values:
            _take(values, metric, unit, float(printed), collector)
        elif values[metric] != float(printed):
            collector.warn(
                ProblemKind.REPEATED_LABEL, f"{label} is printed twice; the first value is used"
            )
    if not block.is_closed:
        collector.error(ProblemKind.TRUNCATED, "the table has no closing line")
    if values or not collector.has_errors:
        check(values, _load(asked, summary), collector)
    return summary


def _is_part(label: str) -> bool:
    """Return whether an unknown label is a part of a known one, or a known one with additions."""
    words = " ".join(label.lower().split())
    is_part = any(known.endswith(words) or _is_inside(words, known) for known in _known_labels())
    return is_part or label[:1].islower() or label.count("(") != label.count(")")


def _is_inside(words: str, known: str) -> bool:
    """Return whether ``words`` are a known label with another text in the middle.

    Programs add words of their own to the label of a count: ``Total input text tokens``.
    """
    if not known.endswith(")") and set(known.split()) <= set(words.split()):
        return False
    ahead = _alike(words, known)
    behind = _alike(words[::-1], known[::-1])
    return ahead + behind >= len(known)


def _alike(one: str, other: str) -> int:
    """Return the number of characters with which both begin."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


@cache
def _known_labels() -> tuple[str, ...]:
    statistics = ("mean", "median", "std", "min", "max", "p50", "p90", "p95", "p99")
    names = ("ttft", "tpot", "itl", "e2el", "e2e latency")
    every = product(statistics, names, _TIMES)
    latencies = (f"{one} {name} ({unit})" for one, name, unit in every)
    return (*_LABELS, *latencies)


def _name(label: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", label.lower()).strip("_")


def _take(
    values: dict[str, float], metric: str, unit: str, value: float, collector: OutputCollector
) -> None:
    if unit == "count" and math.isfinite(value) and value != int(value):
        collector.error(ProblemKind.NOT_A_NUMBER, f"{metric} is {value}, and no number of things")
        return
    is_deviation = metric.endswith(("_std", "_min"))
    collector.add(metric, unit, value, may_be_zero=metric in MAY_BE_ZERO or is_deviation)
    if math.isfinite(value):
        # Some tools print latencies in seconds; the checks use milliseconds.
        values[metric] = value * 1e3 if unit == "s" and metric != "duration" else value


def _load(asked: int | None, summary: Mapping[str, object]) -> Load:
    """Return the load from the summary, under the names of any version."""
    found = {}
    for meaning, names in _LOAD.items():
        text = next((str(summary[name]) for name in names if name in summary), "")
        found[meaning] = float(text) if _NUMBER.fullmatch(text) else 0.0
    return Load(asked, found["at_once"] or math.inf, found["rate"] or math.inf)


def _parse_json(text: str, collector: OutputCollector) -> Parsed:
    document = read_only_document(text, collector)
    if document is None:
        return collector.parsed("vllm-bench")
    content = document.content
    if not {"completed", "duration"} <= content.keys():
        collector.error(ProblemKind.NO_TABLE, "JSON, but not from the serving benchmark")
        return collector.parsed("vllm-bench")
    return _collect_json(content, collector)


def _collect_json(content: dict[str, object], collector: OutputCollector) -> Parsed:
    values: dict[str, float] = {}
    for key, printed in content.items():
        meaning = of_key(key)
        if meaning is None or printed is None or isinstance(printed, (list, dict)):
            continue
        value = number(printed)
        if value is None:
            collector.error(ProblemKind.NOT_A_NUMBER, f"{key} is {str(printed)[:40]!r}")
        elif meaning[0] not in values:
            _take(values, *meaning, value, collector)
    asked = integer(content.get("num_prompts"))
    summary = _json_summary(content, asked)
    check(values, _load(asked, summary), collector)
    return collector.parsed("vllm-bench", None, summary)


def _json_summary(content: dict[str, object], asked: int | None) -> dict[str, object]:
    names = ("backend", "model_id", "request_rate", "max_concurrency", "date", "burstiness")
    values = {name: content.get(name) for name in names}
    if asked is not None:
        values["asked"] = asked
    return {name: one for name, one in values.items() if isinstance(one, (str, int, float))}


def _collect_nothing(text: str, collector: OutputCollector) -> None:
    if not collector.check_started(text, "vllm", "python3", "python"):
        return
    if not any(sign in text for sign in _SERVER) and (failure := _FAILURE.search(text)):
        collector.error(ProblemKind.TOOL_FAILED, failure[0])
    elif "Starting main benchmark run" in text or "Starting initial single prompt" in text:
        collector.error(ProblemKind.TRUNCATED, "the output ends before the result")
    else:
        collector.nothing(text, "no result of the serving benchmark in this text")
