"""A bundle verifies only if every byte is unchanged; else the message names the file."""

from __future__ import annotations

import json
import re

import pytest
from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from testing import bundle_bench as bench
from testing.bundle_bench import changed, edit_json, edit_records, forged

from railgauge.config import thresholds


def a_transcript(content):
    return next(n for n in content if re.match(r"run/transcripts/host_write_bandwidth_.*json$", n))


def flip(name, content, at=-40):
    data = bytearray(content[name])
    data[at] ^= 1
    content[name] = bytes(data)


# --- a whole bundle ---


def test_it_holds_where_nothing_of_the_project_is(healthy, tmp_path):
    done = bench.elsewhere("verify", str(healthy.path), "--unsigned", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "verdict    accepted: it stands, asserted 114 of 114" in done.stdout
    assert "114 judged again, 0 taken as recorded" in done.stdout
    assert "UNSIGNED" in done.stdout
    assert "SIMULATED evidence" in done.stdout
    limits = thresholds.load("connectx4-homelab", healthy.project.folder / "thresholds")
    sha256 = bench.hashlib.sha256(limits.text.encode()).hexdigest()  # in the long form
    title = limits.title
    assert f"limits     connectx4-homelab: {title}, sha256 {sha256}" in done.stdout
    assert "level      smoke, tested 3 of 3 nodes, 3 of 3 pairs, " in done.stdout
    assert "NOBODY VOUCHES" not in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_red_run_is_verified_and_rejected(red, verify):
    code, out, _ = verify(red.path, "--json")
    report = json.loads(out)
    assert code == 1
    assert report["verified"] is True
    assert report["verdict"] == red.run.verdict
    assert report["items"]["absent"] == 0
    assert report["items"]["kept"] == red.run.counts["blocked"] > 0


def test_the_statement_is_one_of_in_toto_over_every_file(red):
    content = bench.files(red.path)
    statement = bench.payload(content)
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["predicateType"] == "https://in-toto.io/attestation/test-result/v0.1"
    named = {one["name"] for one in statement["subject"]}
    assert named == {name for name in content if name.startswith("run/")}
    left = {path.name for path in red.run.latest.iterdir()}
    assert left == {name.split("/")[1] for name in named}
    predicate = statement["predicate"]
    assert predicate["result"] == "FAILED"
    assert set(predicate["failedTests"]) == red.run.with_outcome("failed")
    kinds = ("kernel::kernel_log", "counters::growth")  # no test makes them
    closing = {f"{kind}[{node}]" for kind in kinds for node in bench.HOSTS}
    assert set(predicate["passedTests"]) == red.run.with_outcome("passed") | closing
    configured = [one["name"] for one in predicate["configuration"]]
    assert configured == ["run/hostfile.yaml", "run/thresholds.json"]


def test_two_bundles_of_a_run_are_the_same_file(healthy, tmp_path):
    key = bench.key_pair(tmp_path)
    for options in (["--unsigned"], ["--key", str(key)], ["--unsigned", "--redact", "hosts"]):
        one, two = tmp_path / "one", tmp_path / "two"
        bench.bundle(healthy.run.latest, one, *options)
        bench.bundle(healthy.run.latest, two, *options)
        assert one.read_bytes() == two.read_bytes()


# --- the signer ---


def test_a_signature_is_known_by_the_key_that_is_given(healthy, verify, tmp_path):
    key, other = bench.key_pair(tmp_path, "ours"), bench.key_pair(tmp_path, "theirs")
    path = tmp_path / "signed.railgauge"
    bench.bundle(healthy.run.latest, path, "--key", str(key))
    allowed = tmp_path / "allowed_signers"
    public = key.with_suffix(".pub").read_text().rsplit(" ", 1)[0]
    allowed.write_text(f'# who may\nnight@site namespaces="railgauge" {public}\n')
    for given in (key.with_suffix(".pub"), allowed):
        code, out, _ = verify(path, "--key", given, "--json")
        assert (code, json.loads(out)["signature"]["state"]) == (0, "trusted")
    code, out, _ = verify(path)
    assert code == 0
    assert "WHICH IS NOT KNOWN HERE" in out
    assert "SHA256:" in out
    code, out, err = verify(path, "--key", other.with_suffix(".pub"))
    assert (code, out) == (1, "")
    assert err.startswith("railgauge: NOT VERIFIED: statement.dsse.json: ")
    code, _, err = verify(healthy.path, "--key", key.with_suffix(".pub"))
    assert code == 1
    assert "is not signed" in err


def test_without_a_key_that_fits_nobody_vouches_for_it(healthy, red, tmp_path, capsys):
    key, path = bench.key_pair(tmp_path), tmp_path / "signed.railgauge"
    bench.bundle(healthy.run.latest, path, "--key", str(key))
    capsys.readouterr()
    for given in (path, healthy.path):
        assert bench.main(["verify", str(given)]) == 10
        assert "NOBODY VOUCHES FOR IT: give --key" in capsys.readouterr().out
        assert bench.main(["verify", str(given), "--json"]) == 10
        assert json.loads(capsys.readouterr().out)["vouched"] is False
        assert bench.main(["verify", str(given), "--unsigned"]) == 0
        assert "NOBODY" not in capsys.readouterr().out
    assert bench.main(["verify", str(path), "--key", str(key.with_suffix(".pub"))]) == 0
    assert "NOBODY" not in capsys.readouterr().out
    assert bench.main(["verify", str(red.path)]) == 1


def test_a_passphrase_comes_from_the_environment(healthy, tmp_path, monkeypatch, capsys):
    key = bench.key_pair(tmp_path, passphrase="open sesame")
    words = ["bundle", str(healthy.run.latest), "-o", str(tmp_path / "b"), "--key", str(key)]
    monkeypatch.setenv("RAILGAUGE_KEY_PASSPHRASE", "open sesame")
    assert bench.main(words) == 0
    monkeypatch.setenv("RAILGAUGE_KEY_PASSPHRASE", "wrong")
    assert bench.main(words) == 2
    assert "wrong passphrase" in capsys.readouterr().err
    monkeypatch.delenv("RAILGAUGE_KEY_PASSPHRASE")
    done = bench.elsewhere(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert "there is no terminal to ask for it" in done.stderr


def test_other_keys_than_ed25519_are_refused_with_the_remedy(healthy, tmp_path, capsys):
    key = tmp_path / "ec.pem"
    key.write_bytes(
        generate_private_key(SECP256R1()).private_bytes(
            form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption()
        )
    )
    words = ["bundle", str(healthy.run.latest), "-o", str(tmp_path / "b"), "--key", str(key)]
    assert bench.main(words) == 2
    assert "ssh-keygen -t ed25519" in capsys.readouterr().err


# --- one changed byte ---


@pytest.mark.parametrize(
    "name", ["run/thresholds.json", "run/verdict.json", "run/records.jsonl", "run/report.html", ""]
)
def test_one_byte_of_a_file(healthy, verify, tmp_path, name):
    at_fault = []

    def change(content):
        at_fault.append(name or a_transcript(content))
        flip(at_fault[0], content)

    code, out, err = verify(changed(healthy.path, tmp_path / "b", change))
    assert (code, out) == (1, "")
    assert err.startswith(f"railgauge: NOT VERIFIED: {at_fault[0]}: ")


@pytest.mark.parametrize("part", ["sig", "payload"])
def test_one_bit_of_the_signature_or_of_what_is_signed(healthy, verify, tmp_path, part):
    key, path = bench.key_pair(tmp_path), tmp_path / "signed"
    bench.bundle(healthy.run.latest, path, "--key", str(key))

    def change(content):
        envelope = json.loads(content[bench.STATEMENT])
        holder = envelope["signatures"][0] if part == "sig" else envelope
        data = bytearray(bench.base64.b64decode(holder[part]))
        data[len(data) // 2] ^= 1
        holder[part] = bench.base64.b64encode(data).decode()
        content[bench.STATEMENT] = json.dumps(envelope).encode()

    for options in ((), ("--key", key.with_suffix(".pub"))):
        code, _, err = verify(changed(path, tmp_path / "b", change), *options)
        assert code == 1
        assert err.startswith("railgauge: NOT VERIFIED: statement.dsse.json: ")


def test_a_file_more_or_less(healthy, verify, tmp_path):
    def more(content):
        content["run/transcripts/one_more.json"] = b"{}"

    def less(content):
        del content["run/junit.xml"]

    code, _, err = verify(changed(healthy.path, tmp_path / "b", more))
    assert code == 1
    assert "run/transcripts/one_more.json: is not in the statement" in err
    code, _, err = verify(changed(healthy.path, tmp_path / "b", less))
    assert code == 1
    assert "run/junit.xml: is in the statement but not in the bundle" in err


# --- all hashes are correct again: the transcripts are judged again ---


def slower(content):
    """Every transcript of one case shows a tenth of the bandwidth."""
    name = a_transcript(content)
    content[name] = re.sub(rb" 37\d\d\.\d\d", b"  377.25", content[name])


def lower_limit(document):
    for limit in document["measurements"]["host_write_bandwidth"]["limits"]:
        limit["floor"] = 2000.0


def accepted(verdict):
    verdict["verdict"] = "rejected" if verdict["verdict"] == "accepted" else "accepted"


def a_lie(records):
    one = next(record for record in records if record["outcome"] == "failed")
    one["outcome"] = "passed"


def a_figure(records):
    one = next(r for r in records if r["judgements"] and r["judgements"][0]["worst"])
    one["judgements"][0]["worst"] += 1.0


def no_evidence(records):
    one = next(record for record in records if record["outcome"] == "failed")
    one.update(outcome="passed", by_evidence=False, questions=[])


def other_evidence(records):
    """A failed item gets the evidence of a passed one."""
    good = next(r for r in records if r["outcome"] == "passed" and r["subject"] == "port_state")
    bad = next(r for r in records if r["outcome"] == "failed" and r["subject"] == "port_state")
    bad.update({key: good[key] for key in ("outcome", "judgements", "reason", "questions")})


def fewer(records):
    records.remove(next(record for record in records if record["outcome"] == "failed"))


def another_reason(records):
    one = next(record for record in records if record["outcome"] == "failed")
    one["judgements"][0]["measured"] = "ACTIVE"


def unplanned(records):
    records.append({**records[0], "id": "tests/x.py::test_y[z]"})


RECORDS, VERDICT = "run/records.jsonl", "run/verdict.json"


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (slower, RECORDS),
        (edit_json("run/thresholds.json", lower_limit), RECORDS),
        (edit_json(VERDICT, accepted), VERDICT),
        (edit_records(a_figure), RECORDS),
        (edit_records(unplanned), RECORDS),
        (lambda content: content.pop(a_transcript(content)), "run/transcripts/"),
        (lambda c: c.update({"run/transcripts/x.json": c[a_transcript(c)]}), "run/transcripts/x"),
    ],
)
def test_a_forger_without_a_key_is_found_by_judging_again(healthy, verify, tmp_path, change, fault):
    code, out, err = verify(forged(healthy.path, tmp_path / "b", change))
    assert (code, out) == (1, "")
    assert err.startswith(f"railgauge: NOT VERIFIED: {fault}"), err


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (edit_records(a_lie), RECORDS),
        (edit_records(no_evidence), RECORDS),
        (edit_records(other_evidence), RECORDS),
        (edit_records(fewer), RECORDS),
        (edit_json("run/run.json", lambda run: run.update(planned=run["planned"][:5])), RECORDS),
        (
            edit_json(
                "run/environment.json",
                lambda e: e["nodes"]["viper"]["facts"]["nics"][0].update(port_state="ACTIVE"),
            ),
            RECORDS,
        ),
    ],
)
def test_what_failed_cannot_be_made_to_look_well(red, verify, tmp_path, change, fault):
    code, out, err = verify(forged(red.path, tmp_path / "b", change))
    assert (code, out) == (1, "")
    assert err.startswith(f"railgauge: NOT VERIFIED: {fault}"), err


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (no_evidence, "is passed without evidence"),
        (other_evidence, "asks for a fact that it is not about"),
        (a_lie, "which did not fail"),
        (another_reason, "is recorded with values that differ from its evidence"),
        (unplanned, "was not planned"),
    ],
)
def test_the_line_says_what_is_wrong_with_an_item(red, verify, tmp_path, change, why):
    _, _, err = verify(forged(red.path, tmp_path / "b", edit_records(change)))
    assert why in err


def test_a_statement_that_says_another_verdict(red, verify, tmp_path):
    def change(content):
        statement = bench.payload(content)
        statement["predicate"]["railgauge"]["verdict"] = "accepted"
        bench.restate(content, statement)

    code, _, err = verify(changed(red.path, tmp_path / "b", change))
    assert code == 1
    assert err.startswith(
        "railgauge: NOT VERIFIED: statement.dsse.json: is of another run or verdict: accepted"
    )


# --- under other limits ---


def test_other_limits_tell_item_by_item_what_they_change(healthy, verify, tmp_path):
    document = json.loads(bench.files(healthy.path)["run/thresholds.json"])
    limits = tmp_path / "mine.json"
    limits.write_text(json.dumps(document))
    code, out, _ = verify(healthy.path, "--thresholds", limits)
    assert code == 0
    assert "0 items differ: the same verdict, accepted" in out
    for limit in document["measurements"]["host_write_bandwidth"]["limits"]:
        limit["floor"] = 3800.0
    limits.write_text(json.dumps(document))
    code, out, _ = verify(healthy.path, "--thresholds", limits, "--json")
    report = json.loads(out)
    other = report["under_other_limits"]
    assert (code, report["verdict"]["verdict"]) == (1, "accepted")
    assert (other["verdict"]["verdict"], other["stands"]) == ("rejected", False)
    assert {one["judged"] for one in other["differences"]} == {"failed"}
    assert all("test_bandwidth[host_write_bandwidth-" in one["id"] for one in other["differences"])
    assert len(other["differences"]) == 3


def test_facts_and_declared_hardware_are_judged_again_too(healthy, verify, tmp_path):
    document = json.loads(bench.files(healthy.path)["run/thresholds.json"])
    document["hardware"]["nics"][0]["model"] = "MT9999"
    limits = tmp_path / "mine.json"
    limits.write_text(json.dumps(document))
    code, out, _ = verify(healthy.path, "--thresholds", limits, "--json")
    changes = json.loads(out)["under_other_limits"]["differences"]
    assert code == 1
    assert {one["id"].split("[")[0].rsplit("::")[-1] for one in changes} == {"test_nic_model"}


# --- making one ---


def test_what_cannot_be_bundled(healthy, tmp_path, capsys):
    def fails(*words):
        code = bench.main(["bundle", *map(str, words), "-o", str(tmp_path / "out")])
        err = capsys.readouterr().err
        assert not (tmp_path / "out").exists()
        assert len(err.splitlines()) == 1
        return code, err

    code, err = fails(tmp_path, "--unsigned")
    assert code == 2
    assert f"{tmp_path}: has no run.json; name the folder of a run that reached a verdict" in err
    copy = tmp_path / "copy"
    bench.subprocess.run(["cp", "-rL", healthy.run.latest, copy], check=True)
    with (copy / "verdict.json").open("a") as file:
        file.write(" ")
    code, err = fails(copy, "--unsigned")
    assert code == 2
    assert "verdict.json: was changed after the run" in err
    (copy / "manifest.json").unlink()
    code, err = fails(copy, "--unsigned")
    assert code == 2
    assert "does not make a bundle that verifies: run/verdict.json" in err


def test_the_default_is_the_latest_run(healthy, tmp_path):
    done = bench.elsewhere(
        "bundle", "--unsigned", "--root", str(healthy.project.folder), cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "UNSIGNED" in done.stderr
    (made,) = tmp_path.iterdir()
    assert made.name == f"{healthy.run.latest.resolve().name}.railgauge"
