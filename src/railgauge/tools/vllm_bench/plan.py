"""What to run: perhaps a server, then the benchmark beside it."""

from __future__ import annotations

from dataclasses import replace

from railgauge.config.thresholds.site import OF_HOSTFILE
from railgauge.core.model import Command
from railgauge.tools import Setting
from railgauge.tools.options import Options, check_port, program, read_options

_OPTIONS = frozenset(
    {
        "model", "num_prompts", "request_rate", "input_len", "output_len", "base_url", "serve",
        "worker", "max_concurrency", "seed", "percentiles", "ignore_eos",
    }
)  # fmt: skip
_COUNTS = {
    "num_prompts": "--num-prompts",
    "input_len": "--random-input-len",
    "output_len": "--random-output-len",
    "max_concurrency": "--max-concurrency",
}
_FIRST_SEED = 0


def commands(setting: Setting, port: int) -> tuple[Command, ...]:
    """The benchmark on the case's first node, after its server where the option ``serve`` is set.

    Options: ``model`` (needed; ``{model}`` in a platform file is the hostfile's), ``base_url`` of a
    server that runs already, or ``serve``: the argv of one to start on the first node, with
    ``{model}``, and ``{port}`` and ``{address}`` in place of what it listens on, and ``worker``:
    that of its part on each further node (``{nodes}``, ``{rank}``).
    Then ``num_prompts``, ``request_rate`` (text; ``inf``), ``input_len`` and ``output_len`` (tokens
    of the random data), ``max_concurrency``, ``seed``, ``percentiles`` (``50,99``) and
    ``ignore_eos`` (default true: every answer has ``output_len`` tokens). Raises ``BadInput``.
    """
    options = read_options(setting, _OPTIONS)
    serve, base_url = options.words("serve"), options.text("base_url")
    if options.text("model") in ("", OF_HOSTFILE):
        options.refuse("no model", "name the served model: 'model: NAME' in the hostfile")
    if bool(serve) == bool(base_url):
        options.refuse(
            "one server is needed", "give base_url of a running one, or serve to start one"
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


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def _server(setting: Setting, options: Options, serve: tuple[str, ...], port: int) -> Command:
    if not any("{port}" in word for word in serve):
        options.refuse("serve does not say {port}", "add --port {port}")
    return _service(setting, options, serve, 0, port)


def _workers(setting: Setting, options: Options, port: int) -> tuple[Command, ...]:
    """The part of the server on each further node, which listens to nobody."""
    worker = options.words("worker")
    if len(setting.case.nodes) > 1 and not worker:
        options.refuse("several nodes, and no worker", "say how a further node joins the server")
    ranks = range(1, len(setting.case.nodes))
    services = (_service(setting, options, worker, rank, port) for rank in ranks)
    return tuple(replace(service, listens_on=None) for service in services)


def _service(
    setting: Setting, options: Options, words: tuple[str, ...], rank: int, port: int
) -> Command:
    """The model, ``{port}``, ``{address}`` of the first node, ``{nodes}``, ``{rank}`` filled in."""
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
    return replace(_command(setting, tuple(argv), port), node=nodes[rank], endless=True)


def _benchmark(setting: Setting, options: Options, base_url: str) -> Command:
    tool = program(setting, "vllm", "vllm-bench", "vllm_bench", "vllm")
    fixed = ("bench", "serve", "--model", options.text("model"), "--base-url", base_url)
    return _command(setting, (tool, *fixed, "--dataset-name", "random", *_flags(options)), None)


def _flags(options: Options) -> tuple[str, ...]:
    flags: list[str] = []
    for name, flag in _COUNTS.items():
        if (count := options.count(name, None)) is not None:
            flags += [flag, str(count)]
    flags += ["--request-rate", options.text("request_rate", "inf")]
    flags += ["--seed", str(options.count("seed", _FIRST_SEED, least=0))]
    flags += ["--percentile-metrics", "ttft,tpot,itl,e2el"]
    flags += ["--metric-percentiles", options.text("percentiles", "50,99")]
    return (*flags, *(("--ignore-eos",) if options.flag("ignore_eos", True) else ()))


def _command(setting: Setting, argv: tuple[str, ...], listens_on: int | None) -> Command:
    return Command(
        node=setting.case.nodes[0],
        argv=argv,
        environment=dict(setting.environment),
        time_limit_s=setting.measurement.time_limit_s,
        listens_on=listens_on,
    )
