"""Tools that print an earlier output again: errors, in the run, in its bundle and in a replay."""

from __future__ import annotations

import json

import pytest
from testing.acceptance import (
    BARE_SMOKE,
    HOMELAB,
    Change,
    Project,
    Run,
    Runs,
    Scenario,
    assert_sound,
)
from testing.bundle_bench import bundle, edit_json, forged
from testing.fewer import measuring

from railgauge.cli import main

MEASURED = ("host_write_bandwidth",)
# It measures, and prints what the first client and the first server have printed.
WRAPPER = """#!/bin/sh
home={home}
case "$*" in *" 127."*) role=client;; *) role=server;; esac
out=$(ib_write_bw "$@"); code=$?
[ -e $home/$role ] || printf '%s\\n' "$out" >$home/$role
{print}
exit $code
"""
AS_IT_IS = "cat $home/$role"
# The LIDs of both sides are those of this measurement.
WITH_LIDS = """for side in local remote; do
  lid=$(printf '%s\\n' "$out" | sed -n "s/^ $side address: LID \\([0-9a-fx]*\\) .*/\\1/p")
  sed_words="$sed_words;s/^\\( $side address: LID \\)[0-9a-fx]*/\\1$lid/"
done
sed "${sed_words#;}" $home/$role"""


def cached(print_: str) -> Change:
    def change(project: Project) -> None:
        folder = project.folder / "cached"
        text = WRAPPER.format(home=folder, print=print_)
        project.write("cached/ib_write_bw", text).chmod(0o755)
        with (project.folder / HOMELAB[1]).open("a", encoding="utf-8") as file:
            file.write(f"tools: {{perftest: {folder}}}\n")

    return measuring("connectx4-homelab", *MEASURED, more=change)


SCENARIOS = {
    "as it is": Scenario((*HOMELAB, *BARE_SMOKE), cached(AS_IT_IS)),
    "with LIDs": Scenario((*HOMELAB, *BARE_SMOKE), cached(WITH_LIDS)),
}


@pytest.fixture
def as_it_is(runs: Runs) -> Run:
    return runs["as it is"]


@pytest.fixture
def with_lids(runs: Runs) -> Run:
    return runs["with LIDs"]


def own_outputs(run: Run) -> dict[str, str]:
    """The reason of each item of an output that was printed twice, by node."""
    found = {name: one for name, one in run.junit.items() if "own_output[" in name}
    return {name.partition("[")[2].rstrip("]"): one.message for name, one in found.items()}


def test_an_output_that_is_printed_again_for_another_pair_names_other_ports(as_it_is):
    assert as_it_is.code == 10
    assert_sound(as_it_is)
    measured = {
        name for name in as_it_is.outcomes if "test_bandwidth[host_write_bandwidth-" in name
    }
    wrong = measured & as_it_is.with_outcome("error")
    assert len(wrong) == len(measured) - 1, as_it_is.output
    for name in wrong:
        assert "other-than-asked" in as_it_is.junit[name].message or "LID in the" in (
            as_it_is.junit[name].message
        )
    assert set(own_outputs(as_it_is)), as_it_is.output


def test_with_the_lids_of_the_pair_the_queue_pairs_show_that_it_was_printed_before(with_lids):
    assert with_lids.code == 10, with_lids.output
    assert_sound(with_lids)
    assert not {name for name in with_lids.with_outcome("error") if "test_write" in name}
    reported = own_outputs(with_lids)
    assert len(reported) >= 2
    for reason in reported.values():
        assert reason.count("transcripts/host_write_bandwidth_") == 2
        assert "hold the same output: QPN 0x" in reason


def test_the_bundle_says_so_too_and_the_item_cannot_be_left_out(with_lids, tmp_path, capsys):
    path = tmp_path / "cached.railgauge"
    bundle(with_lids.latest, path, "--unsigned")
    assert main(["verify", str(path), "--unsigned"]) == 10
    assert "incomplete: it stands" in capsys.readouterr().out

    def without_item(content: dict[str, bytes]) -> None:
        lines = content["run/records.jsonl"].splitlines(keepends=True)
        content["run/records.jsonl"] = b"".join(x for x in lines if b"own_output[" not in x)

        def planned(data):
            data["planned"] = [x for x in data["planned"] if "own_output[" not in x]

        edit_json("run/run.json", planned)(content)

    forgery = forged(path, tmp_path / "b", without_item)
    assert main(["verify", str(forgery), "--unsigned"]) == 1
    err = capsys.readouterr().err
    assert "own_output[" in err
    assert "which the level requires" in err

    replay = with_lids.project.run(f"--replay={path}", *BARE_SMOKE)
    assert replay.code == 10
    assert own_outputs(replay) == own_outputs(with_lids)
    assert json.loads((replay.latest / "verdict.json").read_text())["verdict"] == "incomplete"
