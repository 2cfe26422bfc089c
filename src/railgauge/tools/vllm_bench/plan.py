"""The command, with or without its own server, and the output checks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from railgauge.config.thresholds.site import OF_HOSTFILE
from railgauge.core.model import Command
from railgauge.tools import Setting
from railgauge.tools.form import FigureForm, ToolFigure, inside_node, of_ring
from railgauge.tools.metric import LOWER, Metric, several
from railgauge.tools.options import Count, Options, check_port, command_on, program, read_options
from railgauge.tools.output_checks import OutputCheck, SideOutput, ToolRequest, equal, long_enough

_RATES = (
    "request_throughput",
    "request_goodput",
    "input_throughput",
    "output_throughput",
    "peak_output_throughput",
    "total_throughput",
    "user_throughput",
)
_TOTALS = ("completed", "input_tokens", "generated_tokens", "peak_concurrency")
_PERCENTILES = (*(f"p{percent}" for percent in range(1, 100)), "p995", "p999", "p9999")

METRICS = (
    *several(_RATES, "1/s"),
    *several(_TOTALS, "count"),
    Metric("failed", ("count",), LOWER, may_be_zero=True),
    Metric("duration", ("s",), LOWER),
    *(
        Metric(f"{latency}_{statistic}", ("ms", "s"), LOWER, may_be_zero=statistic == "std")
        for latency, statistic in product(
            ("ttft", "tpot", "itl", "e2el"), ("mean", "median", "std", "min", "max", *_PERCENTILES)
        )
    ),
)


_OPTIONS = frozenset(
    {
        "model", "num_prompts", "request_rate", "input_len", "output_len", "base_url", "serve",
        "worker", "max_concurrency", "seed", "percentiles", "ignore_eos",
    }
)  # fmt: skip
_COUNTS = {
    "num_prompts": Count("--num-prompts"),
    "input_len": Count("--random-input-len"),
    "output_len": Count("--random-output-len"),
    "max_concurrency": Count("--max-concurrency"),
}
_SEED = {"seed": Count("--seed", least=0, default=0)}


def commands(setting: Setting, port: int) -> tuple[Command, ...]:
    """Return the benchmark on the case's first node, after its server if ``serve`` is set.

    Options: ``model`` (required; ``{model}`` in a platform file is the hostfile's model). Then
    either ``base_url`` of a running server, or ``serve``, the argv of a server to start on the
    first node, in which ``{model}``, ``{port}`` and ``{address}`` are replaced, and ``worker``, the
    argv of the server's part on each further node (with ``{nodes}`` and ``{rank}`` too).
    ``num_prompts``, ``request_rate`` (text; default ``inf``), ``input_len`` and ``output_len``
    (tokens of the random data), ``max_concurrency``, ``seed``, ``percentiles`` (``50,99``) and
    ``ignore_eos`` (default true: every answer has ``output_len`` tokens). Raises ``BadInput`` for
    other options, and for none or two of ``base_url`` and ``serve``.
    """
    options = read_options(setting, _OPTIONS)
    serve, base_url = options.words("serve"), options.text("base_url")
    if options.text("model") in ("", OF_HOSTFILE):
        options.refuse("no model", "name the served model: 'model: NAME' in the hostfile")
    if bool(serve) == bool(base_url):
        options.refuse(
            "exactly one server is needed", "give base_url of a running one, or serve to start one"
        )
    if not serve:
        return (_benchmark(setting, options, base_url),)
    check_port(port, options.where)
    address = setting.cluster.node(setting.case.nodes[0]).data_address
    return (
        *_workers(setting, options, port),
        _server(setting, options, serve, port),
        _benchmark(setting, options, f"http://{_bracketed(address)}:{port}"),
    )


def form(figure: ToolFigure) -> FigureForm | None:
    """Return the form of a model that is served: it loses at most what its nodes' parts lose.

    The number of completed requests and the latency of the slowest ones have no form.
    """
    rate = figure.metric in _RATES or figure.metric.endswith(("_mean", "_median", "_p50"))
    if not rate:
        return None
    gpus = figure.layout.gpus
    if len(figure.case.nodes) > 1:
        return of_ring(figure, gpus, upto=True)
    return inside_node(figure, gpus, figure.layout.links(gpus), upto=True)


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def _server(setting: Setting, options: Options, serve: tuple[str, ...], port: int) -> Command:
    if not any("{port}" in word for word in serve):
        options.refuse("serve does not contain {port}", "add --port {port}")
    return _service(setting, options, serve, 0, port)


def _workers(setting: Setting, options: Options, port: int) -> tuple[Command, ...]:
    """Return the server's part on each further node; it opens no port for the benchmark."""
    worker = options.words("worker")
    if len(setting.case.nodes) > 1 and not worker:
        options.refuse(
            "several nodes, but no worker",
            "give the command with which a further node joins the server",
        )
    ranks = range(1, len(setting.case.nodes))
    services = (_service(setting, options, worker, rank, port) for rank in ranks)
    return tuple(replace(service, listens_on=None) for service in services)


def _service(
    setting: Setting, options: Options, words: tuple[str, ...], rank: int, port: int
) -> Command:
    """Return the command with model, port, first node's address, node count and rank filled in."""
    nodes = setting.case.nodes
    values = {
        OF_HOSTFILE: options.text("model"),
        "{port}": str(port),
        "{address}": setting.cluster.node(nodes[0]).data_address,
        "{nodes}": str(len(nodes)),
        "{rank}": str(rank),
    }
    argv = []
    for word in words:
        for name, value in values.items():
            word = word.replace(name, value)  # noqa: PLW2901
        argv.append(word)
    return replace(command_on(setting, nodes[rank], argv, port), endless=True)


def _benchmark(setting: Setting, options: Options, base_url: str) -> Command:
    tool = program(setting, "vllm")
    fixed = ("bench", "serve", "--model", options.text("model"), "--base-url", base_url)
    argv = (tool, *fixed, "--dataset-name", "random", *_flags(options))
    return command_on(setting, setting.case.nodes[0], argv)


def _flags(options: Options) -> tuple[str, ...]:
    flags = [*options.flags(_COUNTS), "--request-rate", options.text("request_rate", "inf")]
    flags += options.flags(_SEED)
    flags += ["--percentile-metrics", "ttft,tpot,itl,e2el"]
    flags += ["--metric-percentiles", options.text("percentiles", "50,99")]
    return (*flags, *(("--ignore-eos",) if options.flag("ignore_eos", True) else ()))


# --- output checks ---

_DEFAULT_PROMPTS = 1000
# Random tokens are converted to text and back to tokens, which changes their number slightly.
_TOKENS_APART = 0.1


def output_checks(asked: ToolRequest, sides: tuple[SideOutput, ...]) -> tuple[OutputCheck, ...]:
    """Compare requests, their rate and concurrency, and input and output tokens."""
    parsed = sides[0].parsed
    summary = parsed.summary
    values = {sample.metric: sample.value for sample in parsed.samples}
    prompts = asked.option("num_prompts", _DEFAULT_PROMPTS)
    found = [_count("requests", prompts, values.get("completed"))]
    found += _tokens(asked, prompts, values)
    rate = summary.get("request_rate_configured_rps", summary.get("request_rate"))
    found.append(_rate(asked.option("request_rate", "inf"), rate))
    if asked.option("max_concurrency") is not None:
        shown = summary.get("maximum_request_concurrency", summary.get("max_concurrency"))
        found.append(equal("concurrency", asked.option("max_concurrency"), shown))
    if "benchmark" in summary:
        # The engine alone, without a server, prints the same metrics in another test.
        found.append(equal("benchmark", "serving", summary["benchmark"]))
    found.append(equal("model", asked.option("model"), summary.get("model_id")))
    found += long_enough(sides[0], values.get("duration", 0.0), "of serving")
    return tuple(found)


def _count(item: str, asked: object, shown: float | None) -> OutputCheck:
    return equal(item, asked, None if shown is None else f"{shown:g}")


def _tokens(asked: ToolRequest, prompts: object, values: dict[str, float]) -> Iterator[OutputCheck]:
    """Check token counts if lengths are set; for answers only if they cannot end early."""
    lengths = {"input tokens": ("input_len", "input_tokens")}
    if asked.option("ignore_eos", True):
        lengths["generated tokens"] = ("output_len", "generated_tokens")
    for item, (option, metric) in lengths.items():
        length, printed = asked.option(option), values.get(metric)
        if not isinstance(length, int) or not isinstance(prompts, int):
            continue
        wanted = length * prompts
        shown = None if printed is None else f"{printed:.0f}"
        near = printed is None or abs(printed - wanted) <= _TOKENS_APART * wanted
        yield OutputCheck(item, f"{wanted} ({length} for each of {prompts})", shown, near)


def _rate(asked: object, shown: object) -> OutputCheck:
    """Check the request rate; if none is printed, it is not shown: ``inf`` is never printed."""
    if shown is None:
        return OutputCheck("request rate", str(asked), None)
    try:
        same = float(str(asked)) == float(str(shown))
    except ValueError:
        same = False
    return OutputCheck("request rate", str(asked), str(shown), same)
