"""A case's file is the same, whether its repeats are encoded at once or one after the other."""

import json

import pytest
from testing.core_values import case, transcript
from testing.run_folder import store_in

from railgauge.core.codec import to_plain
from railgauge.core.model import Outcome
from railgauge.core.question import CaseResult
from railgauge.core.secret_forms import MASK
from railgauge.run.case_files import case_file
from railgauge.run.kept_text import KeptRuns, json_text, whole_text

NASTY = 'a\nb "runs": [] \\ é \x00 \n "runs": []'


def runs(count):
    return tuple((transcript(stdout=f"{NASTY}{n}"), transcript("n2")) for n in range(count))


@pytest.mark.parametrize("count", [0, 1, 3])
def test_the_text_of_repeats_is_that_of_the_whole_file(count):
    made = KeptRuns(lambda run: run, to_plain).of("x", runs(count))
    rest = {"case": {"key": NASTY}, "error": None, "schema_version": 1}
    plain = {**rest, "runs": to_plain(runs(count))}
    assert whole_text({**rest, "runs": []}, made) == json_text(plain)


@pytest.mark.parametrize(
    "data",
    [
        {"b": [1, -2.5, 1e300, True, None, []], "a": {}, "é": {"x": ("y", {"z": NASTY})}},
        [float("nan"), float("inf"), Outcome.PASSED, 2**70, (), {Outcome.PASSED: 0}],
        {1: "whole", 2: ["numbers"], 10: "as keys"},
        "\x7f\u2028\ud800",
    ],
)
def test_the_text_is_the_json_of_the_library(data):
    assert json_text(data) == json.dumps(data, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def test_a_repeat_without_transcripts_is_kept():
    made = KeptRuns(lambda run: run, to_plain).of("x", ((),))
    assert json.loads(whole_text({}, made)) == {"runs": [[]]}


def test_a_repeat_is_masked_and_encoded_once():
    seen = []
    kept = KeptRuns(lambda run: seen.append(run) or run, to_plain)
    one, two, other = runs(3)
    kept.of("x", (one,))
    kept.of("x", (one, two))
    assert seen == [one, two]
    kept.of("x", (other, two))
    assert seen == [one, two, other]
    kept.of("y", (one,))
    kept.forget("x")
    kept.of("x", (two,))
    assert seen == [one, two, other, one, two]


TOKEN = "glpat-a1b2c3d4e5f6g7h8i9j0"


def test_secrets_are_masked_in_every_repeat(tmp_path):
    store = store_in(tmp_path)
    first, second = ((transcript(stdout=f"{n} {TOKEN}"),) for n in range(2))
    store.keep(case(), CaseResult((first,)))
    result = store.save(case(), CaseResult((first, second)))
    assert TOKEN not in (tmp_path / case_file(case())).read_text()
    assert [run[0].stdout for run in result.runs] == [f"0 {MASK}", f"1 {MASK}"]
    assert store.load(case()) == result
