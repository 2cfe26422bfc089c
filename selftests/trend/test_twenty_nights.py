"""Twenty nights of the lab's figures, through the console command as a user starts it."""

import json
import re

import pytest
from testing.histories import below_limits, step, write_nights

STEP = step(14, 0.04, lambda key: "viper" in key.nodes and key.subject == "host_send_bandwidth")
SINCE = "20260114-020000-lab-connectx4-homelab"


@pytest.fixture(scope="module")
def stepped(template, tmp_path_factory):
    return write_nights(tmp_path_factory.mktemp("stepped"), template, 1, 20, STEP)


@pytest.fixture(scope="module")
def level(template, tmp_path_factory):
    return write_nights(tmp_path_factory.mktemp("level"), template, 2, 20)


def test_no_limit_catches_the_step(stepped):
    assert list(below_limits(stepped)) == []


def test_a_step_is_named_with_night_node_and_metric(railgauge, stepped):
    code, out, err = railgauge("trend", "--root", stepped, "--json")
    (fleet,) = json.loads(out)["fleets"]
    (finding,) = fleet["findings"]
    assert (code, err) == (1, "")
    assert (finding["verdict"], finding["kind"], finding["since"]) == ("regression", "step", SINCE)
    scope = finding["scope"]
    assert (scope["nodes"], scope["subject"]) == (["viper"], "host_send_bandwidth")
    assert scope["metric"] == "bw_average"
    assert finding["worse"] == pytest.approx(0.04, abs=0.003)
    assert {tuple(m["key"]["nodes"]) for m in finding["series"]} == {
        ("viper", "columbia"), ("prometheus", "viper"),
    }  # fmt: skip


def test_the_terminal_shows_the_step_in_one_line(railgauge, stepped):
    _, out, _ = railgauge("trend", "--root", stepped)
    found_lines = [line.strip() for line in out.splitlines() if "regression since" in line]
    assert len(found_lines) == 1
    assert found_lines[0].startswith(
        f"regression since {SINCE}: viper, host_send_bandwidth bw_average: 4.0% worse (37"
    )
    assert found_lines[0].endswith(" MiB/s, 2 of 2 series)")
    assert "SIMULATED evidence" in out
    assert "20 nights, 21 series judged: 1 regression" in out


def test_nights_without_a_step_give_no_finding(railgauge, level):
    code, out, err = railgauge("trend", "--root", level)
    assert (code, err) == (0, "")
    assert "20 nights, 21 series judged: 0 regressions" in out
    assert "since" not in out


def test_a_step_is_not_reported_before_its_second_night(railgauge, template, tmp_path):
    """One bad night is not a step; two nights, in every series of the node, are."""
    for nights, code in ((14, 0), (15, 1)):
        root = write_nights(tmp_path / str(nights), template, 3, nights, STEP)
        assert railgauge("trend", "--root", root)[0] == code


def test_a_loss_from_the_third_of_five_nights_is_named_everywhere(railgauge, template, tmp_path):
    """The median of five nights includes the bad ones, and five nights show little of the noise."""
    slow = step(3, 0.04, lambda key: "viper" in key.nodes and key.subject == "host_send_bandwidth")
    root = write_nights(tmp_path, template, 5, 5, slow)
    since = "regression since 20260103-020000-lab-connectx4-homelab: viper, host_send_bandwidth"
    code, out, _ = railgauge("trend", "--root", root, "--html", tmp_path / "trend.html")
    assert code == 1
    assert since in out
    assert since in (tmp_path / "trend.html").read_text(encoding="utf-8")
    (fleet,) = json.loads(railgauge("trend", "--root", root, "--json")[1])["fleets"]
    assert [one["since"][:8] for one in fleet["findings"]] == ["20260103"]


def test_nights_and_cluster_can_be_selected(railgauge, stepped):
    assert railgauge("trend", "--root", stepped, "--last", 6)[0] == 0, "all after the step"
    assert railgauge("trend", "--root", stepped, "--last", 12)[0] == 1
    assert railgauge("trend", "--root", stepped, "--cluster", "lab-connectx4-homelab")[0] == 1
    code, out, err = railgauge("trend", "--root", stepped, "--cluster", "other")
    assert (code, out) == (2, "")
    assert "no finished run of cluster other" in err


def test_smaller_changes_than_asked_for_are_no_finding(railgauge, stepped):
    assert railgauge("trend", "--root", stepped, "--min-change", 5)[0] == 0


def test_too_few_nights_are_reported(railgauge, template, tmp_path):
    root = write_nights(tmp_path, template, 4, 4, STEP)
    code, out, _ = railgauge("trend", "--root", root)
    assert code == 0
    assert "4 nights, 0 series judged, 21 with too few nights to tell: needs 5" in out


def test_the_page_shows_the_finding_and_loads_nothing(railgauge, stepped, tmp_path):
    file = tmp_path / "trend.html"
    railgauge("trend", "--root", stepped, "--html", file)
    page = file.read_text(encoding="utf-8")
    assert f"regression since {SINCE}: viper, host_send_bandwidth bw_average" in page
    assert page.count("since here") == 1
    assert page.count('<g class="moved">') == 4, "two series, where they are found and among all"
    assert "SIMULATED evidence" in page
    for word in ("http", "src=", "href=", "<script", "url("):
        assert word not in page


def test_the_page_s_heading_names_the_finding(railgauge, stepped, level, tmp_path):
    file = tmp_path / "trend.html"
    railgauge("trend", "--root", stepped, "--html", file)
    page = file.read_text(encoding="utf-8")
    about = "viper, host_send_bandwidth bw_average: 4.0% worse"
    assert f"<h1>Trend: {about}" in page
    assert f"<h3>{about}" in page
    railgauge("trend", "--root", level, "--html", file)
    assert "<h1>Trend: no regression</h1>" in file.read_text(encoding="utf-8")


def test_the_page_has_dark_colours_on_request(railgauge, stepped, tmp_path):
    file = tmp_path / "trend.html"
    railgauge("trend", "--root", stepped, "--html", file)
    style = file.read_text(encoding="utf-8").partition("<style>")[2].partition("</style>")[0]
    light, dark = style.split("@media screen and (prefers-color-scheme:dark)")
    both = dark.partition("body{")
    named = set(re.findall(r"(--\w+):", light))
    assert named == set(re.findall(r"(--\w+):", both[0]))
    assert not re.findall(r"#[0-9a-f]{3,6}\b", both[2]), "a colour that is the same in the dark"


def test_the_page_draws_the_limits_and_round_ticks(railgauge, stepped, tmp_path):
    file = tmp_path / "trend.html"
    railgauge("trend", "--root", stepped, "--html", file)
    page = file.read_text(encoding="utf-8")
    assert page.count('class="limit"') + page.count(", below</text>") + page.count(
        ", above</text>"
    ) == (page.count("<svg")), "every metric of this platform has a limit"
    assert "limit " in page
