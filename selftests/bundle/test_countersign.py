"""Two signatures on one bundle: added, listed, required, and refused if they are wrong."""

from __future__ import annotations

import base64
import json

import pytest
from testing import bundle_bench as bench
from testing.bundle_bench import changed, edit_json, forged

from railgauge.bundle import signers, signing
from railgauge.cli import main

STATEMENT, SIGNER = "statement.dsse.json", "signer.pub"


@pytest.fixture(scope="module")
def keys(runs_folder):
    """The keys of the vendor, of the customer, and of somebody else."""
    folder = runs_folder / "keys"
    folder.mkdir()
    return {name: bench.key_pair(folder, name) for name in ("vendor", "customer", "outsider")}


@pytest.fixture(scope="module")
def signed(healthy, keys, runs_folder):
    path = runs_folder / "signed.railgauge"
    bench.bundle(healthy.run.latest, path, "--key", str(keys["vendor"]))
    return path


@pytest.fixture(scope="module")
def both(signed, keys, runs_folder):
    path = runs_folder / "both.railgauge"
    words = ["countersign", str(signed), "--key", str(keys["customer"]), "-o", str(path)]
    assert main(words) == 0
    return path


def public(key):
    return key.with_suffix(".pub")


def fingerprint(key):
    (one,) = signers.load(public(key), 0.0)
    return signing.fingerprint(one.key)


def signatures_of(path):
    return json.loads(bench.files(path)[STATEMENT])["signatures"]


def test_a_second_signature_is_over_the_same_statement(signed, both, keys):
    before, after = bench.files(signed), bench.files(both)
    assert bench.payload(before) == bench.payload(after)
    assert [one["keyid"] for one in signatures_of(both)] == [
        fingerprint(keys["vendor"]), fingerprint(keys["customer"]),
    ]  # fmt: skip
    assert signatures_of(both)[:1] == signatures_of(signed)
    own = {STATEMENT, SIGNER}
    assert {n: d for n, d in before.items() if n not in own} == {
        n: d for n, d in after.items() if n not in own
    }
    assert list(before) == list(after)


def test_all_signatures_are_listed_with_their_keys(both, keys, verify):
    code, out, _ = verify(both)
    assert code == 0
    for key in (keys["vendor"], keys["customer"]):
        assert f"signature  of {fingerprint(key)}, WHICH IS NOT KNOWN HERE" in out
    code, out, _ = verify(both, "--key", public(keys["customer"]))
    assert f"signature  of {fingerprint(keys['customer'])}, one of the given keys" in out
    assert f"signature  of {fingerprint(keys['vendor'])}, WHICH IS NOT KNOWN" in out
    _, out, _ = verify(both, "--key", public(keys["customer"]), "--json")
    assert json.loads(out)["signatures"] == [
        {"state": "unknown signer", "key": fingerprint(keys["vendor"]), "signer": None},
        {"state": "trusted", "key": fingerprint(keys["customer"]), "signer": None},
    ]
    assert json.loads(out)["signature"]["key"] == fingerprint(keys["customer"])


def test_two_signatures_of_the_given_keys_are_required(signed, both, keys, verify):
    ours = ("--key", public(keys["vendor"]), "--key", public(keys["customer"]))
    assert verify(both, *ours, "--require", 2)[0] == 0
    assert verify(both, "--require", 2)[0] == 0  # of any two keys, for who wants no more
    code, out, err = verify(signed, *ours, "--require", 2)
    assert (code, out) == (1, "")
    assert f"has 1 signatures of the given keys ({fingerprint(keys['vendor'])})" in err
    assert f"2 are required; it lacks the signature of {fingerprint(keys['customer'])}" in err
    assert verify(both, *ours, "--require", 3)[0] == 1
    assert "has 1 signatures of different keys" in verify(signed, "--require", 2)[2]


def test_a_signature_of_another_key_does_not_count(both, keys, verify):
    """Anybody can add a signature; only those of the given keys count."""
    ours = ("--key", public(keys["vendor"]), "--key", public(keys["outsider"]))
    code, _, err = verify(both, *ours, "--require", 2)
    assert code == 1
    assert f"it lacks the signature of {fingerprint(keys['outsider'])}" in err
    assert verify(both, "--key", public(keys["outsider"]))[0] == 1


def test_an_unsigned_bundle_has_no_signature_to_require(healthy, verify):
    code, _, err = verify(healthy.path, "--require", 1)
    assert (code, "has 0 signatures of different keys, and 1 are required" in err) == (1, True)


@pytest.mark.parametrize("number", ["0", "-1", "two"])
def test_a_required_number_below_one_is_bad_usage(both, number):
    with pytest.raises(SystemExit) as end:
        main(["verify", str(both), "--require", number])
    assert end.value.code == 2


# --- what is wrong with a signature ---


def of_content(number):
    """Changes a byte of one signature."""

    def change(data):
        sig = bytearray(base64.b64decode(data["signatures"][number]["sig"]))
        sig[0] ^= 1
        data["signatures"][number]["sig"] = base64.b64encode(bytes(sig)).decode()

    return edit_json(STATEMENT, change)


@pytest.mark.parametrize(("number", "who"), [(0, "vendor"), (1, "customer")])
def test_a_wrong_signature_is_named(both, keys, verify, number, who):
    path = changed(both, both.with_name(f"wrong-{who}"), of_content(number))
    for options in ((), ("--key", public(keys["vendor"])), ("--key", public(keys["customer"]))):
        code, out, err = verify(path, *options)
        assert (code, out) == (1, "")
        assert f"the signature of {fingerprint(keys[who])} does not fit the content" in err


@pytest.mark.parametrize(("number", "who"), [(0, "vendor"), (1, "customer")])
def test_a_stripped_signature_is_named(both, keys, verify, number, who):
    strip = edit_json(STATEMENT, lambda data: data["signatures"].pop(number))
    code, _, err = verify(changed(both, both.with_name(f"stripped-{who}"), strip))
    assert code == 1
    assert f"has no signature of {fingerprint(keys[who])}, whose key is in the bundle" in err


def test_a_signature_that_was_stripped_with_its_key_is_missed_by_require(
    both, keys, verify, tmp_path
):
    def strip(content):
        edit_json(STATEMENT, lambda data: data["signatures"].pop(1))(content)
        content[SIGNER] = content[SIGNER].splitlines(keepends=True)[0]

    path = changed(both, tmp_path / "stripped", strip)
    ours = ("--key", public(keys["vendor"]), "--key", public(keys["customer"]))
    assert verify(path, *ours)[0] == 0  # one of the keys has signed
    code, _, err = verify(path, *ours, "--require", 2)
    assert (code, fingerprint(keys["customer"]) in err) == (1, True)


def test_a_key_that_is_nowhere_proves_nothing(both, keys, verify, tmp_path):
    def hide(content):
        content[SIGNER] = content[SIGNER].splitlines(keepends=True)[0]

    code, _, err = verify(changed(both, tmp_path / "hidden", hide))
    assert code == 1
    expected = (
        f"the signature of {fingerprint(keys['customer'])} is of a key that is neither given nor"
    )
    assert expected in err


def test_one_signature_does_not_count_twice(both, verify, tmp_path):
    twice = edit_json(
        STATEMENT, lambda data: data["signatures"].append(dict(data["signatures"][0]))
    )
    assert verify(changed(both, tmp_path / "twice", twice), "--require", 3)[0] in (1, 2)

    def renamed(data):
        data["signatures"][1] = {**data["signatures"][0], "keyid": data["signatures"][1]["keyid"]}

    code, _, err = verify(changed(both, tmp_path / "renamed", edit_json(STATEMENT, renamed)))
    assert (code, "does not fit the content" in err) == (1, True)


# --- what is not countersigned ---


def countersign(path, key, *options):
    return main(["countersign", str(path), "--key", str(key), *map(str, options)])


def test_a_bundle_is_countersigned_in_place_and_only_once(signed, keys, tmp_path, capsys):
    path = tmp_path / "own.railgauge"
    path.write_bytes(signed.read_bytes())
    capsys.readouterr()
    assert countersign(path, keys["customer"], "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["signed_by"] == [fingerprint(keys["vendor"]), fingerprint(keys["customer"])]
    before = path.read_bytes()
    for key in (keys["customer"], keys["vendor"]):
        assert countersign(path, key) == 2
        assert "is signed with this key already" in bench_line(capsys)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["own.railgauge"]


def bench_line(capsys):
    err = capsys.readouterr().err
    assert (err.count("\n"), "Traceback" in err) == (1, False)
    return err


def test_a_bundle_that_does_not_verify_or_is_unsigned_is_not_countersigned(
    healthy, signed, keys, tmp_path, capsys
):
    out = tmp_path / "out"
    broken = changed(signed, tmp_path / "broken", of_content(0))
    lying = forged(signed, tmp_path / "lying", edit_json("run/verdict.json", dict.clear))
    (tmp_path / "text").write_text("no bundle")
    capsys.readouterr()
    for path, why in (
        (healthy.path, "is not signed: there is nothing to countersign"),
        (broken, "does not verify, so it is not signed"),
        (lying, "does not verify, so it is not signed"),
        (tmp_path / "text", "is not an evidence bundle"),
        (tmp_path / "absent", "cannot be read"),
    ):
        assert countersign(path, keys["customer"], "-o", out) == 2
        assert why in bench_line(capsys)
        assert not out.exists()


def test_a_bad_key_and_a_bad_target_are_one_line_each(signed, keys, tmp_path, capsys):
    assert countersign(signed, public(keys["customer"])) == 2
    assert "cannot be read as a private key" in bench_line(capsys)
    assert countersign(signed, keys["customer"], "-o", tmp_path / "no" / "such" / "place") == 2
    assert "cannot be written" in bench_line(capsys)
