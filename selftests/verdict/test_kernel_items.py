"""The items of the kernels' logs: not attempted is not run, unreadable or lost is an error."""

from dataclasses import replace
from datetime import datetime, timezone
from xml.etree import ElementTree as Xml

import pytest
from test_decision import ONE, answering, decided, run_plan
from testing.core_values import case, cluster
from testing.core_values import item as item_of

from railgauge.bundle.binding import refuse_other_items
from railgauge.config.thresholds.model import KernelLog
from railgauge.core.errors import NodeUnreachable, NotVerified
from railgauge.core.limits import Basis
from railgauge.core.masking import Mask
from railgauge.core.model import Outcome, Transcript
from railgauge.core.question import CaseResult, Question
from railgauge.core.secret_forms import MASK
from railgauge.core.terms import Role
from railgauge.diagnosis import RunResults
from railgauge.facts import NodeFacts
from railgauge.facts.boot import KernelMark
from railgauge.facts.kernel import log
from railgauge.facts.model import LoggedFault
from railgauge.judging.kernel_log import ITEMS, LogSince
from railgauge.planning import plan
from railgauge.report import junit
from railgauge.report.lines import of_items
from railgauge.stacks import GpuFacts
from railgauge.verdict import at_end, decision
from railgauge.verdict.kernel_log import alone, made_of

BASIS = Basis("standard", "made up for a test")
ASKED = replace(ONE, kernel_log=KernelLog(BASIS))
NODES = ("n1", "n2", "n3")
BOOT, OTHER_BOOT = "c7d8b893-3f62-4444-9b87-401c6634199b", "11111111-3f62-4444-9b87-401c6634199b"
END = "dd: error reading '/dev/kmsg': Resource temporarily unavailable"
XID = "NVRM: Xid (PCI:0000:4e:00): 79, pid=1, GPU has fallen off the bus."
GPUS = (GpuFacts(index=3, model="H200", bus_id="0000:4e:00.0", memory_mib=1),)


def facts(node, **changes):
    return replace(NodeFacts(node, boot_id=BOOT, kernel_log="10", gpus=GPUS), **changes)


def reading(node, *texts, first=10, boot=BOOT, **changes):
    lines = [f"6,{first + n},{n}000000,-;{text}" for n, text in enumerate(("the mark", *texts))]
    output = "\n".join([f"boot_id {boot}", *lines, END, END, "uptime 100.00 1.0", ""])
    made = Transcript(
        node, log.reading_argv("/", 10), 0, output, "", 1.0, "2026-11-23T12:00:00.000+00:00"
    )
    return CaseResult(((replace(made, **changes),),))


def results(kept=None, found=None, marks=(), records=None, platform=ASKED):
    kept = {node: reading(node) for node in NODES} | (kept or {})
    surveyed = {node: facts(node) for node in NODES} | (found or {})
    by_case = {ITEMS.case_of(node): one for node, one in kept.items()}
    return RunResults(
        answering() if records is None else records,
        surveyed,
        platform,
        cluster(*NODES),
        kept=by_case.get,
        marks=marks,
    )


def items(**changes):
    return {item.nodes[0]: item for item in made_of(results(**changes))}


def verdict(**changes):
    found = results(**changes)
    return decision.decide(run_plan(found.records), found)


def test_a_platform_that_does_not_ask_has_no_such_item():
    assert items(platform=ONE) == {}


def test_a_healthy_run_is_accepted_with_an_item_of_each_node():
    result = verdict()
    assert (result.verdict, result.counts.planned, result.counts.passed) == ("accepted", 6, 6)
    assert {item.id for item in items().values()} == {
        f"kernel::kernel_log[{node}]" for node in NODES
    }


def test_a_fault_rejects_the_run_and_is_its_cause():
    result = verdict(kept={"n2": reading("n2", "fine", XID)})
    assert (result.verdict, result.counts.failed) == ("rejected", 1)
    (cause,) = result.causes
    assert (cause.cause, cause.where.node, cause.where.device) == ("gpu-xid", "n2", "gpu3")
    assert cause.evidence == ("kernel::kernel_log[n2]",)


OLD = LoggedFault(f"3,4,4000000,-;{XID}", 2)
SINCE_BOOT = replace(ASKED, kernel_log=KernelLog(BASIS, BASIS))


def signed(level, *faults, **changes):
    found = results(found={"n2": facts("n2", kernel_faults=faults, **changes)}, platform=SINCE_BOOT)
    return decision.decide(replace(run_plan(found.records), level=level), found)


def test_a_fault_from_before_the_run_rejects_a_sign_off_alone():
    result = signed("signoff", OLD)
    assert (result.verdict, result.counts.failed) == ("rejected", 1)
    (cause,) = result.causes
    assert (cause.cause, cause.where.node, cause.where.device) == (
        "faults-before-run", "n2", "gpu3",
    )  # fmt: skip
    result = signed("nightly", OLD)
    assert (result.verdict, result.counts.marginal, result.causes) == ("accepted", 1, ())
    (note,) = [one for one in result.notes if "before the run" in one]
    assert "Xid 79 at gpu3, 2 lines (n2)" in note


def test_a_fault_of_the_runs_that_this_one_carries_on_is_not_from_before():
    later = LoggedFault(f"3,11,4000000,-;{XID}", 1)
    result = signed("signoff", later)
    assert (result.counts.failed, result.counts.error, result.causes) == (0, 0, ())


def test_faults_that_are_not_known_or_masked_are_an_error():
    hidden = LoggedFault(OLD.line.replace("NVRM: Xid", MASK), 1)
    for faults, missing in (((), {"kernel_faults": "it did not collect them"}), ((hidden,), {})):
        result = signed("signoff", *faults, missing=missing)
        assert (result.verdict, result.counts.error) == ("incomplete", 1)


def test_a_node_that_checks_itself_has_an_item_of_its_log_since_boot():
    """Unknown or masked faults are an error, as is a node that was not surveyed."""
    assert list(alone(results(platform=ASKED), LogSince())) == []
    masked = LoggedFault(OLD.line.replace("NVRM: Xid", MASK), 1)
    unread = facts("n2", missing={"kernel_faults": "it did not collect them"})
    for found in (unread, facts("n2", kernel_faults=(masked,)), NodeUnreachable("gone")):
        of = {
            item.nodes: item
            for item in alone(results(found={"n2": found}, platform=SINCE_BOOT), LogSince())
        }
        assert of["n2",].outcome is Outcome.ERROR
    outcomes = {item.outcome for item in alone(results(platform=SINCE_BOOT), LogSince())}
    assert outcomes == {Outcome.PASSED}


def test_a_line_whose_words_were_called_a_secret_is_an_error_and_hides_no_fault():
    """Otherwise ``environment: {SITE_TOKEN: "NVRM: Xid"}`` would hide faults of a broken GPU."""
    mask = Mask()
    mask.know({"SITE_TOKEN": "NVRM: Xid"})
    hidden = mask.text(XID)
    assert hidden != XID
    item = items(kept={"n2": reading("n2", "fine", hidden)})["n2"]
    assert (item.outcome, item.error_kind) == ("error", "kernel-log-unread")
    assert "secrets were masked in 1 lines" in item.reason
    assert items(kept={"n2": reading("n2", hidden, XID)})["n2"].outcome == "failed"


def ran(started, lasted_s, **changes):
    plain = Transcript("n2", ("x",), 0, "", "", lasted_s, f"2026-11-23T{started}.000+00:00")
    return replace(plain, **changes)


def test_a_sampler_of_many_measurements_does_not_lengthen_them():
    """The line is of 11:58:23; the sampler of the later measurement ran then already."""
    earlier, later = case("n2", measurement="one"), case("n2", measurement="two")
    sampler = ran("11:58:00", 125.0, role=Role.TELEMETRY, exit_code=None)
    made = {
        earlier: CaseResult(((ran("11:58:20", 5.0),),)),
        later: CaseResult(((ran("12:00:00", 5.0), sampler),)),
    }
    records = {
        one.measurement: item_of(
            one.measurement, questions=(Question("limits", one),), nodes=("n2",)
        )
        for one in made
    }
    read = reading("n2", "fine", XID)
    found = replace(
        results(records=records),
        kept=({ITEMS.case_of(node): reading(node) for node in NODES}
              | {ITEMS.case_of("n2"): read} | made).get,
    )  # fmt: skip
    (failed,) = [one for one in made_of(found) if one.outcome is Outcome.FAILED]
    (judgement,) = failed.judgements
    assert "while one[n2-mlx5_0] ran" in judgement.reason


def test_a_note_is_accepted_and_counted():
    result = verdict(kept={"n2": reading("n2", XID.replace("79", "45"))})
    assert (result.verdict, result.counts.marginal) == ("accepted", 1)


def test_a_log_that_was_not_read_is_not_run_and_never_passed():
    """After Ctrl-C or a crash there is no reading, whatever the records say."""
    result = verdict(kept={"n2": None})
    assert (result.verdict, result.counts.not_run, result.counts.passed) == ("incomplete", 1, 5)
    item = items(kept={"n2": None})["n2"]
    assert (item.outcome, item.by_evidence, item.questions) == (Outcome.NOT_RUN, False, ())


@pytest.mark.parametrize(
    ("kept", "kind", "words"),
    [
        (CaseResult((), NodeUnreachable("no route", where="n2")), "node-unreachable", "no route"),
        (CaseResult(()), "kernel-log-unread", "not one reading"),
        (reading("n2", error="output-too-large"), "kernel-log-unread", "output-too-large"),
        (reading("n1"), "kernel-log-unread", "another command"),
        (reading("n2", argv=log.reading_argv("/", 11)), "kernel-log-unread", "another command"),
        (reading("n2", argv=log.reading_argv("/tmp", 10)), "kernel-log-unread", "another command"),
        (reading("n2", first=12), "kernel-log-unread", "lost"),
        (reading("n2", boot=OTHER_BOOT), "kernel-log-unread", "rebooted"),
        (reading("n2", stdout=""), "kernel-log-unread", "not read to its end"),
    ],
)
def test_a_log_that_could_not_be_read_is_an_error(kept, kind, words):
    item = items(kept={"n2": kept})["n2"]
    assert (item.outcome, item.error_kind) == (Outcome.ERROR, kind)
    assert words in item.reason
    result = verdict(kept={"n2": kept})
    assert (result.verdict, result.counts.error) == ("incomplete", 1)


def test_an_unread_log_is_a_cause_and_says_which_right_is_missing():
    denied = "boot_id x\ndd: failed to open '/dev/kmsg': Operation not permitted\nuptime 1 1\n"
    kept = {node: reading(node, stdout=denied) for node in NODES}
    (cause,) = verdict(kept=kept).causes
    assert (cause.cause, cause.where.node) == ("kernel-log-unread", "n[1-3]")
    assert "Operation not permitted" in cause.says
    assert "become" in items(kept=kept)["n2"].remedy


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        (facts("n2", kernel_log=None, missing={"kernel_log": "denied"}), "kernel-log-unread"),
        (facts("n2", boot_id=None), "kernel-log-unread"),
        (facts("n2", kernel_log="ten"), "kernel-log-unread"),
        (facts("n2", kernel_log="1" * 30), "kernel-log-unread"),
        (NodeUnreachable("no route", where="n2"), "node-unreachable"),
    ],
)
def test_a_start_that_is_not_known_is_an_error(found, kind):
    item = items(found={"n2": found})["n2"]
    assert (item.outcome, item.error_kind) == (Outcome.ERROR, kind)


def test_the_items_are_made_again_and_recorded_ones_are_not_used():
    found = results(kept={"n2": reading("n2", XID)})
    honest = decision.decide(run_plan(found.records), found)
    (bad,) = (item for item in made_of(found) if item.outcome is Outcome.FAILED)
    forged = replace(bad, outcome=Outcome.PASSED, judgements=(), reason="")
    lied = replace(found, records={**found.records, forged.id: forged})
    assert decision.decide(run_plan(lied.records), lied) == honest


# --- a run that carries another one on ---


def mark(record, boot=BOOT, run="run-0"):
    return KernelMark("n2", run, boot, record)


def carried(*texts):
    return replace(
        reading("n2", *texts, first=5), runs=((replace_argv(reading("n2", *texts, first=5)),),)
    )


def replace_argv(result):
    return replace(result.runs[0][0], argv=log.reading_argv("/", 5))


def test_the_log_is_read_from_the_start_of_the_first_run():
    texts = ["fine"] * 5
    item = items(kept={"n2": carried(*texts)}, marks=(mark("7"), mark("5"), mark("12")))["n2"]
    assert (item.outcome, item.judgements[0].measured) == (Outcome.PASSED, "5 lines")


def test_a_reading_that_begins_at_this_run_leaves_out_what_it_carries_on():
    item = items(marks=(mark("5"),))["n2"]
    assert (item.outcome, "another command" in item.reason) == (Outcome.ERROR, True)


def test_a_reboot_between_two_runs_is_a_gap_that_is_reported():
    item = items(marks=(mark("5", boot=OTHER_BOOT),))["n2"]
    assert item.outcome is Outcome.MARGINAL
    assert "in run-0 is lost: the node was rebooted since" in item.reason


def test_a_mark_that_is_no_number_is_an_error():
    assert items(marks=(mark("first"),))["n2"].outcome is Outcome.ERROR


# --- reports and bundles ---


def test_junit_says_the_same():
    records = list(made_of(results(kept={"n2": reading("n2", XID), "n3": None})))
    session = junit.SessionInfo(datetime.now(timezone.utc), 1.0, "here", "simulated")
    (suite,) = Xml.fromstring(junit.document(of_items({one.id: one for one in records}), session))
    assert (suite.get("failures"), suite.get("skipped")) == ("1", "1")


def bound(item, platform=ASKED):
    refuse_other_items([item], platform, plan.level(platform, cluster(*NODES), "smoke"))


def test_a_bundle_may_hold_them():
    for item in made_of(results(kept={"n2": reading("n2", XID), "n3": None})):
        assert at_end.is_at_end(item.id)
        bound(item)


@pytest.mark.parametrize(
    ("change", "platform"),
    [
        ({"questions": (ITEMS.question_of("n3"),)}, ASKED),
        ({"questions": (Question("kernel", placement="n2", metric="kernel_log"),)}, ASKED),
        ({"nodes": ("n1",)}, ASKED),
        ({"rung": 1}, ASKED),
        ({}, ONE),
    ],
    ids=[
        "of another node",
        "without its reading",
        "under another id",
        "other rung",
        "unasked",
    ],
)
def test_a_record_that_is_not_its_items_is_refused(change, platform):
    item = items()["n2"]
    with pytest.raises(NotVerified):
        bound(replace(item, **change), platform)


def test_decided_without_readings_is_incomplete():
    assert decided(answering(), platform=ASKED).verdict == "incomplete"


def test_a_log_with_more_lines_than_are_read_is_known_since_boot_alone():
    found = facts("n2", kernel_faults=(OLD,), missing={"kernel_faults.#": "there are more"})
    of = results(found={"n2": found}, platform=SINCE_BOOT)
    since_boot, later = (
        next(item for item in alone(of, since) if item.nodes == ("n2",))
        for since in (LogSince(), LogSince("later", number=9))
    )
    assert since_boot.outcome is Outcome.FAILED
    assert (later.outcome, later.error_kind) == (Outcome.ERROR, "kernel-log-unread")
    assert "what the kernel logged later is not known: there are more" in later.reason
