"""A bundle from an untrusted source: whatever is wrong with it is reported in one line."""

from __future__ import annotations

import gzip
import io
import json
import random
import tarfile
import time

import pytest
from testing import bundle_bench as bench
from testing.bundle_bench import changed, edit_json, forged

from railgauge.bundle import archive, check
from railgauge.bundle.archive import Caps
from railgauge.core.errors import BadBundle, NotVerified


def packed(path, *infos):
    """An archive of members that railgauge never writes: (TarInfo, data)."""
    with tarfile.open(path, "w:gz", format=tarfile.GNU_FORMAT) as tar:
        for info, data in infos:
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


def member(name, **fields):
    info = tarfile.TarInfo(name)
    for field, value in fields.items():
        setattr(info, field, value)
    return info


@pytest.mark.parametrize(
    "name",
    [
        "../outside",
        "run/../../outside",
        "/etc/outside",
        "run//double",
        "./run/x",
        "C:/outside",
        "run\\outside",
        "run/line\nbreak",
        "run/escape\x1b[2J",
        "run/ ",
        "x" * 2000,
        "run/" + "y" * 300,
    ],
)
def test_names_that_lead_out_of_the_bundle_are_refused(verify, tmp_path, name):
    path = packed(tmp_path / "b", (member(name), b"x"))
    code, out, err = verify(path)
    assert (code, out) == (2, "")
    assert "is not a valid file name in a bundle" in err or "leads out of the bundle" in err
    assert "\x1b" not in err
    assert sorted(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "kind",
    [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE,
     tarfile.DIRTYPE, tarfile.CONTTYPE, tarfile.GNUTYPE_SPARSE],
)  # fmt: skip
def test_members_that_are_no_plain_files_are_refused(verify, tmp_path, kind):
    info = member("run/x", type=kind, linkname="../../etc/passwd")
    code, _, err = verify(packed(tmp_path / "b", (info, b"")))
    assert code == 2
    assert "is not a regular file" in err


def test_a_name_twice_and_a_file_as_a_folder_are_refused(verify, tmp_path):
    twice = packed(tmp_path / "twice", (member("run/a"), b"1"), (member("run/a"), b"2"))
    assert "is in it twice" in verify(twice)[2]
    below = packed(tmp_path / "below", (member("run/a"), b"1"), (member("run/a/b"), b"2"))
    assert "lies below a file" in verify(below)[2]


def refused(path, caps):
    with pytest.raises(BadBundle) as caught, archive.opened(path, caps):
        pass
    return str(caught.value)


def test_archive_bombs_are_refused_before_they_fill_the_disk(tmp_path):
    path = tmp_path / "bomb"
    with gzip.open(path, "wb") as file:
        for _ in range(200):
            file.write(bytes(2**20))
    assert path.stat().st_size < 2**20
    assert "inflates to more than 64 MiB" in refused(path, Caps())
    many = packed(tmp_path / "many", *((member(f"run/{i}"), b"") for i in range(20)))
    assert "more than 10 files" in refused(many, Caps(files=10))
    large = packed(tmp_path / "large", (member("run/x"), bytes(5000)))
    assert "more than is allowed" in refused(large, Caps(file_bytes=4999))
    assert "inflates to more than 0 MiB" in refused(large, Caps(total_bytes=1000))


def test_a_header_that_claims_to_be_huge_is_refused(tmp_path):
    """An extended header, which a reader holds in memory, claims a size of 60 MiB."""
    info = member("run/x", type=tarfile.XHDTYPE)
    info.size = 60 * 2**20
    head = info.tobuf(tarfile.USTAR_FORMAT)
    for held in (2**21, info.size + 10240):  # it has less than that, or all of it
        path = tmp_path / "b"
        path.write_bytes(gzip.compress(head + bytes(held), compresslevel=1))
        assert "a header of more than 1048576 bytes" in refused(path, Caps(ratio=10**6))


def test_headers_of_many_files_are_not_taken_for_one(tmp_path):
    """Each of these is small; together they are larger than a header may be."""
    members = [member(f"run/{number}") for number in range(2200)]
    raw = b"".join(one.tobuf(tarfile.USTAR_FORMAT) for one in members) + bytes(10240)
    path = tmp_path / "b"
    path.write_bytes(gzip.compress(raw))
    with archive.opened(path, Caps(ratio=10**6)) as held:
        assert "run/2199" in held


@pytest.mark.parametrize("claimed", [b"77777777777\0", b"\x80" + b"\xff" * 11, b"-0000000001\0"])
def test_impossible_sizes_are_refused(tmp_path, claimed):
    header = bytearray(member("run/x").tobuf(tarfile.USTAR_FORMAT))
    header[124:136] = claimed
    header[148:156] = b" " * 8
    header[148:156] = f"{sum(header):06o}\0 ".encode()
    path = tmp_path / "b"
    path.write_bytes(gzip.compress(bytes(header) + bytes(10240)))
    refused(path, Caps())


def test_data_behind_the_end_of_the_archive_are_refused(healthy, tmp_path):
    plain = gzip.decompress(healthy.path.read_bytes())
    path = tmp_path / "b"
    path.write_bytes(gzip.compress(plain + member("run/hidden").tobuf()))
    assert "behind the end" in refused(path, Caps())


@pytest.mark.parametrize("data", [b"", b"\x1f", b"PK\x03\x04", b"\x1f\x8b" + b"x" * 100])
def test_a_file_that_is_no_archive_is_refused(verify, tmp_path, data):
    path = tmp_path / "b"
    path.write_bytes(data)
    code, out, err = verify(path)
    assert (code, out) == (2, "")
    assert err.startswith("railgauge: b: ")


def test_a_cut_and_an_empty_bundle_are_refused(healthy, verify, tmp_path):
    path = tmp_path / "half"
    data = healthy.path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    assert verify(path)[0] == 2
    assert verify(tmp_path / "none")[0] == 2
    assert verify(tmp_path)[0] == 2


# --- JSON ---

DEEP = b"[" * 200_000 + b"]" * 200_000
JSONS = {
    "deep": DEEP,
    "half": b'{"schema_version": 1',
    "nan": b'{"schema_version": NaN}',
    "infinite": b'{"schema_version": 1e999}',
    "digits": b'{"schema_version": ' + b"9" * 10_000 + b"}",
    "twice": b'{"schema_version": 1, "schema_version": 1}',
    "latin": b'{"schema_version": "\xe9"}',
    "list": b"[]",
    "text": b'"x"',
    "null": b"null",
    "empty": b"",
    "version": b'{"schema_version": 99}',
    "none": b"{}",
    "true": b'{"schema_version": true}',
}
READ = ("run/run.json", "run/cluster.json", "run/environment.json", "run/thresholds.json",
        "run/records.jsonl")  # fmt: skip


@pytest.mark.parametrize("name", READ)
@pytest.mark.parametrize("kind", JSONS)
def test_invalid_json_is_refused(healthy, verify, tmp_path, name, kind):
    end = b"\n" if name.endswith("jsonl") else b""
    if name.endswith("jsonl") and kind == "empty":
        return  # no item has ended, so an empty file is correct
    bad = forged(healthy.path, tmp_path / "b", lambda c: c.update({name: JSONS[kind] + end}))
    code, out, err = verify(bad)
    assert (code, out) == (2, "")
    assert name in err


@pytest.mark.parametrize("kind", JSONS)
def test_an_invalid_envelope_or_statement_is_refused(healthy, verify, tmp_path, kind):
    path = changed(healthy.path, tmp_path / "b", lambda c: c.update({bench.STATEMENT: JSONS[kind]}))
    assert verify(path)[0] == 2

    def inner(content):
        envelope = json.loads(content[bench.STATEMENT])
        envelope["payload"] = bench.base64.b64encode(JSONS[kind]).decode()
        content[bench.STATEMENT] = json.dumps(envelope).encode()

    code, _, err = verify(changed(healthy.path, tmp_path / "b", inner))
    assert code == 2
    assert "statement.dsse.json" in err


def first_transcript(content):
    return next(n for n in content if n.startswith("run/transcripts/") and n.endswith(".json"))


WRONG = {
    "run/run.json": [
        lambda d: d.update(level="other"),
        lambda d: d.update(planned="tests"),
        lambda d: d.update(rounds=10**30),
        lambda d: d.update(rounds=-1),
        lambda d: d.update(directions=4),
        lambda d: d.update(directions="alternating"),
        lambda d: d.update(run_id="../../x"),
        lambda d: d.update(surplus=1),
        lambda d: d.pop("planned"),
        lambda d: d["planned"].append(d["planned"][0]),
    ],
    "run/cluster.json": [
        lambda d: d.update(name="../../outside"),
        lambda d: d["nodes"][0].update(name="../x"),
        lambda d: d["nodes"][0].update(name=7),
        lambda d: d.update(nodes=[]),
        lambda d: d["nodes"].append(d["nodes"][0]),
        lambda d: d.update(groups={"g": ["nobody"]}),
        lambda d: d["nodes"][0]["ssh"].update(connect_timeout_s="1"),
    ],
    "run/environment.json": [
        lambda d: d.update(nodes=[]),
        lambda d: d["nodes"]["viper"]["facts"].update(cpus="many"),
        lambda d: d["nodes"]["viper"]["facts"].pop("nics"),
        lambda d: d["nodes"]["viper"]["facts"]["nics"][0].update(lid=[1]),
        lambda d: d["nodes"].update(viper={"error": {"kind": "x"}}),
    ],
    "run/thresholds.json": [
        lambda d: d["hardware"]["nics"][0].update(rate_gbps="fast"),
        lambda d: d.update(measurements={"x": {}}),
        lambda d: d["hardware"].update(
            gpus={"vendor": "nvidia", "model": "x", "count": 10**9, "memory_mib": 1}
        ),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "index"), [(n, i) for n, c in WRONG.items() for i in range(len(c))]
)
def test_wrong_types_and_values_are_refused(healthy, verify, tmp_path, name, index):
    change = edit_json(name, WRONG[name][index])
    code, out, err = verify(forged(healthy.path, tmp_path / "b", change))
    assert (code, out) == (2, "")
    assert name in err


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.update(runs={}),
        lambda d: d["runs"][0][0].update(stdout=5),
        lambda d: d["runs"][0][0].update(argv="ls"),
        lambda d: d["runs"][0][0].update(exit_code=2**70),
        lambda d: d.update(error={"kind": "x"}),
        lambda d: d["case"].update(repeats="1"),
    ],
)
def test_transcripts_with_wrong_types_are_refused(healthy, verify, tmp_path, change):
    def edit(content):
        edit_json(first_transcript(content), change)(content)

    code, _, err = verify(forged(healthy.path, tmp_path / "b", edit))
    assert code == 2
    assert "run/transcripts/" in err


@pytest.mark.parametrize(
    "change",
    [
        lambda r: r.update(outcome="splendid"),
        lambda r: r.update(questions=[{"kind": "read", "case": 5}]),
        lambda r: r.update(judgements="none"),
        lambda r: r.update(rung=[]),
        lambda r: r.pop("id"),
    ],
)
def test_records_with_wrong_types_are_refused(healthy, verify, tmp_path, change):
    edit = bench.edit_records(lambda records: change(records[0]))
    code, _, err = verify(forged(healthy.path, tmp_path / "b", edit))
    assert code == 2
    assert "run/records.jsonl:1" in err


ADDRESSES = b'{"run": "x", "nodes": {"viper": {"data_address": "v", "nic_addresses": {}}}}\n'


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("run/elsewhere.jsonl", b"5\n"),
        ("run/elsewhere.jsonl", b'{"run": "x", "nodes": {"viper": 5}}\n'),
        ("run/elsewhere.jsonl", ADDRESSES.replace(b'"v"', b"7")),
        ("run/elsewhere.jsonl", ADDRESSES * 101),
        ("run/measurements.jsonl", b"[]\n"),
        ("run/measurements.jsonl", b'{"id": 5}\n'),
    ],
)
def test_lines_with_wrong_types_are_refused(healthy, verify, tmp_path, name, data):
    code, out, err = verify(forged(healthy.path, tmp_path / "b", lambda c: c.update({name: data})))
    assert (code, out) == (2, "")
    assert name in err


def test_a_secret_of_any_length_takes_little_time(healthy, verify, tmp_path):
    """The masked word of a command is looked up in the planned command only."""

    def change(data):
        data["runs"][0][0]["argv"][0] = "[secret]" + "a-" * 1_000_000

    began = time.process_time()
    bad = forged(healthy.path, tmp_path / "b", lambda c: edit_json(first_transcript(c), change)(c))
    assert verify(bad)[0] == 1
    assert time.process_time() - began < 10.0


def test_questions_that_no_test_asks_are_refused(healthy, verify, tmp_path):
    """Values of the right type without meaning: the bundle is refused, without a traceback."""

    def questions(records):
        fact = next(r for r in records if r["questions"][0]["kind"] == "fact")
        yield fact["questions"][0]["fact"], {"paths": ["__class__.__mro__"]}
        yield fact["questions"][0]["fact"], {"paths": []}
        yield fact["questions"][0]["fact"], {"declared": "nics." + "9" * 5000}
        yield fact["questions"][0]["fact"], {"paths": ["nics.*.__dict__"]}
        yield fact["questions"][0]["fact"], {"absent": "x", "paths": ["kernel"]}
        measured = next(r for r in records if r["questions"][-1]["kind"] == "limits")
        yield measured["questions"][-1], {"kind": "ratio", "metric": "x"}
        yield measured["questions"][-1], {"kind": "magic"}
        yield measured["questions"][0]["case"], {"sizes": []}
        yield measured["questions"][0]["case"], {"repeats": 10**9}

    for number in range(9):

        def change(records, number=number):
            target, fields = list(questions(records))[number]
            target.update(fields)

        path = forged(healthy.path, tmp_path / "b", bench.edit_records(change))
        code, out, err = verify(path)
        assert (code, out) == (1, ""), number
        assert err.startswith("railgauge: NOT VERIFIED: run/records.jsonl: ")


def test_no_text_of_a_bundle_controls_the_terminal(red, verify, tmp_path):
    def change(records):
        records[0]["id"] = "evil\x1b[2Jid"

    _, _, err = verify(forged(red.path, tmp_path / "b", bench.edit_records(change)))
    assert "\x1b" not in err


def test_any_damage_to_the_inflated_archive_is_found(healthy, tmp_path):
    """Bytes changed at random places: the bundle is refused, and no other exception is raised."""
    plain = gzip.decompress(healthy.path.read_bytes())
    used = len(plain.rstrip(b"\0"))
    dice = random.Random(5)
    harmless = 0
    for _ in range(60):
        data = bytearray(plain)
        for _ in range(dice.choice((1, 1, 8))):
            data[dice.randrange(used)] ^= dice.randrange(1, 256)
        path = tmp_path / "b"
        path.write_bytes(gzip.compress(bytes(data), 1))
        try:
            with archive.opened(path) as held:
                check.verify(held)
        except (BadBundle, NotVerified):
            continue
        harmless += 1
    # The padding after a file's last byte belongs to no file.
    assert harmless < 45
