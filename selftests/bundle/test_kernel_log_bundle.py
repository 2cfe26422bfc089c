"""The kernels' logs in a bundle: verified with the rest, and refused if they are another's."""

from __future__ import annotations

import json

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from testing import bundle_bench as bench
from testing import forger_bench as forger
from testing.bundle_bench import edit_records
from testing.forger_bench import edited

from railgauge.bundle import signing

XID = "3,{},86400000000,-;NVRM: Xid (PCI:0000:4e:00): 79, pid=1, GPU has fallen off the bus."
ITEM = "kernel::kernel_log[viper]"
ENVIRONMENT = "run/environment.json"


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


def reading(node):
    return f"run/transcripts/kernel_log_{node}.json"


def printed(content, node):
    return json.loads(content[reading(node)])["runs"][0][0]["stdout"]


def with_text(node, change):
    """Change what the reading of a node printed."""

    def forge(content):
        data = json.loads(content[reading(node)])
        data["runs"][0][0]["stdout"] = change(content, data["runs"][0][0]["stdout"])
        content[reading(node)] = json.dumps(data).encode()

    return forge


def test_a_bundle_has_the_readings_and_they_are_judged_again(healthy, verify):
    content = bench.files(healthy.path)
    assert all("IPv6: ADDRCONF" in printed(content, node) for node in bench.HOSTS)
    code, out, _ = verify(healthy.path)
    assert (code, "114 judged again" in out) == (0, True)


def one_more(content, text):
    records = [line for line in text.splitlines() if line[:1].isdigit()]
    number = int(records[-1].split(",")[1]) + 1
    return text.replace(records[-1], f"{records[-1]}\n{XID.format(number)}", 1)


def test_a_fault_that_the_record_hides_is_found(healthy, refused):
    message = refused(healthy, with_text("viper", one_more))
    assert (
        "kernel::kernel_log[viper] is recorded as passed, but its evidence gives failed" in message
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda content, _text: printed(content, "columbia"),
        lambda _content, text: text.replace("temporarily", "just"),
        lambda _content, text: text.replace("boot_id ", "boot_id 0"),
        lambda _content, _text: "",
    ],
    ids=["of another node", "not to the end", "of no boot", "nothing"],
)
def test_a_reading_that_proves_nothing_does_not_verify(healthy, refused, change):
    message = refused(healthy, with_text("viper", change))
    assert (
        "kernel::kernel_log[viper] is recorded as passed, but its evidence gives error" in message
    )


def later(environment):
    facts = environment["nodes"]["viper"]["facts"]
    facts["kernel_log"] = str(int(facts["kernel_log"]) + 1)


def test_a_later_start_than_that_of_the_reading_does_not_verify(healthy, refused):
    assert "gives error" in refused(healthy, edited(ENVIRONMENT, later))


def without_reading(content):
    del content[reading("viper")]


def test_a_missing_reading_is_found(healthy, refused):
    assert "is missing, and an item is based on it" in refused(healthy, without_reading)


def without_item(content):
    def take_out(records):
        records[:] = [one for one in records if one["id"] != ITEM]

    without_reading(content)
    edit_records(take_out)(content)
    planned = [json.loads(line)["id"] for line in content[forger.RECORDS].splitlines()]
    edited("run/run.json", lambda run: run.update(planned=planned))(content)


def test_a_missing_kernel_log_item_is_found(healthy, refused):
    assert f"has no record of {ITEM}" in refused(healthy, without_item)
