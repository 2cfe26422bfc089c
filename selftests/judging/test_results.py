"""Named tests of a diagnostic: a test passes only if it is printed for every GPU and passed."""

import json
from dataclasses import replace

import pytest
from testing.core_values import ROOT, cluster, transcript

from railgauge.cli import main
from railgauge.config import thresholds
from railgauge.core.errors import (
    BadInput,
    MetricMissing,
    OtherThanAsked,
    ToolFailed,
    ToolMissing,
    Unparsable,
)
from railgauge.core.model import Case, Outcome
from railgauge.core.question import READ, RESULTS, CaseResult, Question
from railgauge.judging import assess
from railgauge.judging.assess import read
from railgauge.judging.assessor import Assessor
from railgauge.planning import forecast, plan
from railgauge.tools.dcgmi_diag.parse import DEPLOYMENT

H200 = thresholds.load("h200", ROOT / "thresholds")
FULL, QUICK = "gpu_diagnostic_full", "gpu_diagnostic_quick"
EXTENDED, CHECKS = "gpu_diagnostic_extended", "node_health_check"
RULE = f"+{'-' * 27}+{'-' * 48}+\n"
HEAD = f"Successfully ran diagnostic for group.\n{RULE}| Diagnostic | Result |\n"
HARDWARE = H200.measurements[FULL].results.tests[len(DEPLOYMENT) :]
ALL = "Pass - All"


def row(name, value):
    return f"| {name:<25} | {value:<46} |\n"


def ids(count=8):
    return row("GPU Device IDs Detected", ",".join(["2335"] * count))


def level(*names, count=8, **others):
    """A table of these tests; ``others`` has the results other than ``Pass``, ``_`` for blanks."""
    tests = {name: ALL if name in HARDWARE else "Pass" for name in names}
    tests |= {name.replace("_", " "): value for name, value in others.items()}
    rows = [
        row(name, value) if "|" not in value else value for name, value in tests.items() if value
    ]
    return f"{HEAD}{row('DCGM Version', '3.3.9')}{ids(count)}{''.join(rows)}{RULE}"


def full(**others):
    return level(*DEPLOYMENT, *HARDWARE, **others)


def asked(text, name=FULL, code=0, stderr=""):
    """The judgements of this output of the measurement: the answers to its two questions."""
    wanted = Case(name, ("n1",), None, ())
    made = transcript("n1", argv=("dcgmi",), exit_code=code, stdout=text, stderr=stderr)

    assessor = Assessor(H200, {}, lambda _: CaseResult(((made,),)))
    seen = assessor.answer(Question(READ, wanted))
    return seen if seen.final else assessor.answer(Question(RESULTS, wanted))


def failed(found):
    return {one.metric: one for one in found.judgements if one.outcome is Outcome.FAILED}


def only_error(found):
    (error,) = found.errors
    return error


# --- what passes ---


def test_a_whole_table_passes_and_every_named_test_is_a_judgement():
    found = asked(full())
    assert not found.errors
    assert [one.metric for one in found.judgements] == [*DEPLOYMENT, *HARDWARE]
    assert {one.outcome for one in found.judgements} == {Outcome.PASSED}


def test_a_test_more_than_asked_for_may_be_skipped_and_may_not_fail():
    assert not asked(full(EUD_Test="Skip - All")).final
    assert set(failed(asked(full(EUD_Test="Fail - GPU: 2")))) == {"EUD Test"}


DCGM_4 = {
    "software": DEPLOYMENT, "memory": (), "diagnostic": (), "pulse_test": (), "pcie": (),
    "memory_bandwidth": (), "targeted_stress": (), "targeted_power": (), "memtest": (),
}  # fmt: skip


def newer(**wrong):
    """DCGM 4 has other names, and a line for each GPU below its test."""
    lines = [
        HEAD,
        row("DCGM Version", "4.2.3"),
        row("GPU Device IDs Detected", "2335, " * 7 + "2335"),
    ]
    for name in DCGM_4:
        results = {gpu: wrong.get(name, {}).get(gpu, "Pass") for gpu in range(8)}
        whole = "Pass" if set(results.values()) <= {"Pass", None} else "Fail"
        lines += [row(name, whole), *(row("", f"GPU{g}: {s}") for g, s in results.items() if s)]
    return "".join([*lines, RULE])


def test_the_tests_of_dcgm_4_are_those_of_3_under_other_names():
    found = asked(newer())
    assert not found.errors
    assert [one.metric for one in found.judgements] == [*DEPLOYMENT, *HARDWARE]


def test_dcgm_4_names_the_gpu_that_failed_and_one_that_is_not_listed_is_no_pass():
    wrong = failed(asked(newer(memtest={3: "Fail"})))
    assert wrong["Memtest"].points_at == (("n1", "gpu3"),)
    error = only_error(asked(newer(pcie={7: None})))
    assert type(error) is MetricMissing
    assert "PCIe has no result for gpu7" in str(error)


# --- what fails ---


def test_a_gpu_that_fails_beneath_those_that_pass_is_seen_and_named():
    """DCGM 3 prints the failed GPUs on their own line, without a name."""
    text = row("GPU Memory", "Pass - GPUs: 1, 2, 3, 4, 5, 6, 7") + row("", "Fail - GPU: 0")
    more = row("Warning", "GPU 0 Thermal violations totaling 13.3 second")
    found = asked(full(GPU_Memory=text + more), code=226)
    (wrong,) = failed(found).values()
    assert (wrong.metric, wrong.points_at) == ("GPU Memory", (("n1", "gpu0"),))
    assert "Thermal violations" in wrong.reason
    assert len(found.judgements) == len(DEPLOYMENT) + len(HARDWARE)


@pytest.mark.parametrize("result", ["Fail", "Fail - All", "Warn", "Warn - GPUs: 0, 3"])
def test_a_failure_and_a_warning_are_no_pass(result):
    (wrong,) = failed(asked(full(Targeted_Power=result), code=226)).values()
    assert (wrong.metric, wrong.measured) == ("Targeted Power", result)
    assert str(H200.measurements[FULL].results.basis) == wrong.basis


def test_a_recorded_failure_is_one():
    path = ROOT.parent / "shared/corpus/dcgmi/006-diag-r3-fail-wrapped-warnings.txt"
    if not path.exists():
        pytest.skip("the corpus is not beside this repository")
    measured = replace(H200.measurements[FULL], options={"run": "3"})
    platform = replace(H200, measurements={FULL: measured})
    made = transcript("n1", argv=("dcgmi",), exit_code=226, stdout=path.read_text("utf-8"))
    seen = read(platform, Case(FULL, ("n1",), None, ()), CaseResult(((made,),)))
    found = assess.results(platform, seen)
    assert set(failed(found)) == {"GPU Memory"}
    skipped = {error.what.partition(" was not run")[0] for error in found.errors}
    assert {"PCIe", "Memory Bandwidth"} <= skipped


# --- what cannot be decided ---


@pytest.mark.parametrize("name", ["Memtest", "GPU Memory", "Inforom"])
def test_a_test_that_was_not_printed_is_an_error(name):
    error = only_error(asked(full(**{name.replace(" ", "_"): ""})))
    assert type(error) is MetricMissing
    assert f"no result for {name}" in str(error)


@pytest.mark.parametrize("result", ["Skip - All", "Not Run", "Skip - GPUs: 0, 1"])
def test_a_test_that_was_skipped_is_an_error(result):
    error = only_error(asked(full(Diagnostic=result)))
    assert (type(error), "Diagnostic was not run" in str(error)) == (MetricMissing, True)


def test_a_pass_of_some_gpus_is_no_pass_of_all():
    error = only_error(asked(full(Memtest="Pass - GPUs: 0, 1, 2, 3, 4, 5, 6")))
    assert "Memtest has no result for gpu7" in str(error)


@pytest.mark.parametrize(
    ("names", "run"),
    [
        (DEPLOYMENT, "1"),
        ((*DEPLOYMENT, "PCIe", "GPU Memory"), "2"),
        ((*DEPLOYMENT, "PCIe", "GPU Memory", "Diagnostic", "Targeted Power"), "3"),
    ],
)
def test_another_run_level_than_asked_for_is_an_error(names, run):
    error = only_error(asked(level(*names)))
    assert type(error) is OtherThanAsked
    assert f"run level: asked for 4, the tool says {run}" in str(error)
    assert type(only_error(asked(full(), QUICK))) is OtherThanAsked


@pytest.mark.parametrize("count", [1, 7, 9])
def test_a_pass_of_all_of_fewer_gpus_is_no_pass(count):
    error = only_error(asked(level(*DEPLOYMENT, count=count), QUICK))
    assert f"GPUs: asked for 8, the tool says {count}" in str(error)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (full()[: -len(RULE)], Unparsable),
        (full()[: len(full()) // 2], Unparsable),
        ("", Unparsable),
        ("nothing of the kind\n", Unparsable),
        ("Error: Unable to establish a connection to the specified host: localhost\n", ToolFailed),
        (full(Memtest="Great"), Unparsable),
    ],
)
def test_an_output_that_is_cut_off_or_none_is_an_error(text, kind):
    assert type(only_error(asked(text))) is kind


def test_a_missing_program_is_an_error_that_names_it():
    for message in ("sh: 1: dcgmi: not found\n", "env: 'dcgmi': No such file or directory\n"):
        assert type(only_error(asked("", code=127, stderr=message))) is ToolMissing
    message = "env: 'run-health-checks.sh': No such file or directory\n"
    assert type(only_error(asked("", CHECKS, 127, message))) is ToolMissing


def test_a_table_of_passes_that_ended_badly_is_no_pass():
    """Only a failed test explains the exit code."""
    assert type(only_error(asked(full(), code=1))) is ToolFailed
    assert type(only_error(asked(full(EUD_Test="Skip"), code=226))) is ToolFailed
    assert not asked(full(EUD_Test="Fail"), code=226).errors


# --- health checks ---

CHECK = "SUCCESS:  nhc:  Health check passed:  {}: fine, {}\n"
NAMES = H200.measurements[CHECKS].results.tests
FIGURES = {"check_nccl_allreduce": "482.559 GB/s", "check_ib_bw_gdr": "BW=~392 Gbps each"}


def checks(*names):
    return "".join(CHECK.format(name, FIGURES.get(name, "as it should be")) for name in names)


def test_all_seven_checks_that_document_001_prints_pass():
    found = asked(checks(*NAMES), CHECKS)
    assert ([one.metric for one in found.judgements], found.errors) == (list(NAMES), ())


@pytest.mark.parametrize("name", NAMES)
def test_a_check_that_is_not_among_them_is_an_error(name):
    error = only_error(asked(checks(*(one for one in NAMES if one != name)), CHECKS))
    assert f"no result for {name}" in str(error)


def test_a_failed_check_fails_with_its_fault_code():
    line = "ERROR:  nhc:  Health check failed:  {}: Topology failed. FaultCode: NHC2007\n"
    found = asked(line.format("check_hw_topology"), CHECKS, code=1)
    (wrong,) = failed(found).values()
    assert wrong.metric == "check_hw_topology"
    assert "NHC2007" in wrong.reason
    more = asked(checks(*NAMES) + line.format("check_nvme_count"), CHECKS, code=1)
    assert set(failed(more)) == {"check_nvme_count"}
    nameless = asked("ERROR:  nhc:  Health check failed:  \n", CHECKS, code=1)
    assert set(failed(nameless)) == {"unnamed check"}


def test_a_value_below_that_of_the_document_fails(capsys, tmp_path):
    text = checks(*NAMES).replace("482.559", "440.000")
    (tmp_path / "log").write_text(text, encoding="utf-8")
    words = ["judge", "--root", ROOT, "--platform", "h200", "--tool", "azure-nhc", "--json"]
    assert main([str(word) for word in (*words, tmp_path / "log")]) == 1
    printed = json.loads(capsys.readouterr().out)
    assert [one["metric"] for one in printed["judgements"] if one["outcome"] == "failed"] == [
        "check_nccl_allreduce"
    ]


# --- in the plan ---


WANTED = {"smoke": set(), "nightly": {QUICK}, "signoff": {QUICK, FULL, EXTENDED, CHECKS}}


@pytest.mark.parametrize("name", thresholds.LEVELS)
def test_each_level_plans_its_own_diagnostics_on_every_node(name):
    wanted = plan.level(H200, cluster("n1", "n2"), name)
    cases = [
        one for _, one in plan.cases(H200, wanted) if H200.measurements[one.measurement].results
    ]
    assert {(one.measurement, one.nodes) for one in cases} == {
        (measurement, (node,)) for measurement in WANTED[name] for node in ("n1", "n2")
    }
    argv = {c.argv for one in cases for c in plan.commands(one, H200, cluster("n1", "n2"), 1)}
    runs = {"nightly": {"1"}, "signoff": {"1", "4", "eud"}}.get(name, set())
    assert {words[1:] for words in argv if words[0] == "dcgmi"} == {
        ("diag", "-r", run) for run in runs
    }


def test_the_time_that_a_sign_off_takes_has_them_in_it():
    of = {name: forecast.takes_s(works(name)) for name in ("smoke", "signoff")}
    without = [w for w in works("signoff") if not w.measurement.results]
    hours = (of["signoff"] - forecast.takes_s(without)) / 3600
    assert hours > 2 * 1.5  # two nodes, one after the other, at least an hour and a half each
    assert of["smoke"] < 3600


def works(name):
    return forecast.work(H200, plan.level(H200, cluster("n1", "n2"), name))


def test_a_wrong_option_is_refused_before_anything_is_touched():
    measured = replace(H200.measurements[FULL], options={"run": "4; reboot"})
    with pytest.raises(BadInput, match="give a level"):
        plan.commands(
            Case(FULL, ("n1",), None, ()), replace(H200, measurements={FULL: measured}),
            cluster("n1"), 1,
        )  # fmt: skip


def test_the_hostfile_gives_the_places_of_the_programs():
    of = cluster("n1", tools={"dcgmi": "/opt/dcgm", "azure-nhc": "/root/azurehpc-health-checks"})
    found = {
        name: plan.commands(Case(name, ("n1",), None, ()), H200, of, 1)[0].argv[0]
        for name in (QUICK, CHECKS)
    }
    assert found == {
        QUICK: "/opt/dcgm/dcgmi", CHECKS: "/root/azurehpc-health-checks/run-health-checks.sh",
    }  # fmt: skip
