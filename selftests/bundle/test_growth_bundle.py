"""The nodes' counters in a bundle: verified with the rest, refused if a reading is another's."""

from __future__ import annotations

import json

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from testing import bundle_bench as bench
from testing import forger_bench as forger
from testing.bundle_bench import edit_records
from testing.forger_bench import edited

from railgauge.bundle import signing

ITEM = "counters::growth[viper]"
LOST = "hw_counters/out_of_sequence:0"


@pytest.fixture
def refused(verify, tmp_path):
    """``refused(bundle, change)`` forges a whole bundle and returns the message that refuses it."""
    key = Ed25519PrivateKey.generate()
    public = tmp_path / "forger.pub"
    public.write_text(signing.public_line(key))

    def refused(source, change):
        path = forger.sealed(source.path, tmp_path / "forged", key, change)
        code, out, err = verify(path, "--key", public)
        assert (code, out) == (1, ""), err
        assert err.startswith("railgauge: NOT VERIFIED: ")
        return err

    return refused


def stored(node):
    return f"run/transcripts/growth_{node}.json"


def forging(change):
    """Change the stored readings of viper; ``change`` gets them, and those of another node."""

    def forge(content):
        own, other = (json.loads(content[stored(node)]) for node in ("viper", "columbia"))
        change(own["runs"], other["runs"])
        content[stored("viper")] = json.dumps(own).encode()

    return forge


def test_a_bundle_has_both_readings_of_each_node(healthy, verify):
    content = bench.files(healthy.path)
    for node in bench.HOSTS:
        ((before, after),) = json.loads(content[stored(node)])["runs"]
        assert (before["role"], after["role"]) == ("counters-before", "counters-after")
        assert LOST in before["stdout"]
        assert before["started_at"] < after["started_at"]
    assert verify(healthy.path)[0] == 0


def grow(own, _other):
    own[0][1]["stdout"] = own[0][1]["stdout"].replace(LOST, LOST.replace(":0", ":7"))


def test_growth_that_the_record_hides_is_found(healthy, refused):
    assert f"{ITEM} is recorded as passed, but its evidence gives failed" in refused(
        healthy, forging(grow)
    )


def another_nodes(own, other):
    own[0] = other[0]


def another_nodes_output(own, other):
    own[0][1]["stdout"] = other[0][1]["stdout"]


def the_first_again(own, _other):
    own[0][1] = {**own[0][0], "role": "counters-after"}


def cut_short(own, _other):
    own[0][1]["stdout"] = own[0][1]["stdout"][:400]


def back(own, _other):
    own[0][0]["stdout"] = own[0][0]["stdout"].replace(LOST, LOST.replace(":0", ":7"))


@pytest.mark.parametrize(
    "change", [another_nodes, another_nodes_output, the_first_again, cut_short, back]
)
def test_readings_that_prove_nothing_do_not_verify(healthy, refused, change):
    message = refused(healthy, forging(change))
    assert f"{ITEM} is recorded as passed, but its evidence gives error" in message


def without_the_last(own, _other):
    del own[0][1]


def test_a_missing_closing_reading_is_found(healthy, refused):
    message = refused(healthy, forging(without_the_last))
    assert f"{ITEM} is recorded as passed, but its evidence gives not_run" in message


def without_readings(content):
    del content[stored("viper")]


def test_missing_readings_are_found(healthy, refused):
    assert "is missing, and an item is based on it" in refused(healthy, without_readings)


def without_item(content):
    def take_out(records):
        records[:] = [one for one in records if one["id"] != ITEM]

    without_readings(content)
    edit_records(take_out)(content)
    planned = [json.loads(line)["id"] for line in content[forger.RECORDS].splitlines()]
    edited("run/run.json", lambda run: run.update(planned=planned))(content)


def test_a_missing_growth_item_is_found(healthy, refused):
    assert f"has no record of {ITEM}" in refused(healthy, without_item)
