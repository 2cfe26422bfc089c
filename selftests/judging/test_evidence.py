"""From printed text to samples, or to the reason why there are none."""

import pytest
from testing.core_values import sample, transcript

from railgauge.core.errors import (
    CommandTimedOut,
    ConnectionLost,
    DataCorrupted,
    MetricMissing,
    ToolFailed,
    ToolMissing,
    Unparsable,
)
from railgauge.core.model import Parsed
from railgauge.core.problems import Problem, ProblemKind
from railgauge.core.terms import Severity
from railgauge.judging.evidence import refuse_failure, samples_of

SIZE = 8388608


def read(*problems, found=()):
    return Parsed("perftest", "6.1", tuple(found), problems=problems)


def problem(kind, severity="error"):
    return Problem(ProblemKind(kind), Severity(severity), "the message")


SERVER = {"node": "n2", "role": "server"}


def test_a_run_that_ended_well_is_not_refused():
    refuse_failure([transcript(), transcript(**SERVER)], [read(), read()])


def test_warnings_do_not_refuse():
    refuse_failure([transcript()], [read(problem("cpu-frequency", "warning"))])


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("tool-missing", ToolMissing),
        ("no-output", Unparsable),
        ("no-table", Unparsable),
        ("truncated", Unparsable),
        ("not-a-number", Unparsable),
        ("unit-mismatch", Unparsable),
        ("sweep-gap", Unparsable),
        ("zero-value", Unparsable),
        ("connection-refused", ToolFailed),
        ("memory-registration", ToolFailed),
        ("tool-failed", ToolFailed),
        ("size-skipped", MetricMissing),
    ],
)
def test_a_message_of_a_tool_becomes_a_typed_error(kind, error):
    with pytest.raises(error) as caught:
        refuse_failure([transcript()], [read(problem(kind))])
    assert type(caught.value) is error
    assert caught.value.where == "n1: ib_write_bw"
    assert f"the message ({kind})" in caught.value.what


@pytest.mark.parametrize(
    ("code", "error"), [(127, ToolMissing), (1, ToolFailed), (-9, ToolFailed), (None, ToolFailed)]
)
def test_exit_codes_become_typed_errors(code, error):
    with pytest.raises(error) as caught:
        refuse_failure([transcript(exit_code=code, stderr="a\nlast words\n")], [read()])
    assert type(caught.value) is error
    assert "last words" in str(caught.value)


def test_a_command_that_failed_without_output_is_reported_as_such():
    with pytest.raises(ToolFailed, match="printed nothing"):
        refuse_failure([transcript(exit_code=1, stdout="")], [read()])


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("command-timed-out", CommandTimedOut),
        ("connection-lost", ConnectionLost),
        ("output-too-large", ToolFailed),
    ],
)
def test_the_cut_off_of_a_command_comes_before_errors_in_its_output(kind, error):
    cut = transcript(exit_code=None, error=kind)
    with pytest.raises(error) as caught:
        refuse_failure([cut], [read(problem("truncated"))])
    assert type(caught.value) is error
    assert "1.5 s" in caught.value.what


def test_the_tool_s_own_error_comes_before_its_exit_code():
    with pytest.raises(Unparsable):
        refuse_failure([transcript(exit_code=1)], [read(problem("truncated"))])


@pytest.mark.parametrize("kind", ["data-corruption", "out-of-bounds"])
def test_wrong_results_come_before_the_launcher_s_message_of_a_dead_rank(kind):
    found = read(problem("rank-died"), problem(kind))
    with pytest.raises(DataCorrupted):
        refuse_failure([transcript(exit_code=1)], [found])


def test_a_failed_client_is_blamed_before_the_server_that_was_stopped_for_it():
    client = transcript(exit_code=1, stderr="Couldn't connect to n2:18515")
    stopped = transcript(exit_code=None, **SERVER)
    with pytest.raises(ToolFailed) as caught:
        refuse_failure([client, stopped], [read(), read()])
    assert caught.value.where == "n1: ib_write_bw"


@pytest.mark.parametrize("kind", ["no-output", "no-table", "truncated"])
def test_a_server_need_not_print_a_table_but_a_client_must(kind):
    refuse_failure([transcript(), transcript(**SERVER)], [read(), read(problem(kind))])
    with pytest.raises(Unparsable):
        refuse_failure([transcript()], [read(problem(kind))])


def test_a_server_that_complains_spoils_a_client_that_does_not():
    with pytest.raises(ToolFailed) as caught:
        refuse_failure(
            [transcript(), transcript(**SERVER)], [read(), read(problem("memory-registration"))]
        )
    assert caught.value.where == "n2: ib_write_bw"
    assert "locked-memory" in caught.value.remedy


def test_a_server_that_ended_badly_spoils_the_run():
    with pytest.raises(ToolFailed):
        refuse_failure([transcript(), transcript(exit_code=1, **SERVER)], [read(), read()])


# --- samples ---


def test_samples_of_all_runs_are_kept_and_numbered_anew():
    runs = [read(found=[sample(1.0), sample(2.0)]), read(found=[sample(3.0)])]
    found = samples_of(runs, "bw_average", SIZE)
    assert [(s.value, s.iteration) for s in found] == [(1.0, 0), (2.0, 1), (3.0, 2)]


@pytest.mark.parametrize(
    "wrong", [{"metric": "bw_peak"}, {"size_bytes": 65536}, {"size_bytes": None}]
)
def test_another_metric_or_size_is_not_taken_instead(wrong):
    with pytest.raises(MetricMissing, match="no bw_average at 8MiB"):
        samples_of([read(found=[sample(1.0, **wrong)])], "bw_average", SIZE)


def test_one_run_without_the_metric_is_an_error_though_others_have_it():
    with pytest.raises(MetricMissing, match="in run 2 of 2"):
        samples_of([read(found=[sample(1.0)]), read()], "bw_average", SIZE)


# --- placements ---


def placed(value, placement, **changes):
    return sample(value, placement=placement, **changes)


def test_a_metric_may_name_the_placement_that_is_judged():
    found = [placed(1.0, "out_of_place"), placed(2.0, "in_place")]
    both = samples_of([read(found=found)], "bw_average", SIZE)
    one = samples_of([read(found=found)], "bw_average/out_of_place", SIZE)
    assert [s.value for s in both] == [1.0, 2.0]
    assert [s.value for s in one] == [1.0]


@pytest.mark.parametrize("metric", ["bw_average/in_place", "bw_average/"])
def test_another_placement_is_not_taken_instead(metric):
    found = [placed(1.0, "out_of_place")]
    if metric.endswith("/"):
        assert len(samples_of([read(found=found)], metric, SIZE)) == 1
    else:
        with pytest.raises(MetricMissing, match="no bw_average/in_place at 8MiB"):
            samples_of([read(found=found)], metric, SIZE)


@pytest.mark.parametrize("link", ["gpu0>gpu7", "gpu7>gpu0"])
def test_a_link_has_its_own_samples_and_a_direction(link):
    found = [
        placed(1.0, "gpu0>gpu7", size_bytes=None), placed(2.0, "gpu7>gpu0", size_bytes=None),
        placed(3.0, "gpu0", size_bytes=None), placed(4.0, None, size_bytes=None),
    ]  # fmt: skip
    (one,) = samples_of([read(found=found)], "bw_average", None, link)
    assert one.value == {"gpu0>gpu7": 1.0, "gpu7>gpu0": 2.0}[link]


def test_a_link_that_was_not_printed_is_named():
    runs = [read(found=[placed(1.0, "gpu0>gpu7")]), read(found=[placed(1.0, "gpu7>gpu0")])]
    with pytest.raises(MetricMissing, match="no bw_average for gpu0>gpu7 in run 2 of 2"):
        samples_of(runs, "bw_average", None, "gpu0>gpu7")


def test_without_a_size_every_size_counts_and_none_is_preferred():
    found = [sample(3.0, size_bytes=8), sample(1.0), sample(2.0, size_bytes=None)]
    values = [s.value for s in samples_of([read(found=found)], "bw_average", None)]
    assert values == [3.0, 1.0, 2.0]
