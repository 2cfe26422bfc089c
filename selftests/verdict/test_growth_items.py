"""The items of the nodes' counters: unread ones are not run, readings without proof an error."""

from dataclasses import replace

import pytest
from test_decision import ONE, answering, run_plan
from testing.core_values import cluster

from railgauge.config.thresholds.model import Gpus, GrowthLimit, Nic
from railgauge.core.errors import NodeUnreachable
from railgauge.core.limits import Basis
from railgauge.core.model import Outcome, Transcript
from railgauge.core.question import CaseResult
from railgauge.core.terms import Role
from railgauge.diagnosis import RunResults
from railgauge.facts import NodeFacts
from railgauge.facts.boot import KernelMark
from railgauge.judging.growth import ITEMS
from railgauge.planning import counters
from railgauge.stacks import GpuFacts
from railgauge.verdict import at_end, decision, growth
from railgauge.verdict.growth import made_of

NIC = Nic("mlx5_0", "MT4129", 400, 400, "InfiniBand", 5, 16)
LIMIT = GrowthLimit(0, None, Basis("standard", "made up for a test"))
ASKED = replace(ONE, nics=(NIC,), growth={"rdma_retransmits": LIMIT})
NODES = ("n1", "n2", "n3")
BOOT, OTHER_BOOT = "c7d8b893-3f62-4444-9b87-401c6634199b", "11111111-3f62-4444-9b87-401c6634199b"
NAMES = ("packet_seq_err", "out_of_sequence", "implied_nak_seq_err", "local_ack_timeout_err")
BEFORE, AFTER = Role.COUNTERS_BEFORE, Role.COUNTERS_AFTER


def output(count=0, boot=BOOT):
    path = "sys/class/infiniband/mlx5_0/ports/1/hw_counters"
    lines = "\n".join(f"{path}/{name}:{count}" for name in NAMES)
    mark = "railgauge-counters"
    return (
        f"{mark} begin boot_id\n{boot}\n\n{mark} end boot_id 0\n"
        f"{mark} begin ports\n{lines}\n\n{mark} end ports 0\n"
    )


def reading(node, role, count=0, at="12:00:00", boot=BOOT, **changes):
    argv = counters.reading(node, ASKED, cluster(*NODES)).argv
    started = f"2026-11-23T{at}+00:00"
    return replace(
        Transcript(node, argv, 0, output(count, boot), "", 1.0, started, role=role), **changes
    )


def window(node, count=0, *, first=0, start="12:00:00", end="13:00:00", boot=BOOT):
    return (
        reading(node, BEFORE, first, start, boot),
        reading(node, AFTER, count, end, boot),
    )


def results(kept=None, marks=(), platform=ASKED, found=None):
    kept = {node: CaseResult((window(node),)) for node in NODES} | (kept or {})
    by_case = {ITEMS.case_of(node): one for node, one in kept.items()}
    surveyed = {node: NodeFacts(node, boot_id=BOOT) for node in NODES} | (found or {})
    return RunResults(
        answering(), surveyed, platform, cluster(*NODES), kept=by_case.get, marks=marks
    )


def items(**changes):
    return {item.nodes[0]: item for item in made_of(results(**changes))}


def of_n2(*runs, error=None, **changes):
    return items(kept={"n2": CaseResult(runs, error)}, **changes)["n2"]


def verdict(**changes):
    found = results(**changes)
    return decision.decide(run_plan(found.records), found)


def test_a_platform_that_limits_no_growth_has_no_such_item():
    assert items(platform=ONE) == {}


def test_a_healthy_run_is_accepted_with_an_item_of_each_node():
    found = verdict()
    assert (found.verdict, found.counts.planned, found.counts.passed) == ("accepted", 6, 6)
    assert {one.id for one in items().values()} == {f"counters::growth[{n}]" for n in NODES}
    assert {one.id for one in at_end.items(results())} == {ITEMS.item_id(n) for n in NODES}


def test_growth_rejects_the_run_and_has_its_cause():
    found = verdict(kept={"n2": CaseResult((window("n2", 4),))})
    (cause,) = found.causes
    assert (found.verdict, cause.cause) == ("rejected", "link-retransmits")
    assert (cause.where.node, cause.where.device) == ("n2", "mlx5_0")


INTERRUPTED = (window("n2")[0], reading("n2", Role.COUNTERS_BETWEEN))


@pytest.mark.parametrize(
    "runs",
    [(), ((),), (window("n2")[:1],), (INTERRUPTED,)],
    ids=["none", "empty", "before", "between"],
)
def test_a_run_without_its_last_reading_is_not_run_and_never_passed(runs):
    item = of_n2(*runs)
    assert (item.outcome, item.by_evidence, item.questions) == (Outcome.NOT_RUN, False, ())
    assert verdict(kept={"n2": CaseResult(runs)}).verdict == "incomplete"


def test_nothing_stored_is_not_run():
    assert items(kept={"n2": None})["n2"].outcome is Outcome.NOT_RUN


PROVE_NOTHING = {
    "another node's": (window("n1"), "the output of another command"),
    "the next node's": (window("n3"), "the output of another command"),
    "no start": (
        (reading("n2", Role.COUNTERS_BETWEEN), reading("n2", AFTER, at="13:00:00")),
        "the output of another command",
    ),
    "two ends": ((*window("n2"), reading("n2", AFTER)), "the output of another command"),
    "roles": (tuple(reversed(window("n2"))), "the output of another command"),
    "command": (
        (reading("n2", BEFORE), reading("n2", AFTER, argv=("cat", "x"))),
        "the output of another command",
    ),
    "cut off": (
        (reading("n2", BEFORE), reading("n2", AFTER, at="13:00:00", error="command-timed-out")),
        "ended with command-timed-out",
    ),
    "reboot": (window("n2", boot=BOOT)[:1] + window("n2", boot=OTHER_BOOT)[1:], "was rebooted"),
    "other boot": (window("n2", boot=OTHER_BOOT), "of another node, or of another boot"),
    "no boot": ((reading("n2", BEFORE, boot="x"), reading("n2", AFTER)), "boot id is not known"),
    "just before": (
        (
            reading("n2", BEFORE),
            reading("n2", Role.COUNTERS_BETWEEN, at="11:59:59.500"),
            window("n2")[1],
        ),
        "not later than the one before it",
    ),
    "earlier end": (window("n2", end="11:00:00"), "not later than the one before it"),
    "no time": ((reading("n2", BEFORE, started_at=""), reading("n2", AFTER)), "is not known"),
    "no offset": (
        (reading("n2", BEFORE, started_at="2026-11-23T11:00:00"), reading("n2", AFTER)),
        "when the counters were read is not known",
    ),
    "nothing": ((reading("n2", BEFORE, stdout=""), reading("n2", AFTER)), "boot id is not known"),
    "went back": (window("n2", 3, first=4), "went back from 4 to 3"),
}  # fmt: skip


@pytest.mark.parametrize("name", PROVE_NOTHING)
def test_readings_that_prove_nothing_are_an_error(name):
    run, words = PROVE_NOTHING[name]
    item = of_n2(run)
    assert (item.outcome, item.error_kind) == (Outcome.ERROR, "counters-unread"), item.reason
    assert words in item.reason
    assert item.error_where == "n2"


def test_readings_of_another_boot_are_refused_whichever_id_is_higher():
    other = {"n2": NodeFacts("n2", boot_id=OTHER_BOOT)}
    item = of_n2(window("n2", boot=BOOT), found=other)
    assert item.outcome is Outcome.ERROR
    assert "of another node, or of another boot" in item.reason
    both = window("n2", boot=BOOT)[:1] + window("n2", boot=OTHER_BOOT)[1:]
    assert "of another node, or of another boot" in of_n2(both, found=other).reason


@pytest.mark.parametrize(
    ("found", "says"),
    [(NodeUnreachable("no route"), "no route"), (None, "the node was not surveyed")],
)
def test_readings_of_a_node_without_facts_prove_nothing(found, says):
    """Whose boot they are of is not known."""
    item = of_n2(window("n2"), found={"n2": found})
    assert item.outcome is Outcome.ERROR
    assert says in item.reason


def test_a_second_between_two_readings_is_a_time():
    assert of_n2(window("n2", end="12:00:01")).outcome is Outcome.PASSED


def test_a_node_that_cannot_be_reached_is_an_error_of_that_kind():
    item = of_n2((), error=NodeUnreachable("no route", where="n2"))
    assert (item.outcome, item.error_kind) == (Outcome.ERROR, "node-unreachable")


def test_the_remedy_of_an_error_is_kept():
    item = of_n2((), error=NodeUnreachable("no route", remedy="see: ip route"))
    assert (item.error_where, item.remedy) == ("n2", "see: ip route")


MARKS = (KernelMark("n2", "run-1", BOOT, "10"),)


def test_growth_in_an_earlier_run_counts():
    earlier = window("n2", 4, start="09:00:00", end="10:00:00")
    own = window("n2", 4, first=4)
    item = of_n2(earlier, own, marks=MARKS)
    assert item.outcome is Outcome.FAILED
    assert "an earlier run" in item.reason


def test_growth_between_two_runs_does_not_count():
    earlier = window("n2", 0, start="09:00:00", end="10:00:00")
    assert of_n2(earlier, window("n2", 7, first=7), marks=MARKS).outcome is Outcome.PASSED


def test_growth_since_the_start_of_an_interrupted_run_is_an_error():
    earlier = window("n2", start="09:00:00")[:1]
    item = of_n2(earlier, window("n2", 7, first=7), marks=MARKS)
    assert (item.outcome, item.error_kind) == (Outcome.ERROR, "counters-unread")
    assert of_n2(earlier, window("n2"), marks=MARKS).outcome is Outcome.PASSED


def test_a_reboot_between_two_runs_is_reported_and_accepted():
    earlier = window("n2", start="09:00:00", boot=OTHER_BOOT)[:1]
    item = of_n2(earlier, window("n2"), marks=MARKS)
    assert item.outcome is Outcome.MARGINAL
    assert "counted in 1 earlier runs is lost" in item.reason


def test_growth_of_several_runs_is_reported_in_their_order():
    first = window("n2", 1, start="08:00:00", end="08:30:00")
    second = window("n2", 3, first=1, start="09:00:00", end="11:00:00")
    marks = (*MARKS, KernelMark("n2", "run-2", BOOT, "11"))
    reason = of_n2(first, second, window("n2", 7, first=3), marks=marks).reason
    of_runs = [reason.index(f" in {hours} h of ") for hours in ("0.50", "2.00", "1.00")]
    assert of_runs == sorted(of_runs)
    assert reason.count("an earlier run") == 2


def test_a_reboot_during_an_earlier_run_is_reported_and_accepted():
    """That run was incomplete because of it; what it measured before is taken over."""
    early = {"start": "09:00:00", "end": "10:00:00"}
    earlier = window("n2", **early, boot=OTHER_BOOT)[:1] + window("n2", **early)[1:]
    assert of_n2(earlier, window("n2"), marks=MARKS).outcome is Outcome.MARGINAL


def test_an_earlier_run_of_an_older_version_has_read_nothing():
    assert of_n2((), window("n2"), marks=MARKS).outcome is Outcome.MARGINAL


def test_readings_of_earlier_runs_that_are_taken_out_are_missed():
    item = of_n2(window("n2"), marks=MARKS)
    assert (item.outcome, item.error_kind) == (Outcome.ERROR, "counters-unread")
    assert "1 earlier runs, but readings of 0" in item.reason


def test_each_earlier_run_needs_its_readings():
    more = (*MARKS, KernelMark("n2", "run-2", BOOT, "11"))
    item = of_n2(window("n2"), marks=more)
    assert "2 earlier runs, but readings of 0" in item.reason
    assert item.outcome is Outcome.ERROR


@pytest.mark.parametrize("other", ["n1", "n3"])
def test_earlier_runs_of_another_node_need_none_of_this_one(other):
    marks = (KernelMark(other, "run-1", BOOT, "10"),)
    assert of_n2(window("n2"), marks=marks).outcome is Outcome.PASSED


def test_counters_that_show_nothing_have_their_own_cause():
    (cause,) = verdict(kept={"n2": CaseResult((window("n2", 3, first=4),))}).causes
    assert (cause.cause, cause.where.node) == ("counters-unread", "n2")


def with_uptime(transcript, up):
    mark = "railgauge-counters"
    text = f"{mark} begin uptime\n{up} 99.00\n\n{mark} end uptime 0\n"
    return replace(transcript, stdout=transcript.stdout + text)


@pytest.mark.parametrize("end", ["13:00:00", "11:01:00"], ids=["forward", "back"])
def test_a_clock_that_was_set_allows_no_more_errors(end):
    """Ten an hour are allowed; in the minute that the node was up, one is."""
    hourly = replace(ASKED, growth={"rdma_retransmits": GrowthLimit(None, 10.0, LIMIT.basis)})
    before, after = window("n2", 2, end=end)
    run = (with_uptime(before, "5000.00"), with_uptime(after, "5060.00"))
    assert of_n2(run, platform=hourly).outcome is Outcome.FAILED


@pytest.mark.parametrize(("each", "outcome"), [(10_000, Outcome.PASSED), (10_001, Outcome.FAILED)])
def test_a_rate_is_that_of_an_hour(each, outcome):
    """Four counters of a port are one figure, and 40,000 an hour are allowed."""
    hourly = replace(ASKED, growth={"rdma_retransmits": GrowthLimit(None, 40_000.0, LIMIT.basis)})
    assert of_n2(window("n2", each), platform=hourly).outcome is outcome


def test_an_uptime_that_stood_still_shows_no_time():
    before, after = window("n2")
    run = (with_uptime(before, "5000.00"), with_uptime(after, "5000.00"))
    assert of_n2(run).outcome is Outcome.PASSED


def test_an_uptime_that_went_back_is_that_of_a_new_container():
    before, after = window("n2")
    run = (with_uptime(before, "5000.00"), with_uptime(after, "3.00"))
    assert of_n2(run).outcome is Outcome.PASSED


def test_a_device_has_the_names_by_which_tools_show_it(monkeypatch):
    """A GPU whose bus is not known has only its number."""
    judged = []
    monkeypatch.setattr(growth, "judged", lambda found, _: judged.append(found) or ((), None))
    gpus = tuple(
        GpuFacts(index=n, model="H200", bus_id=bus, memory_mib=1)
        for n, bus in ((2, "0000:4e:00.0"), (0, ""))
    )
    found = {"n2": NodeFacts("n2", boot_id=BOOT, gpus=gpus)}
    items(platform=replace(ASKED, gpus=Gpus("nvidia", "H200", 3, 1)), found=found)
    assert judged[1].names == {
        "mlx5_0": ("mlx5_0",),
        "gpu0": ("gpu0",),
        "gpu1": ("gpu1",),
        "gpu2": ("gpu2", "0000:4e:00.0"),
    }
