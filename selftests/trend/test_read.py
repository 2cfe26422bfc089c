"""Reading the folders of runs: a folder without a complete run is reported and left out."""

import json

import pytest
from testing.histories import write_run

from railgauge.core.errors import BadInput
from railgauge.core.run_files import VERSIONS
from railgauge.trend.read import night_of, read
from railgauge.verdict import counts

VERDICT = {
    "run_id": "20260101-020000-alpha", "cluster": "alpha", "platform": "h200",
    "evidence": "hardware", "level": "nightly", "verdict": "accepted",
}  # fmt: skip
LINE = {
    "subject": "host_write_bandwidth", "metric": "bw_average", "unit": "Gb/s",
    "nodes": ["n01", "n02"], "pairing": "mlx5_0", "size_bytes": 8388608,
    "values": [390.0, 392.0, 391.5], "evidence": "hardware", "id": "x",
    "better": "higher",
}  # fmt: skip
FACT = {**LINE, "subject": "memlock", "metric": "memlock", "unit": "", "values": [], "pairing": ""}


def verdict(run_id, **changed):
    return {**VERDICT, "run_id": run_id, **changed}


def a_run(reports, run_id="20260101-020000-alpha", lines=(LINE,), **changed):
    return write_run(reports / run_id, verdict(run_id, **changed), list(lines))


def why(archive):
    return dict(archive.left_out)


def test_a_night_holds_the_median_of_every_series(tmp_path):
    again = {**LINE, "values": [380.0]}
    other = {**LINE, "pairing": "mlx5_1", "values": [370.25]}
    a_run(tmp_path, lines=[LINE, FACT, other, again])
    archive = read(tmp_path)
    assert archive.left_out == ()
    values = {key.pairing: value for key, value in archive.nights[0].values.items()}
    assert values == {"mlx5_0": 390.75, "mlx5_1": 370.25}, "every sample of the night counts"


def test_nights_are_in_the_order_of_their_time(tmp_path):
    for run_id in ("20260103-020000-b", "20260101-020000-c", "20260102-020000-a"):
        a_run(tmp_path, run_id)
    (tmp_path / "latest").symlink_to("20260103-020000-b")
    (tmp_path / "README.md").write_text("runs are written here")
    archive = read(tmp_path)
    assert [night.run_id[:8] for night in archive.nights] == ["20260101", "20260102", "20260103"]
    assert [night.run_id[:8] for night in read(tmp_path, last=2).nights] == ["20260102", "20260103"]


def test_the_last_nights_are_those_of_each_cluster(tmp_path):
    for day in (1, 2, 3):
        a_run(tmp_path, f"2026010{day}-020000-a", cluster="a")
    a_run(tmp_path, "20250101-020000-b", cluster="b")
    assert len(read(tmp_path, last=2).nights) == 3
    assert {fleet.cluster for fleet in read(tmp_path).fleets} == {"a", "b"}
    assert {fleet.cluster for fleet in read(tmp_path, cluster="b").fleets} == {"b"}


def test_broken_lines_are_counted_and_the_others_read(tmp_path):
    folder = a_run(tmp_path)
    with (folder / "measurements.jsonl").open("ab") as file:
        file.write(b'{"subject": "half a li\n[1, 2]\n"word"\n\xff\xfe\xfd\n{"subject": 3}\n')
        file.write(json.dumps({**LINE, "pairing": "mlx5_7"}).encode() + b"\n")
        file.write(json.dumps({**LINE, "values": "many"}).encode() + b"\n")
        file.write(b'{"subject": "the last one, cut o')
    archive = read(tmp_path)
    assert {key.pairing for key in archive.nights[0].values} == {"mlx5_0", "mlx5_7"}
    assert why(archive) == {folder.name: "7 lines of measurements.jsonl cannot be read: left out"}


@pytest.mark.parametrize("values", ["[NaN]", "[1e999]", "[0]", "[-3.5]", "[]", "[null]"])
def test_lines_that_are_no_measurements_are_left_out(tmp_path, values):
    folder = a_run(tmp_path, lines=[])
    text = json.dumps({**LINE, "values": 0}).replace('"values": 0', f'"values": {values}')
    (folder / "measurements.jsonl").write_text(text + "\n")
    assert read(tmp_path).nights[0].values == {}


def test_counts_have_no_trend(tmp_path):
    a_run(tmp_path, lines=[{**LINE, "metric": "completed", "unit": "count", "values": [64]}])
    assert read(tmp_path).nights[0].values == {}


@pytest.mark.parametrize(
    ("fields", "better"),
    [
        ({"better": "lower"}, "lower"),
        ({"better": "lower", "limit": ">= 3 us"}, "lower"),
        ({"limit": "<= 3 us"}, "lower"),
        ({"limit": ">= 3 us"}, "higher"),
    ],
)
def test_the_better_direction_is_read_from_the_line_or_its_limit(tmp_path, fields, better):
    """For any name of the metric; earlier runs wrote only the limit."""
    bare = {name: value for name, value in LINE.items() if name != "better"}
    a_run(tmp_path, lines=[{**bare, **fields}])
    assert [key.better for key in read(tmp_path).nights[0].values] == [better]


@pytest.mark.parametrize("metric", ["latency_impact", "norm_error"])
def test_a_ratio_that_is_no_share_counts_as_it_is(tmp_path, metric):
    """It is below 1 in some nights alone, and its series must not change its name for that."""
    one = {**LINE, "metric": metric, "unit": "1", "better": "lower", "values": [0.97]}
    a_run(tmp_path, lines=[one])
    (night,) = read(tmp_path).nights
    assert {key.metric: value for key, value in night.values.items()} == {metric: 0.97}


def test_a_share_that_is_lost_counts_by_what_it_leaves(tmp_path):
    """A loader that takes 0.3 % of a step in place of 0.2 % is no loss of a third."""
    lost = {"metric": "load_share", "unit": "1", "better": "lower", "ceiling": 0.05}
    late = {**lost, "metric": "step_p99", "values": [1.02], "ceiling": 1.5}
    both = [{**LINE, **lost, "values": [0.002, 0.004, 0.0]}, {**LINE, **late}]
    a_run(tmp_path, lines=both)
    (night,) = read(tmp_path).nights
    found = {key.metric: (key.better, value) for key, value in night.values.items()}
    assert found == {"1 - load_share": ("higher", 0.998), "step_p99": ("lower", 1.02)}
    limits = {key.metric: limit for key, limit in night.limits.items()}
    assert limits == {"1 - load_share": pytest.approx(0.95), "step_p99": 1.5}


@pytest.mark.parametrize("fields", [{}, {"better": "sideways"}, {"limit": "none yet: record only"}])
def test_a_line_without_a_better_direction_has_no_trend(tmp_path, fields):
    bare = {name: value for name, value in LINE.items() if name != "better"}
    folder = a_run(tmp_path, lines=[{**bare, **fields}])
    archive = read(tmp_path)
    assert archive.nights[0].values == {}
    assert "do not tell whether higher or lower is better" in why(archive)[folder.name]


def test_lines_of_another_kind_of_evidence_are_left_out(tmp_path):
    folder = a_run(tmp_path, lines=[LINE, {**LINE, "pairing": "mlx5_1", "evidence": "simulated"}])
    archive = read(tmp_path)
    assert {key.pairing for key in archive.nights[0].values} == {"mlx5_0"}
    assert "1 lines of measurements.jsonl are of another kind" in why(archive)[folder.name]


def test_a_run_that_another_one_carries_on_is_no_night_of_its_own(tmp_path):
    """The later run has taken its measurements over: twice the same is no level of two nights."""
    first, second, apart = (f"2026010{day}-020000-alpha" for day in (1, 2, 3))
    for run in (first, second, apart):
        a_run(tmp_path, run)
    (tmp_path / second / "earlier" / first).mkdir(parents=True)
    archive = read(tmp_path)
    assert [night.run_id for night in archive.nights] == [second, apart]
    assert why(archive) == {
        first: f"has measurements that {second} has as well, which carries them on"
    }


def test_folders_that_are_no_finished_run_are_reported(tmp_path):
    a_run(tmp_path, "20260101-020000-good")
    (a_run(tmp_path, "20260102-020000-going") / "verdict.json").unlink()
    (a_run(tmp_path, "20260103-020000-empty") / "measurements.jsonl").unlink()
    (a_run(tmp_path, "20260104-020000-half") / "verdict.json").write_text('{"run_id": "2026')
    (a_run(tmp_path, "20260105-020000-list") / "verdict.json").write_text("[]")
    (a_run(tmp_path, "20260106-020000-deep") / "verdict.json").write_text("[" * 100_000)
    a_run(tmp_path, "20260110-020000-newer", schema_version=3)
    a_run(tmp_path, "some-notes")
    a_run(tmp_path, "20260107-020000-again", evidence="replayed")
    write_run(tmp_path / "20260108-020000-copy", verdict("20260101-020000-good"), [LINE])
    a_run(tmp_path, "20260109-020000-odd", cluster="\x1b[31mred")
    archive = read(tmp_path)
    assert [night.run_id for night in archive.nights] == ["20260101-020000-good"]
    left_out = {name[16:] or name: reason for name, reason in archive.left_out}
    assert left_out.pop("some-notes"[16:] or "some-notes").startswith(
        "its run id does not start with"
    )
    assert left_out == {
        "going": "no verdict.json: still running, or cut off",
        "empty": "no measurements.jsonl: still running, or cut off",
        "half": "verdict.json cannot be read: JSONDecodeError",
        "list": "verdict.json does not hold all of run_id, cluster, platform, evidence, level",
        "deep": "verdict.json cannot be read: RecursionError",
        "again": "a replay of another run, not a night of its own",
        "copy": "a second folder of run 20260101-020000-good",
        "odd": "verdict.json does not hold all of run_id, cluster, platform, evidence, level",
        "newer": "verdict.json has schema version 3, but this version of railgauge reads 2",
    }
    assert counts.SCHEMA_VERSION == VERSIONS["verdict.json"] == 2


def test_lines_of_a_newer_version_leave_their_night_out(tmp_path):
    folder = a_run(tmp_path, lines=[LINE, {**LINE, "schema_version": 99}])
    a_run(tmp_path, "20260102-020000-alpha", lines=[{**LINE, "schema_version": 1}])
    archive = read(tmp_path)
    assert [night.run_id[:8] for night in archive.nights] == ["20260102"]
    reason = "measurements.jsonl are of a newer version of railgauge"
    assert why(archive) == {folder.name: reason}


def test_a_line_too_long_to_be_one_spoils_its_night_only(tmp_path):
    folder = a_run(tmp_path, "20260101-020000-a")
    a_run(tmp_path, "20260102-020000-a")
    with (folder / "measurements.jsonl").open("a") as file:
        file.write(json.dumps({**LINE, "id": "x" * 40_000_000}) + "\n")
    archive = read(tmp_path)
    assert "20260102-020000-a" in {night.run_id for night in archive.nights}
    assert folder.name in why(archive)


def test_names_that_cannot_be_printed_are_left_out(tmp_path):
    folder = a_run(tmp_path, lines=[LINE, {**LINE, "nodes": ["n01\x1b[2J"]}])
    archive = read(tmp_path)
    assert len(archive.nights[0].values) == 1
    assert "names that cannot be printed" in why(archive)[folder.name]


@pytest.mark.parametrize("name", ["a[1]b", "a*b", "a?b", "it's", "a{b,c}"])
def test_a_folder_s_name_is_no_pattern(tmp_path, name):
    a_run(tmp_path / name)
    a_run(tmp_path / "a1b", lines=[{**LINE, "pairing": "other"}])
    assert {key.pairing for key in read(tmp_path / name).nights[0].values} == {"mlx5_0"}


def test_a_root_without_reports_is_one_clear_line(railgauge, tmp_path):
    code, out, err = railgauge("trend", "--root", tmp_path)
    assert (code, out) == (2, "")
    assert "reports: is not a folder" in err
    (tmp_path / "reports").mkdir()
    code, out, err = railgauge("trend", "--root", tmp_path)
    assert (code, out) == (2, "")
    assert "no finished run" in err


def test_a_run_by_name_must_be_one(tmp_path):
    assert night_of(a_run(tmp_path)).level == "nightly"
    with pytest.raises(BadInput, match="no verdict"):
        night_of(tmp_path)


def test_hostile_names_are_text_on_the_page(railgauge, tmp_path):
    nasty = "<script>alert(1)</script>"
    for day in range(1, 9):
        line = {**LINE, "subject": nasty, "nodes": [nasty], "values": [390 if day < 6 else 190]}
        a_run(tmp_path / "reports", f"2026010{day}-020000-x", cluster=nasty, lines=[line])
    file = tmp_path / "page.html"
    assert railgauge("trend", "--root", tmp_path, "--html", file)[0] == 1
    page = file.read_text(encoding="utf-8")
    assert "regression since" in page
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page
