"""The serving benchmark: recorded tables and JSON, broken ones, noise, and the commands."""

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from testing.tool_setting import kinds, recorded, setting, values

from railgauge.core.errors import BadInput
from railgauge.tools.vllm_bench import commands, parse

CORPUS = "corpus/vllm"


def figures(parsed):
    return {metric: value for (metric, _), value in values(parsed).items()}


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        ("001", {"output_throughput": 133.67, "ttft_mean": 127.10, "tpot_p99": 26.64, "failed": 0}),
        ("005", {"output_throughput": 120.81, "ttft_mean": 215.50, "tpot_p99": 101.52}),
        (
            "006",
            {
                "completed": 12800,
                "failed": 0,
                "output_throughput": 9748.24523200441,
                "ttft_mean": 668.48989902217,
                "e2el_p99": 55124.09303063527,
            },
        ),
        (
            "009",
            {"completed": 100, "output_throughput": 0.0, "e2el_mean": 3662.04, "failed": 0},
        ),
        (
            "011",
            {"request_throughput": 19.50, "output_throughput": 9799.19, "ttft_mean": 45092.77},
        ),
        (
            "013",
            {
                "completed": 1024,
                "output_throughput": 281.29,
                "ttft_median": 3500.61,
                "tpot_p99": 1163.99,
            },
        ),
        (
            "014",
            {
                "completed": 995,
                "output_throughput": 1937.28,
                "peak_output_throughput": 9950.00,
                "ttft_mean": 25851.94,
            },
        ),
        (
            "017",
            {"output_throughput": 403.89, "tpot_p99": 1593.03, "ttft_mean": 139146.52},
        ),
        (
            "018",
            {
                "completed": 512,
                "output_throughput": 2675.33,
                "peak_output_throughput": 2046.00,
                "tpot_mean": 106.03,
                "itl_max": 28328.48,
                "e2el_p99": 739372.68,
            },
        ),
    ],
)
def test_values_of_recorded_outputs_are_those_of_the_index(number, expected):
    parsed = parse(recorded(CORPUS, number))
    assert kinds(parsed) == []
    assert expected.items() <= figures(parsed).items()


def test_a_failed_request_is_an_error_beside_its_figures():
    parsed = parse(recorded(CORPUS, "007"))
    assert kinds(parsed) == ["failed-requests"]
    expected = {
        "completed": 199,
        "failed": 1,
        "output_throughput": 142.28,
        "ttft_mean": 810.13,
        "e2el_p99": 34158.79,
    }
    assert expected.items() <= figures(parsed).items()


def test_embeddings_whose_values_contradict_each_other_are_an_error():
    parsed = parse(recorded(CORPUS, "012"))
    found = figures(parsed)
    assert kinds(parsed) == ["inconsistent"]
    assert "output_throughput" not in found
    expected = {"completed": 1000, "total_throughput": 15929.35, "e2el_p99": 6294.52}
    assert expected.items() <= found.items()


def test_placeholders_are_no_numbers():
    assert parse(recorded(CORPUS, "003")).samples == ()
    assert kinds(parse(recorded(CORPUS, "003"))) == ["not-a-number"]
    mixed = parse(recorded(CORPUS, "019"))
    assert kinds(mixed) == ["not-a-number"]
    expected = {"completed", "duration", "input_tokens", "generated_tokens"}
    assert figures(mixed).keys() == expected
    assert figures(mixed)["duration"] == 17.66


def test_the_number_of_requests_is_read_from_the_progress_bar():
    text = recorded(CORPUS, "013")
    assert parse(text).summary["asked"] == 1024
    assert kinds(parse(text.replace("1024/1024", "1025/1025"))) == ["failed-requests"]


@pytest.mark.parametrize("number", ["011", "014", "017", "018"])
def test_an_unknown_number_of_requests_is_a_problem(number):
    assert kinds(parse(recorded(CORPUS, number)), "warning") == ["asked-unknown"]


TABLE = """\
Namespace(backend='vllm', num_prompts=200, seed=0)
============ Serving Benchmark Result ============
Successful requests:                     200
Benchmark duration (s):                  100.00
Total input tokens:                      20000
Total generated tokens:                  25600
Request throughput (req/s):              2.00
Output token throughput (tok/s):         256.00
Total Token throughput (tok/s):          456.00
---------------Time to First Token----------------
Mean TTFT (ms):                          215.50
P99.9 TTFT (ms):                         317.18
==================================================
"""


def test_a_sound_table_is_read():
    parsed = parse(TABLE)
    assert (parsed.problems, parsed.summary["asked"]) == ((), 200)
    assert {(s.metric, s.unit, s.value) for s in parsed.samples} == {
        ("completed", "count", 200),
        ("duration", "s", 100.0),
        ("input_tokens", "count", 20000),
        ("generated_tokens", "count", 25600),
        ("request_throughput", "1/s", 2.0),
        ("output_throughput", "1/s", 256.0),
        ("total_throughput", "1/s", 456.0),
        ("ttft_mean", "ms", 215.5),
        ("ttft_p999", "ms", 317.18),
    }


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("num_prompts=200", "num_prompts=201", "failed-requests"),
        ("Benchmark duration", "Failed requests: 3\nBenchmark duration", "failed-requests"),
        ("  256.00", "  266.00", "inconsistent"),
        ("  456.00", "  356.00", "inconsistent"),
        ("  2.00", "  3.00", "inconsistent"),
        ("  215.50", "  nan", "not-a-number"),
        ("  215.50", "  ...", "not-a-number"),
        ("  215.50", "  0.00", "zero-value"),
        ("requests:                     200", "requests: 0", "zero-value"),
        ("Successful requests:                     200\n", "", "metric-missing"),
        ("=" * 50, "", "truncated"),
        ("Namespace", TABLE, "several-tables"),
        (TABLE, "", "no-output"),
        (TABLE, "Starting main benchmark run...\n", "truncated"),
        (TABLE, "words\n", "no-table"),
        (TABLE, "bash: vllm: command not found\n", "tool-missing"),
        (TABLE, "Traceback:\nValueError: Initial test run failed\n", "tool-failed"),
        (TABLE, "INFO: Application startup complete.\nValueError: x\n", "no-table"),
        ("  215.50", "  100005216.00", "inconsistent"),
        ("=" * 50 + "\n", "P99 E2EL (ms): 102000.00\n" + "=" * 50 + "\n", "inconsistent"),
        ("=" * 50 + "\n", "Mean E2EL (ms): 200.00\n" + "=" * 50 + "\n", "inconsistent"),
        (
            "=" * 50 + "\n",
            "Peak concurrent requests: 9.00\nMean E2EL (ms): 5000.00\n" + "=" * 50 + "\n",
            "inconsistent",
        ),
        (
            "=" * 50 + "\n",
            "Maximum request concurrency: 9\nMean E2EL (ms): 5000.00\n" + "=" * 50 + "\n",
            "inconsistent",
        ),
    ],
)
def test_broken_output_is_an_error(old, new, kind):
    assert old in TABLE
    assert kind in kinds(parse(TABLE.replace(old, new, 1)))


PACED = """\
Namespace(num_prompts=64)
============ Serving Benchmark Result ============
Successful requests:                     64
Request rate configured (RPS):           8.00
Benchmark duration (s):                  16.00
Total generated tokens:                  8192
Request throughput (req/s):              4.00
Output token throughput (tok/s):         512.00
Peak concurrent requests:                {peak}
Mean E2EL (ms):                          5036.00
P99 E2EL (ms):                           7100.76
==================================================
"""


def test_more_at_once_than_the_peak_are_impossible():
    assert kinds(parse(PACED.format(peak="21.00"))) == []
    assert kinds(parse(PACED.format(peak="19.00"))) == ["inconsistent"]


def test_requests_that_come_slowly_do_not_all_end_at_once():
    """64 requests at 8 a second, each of 5 s: 8 s pass before the last one is answered."""
    fast = PACED.replace("16.00", "8.00").replace("  4.00", "  8.00").replace("512.00", "1024.00")
    assert kinds(parse(fast.format(peak="64.00"))) == ["inconsistent"]


def test_latencies_in_seconds_are_compared_as_such():
    ends = "=" * 50 + "\n"
    table = TABLE.replace("\n" + ends, "\nMean E2E Latency (s): {}\n" + ends)
    assert kinds(parse(table.format("5.00"))) == []
    assert kinds(parse(table.format("0.20"))) == ["inconsistent"]
    assert kinds(parse(table.format("102.00"))) == ["inconsistent"]


def test_a_repeated_label_counts_once():
    parsed = parse(TABLE.replace("P99.9", "Mean TTFT (ms): 999.00\nP99.9"))
    assert kinds(parsed, "warning") == ["repeated-label"]
    assert figures(parsed)["ttft_mean"] == 215.5


def test_a_table_cut_anywhere_is_an_error_and_gives_no_new_value():
    whole = figures(parse(TABLE)).items()
    for end in range(len(TABLE) - 25):
        cut = parse(TABLE[:end])
        assert figures(cut).items() <= whole
        assert cut.errors


SAVED = {
    "num_prompts": 10, "completed": 10, "failed": 0, "duration": 4.0, "total_input_tokens": 100,
    "total_output_tokens": 400, "request_throughput": 2.5, "output_throughput": 100.0,
    "mean_ttft_ms": 12.5, "p99.9_e2e_latency_ms": 90.0, "request_goodput": None, "ttfts": [1.0],
}  # fmt: skip


def test_a_saved_result_is_read():
    parsed = parse(json.dumps(SAVED))
    assert parsed.problems == ()
    assert figures(parsed)["e2el_p999"] == 90.0
    assert parsed.summary == {"asked": 10}


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"num_prompts": 11}, "failed-requests"),
        ({"failed": 1}, "failed-requests"),
        ({"output_throughput": 110.0}, "inconsistent"),
        ({"mean_ttft_ms": float("nan")}, "not-a-number"),
        ({"completed": float("inf")}, "not-a-number"),
        ({"mean_ttft_ms": "fast"}, "not-a-number"),
    ],
)
def test_a_broken_saved_result_is_an_error(changes, kind):
    assert kind in kinds(parse(json.dumps({**SAVED, **changes})))


def test_other_and_cut_json_are_errors():
    assert kinds(parse("{}")) == ["no-table"]
    assert kinds(parse(json.dumps(SAVED) * 2)) == ["several-tables"]
    text = json.dumps(SAVED)
    for end in range(len(text)):
        parsed = parse(text[:end])
        assert (parsed.samples, bool(parsed.errors)) == ((), True)


@settings(max_examples=80, deadline=None)
@given(st.text(max_size=300))
def test_noise_gives_no_value(text):
    parsed = parse(text)
    assert (parsed.samples, bool(parsed.errors)) == ((), True)


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=30), st.integers(0, len(TABLE)))
def test_damage_never_fails(damage, at):
    raw = TABLE.encode()
    parse((raw[:at] + damage + raw[at + len(damage) :]).decode("utf-8", "replace"))


@pytest.mark.parametrize(
    "piece",
    ["x", "=", " ", "\n", "a: 1\n", "Mean TTFT (ms): 1\n", "{", "| 1/1 [0", "Error", "vllm"],
)
def test_a_quarter_of_a_megabyte_of_anything_is_read_in_time(piece):
    """At this limit, time quadratic in the input would be 80 s for a megabyte."""
    noise = piece * (250_000 // len(piece))
    started = time.process_time()
    parse(TABLE[:140] + noise)
    parse(noise)
    assert time.process_time() - started < 5.0


MODEL = {"model": "some/model"}


def test_server_first_then_benchmark():
    serve = ["vllm", "serve", "some/model", "--host", "{address}", "--port", "{port}"]
    given = setting(
        "vllm-bench", options={**MODEL, "serve": serve, "num_prompts": 200}, environment={"A": "b"}
    )
    server, client = commands(given, 8123)
    assert (server.listens_on, server.node) == (8123, "n1")
    assert server.argv[3:] == ("--host", "10.0.0.1", "--port", "8123")
    assert client.argv[:7] == (
        "vllm", "bench", "serve", "--model", "some/model", "--base-url", "http://10.0.0.1:8123",
    )  # fmt: skip
    assert "--num-prompts 200" in " ".join(client.argv)
    assert server.environment == client.environment == {"A": "b"}


def test_the_model_is_given_once():
    serve = ["vllm", "serve", "{model}", "--port", "{port}"]
    server, client = commands(setting("vllm-bench", options={**MODEL, "serve": serve}), 8123)
    assert server.argv[2] == client.argv[4] == "some/model"


def test_a_running_server_needs_no_start():
    options = {
        **MODEL, "base_url": "http://head:8000", "input_len": 128, "output_len": 256,
        "request_rate": "4", "max_concurrency": 16, "percentiles": "50,99", "ignore_eos": False,
    }  # fmt: skip
    (client,) = commands(setting("vllm-bench", options=options), 1)
    assert client.argv[5:] == (
        "--base-url", "http://head:8000", "--dataset-name", "random",
        "--random-input-len", "128", "--random-output-len", "256", "--max-concurrency", "16",
        "--request-rate", "4", "--seed", "0", "--percentile-metrics", "ttft,tpot,itl,e2el",
        "--metric-percentiles", "50,99",
    )  # fmt: skip


@pytest.mark.parametrize(
    "options",
    [
        {},
        MODEL,
        {"model": "{model}", "base_url": "http://x"},
        {"base_url": "http://x"},
        {**MODEL, "base_url": "http://x", "serve": ["x", "{port}"]},
        {**MODEL, "serve": ["x"]},
        {**MODEL, "base_url": "http://x", "prompts": 3},
        {**MODEL, "base_url": "http://x", "num_prompts": "3"},
    ],
)
def test_cases_that_cannot_be_run_are_refused(options):
    with pytest.raises(BadInput):
        commands(setting("vllm-bench", options=options), 8123)
