"""A node's boot id is compared at each new connection and each resumption; a reboot is reported."""

from dataclasses import replace

import pytest
from testing.assess_values import PLATFORM
from testing.core_values import cluster, transcript

from railgauge.core.codec import to_plain
from railgauge.core.errors import BecomeRefused, NodeUnreachable, OtherMachine
from railgauge.diagnosis import RunResults, notes
from railgauge.facts import NodeFacts
from railgauge.facts.boot import FILE, Reboot, boot_argv, once, parse_boot_id
from railgauge.facts.parts import InventoryPart, PartKind
from railgauge.run.invocation import Invocation, write
from railgauge.run.reboots import Watch
from railgauge.run.resume import Earlier
from railgauge.run.run_folder import RunFolder
from railgauge.run.store import Store
from railgauge.run.survey import found_to_json

ONE, TWO, THREE = (f"{i}f0c6c1e-8a0d-4a3e-9f3a-5d1c2b7e9a10" for i in "123")
GPU = InventoryPart(PartKind.GPU, "gpu0", uuid="GPU-1")
STARTED = Invocation(1, "h", "", "", None, "smoke", None, None, None, (), False, False, "", "")


@pytest.mark.parametrize("text", [ONE, f"{ONE}\n", f"  {ONE}  \n"])
def test_a_boot_id_is_read_as_the_kernel_writes_it(text):
    assert parse_boot_id(text) == ONE


@pytest.mark.parametrize("text", ["", "x", ONE[:-1], ONE.upper().replace("F", "G"), f"{ONE} {TWO}"])
def test_a_text_that_is_no_boot_id_is_none(text):
    assert parse_boot_id(text) is None


def test_the_command_reads_below_the_root_of_the_host():
    assert boot_argv("/") == ("cat", "/proc/sys/kernel/random/boot_id")
    assert boot_argv("/host/")[1] == "/host/proc/sys/kernel/random/boot_id"
    assert boot_argv("root")[1] == "root/proc/sys/kernel/random/boot_id"


class Answers:
    """A session whose node returns these boot ids, one after the other."""

    def __init__(self, *output):
        self.outputs = list(output)

    lost = ""

    def run(self, command, in_vain=None):
        assert command.argv == boot_argv("/")
        output = self.outputs.pop(0)
        return transcript("n1", stdout=output or "", exit_code=0 if output is not None else 1)


class Run:
    """A run whose survey found ``found`` on its nodes."""

    def __init__(self, folder):
        (folder / "leases").mkdir()
        self.store = Store(folder)
        self.found = {
            "n1": NodeFacts("n1", boot_id=ONE, parts=(GPU,)),
            "n2": NodeUnreachable("no", where="n2"),
        }
        self.now = self.found["n1"]
        self.asked = []

    def watch(self):
        return Watch(self.store, "/", lambda: self.found, self.again)

    def again(self, node, session):
        self.asked.append((node, session))
        return self.now

    def noticed(self):
        return RunFolder(self.store.folder).reboots()


@pytest.fixture
def run(tmp_path):
    return Run(tmp_path)


def test_a_node_that_is_as_it_was_is_not_noticed(run):
    run.watch()("n1", Answers(f"{ONE}\n"))
    assert run.noticed() == ()


def test_each_reboot_is_kept_once_for_each_process_that_sees_it(run):
    watch, name = run.watch(), run.store.folder.name
    for boot in (ONE, TWO, TWO, THREE):
        watch("n1", Answers(boot))
    run.watch()("n1", Answers(TWO))
    assert run.noticed() == (
        Reboot("n1", ONE, TWO, during=name),
        Reboot("n1", TWO, THREE, during=name),
        Reboot("n1", ONE, TWO, during=name),
    )
    assert [reboot.now for reboot in once(run.noticed())] == [TWO, THREE]


def test_a_node_is_surveyed_again_only_after_a_reboot(run):
    watch, session = run.watch(), Answers(ONE, TWO)
    watch("n1", session)
    assert run.asked == []
    watch("n1", session)
    assert run.asked == [("n1", session)]


def test_another_machine_in_the_name_of_a_node_is_refused_and_is_no_reboot(run):
    watch = run.watch()
    run.now = replace(run.now, parts=(replace(GPU, uuid="GPU-2"),))
    for boot in (TWO, TWO, THREE):
        with pytest.raises(OtherMachine, match=r"n1: another machine .* its gpu0 is another one"):
            watch("n1", Answers(boot))
    assert run.noticed() == ()
    watch("n1", Answers(ONE))  # the first machine is back


def test_a_node_that_cannot_be_surveyed_after_a_reboot_is_not_known_to_be_the_same(run):
    run.now = BecomeRefused("no right", where="n1")
    with pytest.raises(NodeUnreachable, match="is the same since it was rebooted: no right"):
        run.watch()("n1", Answers(TWO))
    assert run.noticed() == ()


@pytest.mark.parametrize("output", ["", None, "permission denied"])
def test_a_boot_id_that_cannot_be_read_is_ignored(run, output):
    watch = run.watch()
    watch("n1", Answers(output))
    assert run.noticed() == ()
    watch("n1", Answers(TWO))
    assert len(run.noticed()) == 1


def test_nothing_is_asked_of_nodes_that_the_survey_has_nothing_of(run):
    run.watch()("n2", Answers())
    run.found["n1"] = NodeFacts("n1")
    run.watch()("n1", Answers())
    run.found.clear()  # it has not finished
    watch = run.watch()
    watch("n1", Answers())
    assert not watch.was_there("n1")


def test_a_node_was_there_if_it_answered_the_survey(run):
    watch = run.watch()
    assert (watch.was_there("n1"), watch.was_there("n2")) == (True, False)
    run.found["n1"] = NodeFacts("n1")
    assert watch.was_there("n1"), "also where it has no boot id to show"


def test_notes_name_each_reboot_and_change_nothing():
    found = RunResults({}, {}, PLATFORM, cluster("n1"))
    reboots = (Reboot("n2", ONE, TWO, after="old"), Reboot("n1", ONE, TWO, during="new"))
    assert notes(found) == ()
    assert notes(replace(found, reboots=(*reboots, *reboots))) == (
        "n1 was rebooted during new: items that ran there at that moment are errors, and the facts "
        "of the node are from before the reboot",
        "n2 was rebooted after old, which this run resumes",
    )


def test_two_reboots_are_two_also_if_each_is_seen_by_another():
    both = (Reboot("n1", ONE, TWO, during="new"), Reboot("n1", ONE, THREE, during="new"))
    assert once(both) == both


def surveyed(boot):
    return NodeFacts("n1", boot_id=boot)


@pytest.mark.parametrize(
    ("kept", "now", "expected"),
    [
        ([], ONE, []),
        ([], TWO, [Reboot("n1", ONE, TWO, after="old")]),
        ([], None, []),
        ([Reboot("n1", ONE, TWO, during="old")], TWO, [Reboot("n1", ONE, TWO, during="old")]),
        (
            [Reboot("n1", ONE, TWO, during="old")],
            THREE,
            [Reboot("n1", ONE, TWO, during="old"), Reboot("n1", TWO, THREE, after="old")],
        ),
    ],
)
def test_a_run_that_is_carried_on_knows_all_reboots_so_far(tmp_path, kept, now, expected):
    old = Store(tmp_path / "old")
    (old.folder / "leases").mkdir(parents=True)
    write(old, STARTED)
    old.write_json("environment.json", {"nodes": found_to_json({"n1": surveyed(ONE)})})
    for reboot in kept:
        old.append(FILE, to_plain(reboot))
    earlier = Earlier(tmp_path / "old")
    assert list(earlier.reboots({"n1": surveyed(now), "n2": surveyed(TWO)})) == expected
    assert list(earlier.facts_changed({"n1": surveyed(now)})) == []
