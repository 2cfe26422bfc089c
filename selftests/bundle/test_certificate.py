"""``railgauge certificate``: of one record, of unchanged files, for paper."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from dataclasses import replace

import pytest
from testing import browser
from testing import bundle_bench as bench

from railgauge.bundle import certified
from railgauge.cli import main
from railgauge.core.model import Outcome
from railgauge.facts import NodeFacts
from railgauge.report.certificate import document, summary
from railgauge.report.certificate.certified import duration, moment


@pytest.fixture
def certificate(capsys, tmp_path):
    """``certificate(run, *options)`` returns exit code, page, stdout and stderr."""

    def certificate(run, *options):
        capsys.readouterr()
        path = tmp_path / "page.html"
        path.unlink(missing_ok=True)
        code = main(["certificate", str(run), "-o", str(path), *map(str, options)])
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        assert len(err.splitlines()) <= 1
        return code, path.read_text() if path.exists() else "", out, err

    return certificate


@pytest.fixture
def copied(healthy, tmp_path):
    return shutil.copytree(healthy.run.latest.resolve(), tmp_path / "copied")


def words(page):
    """The text of the page, without its markup."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.partition("<body>")[2]))


def test_the_certificate_identifies_the_run_and_its_verdict(healthy, certificate):
    code, page, out, _ = certificate(healthy.run.latest)
    verdict, text = healthy.run.verdict, words(page)
    assert code == 0
    planned = verdict["counts"]["planned"]
    assert f"ACCEPTED: all {planned} checks passed" in text
    assert f"ACCEPTED: all {planned} checks passed (SIMULATED evidence)" in out
    plan = json.loads((healthy.run.latest / "run.json").read_text())
    for expected in (
        verdict["run_id"], moment(plan["began"]), moment(plan["ended"]), plan["operator"],
        duration(plan["began"], plan["ended"]), f"railgauge {plan['software']}",
        "Handed over by", "Accepted by", "Signature", "Acceptance certificate",
    ):  # fmt: skip
        assert expected in text, expected
    for name in ("hostfile.yaml", "thresholds.json", "inventory.csv", "records.jsonl"):
        digest = hashlib.sha256((healthy.run.latest / name).read_bytes()).hexdigest()
        assert f"{name} {digest}" in text
    assert "Nobody has signed the files of this run" in text


def test_each_measurement_and_each_node_has_a_row(healthy, certificate):
    page = certificate(healthy.run.latest)[1]
    subjects = {
        item["subject"]
        for item in map(json.loads, (healthy.run.latest / "records.jsonl").read_text().splitlines())
        if item["rung"]
    }
    rows = re.findall(r'<td class="name">(\w+) <small>', page)
    assert set(rows) == {name for name in subjects if name in page}
    assert rows
    for node in bench.HOSTS:
        assert f'<td class="short">{node}</td>' in page
    for number in map(int, re.findall(r'href="#basis-(\d+)"', page)):
        assert f'id="basis-{number}"' in page
    assert "<dt>004</dt>" in page  # the document that a basis names


def test_every_page_names_the_run_and_its_simulated_evidence(healthy, certificate):
    page = certificate(healthy.run.latest)[1]
    assert "SIMULATED EVIDENCE: NO HARDWARE WAS MEASURED" in page.partition("</style>\n<")[2]
    assert f"run {healthy.run.verdict['run_id']}, accepted, simulated evidence" in page
    assert 'content: "page " counter(page) " of " counter(pages)' in page
    assert "no hardware was measured in this run" in page


def test_the_certificate_loads_nothing_and_has_no_script(healthy, certificate):
    page = certificate(healthy.run.latest)[1]
    assert "default-src 'none'" in page
    assert '<html lang="en">' in page
    assert 'name="viewport"' in page
    assert "<script" not in page
    assert "src=" not in page
    assert all(link.startswith("#") for link in re.findall(r'href="([^"]*)', page))
    assert "url(" not in page


def test_a_rejected_run_is_not_called_accepted(red, certificate):
    code, page, _, _ = certificate(red.run.latest)
    text, counts = words(page), red.run.verdict["counts"]
    assert code == 1
    wrong = counts["failed"] + counts["error"]
    of = "it" if wrong == 1 else "them"
    expected = (
        f"REJECTED: {counts['failed']} failed, {counts['blocked']} not measured because of {of}"
    )
    assert expected in text
    assert "Test certificate: not accepted" in text
    assert "Why it was not accepted" in text
    assert red.run.verdict["causes"][0]["remedy"] in text
    assert "Accepted by" not in text
    assert '<td class="short bad">viper</td>' in page


def test_a_bundle_has_the_same_certificate_with_its_signatures(healthy, tmp_path, certificate):
    key = bench.key_pair(tmp_path)
    path = tmp_path / "signed.railgauge"
    bench.bundle(healthy.run.latest, path, "--key", str(key))
    code, page, _, _ = certificate(path)
    of_run = certificate(healthy.run.latest)[1]
    assert code == 0
    assert page.partition("<h2>Evidence</h2>")[0] == of_run.partition("<h2>Evidence</h2>")[0]
    assert (
        f"bundle signed.railgauge</dt><dd>{hashlib.sha256(path.read_bytes()).hexdigest()}" in page
    )
    assert "The bundle verifies and is signed with the key SHA256:" in page
    assert "The bundle is not signed" in certificate(healthy.path)[1]


def test_a_bundle_that_does_not_verify_has_no_certificate(healthy, tmp_path, certificate):
    def lie(content):
        content["run/verdict.json"] = content["run/verdict.json"].replace(b"smoke", b"signoff")

    code, page, out, err = certificate(bench.forged(healthy.path, tmp_path / "f.railgauge", lie))
    assert (code, page, out) == (2, "", "")
    assert "verdict.json" in err


@pytest.mark.parametrize(
    "name", ["records.jsonl", "verdict.json", "environment.json", "hostfile.yaml", "inventory.csv"]
)
def test_a_run_whose_files_were_changed_has_no_certificate(name, copied, certificate):
    with (copied / name).open("a") as file:
        file.write("\n")
    code, page, out, err = certificate(copied)
    assert (code, page, out) == (2, "", "")
    assert f"{name}: was changed after the run" in err


def test_a_file_that_was_removed_is_named(copied, certificate):
    (copied / "junit.xml").unlink()
    assert "junit.xml: is missing: it is in manifest.json" in certificate(copied)[3]


@pytest.mark.parametrize("at", [0, -1])
@pytest.mark.parametrize("remade", [False, True])
def test_a_record_that_is_left_out_passes_nothing(remade, at, copied, certificate):
    """A new manifest does not hide it."""
    records = copied / "records.jsonl"
    lines = records.read_text().splitlines(keepends=True)
    del lines[at]
    records.write_text("".join(lines))
    if remade:
        manifest = json.loads((copied / "manifest.json").read_text())
        manifest["sha256"]["records.jsonl"] = hashlib.sha256(records.read_bytes()).hexdigest()
        (copied / "manifest.json").write_text(json.dumps(manifest))
    code, page, _, err = certificate(copied)
    assert (code, page) == (2, "")
    assert ("has no record of" if remade else "records.jsonl: was changed") in err


def test_a_run_that_did_not_end_has_no_certificate(copied, certificate):
    (copied / "manifest.json").unlink()
    code, page, _, err = certificate(copied)
    assert (code, page) == (2, "")
    assert "has no manifest.json: the run did not end" in err


@pytest.mark.parametrize(
    ("run", "says"),
    [("nowhere", "does not exist"), ("{file}", "is not an evidence bundle"),
     ("{empty}", "has no manifest.json")],
)  # fmt: skip
def test_bad_input_is_one_line(run, says, tmp_path, certificate):
    places = {"file": tmp_path / "f", "empty": tmp_path / "e"}
    places["file"].write_text("x")
    places["empty"].mkdir()
    code, page, out, err = certificate(run.format(**places))
    assert (code, page, out) == (2, "", "")
    assert says in err


def test_a_page_that_cannot_be_written_is_one_line(healthy, tmp_path, capsys):
    (tmp_path / "file").touch()
    code = main(["certificate", str(healthy.run.latest), "-o", str(tmp_path / "file" / "page")])
    assert code == 2
    assert "cannot be written" in capsys.readouterr().err


def test_a_missing_chromium_gives_the_way_to_print(healthy, tmp_path, monkeypatch, certificate):
    monkeypatch.setenv("PATH", str(tmp_path))
    code, page, out, err = certificate(healthy.run.latest, "--pdf", tmp_path / "c.pdf")
    assert (code, page, out) == (2, "", "")
    assert "no Chromium is installed here" in err
    assert "open it in a browser, and print it" in err


def test_a_chromium_that_prints_nothing_is_one_line(healthy, tmp_path, monkeypatch, certificate):
    program = tmp_path / "bin" / "chromium"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho it crashed >&2\nexit 5\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    code, _, _, err = certificate(healthy.run.latest, "--pdf", tmp_path / "c.pdf")
    assert code == 2
    assert "printed no PDF: exit code 5: it crashed" in err
    assert not (tmp_path / "c.pdf").exists()


@pytest.fixture
def chromium(cannot_run):
    if browser.program() is None:
        cannot_run(f"there is none of {', '.join(browser.NAMES)}")


@pytest.mark.usefixtures("chromium")
@pytest.mark.parametrize(("paper", "width"), [("A4", "594"), ("Letter", "612")])
def test_a_pdf_has_its_paper_and_few_pages(paper, width, healthy, tmp_path, certificate):
    path = tmp_path / "c.pdf"
    assert certificate(healthy.run.latest, "--pdf", path, "--paper", paper)[0] == 0
    data = path.read_bytes()
    assert data.startswith(b"%PDF-")
    pages = len(re.findall(rb"/Type\s*/Page\b(?!s)", data))
    assert 2 <= pages <= 12
    assert re.search(rf"/MediaBox\s*\[\s*0\s+0\s+{width}".encode(), data)


def test_report_html_on_paper_begins_with_the_certificate(healthy):
    page = (healthy.run.latest / "report.html").read_text()
    planned = healthy.run.verdict["counts"]["planned"]
    at = page.index('<section class="rgc" id="certificate">')
    assert f"ACCEPTED: all {planned} checks passed" in page[at:]
    assert page.index("ACCEPTED: asserted") < at < page.index('<h2 id="rows">')
    assert "#certificate {order: -1; break-after: page}" in page
    assert f"run {healthy.run.verdict['run_id']}, accepted, simulated evidence" in page


# --- hostile words ---


@pytest.fixture(scope="module")
def run(healthy):
    return certified.read(healthy.run.latest.resolve())


HOSTILE = "</style></td><script>alert(1)</script>\"'; } body { display: none } \x1b[2J"


def test_words_of_nodes_and_people_stay_words(run):
    plan = replace(run.plan, operator=HOSTILE)
    found = {
        name: replace(
            facts,
            parts=tuple(
                replace(one, serial=HOSTILE, model=HOSTILE, missing={"slot": HOSTILE})
                for one in facts.parts
            ),
        )
        for name, facts in run.found.items()
        if isinstance(facts, NodeFacts)
    }
    verdict = replace(run.verdict, cluster=HOSTILE, run_id=HOSTILE, notes=(HOSTILE,))
    page = document.page(replace(run, plan=plan, found=found, verdict=verdict))
    assert "<script" not in page
    assert page.count("</style>") == 2
    style = page[page.index("@bottom-left") :].partition("}")[0]
    assert style.count('"') == 2


def test_a_shell_word_in_a_serial_number_runs_nothing(run, tmp_path):
    odd = "$(touch owned); `touch owned`"
    found = {n: replace(f, hostname=odd) for n, f in run.found.items()}
    (tmp_path / "p.html").write_text(document.page(replace(run, found=found)))
    assert not (tmp_path / "owned").exists()


# --- the tables ---


def test_the_worst_is_the_highest_where_lower_is_better(run):
    rows = {(row.subject, row.metric): row for row in summary.measured(run.records.values())}
    lower = [row for key, row in rows.items() if "lat" in key[1]]
    higher = [row for key, row in rows.items() if "bw" in key[1]]
    assert lower
    assert all(float(row.worst) >= float(row.best) for row in lower)
    assert higher
    assert all(float(row.worst) <= float(row.best) for row in higher)


def test_a_subject_that_was_not_measured_has_a_row_without_numbers(run):
    item = next(one for one in run.records.values() if one.rung == 1 and one.judgements)
    blocked = replace(item, outcome=Outcome.BLOCKED, judgements=())
    (row,) = summary.measured([blocked])
    assert (row.n, row.worst, row.result, row.is_good) == (0, "", "1 of 1 blocked", False)


@pytest.mark.parametrize(
    ("outcomes", "says"),
    [
        ([], "not run"),
        ([Outcome.PASSED, Outcome.MARGINAL], "passed"),
        ([Outcome.PASSED, Outcome.FAILED, Outcome.BLOCKED], "1 of 3 failed, 1 blocked"),
        ([Outcome.NOT_RUN], "1 of 1 not run"),
        ([Outcome.PASSED, Outcome.ERROR], "1 of 2 not decided"),
    ],
)
def test_only_passed_items_are_called_passed(outcomes, says):
    assert summary.result(outcomes) == says


@pytest.mark.parametrize(
    ("tested", "of", "says"),
    [(10022, 10025, "99%"), (4, 4, "100%"), (3, 496, "under 1%"), (0, 6, "0%"), (0, 0, "")],
)
def test_an_incomplete_count_is_never_100_percent(tested, of, says, run):
    verdict = replace(run.verdict, coverage={"pairs": {"tested": tested, "declared": of}})
    shown = document.sections(replace(run, verdict=verdict), {})["coverage"]
    assert shown[1] == ("pairs", f"{tested} of {of}", says)


def test_a_node_without_items_is_not_good():
    (row,) = summary.nodes(["mx09"], [], [])
    assert (row.passed, row.is_good) == (0, False)


@pytest.mark.parametrize(
    ("began", "ended", "says"),
    [
        ("2026-11-24T15:00:00+01:00", "2026-11-24T16:04:05+01:00", "1 h 04 min"),
        ("2026-11-24T15:00:00+00:00", "2026-11-24T15:00:47+00:00", "47 s"),
        ("2026-11-24T15:00:00+00:00", "2026-11-24T15:02:07+00:00", "2 min 07 s"),
        ("", "2026-11-24T15:02:07+00:00", "not recorded"),
        ("2026-11-24T15:03:00+00:00", "2026-11-24T15:02:07+00:00", "not recorded"),
    ],
)
def test_times_are_shown_with_their_zone_and_never_guessed(began, ended, says):
    assert duration(began, ended) == says
    assert moment("2026-11-24T15:04:05+01:00") == "2026-11-24 15:04:05 UTC+01:00"
    assert moment("2026-11-24T15:04:05-03:30") == "2026-11-24 15:04:05 UTC-03:30"
    assert moment("2026-11-24T15:04:05+00:00") == "2026-11-24 15:04:05 UTC"
    assert moment("soon") == "not recorded"


def test_report_html_has_its_language_and_loads_nothing(healthy):
    page = (healthy.run.latest / "report.html").read_text()
    head = page.partition("</head>")[0]
    assert '<html lang="en">' in head
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in head
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', head)[1]
    assert re.match(
        r"default-src 'none'; script-src 'sha256-[\w+/]{43}='; style-src 'self'", policy
    )
    manifest = json.loads((healthy.run.latest / "manifest.json").read_text())["sha256"]
    digest = hashlib.sha256((healthy.run.latest / "report.html").read_bytes()).hexdigest()
    assert manifest["report.html"] == digest
    assert "report.css" in manifest


def test_a_gap_that_many_nodes_share_is_one_row():
    lacking = [(f"mx{n:02}", "gpus: no stack") for n in range(1, 33)] + [("mx07", "bmc: denied")]
    assert document._by_what(lacking) == [("mx[01-32]", "gpus: no stack"), ("mx07", "bmc: denied")]
