"""Outputs that a run holds twice: found in every folder of transcripts, an error of each node."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType, SimpleNamespace

import pytest
from testing.core_values import cluster, transcript

from railgauge.core.model import Outcome
from railgauge.diagnosis import RunResults
from railgauge.judging.own_output import PrintedOutput, errors, repeated
from railgauge.run.case_notes import note_of, printed_twice
from railgauge.run.store import Identity, Kept
from railgauge.verdict import at_end, own_output

NOW = "2026-11-29T05:00:00+00:00"
ENDS = " {side} address: LID 0x0{lid} QPN {qpn:#06x} PSN {psn:#08x}\n"
PLATFORM = SimpleNamespace(
    measurements={
        "write": SimpleNamespace(tool="perftest"),
        "burn": SimpleNamespace(tool="gpu-burn"),
    }
)


def output(psn, lid=3):
    local = ENDS.format(side="local", lid=lid, qpn=0x101, psn=psn)
    return local + ENDS.format(side="remote", lid=lid + 1, qpn=0x202, psn=psn + 1)


class Files(dict):
    """Files of transcripts by name; each value is the outputs of a case's repeats."""

    reads = 0
    began: Mapping[str, str] = MappingProxyType({})

    def names(self):
        return [*self, "transcripts/write_a.txt", "environment.json"]

    def kept_in(self, name):
        self.reads += 1
        node = name.rpartition("_")[2].removesuffix(".json")
        measured = name.rpartition("/")[2].partition("_")[0]
        runs = tuple(
            (
                transcript(node, stdout=one, started_at=self.began.get(name, NOW)),
                transcript("n9", stdout=one, role="server"),
            )
            for one in self[name]
        )
        return Kept(Identity(f"{measured}[{node}]", (), len(runs)), runs, None)


def found(files, *noted):
    return printed_twice(files.names, files.kept_in, PLATFORM, *noted)


def test_a_file_that_was_noted_is_not_read_again():
    """What is noted counts as what is read: the second file repeats the first."""
    files = Files({f"transcripts/write_n{n}.json": [output(7)] for n in (1, 2, 3)})
    first = "transcripts/write_n1.json"
    note = note_of(PLATFORM, files.kept_in(first))
    files.reads = 0
    (alike,) = found(files, {first: note}.get)()
    assert [one.place for one in alike] == sorted(files)
    assert files.reads == 2


def places(files):
    return [[one.place for one in alike] for alike in found(files)()]


def test_a_repeat_that_a_resumed_run_took_over_is_one_output_though_it_is_kept_twice():
    own, left = "transcripts/write_n1.json", "earlier/old/transcripts/write_n1.json"
    assert places(Files({own: [output(1), output(2)], left: [output(1)]})) == []
    part = "parts/late/"
    assert places(Files({part + own: [output(1)], part + left: [output(1), output(3)]})) == []


def test_the_output_of_an_earlier_run_that_is_printed_again_is_a_second_one():
    left = "earlier/old/transcripts/write_n1.json"
    again = Files({"transcripts/write_n1.json": [output(1)], left: [output(1)]})
    again.began = {left: "2026-11-01T00:00:00+00:00"}
    assert len(places(again)) == 1
    assert len(places(Files({"transcripts/write_n2.json": [output(1)], left: [output(1)]}))) == 1
    assert len(places(Files({left: [output(1), output(1)]}))) == 1


def test_a_server_that_repeats_the_queue_pairs_of_its_client_is_no_second_output():
    assert places(Files({"transcripts/write_n1.json": [output(1), output(2)]})) == []


@pytest.mark.parametrize(
    "other",
    [
        "transcripts/write_n2.json",
        "confirm/transcripts/write_n1.json",
        "soak/0003/transcripts/write_n1.json",
        "parts/20260101-000000-c/transcripts/write_n1.json",
    ],
)
def test_the_same_output_in_any_two_folders_is_found_though_its_lids_differ(other):
    files = Files({"transcripts/write_n1.json": [output(1)], other: [output(1, lid=7)]})
    assert places(files) == [sorted(files)]
    assert places(Files({**files, other: [output(5)]})) == []


def test_the_same_output_in_two_repeats_of_a_measurement_is_found():
    files = Files({"transcripts/write_n1.json": [output(1), output(8), output(1)]})
    assert places(files) == [[f"transcripts/write_n1.json (run {n})" for n in (1, 3)]]


def test_outputs_that_show_no_run_and_files_of_no_measurement_are_left_out():
    files = Files(
        {
            "transcripts/burn_n1.json": ["Tested 8 GPUs"] * 2,
            "transcripts/growth_n1.json": [output(1)] * 2,
            "transcripts/write_n1.json": ["no table"] * 2,
        }
    )
    assert places(files) == []


def test_the_files_are_read_when_they_are_asked_for_and_once():
    files = Files({"transcripts/write_n1.json": [output(1)]})
    twice = found(files)
    assert files.reads == 0
    assert twice() == twice() == ()
    assert files.reads == 1


# --- the items ---


def results(*outputs):
    every = repeated(PrintedOutput(place, node, shows) for place, node, shows in outputs)
    return RunResults({}, {}, PLATFORM, cluster("n1", "n2", "n3"), repeated=lambda: every)


def test_a_run_without_such_an_output_has_no_item():
    assert list(own_output.made_of(results(("a", "n1", "x"), ("b", "n1", "y")))) == []


def test_each_node_that_printed_it_has_an_error_that_names_both():
    first, second = own_output.made_of(results(("a", "n1", "x"), ("b", "n3", "x")))
    assert (first.id, second.id) == ("output::own_output[n1]", "output::own_output[n3]")
    assert {one.outcome for one in (first, second)} == {Outcome.ERROR}
    assert first.error_kind == "other-than-asked"
    assert first.reason == "n1: a and b hold the same output: x"
    assert second.reason == "n3: b and a hold the same output: x"
    assert at_end.is_at_end(first.id)
    begun = replace(first, outcome=Outcome.PASSED)
    assert begun.questions == (at_end.KINDS[-1].items.question_of("n1"),)


@pytest.mark.parametrize(
    ("count", "others", "places", "outputs"),
    [
        (2, 0, "", ""),
        (3, 1, ", and in 1 more", "; and 1 more outputs"),
        (5, 3, ", and in 3 more", "; and 3 more outputs"),
    ],
)
def test_more_of_them_are_counted(count, others, places, outputs):
    own = [(name, "n1", "x") for name in "abcde"[:count]]
    more = [(f"{number} {n}", "n1", f"y{number}") for number in range(others) for n in (1, 2)]
    (one,) = own_output.made_of(results(*own, *more))
    assert one.reason == f"n1: a and b{places} hold the same output: x{outputs}"
    assert one.remedy.startswith("look for a wrapper that stores an output")


def test_a_hundred_thousand_equal_outputs_are_counted_at_once():
    begun = time.process_time()
    every = (PrintedOutput(f"f{n}", f"n{n % 500}", "x") for n in range(100_000))
    assert len(errors(repeated(every))) == 500
    assert time.process_time() - begun < 20  # minutes if each were compared with all others
