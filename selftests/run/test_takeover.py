"""What a resuming run refuses, takes over, and records."""

from dataclasses import replace

import pytest
from testing.core_values import case, cluster, transcript

from railgauge.config.hostfile import cluster_to_json
from railgauge.core.errors import BadInput, NodeUnreachable
from railgauge.core.question import CaseResult
from railgauge.facts import NodeFacts
from railgauge.facts.parts import InventoryPart, PartKind
from railgauge.leases.files import is_held
from railgauge.run import invocation, resume, takeover
from railgauge.run.invocation import ELSEWHERE, Invocation
from railgauge.run.resume import Earlier
from railgauge.run.store import Store
from railgauge.run.survey import found_to_json

ONE, TWO = (f"{i}f0c6c1e-8a0d-4a3e-9f3a-5d1c2b7e9a10" for i in "12")
STARTED = Invocation(1, "h.yaml", "a", "b", None, "smoke", None, None, 1, (), False, False, "", "")


def store_at(folder):
    (folder / "leases").mkdir(parents=True)
    return Store(folder)


@pytest.fixture
def old(tmp_path):
    store = store_at(tmp_path / "old")
    invocation.write(store, STARTED)
    return store


@pytest.fixture
def new(tmp_path):
    return store_at(tmp_path / "new")


@pytest.mark.parametrize(
    ("change", "path"),
    [({"hostfile_sha256": "x"}, "h.yaml"), ({"thresholds_sha256": "x"}, "limits.json")],
)
def test_another_hostfile_or_other_limits_are_refused_by_name(old, change, path):
    earlier = Earlier(old.folder)
    takeover.refuse_other_input(earlier, STARTED, "limits.json")
    with pytest.raises(BadInput, match=rf"--resume old: {path} differs"):
        takeover.refuse_other_input(earlier, replace(STARTED, **change), "limits.json")


def test_a_run_goes_on_as_long_as_its_first_file_is_held(new):
    held = invocation.begin(new, STARTED)
    assert is_held(new.folder / invocation.FILE)
    held.close()
    assert not is_held(new.folder / invocation.FILE)
    assert Earlier(new.folder).invocation == STARTED


def surveyed(**facts):
    return {"n1": NodeFacts("n1", **facts)}


def survey(store, found):
    store.write_json("environment.json", {"nodes": found_to_json(found)})


def changes(old, new, now, at=None):
    """The messages about ``now``, the facts of the new run."""
    lines = []
    takeover.log_changes(new, Earlier(old.folder), at or cluster("n1"), now, lines.append)
    return lines


def test_a_node_that_is_as_it_was_is_not_reported(old, new):
    survey(old, surveyed(boot_id=ONE, kernel="6.8"))
    assert changes(old, new, surveyed(boot_id=ONE, kernel="6.8")) == []
    assert [path.name for path in new.folder.iterdir()] == ["leases"]


def test_a_reboot_and_a_changed_fact_are_reported_and_kept(old, new):
    survey(old, surveyed(boot_id=ONE, kernel="6.8"))
    lines = changes(old, new, surveyed(boot_id=TWO, kernel="6.9"))
    assert lines == [
        "resume: n1 was rebooted since that run",
        'resume: n1 has changed since that run: kernel: "6.8" -> "6.9"',
    ]
    (reboot,) = new.lines("reboots.jsonl")[0]
    assert (reboot["node"], reboot["after"]) == ("n1", "old")
    (line,) = new.lines(resume.LOG)[0]
    assert (line["node"], line["changed"]) == ("n1", 'kernel: "6.8" -> "6.9"')
    assert line["schema_version"] == 1


def test_addresses_of_nodes_are_kept_if_they_differ(old, new):
    old.write_json("cluster.json", cluster_to_json(cluster("n1")))
    changes(old, new, {})
    assert not (new.folder / ELSEWHERE).exists()
    node = replace(cluster("n1").nodes[0], data_address="10.0.0.9")
    changes(old, new, {}, at=replace(cluster("n1"), nodes=(node,)))
    (line,) = new.lines(ELSEWHERE)[0]
    assert (line["run"], line["nodes"]["n1"]["data_address"]) == ("old", "n1")


def test_each_case_that_is_taken_over_is_written_down(old, new):
    old.save(case(), CaseResult(((transcript(),),)))
    take = takeover.taking_over(Earlier(old.folder), new)
    assert take(case()).runs == ((transcript(),),)
    assert take(case("n1", "n3")) is None
    (line,) = new.lines(resume.LOG)[0]
    expected = {"case": case().key, "run": "old", "repeats": 1, "of": 1}
    assert line == {**expected, "schema_version": 1}


def test_confirmations_are_taken_over_from_a_folder_of_their_own(old, new):
    Store(old.folder / "confirm").save(case(), CaseResult(((transcript(),),)))
    earlier = Earlier(old.folder)
    assert takeover.taking_over(earlier, new)(case()) is None
    assert takeover.taking_over(earlier, new, "confirm")(case())
    (line,) = new.lines(resume.LOG)[0]
    assert line["case"] == f"confirm/{case().key}"


def test_a_new_run_takes_nothing_over(new):
    assert takeover.taking_over(None, new)(case()) is None
    assert not (new.folder / resume.LOG).exists()


# --- what is read anew ---

GOOD, LOST = (transcript(),), (transcript(exit_code=None, error="connection-lost"),)


def line(name, outcome="passed", **more):
    return {"id": name, "outcome": outcome, "by_evidence": True, **more}


def kept(new, run="old"):
    folder = new.folder / "earlier" / run
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix() for path in files}


def test_the_files_of_an_earlier_run_that_are_read_again_are_kept(old, new):
    for name in ("cluster.json", "environment.json", "verdict.json", "manifest.json", "run.json"):
        old.write_json(name, {"nodes": {}})
    for name in ("kernel_log_n1", "growth_n1", "host_write_bandwidth_n1+n2"):
        old.write_json(f"transcripts/{name}.json", {})
        (old.folder / "transcripts" / f"{name}.txt").write_text("")
    takeover.keep_earlier(new, Earlier(old.folder))
    top = {"cluster.json", "environment.json", "invocation.json", "manifest.json"}
    assert kept(new) == top | {f"transcripts/{n}_n1.json" for n in ("kernel_log", "growth")}


def test_the_records_of_items_that_failed_or_ran_twice_are_kept(old, new):
    lines = [
        line("passed"),
        line("failed", "failed"),
        line("twice", "error"),
        line("failed by a test", "failed", by_evidence=False),
        line("of a run before", "failed", by_evidence=False, earlier=[{"run": "first"}]),
        line("twice"),
    ]
    for each in lines:
        old.append("records.jsonl", each)
    with (old.folder / "records.jsonl").open("a") as file:
        file.write('{"id": "it was kil')
    takeover.keep_earlier(new, Earlier(old.folder))
    names = [one["id"] for one in Store(new.folder / "earlier/old").lines("records.jsonl")[0]]
    assert names == ["failed", "twice", "failed by a test", "twice"]


def test_files_of_each_run_of_the_chain_are_kept(tmp_path, old, new):
    invocation.write(new, replace(STARTED, resumes="old"))
    third = store_at(tmp_path / "third")
    takeover.keep_earlier(third, Earlier(new.folder))
    assert kept(third) == kept(third, "new") == {"invocation.json"}


@pytest.mark.parametrize("name", ["environment.json", "manifest.json", "cluster.json"])
def test_another_run_in_the_place_of_the_first_one_is_refused(old, new, name):
    """It is as it was left, and so is the run that has carried on the one before."""
    for each in ("environment.json", "cluster.json"):
        old.write_json(each, {"nodes": {}})
    old.write_manifest({})
    invocation.write(new, replace(STARTED, resumes="old"))
    takeover.keep_earlier(new, Earlier(old.folder))
    new.write_manifest({})
    Earlier(new.folder).refuse_changed()
    if name == "manifest.json":
        (old.folder / "more").touch()
    else:
        old.write_json(name, {"nodes": {"n1": {}}})
    old.write_manifest({})
    with pytest.raises(BadInput, match="differs from what new has kept of it"):
        Earlier(new.folder).refuse_changed()


@pytest.mark.parametrize(
    ("measured", "left"),
    [
        (CaseResult((GOOD, GOOD)), None),
        (CaseResult((GOOD,)), None),
        (CaseResult((), NodeUnreachable("no route")), None),
        (CaseResult((GOOD, LOST)), (GOOD, LOST)),
        (CaseResult((LOST,)), (LOST,)),
    ],
)
def test_measurements_that_are_not_taken_over_are_kept_beside(old, new, measured, left):
    wanted = case(repeats=2)
    old.save(wanted, measured)
    takeover.taking_over(Earlier(old.folder), new)(wanted)
    found = Store(new.folder / "earlier/old").load(wanted)
    assert (found and found.runs) == left


def test_a_loss_of_the_first_run_is_kept_also_if_the_second_has_measured_it(tmp_path, old, new):
    old.save(case(), CaseResult((LOST,)))
    invocation.write(new, replace(STARTED, resumes="old"))
    new.save(case(), CaseResult((GOOD,)))
    third = store_at(tmp_path / "third")
    assert takeover.taking_over(Earlier(new.folder), third)(case()).runs == (GOOD,)
    assert Store(third.folder / "earlier/old").load(case()).runs == (LOST,)
    assert Store(third.folder / "earlier/new").load(case()) is None


# --- another machine ---

GPU = InventoryPart(PartKind.GPU, "gpu0", uuid="GPU-1")
MINE = NodeFacts("n1", boot_id=ONE, parts=(GPU,))
OTHER = NodeFacts("n1", boot_id=TWO, parts=(replace(GPU, uuid="GPU-2"),))


def surveys(store, facts):
    survey(store, {"n1": facts})


def test_a_run_is_not_carried_on_with_another_machine(old):
    surveys(old, MINE)
    earlier = Earlier(old.folder)
    takeover.refuse_other_machines(earlier, {"n1": replace(MINE, boot_id=TWO)})
    with pytest.raises(BadInput, match=r"--resume old: n1: another machine .* gpu0") as caught:
        takeover.refuse_other_machines(earlier, {"n1": OTHER})
    assert "start a new run" in caught.value.remedy


def test_a_run_is_not_carried_on_if_an_earlier_one_has_met_the_other_machine(old, new):
    surveys(old, MINE)
    invocation.write(new, replace(STARTED, resumes="old"))
    surveys(new, OTHER)
    with pytest.raises(BadInput, match="--resume old: n1: another machine"):
        takeover.refuse_other_machines(Earlier(new.folder), {"n1": OTHER})


def test_nodes_that_a_survey_did_not_reach_are_no_other_machines(old):
    lost = NodeUnreachable("no route", where="n1")
    surveys(old, MINE)
    earlier = Earlier(old.folder)
    takeover.refuse_other_machines(earlier, {"n1": lost})
    takeover.refuse_other_machines(earlier, {})
    survey(old, {"n1": lost})
    takeover.refuse_other_machines(Earlier(old.folder), {"n1": OTHER})
