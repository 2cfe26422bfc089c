"""Who may have signed: lines of an allowed-signers file, read as ``ssh-keygen -Y verify`` does."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from datetime import datetime, timezone

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from testing import bundle_bench as bench

from railgauge.bundle import signers
from railgauge.core.errors import BadInput

NOW = "20261129120000"
ACCEPTED = (
    "",
    'namespaces="railgauge"',
    'NameSpaces="git,rail*"',
    'namespaces="file,?ailgauge"',
    'valid-after="20260101"',
    'valid-before="20270101Z",valid-after="20260101Z"',
    'valid-before="202611291200Z"',
    'valid-after="20261129120000Z"',
    'valid-after="20261129120000z"',
)
UNFIT = (
    'valid-before="20200101"',
    'valid-before="20261129115959Z"',
    'valid-after="202611291201Z"',
    'namespaces="git"',
    'namespaces="railgauge,!rail*"',
    'namespaces="Railgauge"',
    'namespaces=""',
    'namespaces="[r]ailgauge"',
)
REFUSED = (
    'valid-before="2020"',
    'valid-before="20201301Z"',
    'valid-before="19700101Z"',
    'valid-after="20270101Z",valid-before="20260101Z"',
    "valid-before=20270101",
    'valid-before="20270101',
    'valid-before="20270101Z",valid-before="20280101Z"',
    'namespaces="railgauge",',
    "no-pty",
    'expiry-time="20200101"',
    'namespaces="a\\",namespaces="railgauge"',
    "*",
)


@pytest.fixture(scope="module")
def key(tmp_path_factory):
    return bench.key_pair(tmp_path_factory.mktemp("signers"), "vendor")


def public(key):
    return " ".join(key.with_suffix(".pub").read_text().split()[:2])


def now_s():
    return datetime(2026, 11, 29, 12, tzinfo=timezone.utc).timestamp()


def read(text):
    return list(signers.signers(text.encode(), now_s(), "FILE"))


def line(options, key):
    return " ".join(filter(None, ("night@site", options, public(key))))


@pytest.mark.parametrize("options", ACCEPTED)
def test_a_valid_key_may_sign(key, options):
    (one,) = read(line(options, key) + " comment")
    assert (one.name, one.unfit) == ("night@site", "")


@pytest.mark.parametrize("options", UNFIT)
def test_an_invalid_key_may_not_sign(key, options):
    (one,) = read(line(options, key))
    assert one.unfit.startswith(("is valid only after", "was valid only before", "is for the name"))


@pytest.mark.parametrize("options", [*REFUSED, "cert-authority"])
def test_an_unsupported_option_is_refused_with_its_line(key, options):
    with pytest.raises(BadInput, match="FILE: line 2: "):
        read("# who may\n" + line(options, key))


@pytest.mark.parametrize(
    "text",
    [
        "@revoked * {}",
        "@cert-authority *.site {}",
        "cert-authority {}",
        'valid-before="20200101" {}',
        "night@site",
        'night@site namespaces="railgauge"',
        '"night {}',
        "night@site ssh-ed25519 AAAA",
        "night@site ssh-ed448 AAAA",
    ],
)
def test_a_line_without_a_signer_is_refused(key, text):
    with pytest.raises(BadInput, match="FILE: line 1: "):
        read(text.format(public(key)))


def test_names_are_read_and_comments_and_other_keys_skipped(key):
    other = Ed25519PrivateKey.generate().public_key()
    form = serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    hidden = other.public_bytes(*form).decode()
    rsa = "ci ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQ"
    plain = f"{public(key)} {hidden}\r\n"
    text = f'\n  # {hidden}\n{rsa}\n"a b@site,*@x" {plain}{plain}'
    assert [one.name for one in read(text)] == ["a b@site,*@x", ""]


def test_a_file_that_is_too_long_is_not_read_in_part(key, tmp_path):
    path = tmp_path / "allowed"
    path.write_text(f"{line('', key)}\n" + "#" * 2**16)
    with pytest.raises(BadInput, match="has more than 65536 bytes"):
        signers.load(path, now_s())


@pytest.mark.parametrize("zone", ["UTC", "AAA23:59", "BBB-14"])
def test_ssh_keygen_decides_the_same(key, zone, tmp_path, monkeypatch, cannot_run):
    """Of each of these lines, in the zone of the machine; it refuses no more and no fewer."""
    if shutil.which("ssh-keygen") is None:
        cannot_run("there is no ssh-keygen")
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    data, allowed = tmp_path / "data", tmp_path / "allowed"
    data.write_text("statement")
    sign = ("ssh-keygen", "-Y", "sign", "-f", tmp_path / "private", "-n", signers.NAMESPACE, data)
    private = tmp_path / "private"
    shutil.copy(key, private)
    private.chmod(0o600)
    subprocess.run(sign, check=True, capture_output=True)
    check = ("ssh-keygen", "-Y", "verify", "-f", allowed, "-I", "night@site", "-n")
    check += (signers.NAMESPACE, "-s", f"{data}.sig", f"-Overify-time={NOW}Z")
    local = ('valid-before="202611290000"', 'valid-after="202611292300"', 'valid-before="20261130"')
    try:
        for options in (*ACCEPTED, *UNFIT, *REFUSED, "cert-authority", *local):
            allowed.write_text(line(options, key) + "\n")
            done = subprocess.run(check, input=b"statement", capture_output=True, check=False)
            try:
                (one,) = read(line(options, key))
                is_fit = not one.unfit
            except BadInput:
                is_fit = False
            assert is_fit == (done.returncode == 0), (options, done.stderr)
    finally:
        monkeypatch.undo()
        time.tzset()


def test_verify_names_the_signer_and_counts_no_key_that_may_not_sign(
    healthy, verify, key, tmp_path
):
    path, allowed = tmp_path / "signed.railgauge", tmp_path / "allowed"
    bench.bundle(healthy.run.latest, path, "--key", str(key))
    allowed.write_text(line('namespaces="rail*",valid-before="99980101Z"', key))
    code, out, _ = verify(path, "--key", allowed)
    assert code == 0
    assert "signature  of night@site, SHA256:" in out
    _, out, _ = verify(path, "--key", allowed, "--json")
    assert json.loads(out)["signature"]["signer"] == "night@site"
    allowed.write_text(line('valid-before="20200101"', key))
    code, _, err = verify(path, "--key", allowed)
    assert code == 1
    assert "night@site, SHA256:" in err
    assert "a given key, but it was valid only before 20200101" in err
    allowed.write_text(line("cert-authority", key))
    code, _, err = verify(path, "--key", allowed)
    assert (code, "line 1: 'cert-authority' is not supported" in err) == (2, True)
