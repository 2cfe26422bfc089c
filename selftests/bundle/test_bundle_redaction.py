"""A run's folder holds no secrets; a redacted bundle holds only what the site agreed to."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace

import pytest
from testing import bundle_bench as bench
from testing.bundle_bench import HOSTS, SECRET, SHORT_SECRET

from railgauge.bundle.redact import FileRedactor, digested_keys, versions_of
from railgauge.core.codec import to_plain
from railgauge.core.errors import ToolFailed
from railgauge.core.masking import Mask
from railgauge.core.model import Case, Transcript
from railgauge.core.pseudonyms import Pseudonyms
from railgauge.core.question import CaseResult
from railgauge.core.secret_forms import MASK
from railgauge.run import store as store_module
from railgauge.run.case_files import case_file
from railgauge.run.store import Store, identity


def everything(folder):
    return {p: p.read_bytes() for p in folder.resolve().rglob("*") if p.is_file()}


def test_no_secret_of_the_hostfile_is_in_a_report(healthy):
    for path, data in everything(healthy.run.latest).items():
        assert SECRET.encode() not in data, path
    assert SECRET not in healthy.run.output
    hostfile = (healthy.run.latest / "hostfile.yaml").read_text()
    assert f"LAB_API_TOKEN: {MASK}, LAB_PASSWORD: {MASK}" in hostfile
    cluster = json.loads((healthy.run.latest / "cluster.json").read_text())
    assert cluster["environment"] == {"LAB_API_TOKEN": MASK, "LAB_PASSWORD": MASK}


def test_a_transcript_is_kept_and_judged_without_the_secret(tmp_path, monkeypatch):
    """The command contained the secret; any output that repeats it is masked."""
    monkeypatch.setattr(store_module, "MASK_OF_PROCESS", mask := Mask())
    environment = {"LAB_API_TOKEN": SECRET, "LAB_PASSWORD": SHORT_SECRET, "NCCL_DEBUG": "INFO"}
    mask.know(environment)
    store = Store(tmp_path)
    words = tuple(f"{name}={value}" for name, value in environment.items())
    ran = Transcript(
        "viper", ("mpirun", "-x", *words), 1, f"using {SECRET} now", f"bad {SECRET}", 1.0,
        environment=environment,
    )  # fmt: skip
    case = Case("x", ("viper",), None, ())
    kept = store.save(case, CaseResult(((ran,),), ToolFailed(f"said {SECRET}")))
    assert kept.runs == store.load(case).runs
    (one,) = kept.runs[0]
    assert one.environment == {**environment, "LAB_API_TOKEN": MASK, "LAB_PASSWORD": MASK}
    assert one.argv[2:] == (f"LAB_API_TOKEN={MASK}", f"LAB_PASSWORD={MASK}", "NCCL_DEBUG=INFO")
    assert (one.stdout, one.stderr) == (f"using {MASK} now", f"bad {MASK}")
    assert str(kept.error) == f"said {MASK}"
    for path, data in everything(tmp_path).items():
        assert SECRET.encode() not in data, path
        assert SHORT_SECRET.encode() not in data, path


@pytest.fixture(scope="module")
def redacted(red, tmp_path_factory):
    path = tmp_path_factory.mktemp("redacted") / "b.railgauge"
    bench.bundle(red.run.latest, path, "--unsigned", "--redact", "hosts,addresses")
    return path


def test_names_and_addresses_are_gone_everywhere(redacted):
    content = bench.files(redacted)
    text = b"\n".join(content.values()) + "\n".join(content).encode()
    text += json.dumps(bench.payload(content)).encode()
    for host in HOSTS:
        assert host.encode() not in text
    assert not re.search(rb"(?<![\d.])127\.0\.[1-9]\d*\.\d+", text)
    assert b"host001" in text


def test_requests_that_are_given_one_by_one_add_up(red, redacted, tmp_path):
    path = tmp_path / "b.railgauge"
    options = ("--redact", "hosts", "--redact", "addresses", "--redact", "hosts")
    bench.bundle(red.run.latest, path, "--unsigned", *options)
    assert path.read_bytes() == redacted.read_bytes()


def test_a_redacted_bundle_verifies_and_is_judged_alike(red, redacted, verify):
    code, out, _ = verify(redacted, "--json")
    found = json.loads(out)
    assert code == 1
    assert found["verdict"]["counts"] == red.run.verdict["counts"]
    assert found["redacted"]["on_request"] == ["addresses", "hosts"]
    assert found["redacted"]["counts"]["host name"] > 1000
    causes = [cause["cause"] for cause in found["verdict"]["causes"]]
    assert causes == [cause["cause"] for cause in red.run.verdict["causes"]]


def test_a_name_has_one_pseudonym_in_files_and_their_names(red, redacted):
    content = bench.files(redacted)
    names = dict(zip(sorted(HOSTS), ("host001", "host002", "host003"), strict=True))
    ids = [json.loads(line)["id"] for line in content["run/records.jsonl"].splitlines()]
    expected = [json.loads(line)["id"] for line in _lines(red, "records.jsonl")]
    for old, new in names.items():
        expected = [item.replace(old, new) for item in expected]
    assert ids == expected
    held = {name.split("/")[-1] for name in content if name.startswith("run/transcripts/")}
    for old in {path.name for path in (red.run.latest / "transcripts").iterdir()}:
        assert re.sub("|".join(names), lambda match: names[match[0]], old) in held


def _lines(bundled, name):
    return (bundled.run.latest / name).read_text().splitlines()


@pytest.mark.parametrize(
    "hosts",
    [
        [f"gpu-{number:03}" for number in range(40)],
        [
            f"gpu-{number:03}.row-12.a-hall-of-eight-rows.a-long-domain.example.org"
            for number in (1, 2)
        ],
        ["bücher", "ノード1"],
        ["ノード1", "サーバ1"],
    ],
    ids=["many", "long", "international", "international and alike"],
)
def test_a_file_that_cannot_name_its_nodes_is_renamed_with_them(tmp_path, hosts):
    """Redacted records find their transcripts: a short pseudonym needs no digest in its place."""
    case = Case("group_all_reduce", tuple(hosts), None, (8,))
    store = Store(tmp_path)
    store.save(case, CaseResult((), ToolFailed(f"said {hosts[0]}")))
    (name,) = [path.name for path in store.transcripts.glob("*.json")]
    redactor = FileRedactor(hosts, addresses=False)
    redactor.know_stems(digested_keys(tmp_path, [f"transcripts/{name}"]))
    pseudonyms = tuple(redactor.name(host) for host in hosts)
    assert not set(pseudonyms) & set(hosts)
    other = replace(case, nodes=pseudonyms)
    assert redactor.name(f"transcripts/{name}") == case_file(other) != case_file(case)
    assert redactor.name(f"see {store.transcript_name(case)}") == (
        f"see {store.transcript_name(other)}"
    )
    data = redactor.file(name, (store.transcripts / name).read_bytes())
    assert json.loads(data)["case"] == to_plain(identity(other))


# --- pseudonyms alone ---


def written(folder, gpu_software, *addresses):
    """The part of a run's folder that shows which words are versions."""
    node = {"name": "mx01", "address": "mx01", "data_address": "mx01", "ssh": {"jump": None}}
    node["nic_addresses"] = {f"nic{n}": one for n, one in enumerate(addresses)}
    (folder / "cluster.json").write_text(json.dumps({"nodes": [node]}))
    facts = {"nodes": {"mx01": {"facts": {"gpu_software": gpu_software}}, "mx02": {"error": "x"}}}
    (folder / "environment.json").write_text(json.dumps(facts))
    return versions_of(folder, ["cluster.json", "environment.json"])


def test_a_guid_of_zeros_stays_one():
    """The GUID is judged: a pseudonym with a number of its own would pass."""
    redactor = FileRedactor(None, addresses=True)
    text = b"0x0000000000000000 0x248a070300ac5414 0x248a070300ac5414"
    kept, *others = redactor.file("a.txt", text).split()
    assert kept == b"0x0000000000000000"
    assert others == [b"0x0000000000000001"] * 2


def test_a_version_of_four_numbers_is_no_address(tmp_path):
    kept = written(tmp_path, {"runtime": "2.32.0.6", "driver": "570.86.15"})
    assert kept == {"2.32.0.6"}
    redactor = FileRedactor(None, addresses=True, versions=kept)
    assert redactor.file("a.txt", b"maca 2.32.0.6 at 2.32.0.7") == b"maca 2.32.0.6 at 198.18.0.1"


@pytest.mark.parametrize(
    ("version", "addresses"),
    [
        ("2.32.0.6", ["2.32.0.6"]),  # an address of the hostfile
        ("10.2.89.107", []),
        ("192.168.1.7", []),
        ("100.64.0.3", []),
        ("2.32.0.6 on 8.8.8.8", []),
    ],
)
def test_a_possible_address_is_redacted_although_a_node_reports_it_as_a_version(
    tmp_path, version, addresses
):
    assert written(tmp_path, {"runtime": version}, *addresses) == set()


def test_pseudonyms_are_stable_and_distinct():
    hosts = ["mx02", "mx01", "mx01.example.org", "login.site", "10.1.2.3", "mx10"]
    names = Pseudonyms(hosts, addresses=True)

    def shown(text):
        return names.text(text, Counter())

    assert shown("mx01 mx02 mx10 mx1 mx010 xmx01") == "host001 host002 host003 mx1 mx010 xmx01"
    assert shown("mx01.example.org login.site") == "host001.example host004.example"
    assert shown("write[mx01:mx02-mlx5_0] x_mx01+mx02.txt") == (
        "write[host001:host002-mlx5_0] x_host001+host002.txt"
    )
    assert shown("on mx[01-02] and mx[01-03]") == "on host[001-002] and mx[01-03]"
    first = shown("10.1.2.3:18515")
    assert first == "198.18.0.1:18515"
    assert shown("to 10.1.2.3, 10.1.2.4") == "to 198.18.0.1, 198.18.0.2"
    assert shown("fe80::1 12:30:45 0000:17:00.0 1.2.3 127.0.0.1 py::test") == (
        "2001:0db8:0000:0000:0000:0000:0000:0001 12:30:45 0000:17:00.0 1.2.3 127.0.0.1 py::test"
    )
