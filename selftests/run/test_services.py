"""Settings and services of a run: built from values, opened on first use, closed once."""

import json
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import pytest
from testing.assess_values import PLATFORM
from testing.core_values import case, cluster, transcript
from testing.fake_sessions import Fakes

from railgauge.config.hostfile import cluster_to_json
from railgauge.core.errors import NodeUnreachable, NoEvidence
from railgauge.core.question import CaseResult
from railgauge.core.run_files import FACTS
from railgauge.core.terms import LOAD_ROLES
from railgauge.facts import NodeFacts
from railgauge.planning import plan
from railgauge.run import control_host, services, survey
from railgauge.run.holding import write_tag
from railgauge.run.services import Once, built
from railgauge.run.settings import RunSettings

DECLARED = cluster("n1", "n2", environment={"API_TOKEN": "hush-hush-hush"})
SETTINGS = RunSettings(DECLARED, PLATFORM, plan.level(PLATFORM, DECLARED, "smoke"))
PLAYED = NodeFacts("n1", product="railgauge lab node")
GOOD = CaseResult((((transcript()),),))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "leases").mkdir()
    write_tag(tmp_path)
    return tmp_path


@pytest.fixture
def fakes(monkeypatch):
    fakes = Fakes()
    monkeypatch.setattr(services, "connect", lambda kind, node, tag: fakes.connect(node))
    return fakes


def reach(folder):
    """The controller writes this once it knows the nodes' addresses; secrets are left out."""
    written = cluster_to_json(replace(DECLARED, environment={"API_TOKEN": "***"}))
    (folder / "cluster.json").write_text(json.dumps(written))


def live(folder):
    return built(SETTINGS, folder, None, None)


# --- settings ---


def test_settings_are_values():
    with pytest.raises(FrozenInstanceError):
        SETTINGS.level = None
    assert not hasattr(SETTINGS, "__dict__")


def test_a_worker_is_a_part_of_its_own():
    assert not SETTINGS.is_worker
    assert replace(SETTINGS, part="gw0").is_worker


def test_evidence_is_what_the_nodes_say_and_none_is_measured_in_a_replay():
    found = (NodeFacts("n2"), PLAYED)
    assert SETTINGS.evidence_of(()) == "hardware"
    assert SETTINGS.evidence_of(found) == "simulated"
    assert replace(SETTINGS, replayed=Path("unpacked")).evidence_of(found) == "replayed"


def test_variables_of_the_hostfile_count_more_than_those_of_the_platform():
    platform = replace(PLATFORM, environment={"API_TOKEN": "of the platform", "HOME": "/root"})
    variables = replace(SETTINGS, platform=platform).environment
    assert variables == {"API_TOKEN": "hush-hush-hush", "HOME": "/root"}


# --- opened on first use ---


def test_a_part_is_made_once_and_not_before_it_is_asked_for():
    made = []
    part = Once(lambda: made.append("made") or len(made))
    assert part.made is None
    assert (part(), part()) == (1, 1)
    assert (part.made, made) == (1, ["made"])


def test_sessions_that_were_not_opened_are_not_opened_to_be_closed(folder):
    run = live(folder)  # before the nodes' addresses are known
    run.hurry()
    run.close()
    assert run.sessions.made is None


def test_sessions_that_were_opened_are_closed(folder, fakes):
    run = live(folder)
    reach(folder)
    run.sessions()["n1"]
    run.close()
    assert fakes.log == [("connect", "n1"), ("close", "n1")]


def test_the_cluster_is_as_it_is_reached_with_the_values_of_secret_variables(folder):
    run = live(folder)
    reach(folder)
    assert run.cluster().environment == DECLARED.environment
    assert run.cluster() is run.cluster()


def test_a_case_is_measured_once_and_again_beside_the_run(folder, fakes):
    run = live(folder)
    reach(folder)
    with pytest.raises(NoEvidence, match="was not measured"):
        run.result(case())
    first = run.measure(case())
    assert run.measure(case()) == run.result(case()) == live(folder).result(case()) == first
    assert len(fakes.done("run")) == 1
    run.measure_in("confirm")(case())
    assert len(fakes.done("run")) == 2
    kept = {path.relative_to(folder).parts[0] for path in folder.rglob("transcripts/*.json")}
    assert kept == {"transcripts", "confirm"}


def test_no_secret_value_is_written(folder, fakes):
    fakes.reports = [transcript(stdout="hush-hush-hush\n")]
    run = live(folder)
    reach(folder)
    run.measure(case())
    written = [path.read_text() for path in folder.rglob("transcripts/*")]
    assert written
    assert not any("hush-hush" in text for text in written)


# --- the survey ---


def test_nothing_is_found_before_the_survey(folder):
    run = live(folder)
    assert (run.found, run.surveyed.evidence) == ({}, "hardware")


def test_all_processes_read_the_survey_that_the_controller_keeps(folder):
    controller, worker = live(folder), live(folder)
    assert worker.surveyed.evidence == "hardware"  # asked too early; a later call succeeds
    found = {"n1": PLAYED, "n2": NodeUnreachable("no route", where="n2")}
    survey.keep(found, controller.store, SETTINGS)
    assert worker.found["n1"] == PLAYED
    assert isinstance(worker.found["n2"], NodeUnreachable)
    assert worker.surveyed.evidence == worker.store.evidence == "simulated"
    assert worker.store.read_json(FACTS)["evidence"] == "simulated"


# --- the load of virtual nodes ---


def reads_load(entry):
    return entry[2][-1].endswith("proc/stat")


def test_the_load_is_read_only_of_virtual_nodes_elsewhere(folder, fakes):
    """A machine of its own pays nothing; the load of nodes on the control host is read there."""
    run = live(folder)
    reach(folder)
    own = NodeFacts("n1", virtual=True, boot_id=control_host.boot_id())
    survey.keep({"n1": own, "n2": NodeFacts("n2", virtual=False)}, run.store, SETTINGS)
    run.measure(case())
    assert not [entry for entry in fakes.done("run") if reads_load(entry)]


def test_the_load_of_a_virtual_node_is_read_before_and_after_each_repeat(folder, fakes):
    run = live(folder)
    reach(folder)
    found = {"n1": NodeFacts("n1", virtual=False), "n2": NodeFacts("n2", virtual=True)}
    survey.keep(found, run.store, SETTINGS)
    repeats = run.measure(case(repeats=2)).runs
    for one in repeats:
        read = [(t.node, t.role) for t in one if t.role in LOAD_ROLES]
        assert read == [("n2", "load-before"), ("n2", "load-after")]
    assert len(repeats) == 2
    reads = [n for n, entry in enumerate(fakes.log) if entry[0] == "run" and reads_load(entry)]
    assert len(reads) == 4
    assert all(fakes.log[n][1] == "n2" for n in reads)
    assert any(entry[0] == "run" for entry in fakes.log[reads[0] + 1 : reads[1]])


# --- a replay ---


class Recording:
    """A bundle that has one case of the run and one that was measured again."""

    def __init__(self):
        self.found = {"n1": NodeFacts("n1")}

    def reboots(self):
        return ()

    def marks(self):
        return ()

    def asked(self):
        return ()

    def result(self, wanted, folder=""):
        if wanted == (case("n1", "n3") if folder == "confirm" else case()):
            return GOOD
        raise NoEvidence("there is no transcript", where=wanted.key)


@pytest.fixture
def replay(folder):
    reach(folder)
    return built(replace(SETTINGS, replayed=folder), folder, None, Recording())


def test_a_replay_gives_the_recorded_results(replay):
    assert replay.measure(case()).runs == GOOD.runs
    assert replay.store.load(case()).runs == GOOD.runs


def test_a_case_that_was_not_recorded_is_an_error_of_the_case(replay):
    result = replay.measure(case("n1", "n3"))
    assert (result.runs, str(result.error)) == ((), f"{result.error.where}: there is no transcript")


def test_remeasurements_are_in_a_folder_of_their_own(replay):
    assert replay.measure_in("confirm")(case("n1", "n3")).runs == GOOD.runs
    with pytest.raises(NoEvidence, match="there is no transcript"):
        replay.measure_in("confirm")(case())


def test_nothing_is_reached_in_a_replay(replay):
    with pytest.raises(NoEvidence, match="a replay connects to no node"):
        replay.sessions()["n1"]
