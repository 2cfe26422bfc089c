"""``vllm serve``, a server that listens, and ``vllm bench serve``, which measures it.

The figures are illustrative: no document gives any for a healthy system.
"""

from __future__ import annotations

import math
import os
import sys
import time

from . import fabric, figures, interference, stored, vllm_nodes, wire
from .counters import turn
from .options import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Node = dict[str, Any]
    Options = dict[str, str]

_FLAGS = {"ignore-eos", "save-result", "trust-remote-code", "enforce-eager", "disable-tqdm"}
_SPREAD = {1: 0.82, 5: 0.86, 10: 0.89, 25: 0.94, 50: 0.99, 75: 1.05, 90: 1.14, 95: 1.22, 99: 1.41}
_TITLES = {
    "ttft": ("Time to First Token", "TTFT"),
    "tpot": ("Time per Output Token (excl. 1st token)", "TPOT"),
    "itl": ("Inter-token Latency", "ITL"),
    "e2el": ("End-to-end Latency", "E2EL"),
}
_LARGE = 1 << 30


def run(_tool: str, arguments: list[str], node: Node) -> int:
    """Return exit code 0, 1 if the server or the hardware is missing, 2 for a bad command line."""
    if arguments[:1] in (["--version"], ["-v"]):
        print("0.9.2")
        return 0
    try:
        if arguments[:2] == ["bench", "serve"]:
            return _bench(_options(arguments[2:]), node)
        if arguments[:1] == ["serve"]:
            return _serve(_options(arguments[1:]), node)
    except UsageError as error:
        sys.stderr.write(f"vllm: error: {error}\n")
        return 2
    sys.stderr.write(
        "usage: vllm [-h] [-v] {chat,complete,serve,bench,collect-env,run-batch} ...\n"
    )
    return 2


def _options(arguments: list[str]) -> Options:
    """Read ``--name value`` and ``--name=value``; an argument without a dash is the model."""
    found: Options = {}
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.lstrip("-").partition("=")
        if not word.startswith("-"):
            found["model"] = word
        elif equals or name in _FLAGS:
            found[name] = value
        elif rest:
            found[name] = rest.pop(0)
        else:
            raise UsageError(f"argument {word}: expected one argument")
    return found


def _serve(options: Options, node: Node) -> int:
    ranks = 1
    for name in ("tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size"):
        ranks *= int(options.get(name, 1))
    local = len(node["gpus"])
    if vllm_nodes.is_worker(options):
        return vllm_nodes.join(node, options)
    nodes = vllm_nodes.together(node, options, -(-ranks // max(local, 1)))
    if nodes is None:
        sys.stderr.write(
            f"ValueError: Total number of attention heads: the world size ({ranks}) is larger than"
            f" the number of available GPUs ({local}) in this node.\n"
        )
        return 1
    able, port = _able(nodes), int(options.get("port", 8000))
    try:
        listener = wire.listen(node["address"], port)
    except OSError as error:
        sys.stderr.write(f"OSError: [Errno {error.errno}] Address already in use\n")
        return 1
    print(f"INFO:     Uvicorn running on http://{node['address']}:{port}")
    sys.stdout.flush()
    while True:
        link = wire.accept(listener)
        try:
            link.receive()
            link.send({**able, "model": options.get("model", ""), "nodes": len(nodes)})
        except wire.Hangup:
            link.close()


def _able(nodes: list[Node]) -> dict[str, float]:
    """Return the throughput as a share of one healthy node's.

    The slowest node, the network and other jobs on the GPUs reduce it.
    """
    serving = figures.load(nodes[0]["figures"])["serving"]
    everyone = {node["name"]: list(range(len(node["gpus"]))) for node in nodes}
    path = fabric.path(nodes, dict(os.environ), everyone)
    share = path["share"]
    if len(nodes) > 1:
        share *= serving["two_nodes"] * len(nodes) / 2
        if path["network"] == "Socket":
            share *= serving["socket"]
        elif not path["gdr"]:
            share *= serving["no_gdr"]
    if any(node["diagnostics"] for node in nodes):
        share /= interference.mean_slowdown()
    return {"share": share}


def _bench(options: Options, node: Node) -> int:
    from urllib.parse import urlparse  # noqa: PLC0415 - the servers start faster without it

    url = urlparse(options.get("base-url", ""))
    host = url.hostname or options.get("host", "127.0.0.1")
    port = url.port or int(options.get("port", 8000))
    try:
        link = wire.connect(host, port, node["address"])
        link.send({"hello": 1})
        able = link.receive()
    except (OSError, wire.Hangup):
        sys.stderr.write(
            "ValueError: Initial test run failed - Please make sure benchmark arguments are"
            f" correctly specified. Error: Cannot connect to host {host}:{port}\n"
        )
        return 1
    asked = options.get("model", "")
    if asked and able["model"] and asked != able["model"]:
        sys.stderr.write(
            "ValueError: Initial test run failed - Please make sure benchmark arguments are"
            f" correctly specified. Error: The model `{asked}` does not exist. (404)\n"
        )
        return 1
    result = _result(options, node, able)
    print("\n".join(_table(options, result)))
    if "save-result" in options:
        _save(options, result)
    return 0


def _result(options: Options, node: Node, able: dict[str, Any]) -> dict[str, Any]:
    serving = figures.load(node["figures"])["serving"]
    prompts = int(options.get("num-prompts", 1000))
    inputs, outputs = (
        int(options.get(f"random-{w}-len", d)) for w, d in (("input", 1024), ("output", 128))
    )
    key = f"{node['name']} vllm {prompts} {inputs} {outputs}"
    calm = figures.noise(node, f"{key} turn {turn(node, key)}", _LARGE)
    most = min(int(options.get("max-concurrency", prompts)), prompts)
    rate = float(options.get("request-rate", "inf"))
    pace = able["share"] * calm
    ttft, tpot = serving["ttft_ms"] / pace, serving["tpot_ms"] / pace
    # Little's law: the concurrent requests are those that arrive while one is answered, up to the
    # maximum concurrency.
    alone = ttft + tpot * (outputs - 1)
    batch = min(float(most), rate * alone / 1e3)
    # If the requests ask for more tokens than the GPUs can produce, every request takes longer.
    e2el = max(alone, 1e3 * batch * outputs / (serving["output_tokens_per_s"] * pace))
    tpot = (e2el - ttft) / (outputs - 1) if outputs > 1 else tpot
    # The last requests may be slow ones, so the end of the run is counted at the 99th percentile.
    duration = (prompts / batch + _SPREAD[99] - 1) * e2el / 1e3
    return {
        "prompts": prompts, "inputs": prompts * inputs, "outputs": prompts * outputs,
        "duration": duration, "most": most, "batch": math.ceil(batch), "rate": rate,
        "ttft": ttft, "tpot": tpot, "itl": tpot, "e2el": e2el,
    }  # fmt: skip


def _percentiles(options: Options) -> list[int]:
    return [int(float(word)) for word in options.get("metric-percentiles", "99").split(",")]


def _wanted(options: Options) -> list[str]:
    return options.get("percentile-metrics", "ttft,tpot,itl").split(",")


def _at(mean: float, percentile: int) -> float:
    known = min(_SPREAD, key=lambda one: abs(one - percentile))
    return mean * _SPREAD[known]


def _table(options: Options, result: dict[str, Any]) -> list[str]:
    seconds = result["duration"]
    lines = [f"{' Serving Benchmark Result ':=^50}"]
    lines.append(_line("Successful requests:", result["prompts"]))
    lines.append(_line("Failed requests:", 0))
    if "max-concurrency" in options:
        lines.append(_line("Maximum request concurrency:", result["most"]))
    if result["rate"] != float("inf"):
        lines.append(_line("Request rate configured (RPS):", result["rate"]))
    lines += [
        _line("Benchmark duration (s):", seconds),
        _line("Total input tokens:", result["inputs"]),
        _line("Total generated tokens:", result["outputs"]),
        _line("Request throughput (req/s):", result["prompts"] / seconds),
        _line("Output token throughput (tok/s):", result["outputs"] / seconds),
        _line("Peak output token throughput (tok/s):", 1.25 * result["outputs"] / seconds),
        _line("Peak concurrent requests:", float(result["batch"])),
        _line("Total Token throughput (tok/s):", (result["inputs"] + result["outputs"]) / seconds),
    ]
    for metric in _wanted(options):
        title, short = _TITLES[metric]
        lines.append(f"{title:-^50}")
        lines.append(_line(f"Mean {short} (ms):", result[metric]))
        lines.append(_line(f"Median {short} (ms):", _at(result[metric], 50)))
        lines += [
            _line(f"P{p} {short} (ms):", _at(result[metric], p)) for p in _percentiles(options)
        ]
    return [*lines, "=" * 50]


def _line(label: str, value: float) -> str:
    shown = f"{value:.2f}" if isinstance(value, float) else str(value)
    return f"{label:<40} {shown:<10}"


def _save(options: Options, result: dict[str, Any]) -> None:
    seconds = result["duration"]
    document: dict[str, Any] = {
        "date": time.strftime("%Y%m%d-%H%M%S"), "endpoint_type": "openai", "backend": "vllm",
        "model_id": options.get("model", ""), "num_prompts": result["prompts"],
        "request_rate": options.get("request-rate", "inf"), "burstiness": 1.0,
        "max_concurrency": result["most"], "duration": seconds, "completed": result["prompts"],
        "failed": 0, "total_input_tokens": result["inputs"],
        "total_output_tokens": result["outputs"],
        "request_throughput": result["prompts"] / seconds,
        "output_throughput": result["outputs"] / seconds,
        "total_token_throughput": (result["inputs"] + result["outputs"]) / seconds,
    }  # fmt: skip
    for metric in _wanted(options):
        document[f"mean_{metric}_ms"] = result[metric]
        document[f"median_{metric}_ms"] = _at(result[metric], 50)
        for p in _percentiles(options):
            document[f"p{p}_{metric}_ms"] = _at(result[metric], p)
    folder = options.get("result-dir", ".")
    name = options.get("result-filename", "vllm-result.json")
    with open(f"{folder}/{name}", "w", encoding="utf-8") as file:  # noqa: PTH123 - see main.py
        file.write(stored.as_json(document))
