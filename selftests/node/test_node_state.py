"""What one check of a node leaves for the next: a lock, its result and a reading of counters."""

from __future__ import annotations

import json
import threading
import time

import pytest
from testing.node_checks import checked, put, reported, state
from testing.waiting import wait_until

from railgauge.core.errors import BadInput
from railgauge.leases.files import locked_within
from railgauge.run.node_state import read_json, state_of

HANGING = "#!/bin/sh\nexec sleep 40\n"


def program(bench, name, text):
    path = bench.home(0) / "bin" / name
    path.unlink()
    path.write_text(text)
    path.chmod(0o755)


def break_it(bench):
    """Take nvidia-smi away: the next check that is made does not know the GPUs."""
    (bench.home(0) / "bin" / "nvidia-smi").unlink()


def test_a_result_is_told_again_for_some_minutes(start_lab):
    bench = start_lab("h200")
    assert reported(bench)["verdict"] == "accepted"
    break_it(bench)
    assert reported(bench, "--cache", "5")["verdict"] == "accepted"
    assert reported(bench)["verdict"] == "incomplete"
    # The cache also holds an unknown state: a tool that hangs is not started by each caller.
    assert reported(bench, "--cache", "5")["verdict"] == "incomplete"


def test_a_fault_is_looked_for_again(start_lab):
    bench = start_lab("h200", "ecc@h200-01:3")
    assert reported(bench, "--cache", "5")["verdict"] == "rejected"
    break_it(bench)
    assert reported(bench, "--cache", "5")["verdict"] == "incomplete"


def test_a_result_of_other_files_or_options_is_not_told(start_lab):
    bench = start_lab("h200")
    assert reported(bench)["verdict"] == "accepted"
    break_it(bench)
    assert reported(bench, "--cache", "5", "--busy")["verdict"] == "incomplete"
    assert reported(bench, "--cache", "5")["verdict"] == "incomplete"


def test_a_damaged_or_older_result_is_not_told(start_lab):
    bench = start_lab("connectx4-homelab")
    name = bench.nodes[0].name
    assert reported(bench, "--cache", "5")["verdict"] == "accepted"
    kept = state(bench) / f"{name}.result.json"
    good = json.loads(kept.read_text())
    node = state_of(name, state(bench))
    assert node.result(good["inputs"])[0] < 60
    for change in ({"boot_id": "another"}, {"at_s": 1e12}, {"inputs": ""}, {"at_s": None}):
        kept.write_text(json.dumps({**good, **change}))
        assert node.result(good["inputs"])[0] == float("inf")
    kept.write_text("{")
    assert reported(bench, "--cache", "5")["verdict"] == "accepted"


def test_two_checks_at_once_are_one(start_lab):
    """The second waits for the first, and tells its result."""
    bench = start_lab("connectx4-homelab")
    log = bench.home(0) / "asked"
    program(bench, "lspci", f'#!/bin/sh\necho "$$" >>{log}\nsleep 2\nexec false\n')
    found = []
    callers = [threading.Thread(target=lambda: found.append(reported(bench))) for _ in range(2)]
    for caller in callers:
        caller.start()
        wait_until(log.exists, 30, "the first check to ask for lspci")
    for caller in callers:
        caller.join()
    assert found[0] == found[1]
    assert len(log.read_text().split()) == 1


def test_a_check_that_finds_another_one_running_waits_no_longer_than_its_budget(start_lab):
    bench = start_lab("connectx4-homelab")
    folder = state(bench)
    node = state_of(bench.nodes[0].name, folder)
    with locked_within(node.lock, 0.0) as is_held:
        assert is_held
        done = checked(bench, "--budget", "10", "--format", "npd")
    assert done.returncode == 2
    assert "another check of the node has not ended within 10 s" in done.stdout


def test_a_tool_that_hangs_costs_the_budget_and_the_facts_of_its_device_alone(start_lab):
    bench = start_lab("h200", "governor@h200-01")
    program(bench, "nvidia-smi", HANGING)
    began = time.monotonic()
    found = reported(bench, "--budget", "12")
    assert time.monotonic() - began < 20
    assert found["verdict"] == "rejected"
    assert "cpu-governor" in [one["cause"] for one in found["causes"]]
    unknown = {one["item"]: one["why"] for one in found["unknown"]}
    assert "nvidia-smi" in unknown["preflight::gpu_count[h200-01]"]
    assert "counters::growth[h200-01]" in unknown


def test_counters_that_grew_since_an_earlier_check_are_a_fault(start_lab):
    bench = start_lab("h200")
    counter = "sys/class/infiniband/mlx5_2/ports/1/counters/link_downed"
    assert reported(bench)["not_judged_yet"] != []
    assert reported(bench)["not_judged_yet"] == []
    put(bench, counter, "7\n")
    for _ in range(2):  # the reading of the first check is still there
        found = reported(bench)
        assert [(c["cause"], c["where"]["device"]) for c in found["causes"]] == [
            ("link-error-rate", "mlx5_2")
        ]
    assert (state(bench) / "h200-01.counters.json").exists()


def test_a_folder_in_which_others_can_write_is_refused(tmp_path):
    open_one = tmp_path / "open"
    open_one.mkdir()
    open_one.chmod(0o777)
    with pytest.raises(BadInput, match="others can write into it"):
        state_of("n1", open_one)
    (tmp_path / "file").touch()
    with pytest.raises(BadInput, match="cannot be made"):
        state_of("n1", tmp_path / "file" / "below")
    assert state_of("n1", tmp_path / "new").folder.stat().st_mode & 0o777 == 0o700


def test_a_file_that_is_no_object_holds_nothing(tmp_path):
    (tmp_path / "list").write_text("[]")
    assert read_json(tmp_path / "list") == read_json(tmp_path / "none") == {}
