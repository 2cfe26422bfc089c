"""Allure's own generator reads a run's results, and a browser shows its report."""

from __future__ import annotations

import json
import re
import shutil
import zlib
from base64 import b64decode, b64encode

import pytest

from railgauge.cli import main
from railgauge.report.allure.packed import packed
from railgauge.report.allure.site import loaded_from_outside, without_analytics

ANALYTICS = """<body><script src="app.js"></script>
<script async src="https://www.googletagmanager.com/gtag/js?id=G-1"></script>
<script>
  window.dataLayer = window.dataLayer || [];
  function gtag(){dataLayer.push(arguments);}
  gtag('js', new Date());
</script>
<script async>window.ready = true;</script></body>"""
FIRST_ITEM = """
globalThis.allureReportData[Object.keys(globalThis.allureReportData)
  .find((name) => name.startsWith("data/test-results/"))]
  .then((packed) => JSON.parse(atob(packed)).fullName)
"""
OPEN_CATEGORIES = """
[...document.querySelectorAll('a,button,span,div')]
  .filter((one) => /^Categories\\s*\\d+$/.test(one.textContent.trim()))
  .forEach((one) => one.click());
"""


@pytest.fixture(scope="module")
def made(nights, generator, capfd_module):
    """Reports of both nights, the earlier one first, and the generator's output."""
    printed = []
    for folder in nights.folders:
        code = main(["allure", str(folder), "--allure", generator])
        printed.append((code, *capfd_module()))
    return printed


@pytest.fixture(scope="module")
def capfd_module(request):
    """Captures the output of this process and its children, for fixtures of a module."""
    capture = request.config.pluginmanager.getplugin("capturemanager")

    def read() -> tuple[str, str]:
        out, err = capture.read_global_capture()
        return out, err

    return read


def test_the_generator_has_nothing_to_warn_of(made):
    for nights, (code, out, err) in enumerate(made, 1):
        assert code == 0, err
        progress = [line for line in err.splitlines() if line.startswith("railgauge allure: ")]
        assert err.splitlines() == progress, "nothing but how far it is"
        assert out.rstrip().endswith(f"allure-report/index.html: {nights} nights in its history")


def test_the_report_loads_nothing_from_outside(made, nights, look):
    page = nights.folders[1] / "allure-report" / "index.html"
    text = page.read_text(encoding="utf-8")
    assert "googletagmanager" not in text
    assert loaded_from_outside(text) == []
    seen = look(page, then=OPEN_CATEGORIES)
    assert seen.hosts == set()
    assert seen.console == []


def test_the_browser_lists_what_a_page_loads(look, tmp_path):
    """Control of the test above: with the analytics script, its request is seen."""
    page = tmp_path / "calls.html"
    page.write_text(ANALYTICS)
    assert look(page).hosts == {"www.googletagmanager.com"}


def test_verdict_ladder_and_causes_can_be_read(made, nights, look):
    page = nights.folders[1] / "allure-report" / "index.html"
    seen = look(page)
    assert "lab-connectx4-homelab: rejected (simulated evidence)" in seen.text
    assert "SIMULATED evidence" in seen.text
    assert "rung 0: preflight" in seen.text
    assert "memlock-limited, columbia" in seen.text
    categories = look(page, then=OPEN_CATEGORIES).text
    assert "Cause: memlock-limited, columbia" in categories


def test_the_second_night_knows_the_first(made, nights):
    """Ids are stable: every item of the second night has the first one in its history."""
    first, second = (_results(folder) for folder in nights.folders)
    assert first.keys() == second.keys()
    for name, result in second.items():
        assert result["historyId"] == first[name]["historyId"]
        assert result["testCaseId"] == first[name]["testCaseId"]
    history = nights.folders[0].parent / "allure-history-lab-connectx4-homelab.jsonl"
    lines = [json.loads(line) for line in history.read_text(encoding="utf-8").splitlines()]
    assert [nights.folders[n].name in lines[n]["name"] for n in (0, 1)] == [True, True]
    assert lines[0]["testResults"].keys() == lines[1]["testResults"].keys()
    transitions = json.loads((nights.folders[1] / "allure-report" / "summary.json").read_text())
    assert transitions.get("newTests", []) == []


def test_the_data_of_the_page_is_packed_and_each_item_can_be_unpacked(made, nights, tab):
    page = nights.folders[1] / "allure-report" / "index.html"
    assert 'd("data/test-results/' not in page.read_text(encoding="utf-8")
    tab.emulate(1280)
    tab.open(page.as_uri())
    assert tab.of(FIRST_ITEM) in {full for full, _ in _results(nights.folders[1])}
    assert tab.problems == []


def test_a_report_that_is_made_again_adds_no_night(made, nights, generator, capsys):
    assert main(["allure", str(nights.folders[1]), "--allure", generator, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["nights"] == 2


def _results(folder):
    found = {}
    for path in (folder / "allure-results").glob("*-result.json"):
        result = json.loads(path.read_text(encoding="utf-8"))
        found[result["fullName"], result["name"]] = result
    return found


# --- without the generator ---


def test_plots_and_transcripts_are_attached_to_what_did_not_pass(nights):
    results = nights.folders[1] / "allure-results"
    plots = json.loads((results / "plots-globals.json").read_text())["attachments"]
    assert {one["source"] for one in plots} == {p.name for p in results.glob("rung*.svg")}
    assert len(plots) == len(list((nights.folders[1] / "plots").glob("*.svg"))) > 0
    attached = [a for r in _results(nights.folders[1]).values() for a in r["attachments"]]
    assert attached
    for one in attached:
        assert (results / one["source"]).is_file()
    passed = [r for r in _results(nights.folders[1]).values() if r["status"] == "passed"]
    assert passed
    assert not [r for r in passed if r["attachments"]]
    assert [r for r in passed if "Transcript: `transcripts/" in r["description"]]


def test_an_item_takes_one_file_and_no_item_is_a_retry_of_another(made, nights, look):
    for folder in nights.folders:
        records = (folder / "records.jsonl").read_text(encoding="utf-8").splitlines()
        results = list((folder / "allure-results").glob("*-result.json"))
        assert len(results) == len(records)
        # One more for each measurement, its transcript, and a few of the whole run.
        assert len(list((folder / "allure-results").iterdir())) <= 1.3 * len(records)
        summary = json.loads((folder / "allure-report" / "summary.json").read_text())
        assert summary["stats"]["total"] == len(records)
        assert not summary.get("retryTests")
        assert not list((folder / "allure-results").glob("*-container.json"))


def test_labels_severity_links_and_no_traces(nights):
    for result in _results(nights.folders[1]).values():
        labels = {label["name"]: label["value"] for label in result["labels"]}
        assert labels["parentSuite"] == "SIMULATED evidence"
        assert re.match(r"rung \d: \w+", labels["suite"])
        assert labels["severity"] in ("normal", "critical")
        assert "owner" not in labels
        steps = result.get("steps", ())
        assert all("trace" not in step.get("statusDetails", {}) for step in steps)
        for link in result.get("links", ()):
            assert re.fullmatch(r"\.\./thresholds\.json(#/.+)?", link["url"])


def test_a_category_for_each_cause_then_errors_and_blocked(nights):
    config = json.loads((nights.folders[1] / "allurerc.json").read_text())
    names = [one["name"] for one in config["categories"]]
    causes = [f"Cause: {c['cause']}, {c['where']['node']}" for c in nights.red.verdict["causes"]]
    assert names[: len(causes)] == causes
    assert "Error: the suite could not decide" in names
    assert "Blocked: a lower rung failed or had an error" in names


def calls(values):
    made = (f'd("{name}","{b64encode(value).decode()}")' for name, value in values.items())
    return (
        f"<script>Promise.allSettled([{','.join(made)}])\n  .then(function(){{\n"
        "    window.allureReportDataReady = true;\n  })</script>"
    )


def test_data_is_packed_once_for_each_content_and_can_be_unpacked():
    items = {f"data/test-results/{n}.json": b"%d " % n + b"passed " * 300 for n in range(500)}
    values = {**items, "widgets/tree.json": b"x" * 400_000, "widgets/a/tree.json": b"x" * 400_000}
    page = packed(calls(values))
    assert len(page) < len(calls(values)) / 20
    blocks, places = (json.loads(re.search(rf"const {name} = (.*);", page)[1])
                      for name in ("blocks", "places"))  # fmt: skip
    whole = [zlib.decompress(b64decode(block)) for block in blocks]
    assert {name: whole[at][begin:end] for name, (at, begin, end) in places.items()} == values
    assert sum(map(len, whole)) == sum(map(len, set(values.values())))
    assert places["widgets/tree.json"] == places["widgets/a/tree.json"]
    assert max(end for name, (_, _, end) in places.items() if name in items) <= 2**18
    assert page.startswith("<script>(() => {")


@pytest.mark.parametrize(
    "page", ["", "<p>", calls({"a.json": b"1"}).replace('d("', 'e("'), calls({'</script>"': b"1"})]
)
def test_a_page_that_is_made_another_way_stays_as_it_is(page):
    assert packed(page) == page


def test_analytics_are_taken_out_and_nothing_else():
    quiet = without_analytics(ANALYTICS)
    assert quiet == (
        '<body><script src="app.js"></script>\n<script async>window.ready = true;</script></body>'
    )
    assert loaded_from_outside(ANALYTICS) == ["https://www.googletagmanager.com/gtag/js?id=G-1"]


@pytest.mark.parametrize("name", ["no-such-program", ""])
def test_without_a_generator_the_way_to_it_is_named(nights, name, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    options = ["--allure", name] if name else ["--root", str(tmp_path)]
    assert main(["allure", str(nights.folders[0]), *options]) == 2
    assert "make allure-cli" in capsys.readouterr().err


def test_a_folder_without_a_run_is_refused(tmp_path, generator, capsys):
    assert main(["allure", str(tmp_path), "--allure", generator]) == 2
    assert "not the folder of a run" in capsys.readouterr().err


# --- a run of somebody else ---


@pytest.fixture
def untrusted(nights, tmp_path):
    """A run whose settings of Allure name a program, and a generator that shows what it gets."""
    run = tmp_path / "reports" / "run"
    run.mkdir(parents=True)
    kept = json.loads((nights.folders[0] / "allurerc.json").read_text())
    kept["plugins"] = {**kept["plugins"], f"{tmp_path}/evil.mjs": {}, "x": {"import": "evil"}}
    kept["plugins"]["awesome"]["import"] = "evil"
    (run / "allurerc.json").write_text(json.dumps({**kept, "allureService": {"url": "http://x"}}))
    shutil.copy(nights.folders[0] / "verdict.json", run)
    program = tmp_path / "allure"
    program.write_text('#!/bin/sh\nmkdir -p "$6"\ncp "$3" "$6/given.json"\n: >"$6/index.html"\n')
    program.chmod(0o755)
    return run, program


def test_untrusted_settings_load_no_program(untrusted, capsys):
    """Allure imports whatever its settings name as a plugin."""
    run, program = untrusted
    assert main(["allure", str(run), "--allure", str(program)]) == 0, capsys.readouterr().err
    given = json.loads((run / "allure-report" / "given.json").read_text())
    assert given["plugins"].keys() == {"awesome"}
    assert given["plugins"]["awesome"].keys() == {"options"}
    assert given.keys() == {
        "name", "plugins", "categories", "output", "historyPath", "historyLimit"
    }  # fmt: skip


def test_a_link_in_the_place_of_the_report_deletes_nothing(untrusted, tmp_path, capsys):
    run, program = untrusted
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "file").touch()
    (run / "allure-report").symlink_to(tmp_path / "home")
    assert main(["allure", str(run), "--allure", str(program)]) == 2
    assert "is a link" in capsys.readouterr().err
    assert (tmp_path / "home" / "file").exists()
