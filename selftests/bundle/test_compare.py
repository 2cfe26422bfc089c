"""``railgauge compare`` on files: runs and bundles, and what somebody may have done to them."""

from __future__ import annotations

import json
import shutil

import pytest
from testing.acceptance import HOMELAB, SMOKE
from testing.bundle_bench import changed, forged

MEASUREMENTS = "measurements.jsonl"


@pytest.fixture(scope="module")
def slow(healthy):
    """A second night of the healthy project, in which one node is slow."""
    first = healthy.run.latest.resolve()
    run = healthy.project.run(*HOMELAB, *SMOKE, "--lab-seed", "4", "--lab-fault", "slow-node@viper")
    assert run.code == 1, run.output[-3000:]
    second = run.latest.resolve()
    link = healthy.run.latest
    link.unlink()
    link.symlink_to(first.name)
    return second


@pytest.fixture
def copy(healthy, tmp_path):
    """A copy of the healthy run, to be changed."""
    return shutil.copytree(healthy.run.latest, tmp_path / "copy")


def test_a_slow_node_is_worse_than_the_signed_bundle(railgauge, healthy, slow, tmp_path):
    page = tmp_path / "page.html"
    code, out, err = railgauge("compare", healthy.path, slow, "--html", page)
    assert (code, err) == (1, "")
    assert "together: viper, all metrics: 14 of 14 series are worse" in out
    assert "matched    node by node" in out
    assert "a bundle, UNSIGNED" in out
    assert out.splitlines()[-1].startswith("WORSE: 21 series compared: 14 worse, 0 better, 7 alike")
    assert "viper, all metrics: 14 of 14 series are worse" in page.read_text(encoding="utf-8")


def test_the_reverse_comparison_finds_nothing_worse(railgauge, healthy, slow):
    code, out, _ = railgauge("compare", slow, healthy.run.latest)
    assert code == 0
    assert "NOT WORSE: 21 series compared: 0 worse, " in out
    assert "the reference is the later run" in out


def test_json_holds_every_series(railgauge, healthy, slow):
    code, out, _ = railgauge("compare", healthy.path, slow, "--json", "--at-least", "0.5")
    data = json.loads(out)
    assert code == 0, "all reach half"
    assert (data["worse"], data["matched"], len(data["series"])) == (False, "nodes", 21)
    assert data["reference"]["run_id"] != data["compared"]["run_id"]


def test_a_bundle_without_host_names_is_compared_by_rail(railgauge, healthy, slow, tmp_path):
    path = tmp_path / "secret.railgauge"
    railgauge("bundle", healthy.run.latest, "--unsigned", "--redact", "hosts", "-o", path)
    code, out, _ = railgauge("compare", path, slow, "--json")
    data = json.loads(out)
    assert (code, data["matched"], data["counts"]["worse"]) == (1, "rails", 14)


def test_a_bundle_that_does_not_verify_is_refused(railgauge, healthy, slow, tmp_path):
    """Slower lines in the reference would make tonight look healthy."""

    def slower(content):
        name = f"run/{MEASUREMENTS}"
        content[name] = content[name].replace(b'"values": [37', b'"values": [17')

    for spoil in (changed, forged):
        path = spoil(healthy.path, tmp_path / f"{spoil.__name__}.railgauge", slower)
        code, out, err = railgauge("compare", path, slow)
        assert (code, out) == (2, "")
        assert f"{path}: run/{MEASUREMENTS}: " in err
        assert len(err.splitlines()) == 1


def test_a_file_changed_after_the_run_is_refused(railgauge, slow, copy):
    path = copy / MEASUREMENTS
    path.write_bytes(path.read_bytes().replace(b"viper", b"vipes"))
    code, _, err = railgauge("compare", copy, slow)
    assert code == 2
    assert "was changed after the run" in err


def test_measurements_of_another_run_are_refused(railgauge, slow, copy):
    shutil.copy(slow / MEASUREMENTS, copy / MEASUREMENTS)
    assert railgauge("compare", copy, slow)[0] == 2


@pytest.mark.parametrize("name", ["manifest.json", MEASUREMENTS, "verdict.json", "run.json"])
def test_a_run_that_has_not_ended_is_refused(railgauge, slow, copy, name):
    (copy / name).unlink()
    code, out, err = railgauge("compare", copy, slow)
    assert (code, out) == (2, "")
    assert f"has no {name}" in err
    assert len(err.splitlines()) == 1


def test_a_link_is_no_file_of_a_run(railgauge, slow, copy):
    (copy / MEASUREMENTS).unlink()
    (copy / MEASUREMENTS).symlink_to("/dev/zero")
    code, _, err = railgauge("compare", copy, slow)
    assert code == 2
    assert f"has no {MEASUREMENTS}" in err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("nowhere", "nothing"), "cannot be read: No such file or directory"),
        (("setup.py",), "required: B"),
        (("a", "b", "--at-least", "1.5"), "is not a share above 0"),
        (("a", "b", "--at-least", "nan"), "is not a share above 0"),
    ],
)
def test_bad_usage_is_one_line(railgauge, words, expected):
    code, out, err = railgauge("compare", *words)
    assert (code, out) == (2, "")
    assert expected in err


def test_the_same_run_as_folder_and_bundle_is_refused(railgauge, healthy):
    code, _, err = railgauge("compare", healthy.path, healthy.run.latest)
    assert code == 2
    assert "is the same run" in err


def test_a_page_that_cannot_be_written_is_one_line(railgauge, healthy, slow, tmp_path):
    (tmp_path / "file").write_text("")
    code, _, err = railgauge("compare", healthy.path, slow, "--html", tmp_path / "file" / "x.html")
    assert code == 2
    assert "cannot be written" in err
