"""The HTML report in a browser: with and without script, on a phone, and with very many rows."""

from __future__ import annotations

import html
import http.server
import json
import re
import threading
from dataclasses import replace
from functools import partial

import pytest
from testing.render_page import Replacement, render, render_of

from railgauge.core.model import Outcome
from railgauge.report import html as report
from railgauge.report.excerpts import _output
from railgauge.report.plots.svg import BAD
from railgauge.run.run_folder import RunFolder

SHOWN = "[...document.querySelectorAll('#groups tbody tr:not(.detail)')].filter((r) => !r.hidden)"


def asked(tab, **chosen):
    """Choose in the bar of filters, as a user does."""
    for name, value in chosen.items():
        tab.of(
            f"(() => {{ const one = document.getElementById('filter').elements[{json.dumps(name)}];"
            f" one.value = {json.dumps(value)};"
            " one.dispatchEvent(new Event('input', {bubbles: true})); })()"
        )
    return tab.of(f"{SHOWN}.map((row) => row.cells[0].textContent)")


@pytest.fixture
def page(gdr, tab):
    """The report of the GDR story on a desktop."""
    tab.emulate(1280)
    tab.open((gdr.latest / "report.html").resolve().as_uri())
    return tab


@pytest.fixture(scope="module")
def records(gdr):
    return RunFolder(gdr.latest.resolve()).records()


@pytest.fixture(scope="module")
def opened(gdr, look):
    return look(gdr.latest / "report.html")


def test_the_first_screen_names_the_verdict_the_cause_and_the_remedy(opened, gdr):
    counts = gdr.verdict["counts"]
    top = opened.text[: opened.text.index("All rows")]
    assert f"REJECTED: asserted {counts['asserted']} of {counts['planned']}" in top
    assert "SIMULATED evidence: no hardware was measured" in top
    cause = gdr.verdict["causes"][0]
    assert f"1. gpudirect-rdma-disabled: {cause['where']['node']}" in top
    assert cause["remedy"] in top
    assert top.index(cause["remedy"]) < top.index("Rung 1: network")
    assert "4 of 4 nodes" in top
    assert "lab-metax-c500: 4 nodes" in top


def test_the_page_loads_nothing_and_has_no_error(opened, page):
    assert opened.hosts == set()
    assert opened.console == []
    assert page.problems == []


def test_every_plot_is_in_the_page_and_in_its_folder(opened, gdr):
    files = {path.stem for path in (gdr.latest / "plots").glob("*.svg")}
    assert {
        "rung1-size-host_write_bandwidth-bw_average",
        "rung2-gpu-nic-gpu_write_bandwidth",
        "rung4-pairs-pair_all_reduce",
        "rung4-traffic-pair_all_reduce",
    } <= files
    assert opened.dom.count("<figure>") == len(files)
    assert opened.dom.count("SIMULATED evidence</text>") == len(files)
    for path in (gdr.latest / "plots").glob("*.svg"):
        assert f"plots/{path.name}" in gdr.manifest


# --- without script, and under the policy of Jenkins ---

JENKINS = "sandbox; default-src 'none'; img-src 'self'; style-src 'self';"


def test_the_page_is_complete_without_script(gdr, records, tab):
    tab.emulate(1280, scripts=False)
    tab.open((gdr.latest / "report.html").resolve().as_uri())
    assert tab.of("document.querySelectorAll('#groups tbody tr').length") == len(records)
    assert tab.of("document.getElementById('filter').offsetHeight") == 0
    shown = tab.of("document.body.innerText")
    for item in gdr.with_outcome("failed"):
        assert item.removeprefix("tests/") in shown


class _Jenkins(http.server.SimpleHTTPRequestHandler):
    """Serves what a build archived, as Jenkins does by default."""

    def end_headers(self):
        self.send_header("Content-Security-Policy", JENKINS)
        super().end_headers()

    def log_message(self, *_):
        """Stay silent."""


def test_the_page_works_under_the_policy_of_jenkins(gdr, tab):
    served = partial(_Jenkins, directory=gdr.latest.resolve())
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), served) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        tab.emulate(1280)
        tab.open(f"http://127.0.0.1:{server.server_port}/report.html")
        assert (
            tab.of("getComputedStyle(document.querySelector('.verdict')).borderTopWidth") == "3px"
        )
        assert tab.of("getComputedStyle(document.querySelector('.rg-watermark')).display") == "none"
        assert tab.of("document.querySelectorAll('svg').length") > 3
        assert tab.of("document.getElementById('filter').hidden")
        server.shutdown()


def test_the_style_beside_the_page_is_that_in_the_page(gdr):
    beside = (gdr.latest / report.STYLE).read_text()
    assert re.findall(r"<style>(.*?)</style>", gdr.html, re.DOTALL)[0].strip() == beside.strip()


# --- filter, search, sort ---


def test_rows_can_be_filtered_and_the_address_holds_the_filter(page, records):
    kept = asked(page, q="mx02 all_reduce")
    assert kept
    texts = page.of(f"{SHOWN}.map((r) => r.closest('details').innerText)")
    assert all("mx02" in text and "all_reduce" in text for text in texts)
    assert all("mx02" in text for text in page.of(f"{SHOWN}.map((row) => row.textContent)"))
    assert f"{len(kept)} of {len(records)} rows" in page.of("document.body.innerText")
    assert "q=mx02+all_reduce" in page.of("location.href")
    assert page.of("document.querySelectorAll('#groups details[open]').length") > 0
    page.open(page.of("location.href"))
    assert page.of(f"{SHOWN}.length") == len(kept)
    assert len(asked(page, q="")) == len(records)
    assert "?" not in page.of("location.href")


def test_search_covers_measured_limit_and_what_passed(page):
    assert asked(page, q="mqfoo-nothing") == []
    passed = page.of(
        "document.querySelector('.group:not(.bad) tbody tr td:nth-child(3)').textContent"
    )
    assert asked(page, q=passed)


def test_a_node_is_found_in_rows_that_do_not_name_it(page, gdr, records):
    nodes = RunFolder(gdr.latest.resolve()).cluster().nodes
    number = [node.name for node in nodes].index("mx03")
    kept = asked(page, node=str(number))
    wanted = [item for item, record in records.items() if "mx03" in record.nodes]
    assert sorted(kept) == sorted(item.removeprefix("tests/") for item in wanted)
    assert any("-all-" in name for name in kept)


def test_outcome_and_rung_choose_rows(page, gdr, records):
    assert len(asked(page, outcome="failed")) == len(gdr.with_outcome("failed"))
    kept = asked(page, outcome="", rung="4")
    assert len(kept) == sum(record.rung == 4 for record in records.values())


@pytest.mark.parametrize("key", ["margin", "measured", "limit"])
@pytest.mark.parametrize("down", [False, True])
def test_rows_are_sorted_and_rows_without_a_number_are_last(page, key, down):
    asked(page, sort=key)
    if down:
        page.of("document.querySelector('[name=down]').click()")
    read = {
        "margin": "row.dataset.m",
        "measured": r"row.cells[2].textContent.match(/-?\d+(\.\d+)?/)?.[0]",
        "limit": r"row.cells[3].textContent.match(/-?\d+(\.\d+)?/)?.[0]",
    }[key]
    tables = page.of(
        "[...document.querySelectorAll('#groups tbody')].map((body) =>"
        f" [...body.rows].map((row) => {read} ?? null))"
    )
    numbers = [[None if one is None else float(one) for one in table] for table in tables]
    assert any(len(set(table) - {None}) > 1 for table in numbers)
    for table in numbers:
        there = [one for one in table if one is not None]
        assert table == [*there, *[None] * (len(table) - len(there))]
        assert there == sorted(there, reverse=down)


def test_a_row_opens_by_keyboard_and_closes_again(page):
    asked(page, q="[pair_all_reduce-mx02:mx01")
    page.of("document.querySelector('#groups tr:not([hidden]) a[href^=\"#c\"]').focus()")
    page.press("Enter", 13)
    detail = page.of("document.querySelector('tr.detail').innerText")
    assert "all_reduce_perf" in detail
    assert "exit code 0" in detail
    assert "Avg bus bandwidth" in detail
    assert page.of("document.activeElement.getAttribute('aria-expanded')") == "true"
    page.press("Enter", 13)
    assert page.of("document.querySelector('tr.detail')") is None


def test_seen_in_leads_to_the_row(page, gdr):
    item = gdr.verdict["causes"][0]["evidence"][0]
    page.of("document.querySelectorAll('.group').forEach((one) => (one.open = false))")
    page.of("document.querySelector('.cause a').click()")
    page.of("new Promise((done) => setTimeout(done, 100))")
    found = "document.getElementById(location.hash.slice(1))"
    assert page.of(f"{found}.cells[0].textContent") == item.removeprefix("tests/")
    assert page.of(f"{found}.closest('details').open")
    assert page.of(f"{found}.getBoundingClientRect().top < innerHeight")


def test_an_excerpt_keeps_the_heading_of_its_table():
    head = "#       size    count    busbw\n#        (B)             (GB/s)"
    rows = "\n".join(f"{2**n} {n} {n}.5" for n in range(3, 30))
    stdout = f"one\ntwo\nthree\nfour\nfive\nsix\n{head}\n{rows}\n# Avg bus bandwidth : 4"
    lines = _output({"stdout": stdout, "stderr": ""}).splitlines()
    assert lines[:4] == ["one", "two", "three", "four"]
    assert lines[4:7] == ["five", "six", *head.splitlines()][:3]
    assert head.splitlines()[1] in lines
    assert lines[-1].startswith("# Avg")
    assert "... 20 lines left out ..." in lines
    assert _output({"stdout": "a\n" * 3, "stderr": ""}) == "a\na\na"
    assert _output({"stdout": "", "stderr": ""}) == ""


def test_every_basis_is_listed_in_full_below(opened, gdr):
    below = opened.text[opened.text.index("Bases of the limits") :]
    for line in gdr.measurements:
        assert " ".join(line["basis"].split()) in html.unescape(below)


def test_failures_are_not_shown_by_colour_alone(gdr):
    pairs = (gdr.latest / "plots" / "rung4-pairs-pair_all_reduce.svg").read_text()
    assert pairs.count(">F</text>") == 2
    assert pairs.count(f'stroke="{BAD}" stroke-opacity') == 2
    size = (gdr.latest / "plots" / "rung4-size-pair_all_reduce-busbw.svg").read_text()
    assert "l7 7m0 -7l-7 7" in size


# --- phones, paper, and people ---


@pytest.mark.parametrize("story", ["healthy", "gdr"])
def test_a_phone_shows_a_short_page_that_is_no_wider(story, gdr, nights, tab):
    folder = gdr.latest if story == "gdr" else nights.folders[0]
    tab.emulate(390, 844)
    tab.open((folder / "report.html").resolve().as_uri())
    assert tab.of("document.documentElement.scrollWidth") <= 390
    assert tab.height() < 9000
    margins = "document.querySelector('.closest .wide')"
    assert tab.of(f"{margins}.scrollWidth <= {margins}.clientWidth")


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing_serious(gdr, tab, axe, dark, width):
    tab.emulate(width, dark=dark)
    tab.open((gdr.latest / "report.html").resolve().as_uri())
    tab.of(axe)
    found = tab.of("axe.run().then((found) => found.violations)")
    serious = [one for one in found if one["impact"] in ("serious", "critical")]
    violations = [(one["id"], [node["html"] for node in one["nodes"]][:3]) for one in serious]
    assert violations == []


def test_paper_has_every_row(gdr, tab, tmp_path):
    tab.open((gdr.latest / "report.html").resolve().as_uri())
    tab.call("Emulation.setEmulatedMedia", media="print")
    hidden = tab.of(f"{SHOWN}.filter((row) => !row.checkVisibility()).length")
    assert hidden == 0


def test_many_rows_are_all_in_the_page(gdr, tab, tmp_path):
    """Passed items are behind a heading with their number; failures are open."""
    items = 2500
    page = tmp_path / "many.html"
    made = render(gdr.latest.resolve(), page, items)
    failed = made.verdict.counts.failed
    assert 0 < failed < items
    assert page.stat().st_size / items < 800
    tab.open(page.as_uri())
    assert tab.of("document.querySelectorAll('#groups tbody tr').length") == items
    summaries = tab.of(
        "[...document.querySelectorAll('.group summary')].map((one) => one.innerText)"
    )
    assert sum(int(re.search(r": (\d+)(?: of (\d+))?", one).groups()[-1] or
                   re.search(r": (\d+)", one)[1]) for one in summaries) == items  # fmt: skip
    assert f"{items} of {items} rows" in tab.of("document.body.innerText")


# --- beside pytest-html ---


class NoPrivateNames:
    """A pytest-html that keeps its template to itself, as another version may."""

    def __init__(self):
        self.written = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self, session):
        for plugin in session.config.pluginmanager.get_plugins():
            if type(plugin).__module__.startswith("pytest_html.") and hasattr(plugin, "_template"):
                own = plugin._template
                plugin.__class__ = type("Other", (type(plugin),), {"_template": _kept(own)})
                self.written.append(plugin)


def _kept(own):
    def refuse(plugin, value):
        raise AttributeError("there is no such name")

    return property(lambda plugin: own, refuse)


def test_the_page_needs_no_private_name_of_pytest_html(gdr, tmp_path):
    page, other = tmp_path / "own.html", NoPrivateNames()
    render_of(Replacement(gdr.latest.resolve(), None), page, other)
    assert len(other.written) == 1
    text = page.read_text(encoding="utf-8")
    assert '<h1 id="title">railgauge acceptance report' in text
    assert "data-jsonblob" not in text  # what the page of pytest-html has


def test_additions_of_other_plugins_are_on_the_page(gdr, tmp_path):
    class Other:
        @pytest.hookimpl(trylast=True)
        def pytest_html_results_summary(self, prefix, summary, postfix):
            for part in (prefix, summary, postfix):
                part.append("<p>of another plugin</p>")

    page = tmp_path / "added.html"
    render_of(Replacement(gdr.latest.resolve(), None), page, Other())
    assert page.read_text(encoding="utf-8").count("<p>of another plugin</p>") == 3


# --- hostile words ---

PAYLOADS = (
    "<script>owned = 1</script>", "<img src=x onerror='owned = 1'>", "\"><svg onload=owned=1>",
    "' onmouseover=owned=1 x='", "javascript:owned=1", "</style><script>owned=1</script>",
    "</details></table><iframe srcdoc='<script>parent.owned=1</script>'>", "{{ 7 * 7 }}",
    "<a href=javascript:owned=1>x</a>", "<!--", "]]>", "</title><script>owned=1</script>",
    "\x1b[2J\u202e\u2028", "&lt;script&gt;", "<base href=//evil.example>", "`${owned=1}`",
    "<meta http-equiv=refresh content='0;url=//evil.example'>", "<details open ontoggle=owned=1>",
)  # fmt: skip


def test_hostile_words_stay_words_in_a_real_browser(gdr, tab, tmp_path):
    made = Replacement(gdr.latest.resolve(), None)
    for item, word in zip(list(made.records), PAYLOADS * 40, strict=False):
        record = made.records[item]
        judged = tuple(
            replace(one, measured=word, limit=word, basis=word, metric=word, reason=word)
            for one in record.judgements
        )
        made.records[item] = replace(
            record, id=f"{item}{word}", reason=word, judgements=judged, remedy=word,
            transcript=word, subject=word, outcome=Outcome.FAILED,
        )  # fmt: skip
    made.records = {record.id: record for record in made.records.values()}
    seen = tuple(made.records)
    causes = tuple(
        replace(one, says=word, remedy=word, basis=word, evidence=seen)
        for one, word in zip(made.verdict.causes * 18, PAYLOADS, strict=False)
    )
    made.verdict = replace(made.verdict, causes=causes, notes=PAYLOADS)
    page = tmp_path / "hostile.html"
    render_of(made, page)
    tab.open(page.as_uri())
    asked(tab, q="owned")
    tab.of("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    tab.of("document.querySelectorAll('#groups a[href^=\"#\"]').forEach((one) => one.click())")
    assert tab.of("typeof owned") == "undefined"
    assert tab.of("document.querySelectorAll('script').length") == 1
    assert (
        tab.of("document.querySelectorAll('iframe, img, base, [onload], [onmouseover]').length")
        == 0
    )
    assert tab.of("[...document.links].filter((one) => one.protocol === 'javascript:').length") == 0
    assert "49" not in tab.of("document.querySelector('.cause').innerText")
    assert not [
        one for one in tab.problems if "report.css" not in one and "FILE_NOT_FOUND" not in one
    ]
