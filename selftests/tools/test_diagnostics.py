"""Results of dcgmi diag and of Azure's node health checks: recorded, broken and made up."""

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from testing.places import SHARED

from railgauge.tools.azure_nhc import BandwidthFigure, parse_nhc
from railgauge.tools.dcgmi_diag.parse import parse_dcgmi_diag


def recorded(folder, name):
    paths = sorted((SHARED / folder).glob(f"{name}*"))
    if not paths:
        pytest.skip(f"recorded output {folder}/{name} is not beside this repository")
    return paths[0].read_bytes().decode("utf-8", "replace")


def kinds(report):
    return [problem.kind for problem in report.problems]


def statuses(report):
    return {result.name: result.status for result in report.results}


def test_a_short_table_without_its_end_is_an_error():
    report = parse_dcgmi_diag(recorded("corpus/dcgmi", "001"))
    assert kinds(report) == ["truncated"]
    assert not report.has_passed
    assert len(report.results) == 9
    assert statuses(report)["Blacklist"] == statuses(report)["Inforom"] == "pass"


def test_a_failure_and_a_warning_are_read_from_json():
    report = parse_dcgmi_diag(recorded("corpus/dcgmi", "004"))
    assert not report.has_passed
    found = statuses(report)
    assert (found["Persistence Mode"], found["Environment Variables"]) == ("fail", "warn")
    assert set(found.values()) == {"pass", "fail", "warn"}


def test_json_of_a_passed_diagnostic_is_read():
    report = parse_dcgmi_diag(recorded("corpus/dcgmi", "005"))
    assert report.has_passed
    assert set(statuses(report).values()) == {"pass"}
    assert {result.category for result in report.results} == {"Deployment"}


def test_wrapped_warnings_are_put_together():
    report = parse_dcgmi_diag(recorded("corpus/dcgmi", "006"))
    (memory,) = report.named("GPU Memory")
    assert (memory.printed, memory.status, memory.category) == ("Fail - All", "fail", "Hardware")
    assert len(memory.warnings) == 8
    assert memory.warnings[3] == (
        "GPU 3 Error using CUDA API cuInit Check DCGM and system logs for errors. Reset GPU."
        " Restart DCGM. Rerun diagnostics. Unable to initialize CUDA library: 'system not yet"
        " initialized'. . Please check if a CUDA sample program can be run successfully on this"
        " host. Refer to https://github.com/nvidia/cuda-samples"
    )
    assert report.named("EUD Test")[0].printed == "Skip - All"
    (mode,) = report.named("Persistence Mode")
    assert mode.warnings == ()
    assert ("DCGM Version", "3.3.8") in report.details
    assert (kinds(report), report.has_passed) == ([], False)


@pytest.mark.parametrize(
    ("folder", "name"), [("corpus/dcgmi", "007"), ("transcripts", "h200-dcgmi-diag-eud")]
)
def test_a_run_of_eud_is_read(folder, name):
    report = parse_dcgmi_diag(recorded(folder, name))
    assert report.has_passed
    assert statuses(report) == {"EUD Test": "pass"}
    assert dict(report.details)["EUD Test Version"] == "eud.550.26"
    assert dict(report.details)["Driver Version Detected"] == "550.90.07"


TABLE = """\
Successfully ran diagnostic for group.
+---------------------------+------------------------------------------------+
| Diagnostic                | Result                                         |
+===========================+================================================+
|-----  Integration  -------+------------------------------------------------|
| PCIe                      | Pass - All                                     |
+-----  Stress  ------------+------------------------------------------------+
| Targeted Power            | Fail - GPUs: 0, 3                              |
+---------------------------+------------------------------------------------+
"""


def test_gpus_that_failed_are_named():
    report = parse_dcgmi_diag(TABLE)
    assert report.named("Targeted Power")[0].gpus == (0, 3)
    assert report.named("PCIe")[0].gpus == ()
    assert kinds(report) == []


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", "no-output"),
        ("words", "no-table"),
        (TABLE[:-40], "truncated"),
        (TABLE.replace("Pass - All", "Great     "), "unparsable"),
        ("Error: Unable to establish a connection to the specified host: localhost", "tool-failed"),
        ("bash: dcgmi: command not found", "tool-failed"),
        ('{"DCGM GPU Diagnostic": {"test_categories": [', "truncated"),
        ('{"DCGM GPU Diagnostic": nonsense}', "unparsable"),
        ('{"DCGM GPU Diagnostic": {}}', "no-table"),
        ('{"DCGM GPU Diagnostic": []}', "no-table"),
        ('{"DCGM Diagnostic": {"runtime_error": "no host engine"}}', "tool-failed"),
    ],
)
def test_a_text_without_results_is_an_error(text, kind):
    report = parse_dcgmi_diag(text)
    assert kind in kinds(report)
    assert not report.has_passed


def report_of(*results):
    tests = [{"name": "memory", "results": list(results)}]
    content = {
        "metadata": {"version": "4.2.0"},
        "test_categories": [{"category": "Hardware", "tests": tests}],
    }
    return parse_dcgmi_diag("warming up\n" + json.dumps({"DCGM Diagnostic": content}))


def test_results_of_each_gpu_are_read():
    report = report_of(
        {"entity_group": "GPU", "entity_id": 0, "status": "Pass"},
        {"gpu_id": "1", "status": "Fail", "warnings": [{"warning": "a  b", "error_id": 3}, "c"]},
        {"gpu_ids": "2,3", "status": "Skip", "info": "nothing"},
    )
    assert [result.gpus for result in report.results] == [(0,), (1,), (2, 3)]
    assert [result.status for result in report.results] == ["pass", "fail", "skip"]
    assert report.results[1].warnings == ("a b", "c")
    assert report.details == (("version", "4.2.0"),)


def test_a_test_without_result_or_with_skips_alone_has_not_passed():
    assert kinds(report_of()) == ["unparsable"]
    assert kinds(report_of({"status": None})) == ["unparsable"]
    assert not report_of({"status": "Skip"}).has_passed
    assert report_of({"status": "Pass"}, {"status": "Skip"}).has_passed


def test_a_cut_table_never_passes_and_gives_no_new_result():
    passed = TABLE.replace("Fail - GPUs: 0, 3", "Pass             ")
    whole = set(parse_dcgmi_diag(passed).results)
    assert parse_dcgmi_diag(passed).has_passed
    for end in range(len(passed) - 3):
        report = parse_dcgmi_diag(passed[:end])
        assert set(report.results) <= whole
        assert not report.has_passed


def test_health_checks_of_the_seed_are_read():
    results = parse_nhc(recorded("transcripts", "h200-azure-nhc"))
    assert len(results) == 7
    assert all(result.has_passed for result in results)
    found = {result.check: result for result in results}
    assert found["check_gpu_count"].message == "Expected 8 and found 8"
    assert found["check_nccl_allreduce"].figures == (BandwidthFigure(482.559, "GB/s"),)
    assert found["check_ib_bw_gdr"].figures == (BandwidthFigure(392.0, "Gb/s"),)
    assert found["check_hw_topology"].figures == ()


FAILURES = """\
[1] - SUCCESS:  nhc:  Health check passed:  check_gpu_count: Expected 8 and found 8
ERROR:  nhc:  Health check failed:  check_ecc: GPU id 3: count detected, (0,1). FaultCode: NHC2019
ERROR: nhc: Health check failed: check_fake_test:  some reason: some other reason
ERROR:  nhc:  Health check failed:  some reason
ERROR:  nhc:  Health check passed:  check_odd: said both ways
SUCCESS:  nhc:  Health check passed:  check_gp"""


def test_failed_checks_are_counted_and_named():
    results = parse_nhc(FAILURES)
    assert [(r.check, r.has_passed, r.message, r.fault_code) for r in results] == [
        ("check_gpu_count", True, "Expected 8 and found 8", ""),
        ("check_ecc", False, "GPU id 3: count detected, (0,1)", "NHC2019"),
        ("check_fake_test", False, "some reason: some other reason", ""),
        ("", False, "some reason", ""),
        ("check_odd", False, "said both ways", ""),
    ]


@settings(max_examples=80, deadline=None)
@given(st.text(max_size=300))
def test_noise_is_no_result(text):
    assert not parse_dcgmi_diag(text).has_passed
    assert parse_nhc(text) == ()


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=30), st.integers(0, len(TABLE)))
def test_damage_never_fails(damage, at):
    for text in (TABLE, FAILURES):
        raw = text.encode()
        damaged = (raw[:at] + damage + raw[at + len(damage) :]).decode("utf-8", "replace")
        parse_dcgmi_diag(damaged)
        parse_nhc(damaged)


@pytest.mark.parametrize(
    "piece",
    ["x", "|", "-", "+-", " ", "\n", "|   |", "| A | Pass |\n", "|   | go on |\n", "Error: ",
     "ERROR: nhc: Health check failed: ", "{", '{"DCGM Diagnostic":', "1 GB/s ", "dcgmi"],
)  # fmt: skip
def test_a_quarter_of_a_megabyte_of_anything_is_read_in_time(piece):
    """At this limit, time quadratic in the input would be 80 s for a megabyte."""
    noise = piece * (250_000 // len(piece))
    started = time.process_time()
    parse_dcgmi_diag(TABLE + "| Warning | begins |\n" + noise)
    parse_nhc(noise)
    assert time.process_time() - started < 5.0
