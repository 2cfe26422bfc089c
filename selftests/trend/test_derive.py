"""Limits proposed from calibration runs: which runs are enough for one, and which are not."""

import json
import random
import shutil

import pytest
from testing.core_values import long_form
from testing.histories import write_run
from testing.places import ROOT

from railgauge.config import thresholds

LIMITS = long_form("connectx4-homelab")
WRITE = "/measurements/host_write_bandwidth/limits/0"
LATENCY = "/measurements/host_send_latency/limits/0"
SIZES = (65536, 8388608)
PAIRS = (("viper", "columbia"), ("columbia", "prometheus"), ("prometheus", "viper"))
RUNS = ("20260101-020000-lab", "20260102-020000-lab")


def line(pointer, size, nodes, value, **changed):
    return {
        "pointer": pointer, "size_bytes": size, "nodes": list(nodes), "values": [value],
        "physical_ceiling": 3814.7, "outcome": "passed", **changed,
    }  # fmt: skip


def healthy(seed, level=3775.0):
    rng = random.Random(seed)
    writes = [
        line(WRITE, size, pair, round(level * (1 + rng.gauss(0, 0.001)), 2))
        for size in SIZES
        for pair in PAIRS
    ]
    latencies = [
        line(LATENCY, 2, pair, round(rng.gauss(1.15, 0.005), 2), physical_ceiling=None)
        for pair in PAIRS
    ]
    return [*writes, *latencies]


@pytest.fixture
def bench(tmp_path, railgauge):
    return Bench(tmp_path, railgauge)


class Bench:
    """Calibration runs of the homelab, and the command that reads them."""

    def __init__(self, folder, railgauge):
        self.folder, self.railgauge = folder, railgauge
        self.runs = []

    def run(self, lines, limits=LIMITS, evidence="hardware", platform="connectx4-homelab"):
        name = f"2026010{len(self.runs) + 1}-020000-lab"
        verdict = {
            "run_id": name, "cluster": "lab", "platform": platform,
            "evidence": evidence, "level": "signoff",
        }  # fmt: skip
        folder = write_run(self.folder / name, verdict, lines)
        (folder / "thresholds.json").write_text(json.dumps(limits), encoding="utf-8")
        self.runs.append(folder)
        return self

    def derive(self, *more):
        return self.railgauge("thresholds", "derive", "--root", ROOT, *self.runs, *more)

    def json(self, *more):
        code, out, err = self.derive("--json", *more)
        assert err == ""
        data = json.loads(out)
        return code, data["proposal"], {one["pointer"]: one for one in data["limits"]}


def limit_of(proposal, pointer):
    _, _, name, _, index = pointer.split("/")
    return proposal["measurements"][name]["limits"][int(index)]


def test_a_limit_is_a_share_of_what_was_measured(bench):
    _, proposal, outcomes = bench.run(healthy(1)).run(healthy(2)).json()
    limit = limit_of(proposal, WRITE)
    assert set(limit["floor"]["curve"]) == {"64KiB", "8MiB"}
    for bound in limit["floor"]["curve"].values():
        assert 0.94 * 3775 < bound < 0.95 * 3775
    assert limit["marginal"] == 0.01
    assert limit["dispersion"] == {"cv_max": 0.01, "worst_over_median_min": 0.98}
    assert outcomes[WRITE]["was"] == "3433 MiB/s"


def test_rounding_is_towards_the_laxer_side(bench):
    still = [line(WRITE, size, pair, 3777.7) for size in SIZES for pair in PAIRS]
    late = [line(LATENCY, 2, pair, 1.1111, physical_ceiling=None) for pair in PAIRS]
    _, proposal, _ = bench.run(still + late).run(still + late).json()
    assert limit_of(proposal, WRITE)["floor"]["curve"]["8MiB"] == 3588, "of 3588.815"
    assert limit_of(proposal, LATENCY)["ceiling"] == 1.17, "of 1.1696"


def test_the_basis_names_the_runs_and_their_samples(bench):
    _, proposal, _ = bench.run(healthy(1)).run(healthy(2)).json()
    basis = limit_of(proposal, WRITE)["basis"]
    assert basis["source"] == "calibration"
    for word in (*RUNS, "hardware evidence", "3 nodes", "x 0.95", "6 samples", "median 377"):
        assert word in basis["says"]


def test_the_ceiling_of_a_time_is_derived_and_its_floor_stays(bench):
    _, proposal, _ = bench.run(healthy(1)).run(healthy(2)).json()
    limit = limit_of(proposal, LATENCY)
    assert limit["floor"] == 0.5
    assert 1.15 / 0.95 <= limit["ceiling"] <= 1.32


def test_other_keys_are_copied_and_limits_that_stay_are_listed(bench):
    code, proposal, outcomes = bench.run(healthy(1)).run(healthy(2)).json()
    assert code == 10
    assert {p for p, one in outcomes.items() if one["now"]} == {WRITE, LATENCY}
    assert {one["stays"] for one in outcomes.values() if not one["now"]} == {"was not measured"}
    for pointer in (WRITE, LATENCY):
        limit_of(proposal, pointer).clear()
        limit_of(proposal, pointer).update(limit_of(LIMITS, pointer))
    assert proposal == LIMITS


def test_the_proposal_is_a_platform_file(bench, tmp_path):
    root = tmp_path / "root" / "thresholds"
    root.mkdir(parents=True)
    shutil.copy(ROOT / "thresholds" / "schema.json", root)
    target = root / "connectx4-homelab.json"
    code, out, err = bench.run(healthy(1)).run(healthy(2)).derive("-o", target)
    assert (code, err) == (10, "")
    assert f"{WRITE} bw_average: 35" in out
    assert "NOT DERIVED /measurements/host_read_bandwidth/limits/0" in out
    code, _, err = bench.derive("-o", target)
    assert (code, "exists already" in err, "--force" in err) == (2, True, True)
    assert bench.derive("--force", "-o", target)[0] == 10
    platform = thresholds.load("connectx4-homelab", root)
    assert list(thresholds.uncovered(platform)) == []
    code, page, _ = bench.railgauge("limits", "connectx4-homelab", "--root", root.parent)
    assert code == 0
    assert "calibration: calibration runs 20260101-020000-lab" in page


def test_the_platform_has_the_name_of_its_file(bench, tmp_path):
    root = tmp_path / "root"
    (root / "thresholds").mkdir(parents=True)
    shutil.copy(ROOT / "thresholds" / "schema.json", root / "thresholds")
    target = root / "thresholds" / "mine.json"
    _, out, _ = bench.run(healthy(1)).run(healthy(2)).derive("-o", target)
    assert "in the hostfile: platform: mine" in out
    assert thresholds.load("mine", root / "thresholds").name == "mine"
    assert bench.railgauge("limits", "mine", "--root", root)[0] == 0
    document = json.loads(target.read_text())
    assert document["calibrated_from"] == "connectx4-homelab"
    again = Bench(tmp_path / "again", bench.railgauge)
    again.run(healthy(3), document, platform="mine").run(healthy(4), document, platform="mine")
    assert again.derive("-o", target.with_name("better.json"))[0] == 10
    better = json.loads(target.with_name("better.json").read_text())
    assert (better["platform"], better["calibrated_from"]) == ("better", "connectx4-homelab")


def test_a_file_whose_name_is_no_platforms_is_refused(bench, tmp_path):
    target = tmp_path / "my limits.json"
    code, out, err = bench.run(healthy(1)).run(healthy(2)).derive("-o", target)
    assert (code, out, target.exists()) == (2, "", False)
    assert "my limits" in err


def test_nights_before_and_after_are_one_fleet(bench, tmp_path, railgauge):
    root = tmp_path / "site"
    calibrated = {**LIMITS, "platform": "mine", "calibrated_from": "connectx4-homelab"}
    nights = Bench(root / "reports", railgauge)
    whole = {
        "subject": "host_write_bandwidth", "metric": "bw_average", "unit": "MiB/s",
        "better": "higher", "evidence": "hardware", "pairing": "mlx5_0",
    }  # fmt: skip
    for night in range(8):
        level = 3775.0 if night < 4 else 3300.0
        rows = [{**one, **whole} for one in healthy(night, level) if one["pointer"] == WRITE]
        later = {"limits": calibrated, "platform": "mine"} if night >= 4 else {}
        nights.run(rows, **later)
    code, out, _ = railgauge("trend", "--root", root, "--json")
    (fleet,) = json.loads(out)["fleets"]
    assert (code, len(fleet["nights"])) == (1, 8)
    assert fleet["findings"][0]["kind"] == "step"


IDEAL_POINTER = "/measurements/pair_all_gather/limits/0"


def shares(bench, rows):
    """Two runs of h100-tcpx, with the floor of the all_gather as a share of its ideal."""
    limits = long_form("h100-tcpx")
    assert limit_of(limits, IDEAL_POINTER)["of"] == "ideal"
    for _ in range(2):
        bench.run(rows, limits, platform="h100-tcpx")
    _, proposal, outcomes = bench.json()
    return limit_of(proposal, IDEAL_POINTER), outcomes[IDEAL_POINTER]


def test_a_share_of_the_ideal_is_measured_as_one(bench):
    """Each sample has its own ideal: a larger group has another, and the same share of it."""
    rows = [
        line(IDEAL_POINTER, 2**30, pair, 0.8 * ideal, ideal=ideal, physical_ceiling=200.0)
        for pair, ideal in zip(PAIRS, (100.0, 100.0, 60.0), strict=True)
    ]
    limit, outcome = shares(bench, rows)
    assert (limit["of"], limit["floor"]) == ("ideal", 0.76)
    assert outcome["now"] == "76.0% of the ideal"
    assert "as a share of its own ideal" in limit["basis"]["says"]


def test_a_share_needs_every_ideal(bench):
    rows = [line(IDEAL_POINTER, 2**30, pair, 80.0, physical_ceiling=None) for pair in PAIRS]
    limits = long_form("h100-tcpx")
    for _ in range(2):
        bench.run(rows, limits, platform="h100-tcpx")
    code, _, err = bench.derive()
    assert (code, "has samples for which the ideal is not known" in err) == (2, True)


def test_a_floor_below_is_accepted_for_each_measurement(bench):
    bench.run(healthy(1, 1800)).run(healthy(2, 1800))
    _, _, outcomes = bench.json("--accept-below", "host_write_bandwidth=0.44")
    assert outcomes[WRITE]["now"].startswith("17")
    message = stays(bench, WRITE, "--accept-below", "host_read_bandwidth=0.1")
    assert "less than 50%" in message
    code, _, err = bench.derive("--accept-below", "host_wirte_bandwidth=0.4")
    assert (code, "has no such measurement; it has " in err) == (2, True)


def test_a_limit_that_was_recorded_only_becomes_a_real_one(bench):
    limits = json.loads(json.dumps(LIMITS))
    loose = limit_of(limits, WRITE)
    loose["record_only"] = True
    del loose["floor"]
    _, proposal, outcomes = bench.run(healthy(1), limits).run(healthy(2), limits).json()
    assert "record_only" not in limit_of(proposal, WRITE)
    assert outcomes[WRITE]["was"] == "record only"
    assert limit_of(proposal, WRITE)["floor"]["curve"]["8MiB"] > 3500


def stays(bench, pointer=WRITE, *more):
    _, proposal, outcomes = bench.json(*more)
    assert limit_of(proposal, pointer) == limit_of(LIMITS, pointer)
    assert outcomes[pointer]["now"] == ""
    return outcomes[pointer]["stays"]


def split(seed):
    """One pair of three at half the rate of the others."""
    lines = healthy(seed)
    for one in lines:
        if one["pointer"] == WRITE and one["nodes"] == list(PAIRS[0]):
            one["values"] = [one["values"][0] * 0.55]
    return lines


def test_samples_in_two_groups_are_refused_and_the_slow_ones_named(bench):
    message = stays(bench.run(split(1)).run(split(2)).run(split(3)))
    assert message.startswith("has samples in two groups at 64KiB: 3 around 20")
    assert "(viper:columbia), 6 around 377" in message


def test_a_sample_that_the_limit_itself_would_fail_is_refused(bench):
    lines = healthy(1)
    lines[0]["values"] = [3400.0]
    message = stays(bench.run(lines).run(healthy(2)))
    assert message.startswith("would be missed by 1 of its own 6 samples at 64KiB, down to 3400")


@pytest.mark.parametrize(
    ("ideal", "says"),
    [(None, "would be 46.1% of the 800 GB/s"), (400.0, "369.1 GB/s to 369.1 GB/s")],
)
def test_a_healthy_collective_is_compared_with_its_ideal(bench, ideal, says):
    """388 GB/s is 97 % of a ring's 400 GB/s, and half of what a reducing switch could reach."""
    limits = long_form("h200")
    pointer = "/measurements/pair_all_reduce/limits/0"
    known = {"physical_ceiling": 800.0, **({} if ideal is None else {"ideal": ideal})}
    rows = [line(pointer, 2**33, pair, 388.6, **known) for pair in PAIRS]
    for _ in range(2):
        bench.run(rows, limits, platform="h200")
    _, out, err = bench.derive("--json")
    assert says in (err or _changed(json.loads(out), pointer))


def _changed(data, pointer):
    one = next(one for one in data["limits"] if one["pointer"] == pointer)
    return f"{one['was']} to {one['now']}"


def test_a_slow_cluster_does_not_set_its_own_floor(bench):
    bench.run(healthy(1, 1800)).run(healthy(2, 1800))
    message = stays(bench)
    assert "of the 3815 MiB/s that the hardware reaches at best, less than 50%" in message
    assert "--accept-below host_write_bandwidth=0.44" in message
    _, proposal, outcomes = bench.json("--accept-below", "0.44")
    assert outcomes[WRITE]["now"].startswith("17")
    assert limit_of(proposal, WRITE)["floor"]["curve"]["8MiB"] < 1710


def test_a_limit_that_was_missed_is_not_calibrated(bench):
    lines = healthy(1)
    lines[0]["outcome"] = "failed"
    assert stays(bench.run(lines).run(healthy(2))).startswith(f"was missed in {RUNS[0]}")


def test_few_samples_are_refused(bench):
    bench.run([one for one in healthy(1) if one["pointer"] == WRITE])
    bench.run([one for one in healthy(2) if one["pointer"] == LATENCY])
    bench.run([one for one in healthy(3) if one["pointer"] == LATENCY])
    assert stays(bench) == "has 3 samples at 64KiB, needs 5"


def test_sizes_at_the_ends_must_have_been_measured(bench):
    thin = [[one for one in healthy(s) if one["size_bytes"] != 65536] for s in (1, 2)]
    message = stays(bench.run(thin[0]).run(thin[1]))
    assert message == "was not measured at 64KiB: calibrate with --level signoff"


def test_fraction_is_what_is_asked(bench):
    bench.run(healthy(1)).run(healthy(2))
    bounds = [
        limit_of(bench.json("--fraction", f)[1], WRITE)["floor"]["curve"]["8MiB"]
        for f in ("0.9", "0.99")
    ]
    assert bounds[0] / bounds[1] == pytest.approx(0.9 / 0.99, rel=1e-3)


@pytest.mark.parametrize("word", ["0", "1.5", "-1", "nan", "much"])
def test_a_fraction_is_a_share(bench, word):
    code, _, err = bench.run(healthy(1)).derive("--fraction", word)
    assert code == 2
    assert "is not a share" in err


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"evidence": "simulated"}, "simulated evidence"),
        ({"platform": "h200"}, "is of platform h200"),
        ({"limits": {**LIMITS, "title": "Others"}}, "was judged by other limits"),
    ],
)
def test_runs_must_belong_together(bench, changed, says):
    code, out, err = bench.run(healthy(1)).run(healthy(2), **changed).derive()
    assert (code, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1


def test_every_basis_of_simulated_evidence_names_it(bench):
    bench.run(healthy(1), evidence="simulated").run(healthy(2), evidence="simulated")
    _, proposal, _ = bench.json()
    assert "(simulated evidence)" in limit_of(proposal, WRITE)["basis"]["says"]


@pytest.mark.parametrize("evidence", ["replayed", "not verified"])
def test_a_replay_is_no_calibration(bench, evidence):
    """It has a name of its own: the same measurements would count as often as they are replayed."""
    bench.run(healthy(1), evidence=evidence).run(healthy(2), evidence=evidence)
    code, out, err = bench.derive()
    assert (code, out) == (2, "")
    assert "is a replay, which would count a measurement again" in err


@pytest.mark.parametrize("before", [{}, {1: [0]}, {1: [7], 2: [7]}])
def test_the_same_run_does_not_count_twice(bench, before):
    """Nor one and another that carries it on, which has its measurements too."""
    for number in range(3):
        bench.run(healthy(number))
        for one in before.get(number, ()):
            (bench.runs[number] / "earlier" / f"2026010{one + 1}-020000-lab").mkdir(parents=True)
    bench.runs += [] if before else bench.runs[:1]
    code, out, err = bench.derive()
    assert (code, out) == (2, "")
    assert "has measurements of 2026010" in err


def test_nothing_to_derive_is_one_clear_line(bench):
    code, out, err = bench.run([{"half": "a line"}, {"pointer": WRITE, "values": ["x"]}]).derive()
    assert (code, out) == (2, "")
    assert "no limit can be derived: was not measured" in err


@pytest.mark.parametrize("text", ["", "[]", "{}", "{" * 50_000])
def test_a_damaged_limits_file_is_one_clear_line(bench, text):
    bench.run(healthy(1))
    (bench.runs[0] / "thresholds.json").write_text(text)
    code, out, err = bench.derive()
    assert (code, out) == (2, "")
    assert "thresholds.json" in err
    assert err.count("\n") == 1
    assert "/tmp/railgauge-" not in err
