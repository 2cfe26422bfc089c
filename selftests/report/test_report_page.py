"""The HTML report in a browser, on a phone, and with very many rows."""

from __future__ import annotations

import html
import re

import pytest
from testing import browser
from testing.render_page import render

from railgauge.report.plots.svg import BAD

EXPAND = """
document.querySelectorAll('#results-table tr.collapsible').forEach((row) => {
  if (row.textContent.includes('test_all_reduce[mx02:mx01')) row.children[2].click();
});
const text = document.querySelector('#rg-filter input');
text.value = 'mx02 all_reduce';
text.dispatchEvent(new Event('input'));
"""


@pytest.fixture(scope="module")
def opened(gdr, look):
    """The report of the GDR story with one row opened and the rows filtered."""
    return look(gdr.latest / "report.html", then=EXPAND)


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


def test_nothing_is_asked_for_and_nothing_goes_wrong(opened):
    assert opened.hosts == set()
    assert opened.console == []


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


def test_a_row_opens_to_its_command_and_the_ends_of_its_output(opened):
    told = re.search(r'<div class="rg-case">.*?</a></div>', opened.dom, re.DOTALL)
    assert told, "no row opened"
    assert "all_reduce_perf" in told[0]
    assert "exit code 0" in told[0]
    assert "Avg bus bandwidth" in told[0]
    assert 'href="transcripts/pair_all_reduce_mx02+mx01.txt"' in told[0]


def test_rows_can_be_filtered(opened):
    rows = opened.dom.split('<tbody class="results-table-row')[1:]
    rows = [row for row in rows if 'data-id="' in row]
    kept = [row for row in rows if "rg-out" not in row[: row.index(">")]]
    assert 0 < len(kept) < len(rows)
    for row in rows:
        wanted = "mx02" in row and "all_reduce" in row.split('class="extras-row')[0]
        assert wanted or row not in kept
    assert f"{len(kept)} of {len(rows)} rows" in opened.text


def test_every_basis_is_told_in_full_below(opened, gdr):
    below = opened.text[opened.text.index("Bases of the limits") :]
    for line in gdr.measurements:
        assert " ".join(line["basis"].split()) in html.unescape(below)


def test_what_failed_is_not_told_by_colour_alone(gdr):
    pairs = (gdr.latest / "plots" / "rung4-pairs-pair_all_reduce.svg").read_text()
    assert pairs.count(">F</text>") == 2
    assert pairs.count(f'stroke="{BAD}" stroke-opacity') == 2
    size = (gdr.latest / "plots" / "rung4-size-pair_all_reduce-busbw.svg").read_text()
    assert "l7 7m0 -7l-7 7" in size


@pytest.mark.parametrize("story", ["healthy", "gdr"])
def test_nothing_is_wider_than_a_phone(story, gdr, nights, look, tmp_path):
    page = gdr.latest / "report.html" if story == "gdr" else nights.folders[0] / "report.html"
    widths = browser.at_phone_width(page, tmp_path)
    assert widths["window"] == 390
    assert widths["page"] <= 390


def test_many_rows_open_at_once(gdr, look, tmp_path):
    """Passed rows are drawn on request; failed rows are there at once."""
    items = 2500
    page = tmp_path / "many.html"
    made = render(gdr.latest.resolve(), page, items)
    failed = made.verdict.counts.failed
    assert 0 < failed < items
    assert page.stat().st_size / items < 2000
    seen = look(page)
    assert seen.dom.count('<tr class="collapsible" data-id=') == failed
    assert "show passed rows too" in seen.text
    assert f"{failed} of {items} rows" in seen.text
    assert seen.console == []
