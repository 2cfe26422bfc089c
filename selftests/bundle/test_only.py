"""``--only NODES``: a verdict of these nodes alone, and the sign-off that it completes."""

from __future__ import annotations

import json
from html import unescape

import pytest
from testing import bundle_bench as bench
from testing.acceptance import BARE, HOMELAB, SMOKE, make_project
from testing.core_values import one_line
from testing.fewer import measuring

from railgauge.cli import main

FEW = measuring(
    "connectx4-homelab", "host_write_bandwidth", "host_send_bandwidth", "host_send_latency"
)
PLAIN = (*HOMELAB, *SMOKE, *BARE)
# One node misses a setting, which closes the gate of all its pairs.
SIGNED = (*PLAIN, "--lab-fault", "governor@columbia")


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    made = make_project(tmp_path_factory.mktemp("only") / "site")
    FEW(made)
    return made


@pytest.fixture(scope="module")
def run(project):
    """``run(option, …)``: the exit code and the folder of a run."""

    def run(*options):
        done = project.run(*options)
        return done.code, (project.folder / "reports" / "latest").resolve(), done

    return run


@pytest.fixture(scope="module")
def older(run):
    """A run of the node from before the sign-off."""
    return run(*PLAIN, "--only", "columbia", "--partners", "viper,prometheus")[1]


@pytest.fixture(scope="module")
def signed(run, older):
    code, folder, _ = run(*SIGNED)
    assert code == 1
    return folder


@pytest.fixture(scope="module")
def qualified(run, signed):
    code, folder, done = run(*PLAIN, "--only", "columbia", "--partners-from", signed.name)
    assert code == 0, done.output
    assert "columbia QUALIFIED (SIMULATED evidence), asserted 24 of 24" in done.stdout
    return folder


@pytest.fixture(scope="module")
def completed(signed, qualified):
    into = signed.parent / "20300101-000000-completed"
    assert main(["merge", str(signed), str(qualified), "--into", str(into)]) == 0
    return into


@pytest.fixture
def refused(capsys, tmp_path):
    def refused(*runs):
        capsys.readouterr()
        assert main(["merge", *map(str, runs), "--into", str(tmp_path / "into")]) == 2
        assert not (tmp_path / "into").exists()
        return one_line(capsys.readouterr().err)

    return refused


def verdict(folder):
    return json.loads((folder / "verdict.json").read_text(encoding="utf-8"))


def records(folder):
    lines = (folder / "records.jsonl").read_text(encoding="utf-8").splitlines()
    return {one["id"]: one for one in map(json.loads, lines)}


# --- the verdict of the node ---


def test_the_verdict_is_of_the_node_and_nowhere_that_of_a_cluster(qualified, capsys, tmp_path):
    recorded = verdict(qualified)
    assert recorded["verdict"] == "qualified"
    assert recorded["part"] == {"only": "columbia", "partners": "prometheus,viper"}
    assert "the rest of the cluster was not measured" in recorded["notes"][0]
    page = tmp_path / "c.html"
    assert main(["certificate", str(qualified), "-o", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert "Qualification of nodes, no acceptance of their cluster" in text
    assert "columbia QUALIFIED: all 24 checks passed; the rest of the cluster was not" in text
    assert "Acceptance certificate" not in text
    assert "Accepted by" not in text
    capsys.readouterr()
    assert main(["metrics", str(qualified)]) == 0
    out = capsys.readouterr().out
    assert 'state="accepted"} 0' in out
    assert 'state="qualified"} 1' in out
    assert main(["triage", str(qualified)]) == 0
    assert "QUALIFIED" in capsys.readouterr().out


def test_a_run_with_only_measures_what_concerns_the_node(qualified):
    for name, one in records(qualified).items():
        closing = name.partition("::")[0] in ("kernel", "counters")
        assert closing or "columbia" in one["nodes"], name


def test_the_bundle_of_a_run_with_only_verifies(qualified, verify, tmp_path):
    path = tmp_path / "only.railgauge"
    bench.bundle(qualified, path, "--unsigned", "--redact", "hosts")
    code, out, _ = verify(path)
    assert code == 0
    assert "verdict    qualified: it stands, asserted 24 of 24" in out


def test_a_node_that_still_fails_is_not_qualified(run, signed, tmp_path):
    code, folder, done = run(*SIGNED, "--only", "columbia", "--partners", "viper")
    assert code == 1
    assert "columbia NOT QUALIFIED" in done.stdout
    assert verdict(folder)["verdict"] == "not qualified"
    into = tmp_path / "into"
    assert main(["merge", str(signed), str(folder), "--into", str(into)]) == 1
    assert verdict(into)["verdict"] == "rejected"


# --- the sign-off that it completes ---


def test_the_later_measurement_replaces_the_earlier_one(completed, signed, qualified):
    recorded = verdict(completed)
    assert recorded["verdict"] == "accepted"
    assert recorded["counts"]["asserted"] == recorded["counts"]["planned"] == 42
    assert [part["run_id"] for part in recorded["merged"]] == [signed.name, qualified.name]
    (replaced,) = recorded["merged"][1]["replaces"]
    assert (replaced["node"], replaced["run"]) == ("columbia", signed.name)
    assert replaced["before"] == {"blocked": 12, "failed": 1, "passed": 5}
    assert replaced["now"] == {"passed": 18}
    assert replaced["reason"].startswith("cpu_governor is powersave")
    first = records(completed / "parts" / signed.name)
    assert {one["outcome"] for one in first.values()} >= {"failed", "blocked"}


AGAIN = "columbia: 1 failed, 12 blocked, 5 passed (cpu_governor is powersave"


def test_every_report_begins_with_what_was_replaced_and_its_first_result(
    completed, signed, qualified, tmp_path, verify
):
    page, bundle = tmp_path / "c.html", tmp_path / "b.railgauge"
    assert main(["certificate", str(completed), "-o", str(page)]) == 0
    assert "Acceptance certificate" in page.read_text(encoding="utf-8")
    bench.bundle(completed, bundle, "--unsigned")
    code, out, _ = verify(bundle)
    assert code == 0
    assert "verdict    accepted: it stands, asserted 42 of 42" in out
    assert f"again      {AGAIN}" in out
    for path, after in (
        (page, "<h2>Coverage"),
        (completed / "report.html", "<h2>This run"),
        (completed / "junit.xml", "<testcase"),
        (completed / "allure-results" / "environment.properties", "Unknown = "),
    ):
        first = unescape(path.read_text(encoding="utf-8").partition(after)[0])
        assert AGAIN in first, path
        assert f"in {signed.name}, ended 20" in first
        assert f"18 passed in {qualified.name}, begun 20" in first


def test_a_bundle_that_hides_the_history_does_not_verify(completed, verify, tmp_path, signed):
    bundle = tmp_path / "b.railgauge"
    bench.bundle(completed, bundle, "--unsigned")

    def silent(data):
        data["parts"][1]["replaces"] = []

    def turned(data):
        data["parts"] = data["parts"][::-1]

    def better(data):
        data["merged"][1]["replaces"][0]["before"] = {"passed": 18}

    def gone(data):
        del data["merged"]

    for name, change in [("run", silent), ("run", turned), ("verdict", better), ("verdict", gone)]:
        edit = bench.edit_json(f"run/{name}.json", change)
        path = bench.forged(bundle, tmp_path / f"{change.__name__}.railgauge", edit)
        code, _, err = verify(path)
        assert code == 1
        assert f"NOT VERIFIED: run/{name}.json" in err


# --- what the end of a run shows ---


FAULTS = (
    *("--lab-fault", "link-flap@viper:mlx5_0"),
    *("--lab-fault", "pcie-replays@viper"),
)


@pytest.fixture(scope="module")
def flapped(project, run):
    """A sign-off whose end shows two faults, of which one is accepted, and a run that is clean."""
    accepted = project.folder / "accepted.yaml"
    accepted.write_text(
        "- {subject: 'viper, mlx5_0', cause: link-flap, reason: a cable is ordered, who: A. E.,"
        " until: 2999-01-31}\n",
        encoding="utf-8",
    )
    given = ("--deviations", str(accepted))
    code, folder, _ = run(*PLAIN, *given, *FAULTS)
    assert code == 1
    code, again, done = run(*PLAIN, *given, "--only", "viper", "--partners-from", folder.name)
    assert code == 0, done.output
    into = folder.parent / "20300101-000000-flapped"
    assert main(["merge", str(folder), str(again), "--into", str(into)]) == 1
    return folder, again, into


def test_a_clean_later_end_erases_no_earlier_one(flapped):
    folder, again, into = flapped
    assert verdict(again)["verdict"] == "qualified"
    recorded = verdict(into)
    assert recorded["verdict"] == "rejected"
    assert {one["cause"] for one in recorded["causes"]} == {"link-flap", "pcie-errors"}
    failed = {name: one for name, one in records(into).items() if one["outcome"] == "failed"}
    assert set(failed) == {"kernel::kernel_log[viper]", "counters::growth[viper]"}
    for one in failed.values():
        assert one["reason"].endswith(f"(in {folder.name}); passed in {again.name}")
        assert {judged["outcome"] for judged in one["judgements"]} == {"failed", "passed"}


def test_such_an_end_can_be_accepted_in_writing(flapped):
    (one,) = verdict(flapped[2])["deviations"]
    assert (one["state"], one["covers"]) == ("applied", ["kernel::kernel_log[viper]"])


def test_a_bundle_without_such_an_end_does_not_verify(flapped, verify, tmp_path):
    folder, _, into = flapped
    bundle = tmp_path / "b.railgauge"
    bench.bundle(into, bundle, "--unsigned")
    redacted = tmp_path / "redacted.railgauge"
    bench.bundle(into, redacted, "--unsigned", "--redact", "hosts")
    for path in (bundle, redacted):
        code, out, _ = verify(path)
        assert code == 1
        assert "verdict    rejected: it stands" in out
    part = f"run/parts/{folder.name}/"

    def unread(files):
        for name in [name for name in files if "growth" in name and name.startswith(part)]:
            del files[name]

    def passed(files):
        """The record of the part as it is, and of the merged run as the later run's."""
        lines = files["run/records.jsonl"].decode().splitlines()
        made = [json.loads(line) for line in lines]
        for one in made:
            if one["outcome"] == "failed":
                one |= {"outcome": "passed", "reason": "", "judgements": one["judgements"][-1:]}
        files["run/records.jsonl"] = "".join(f"{json.dumps(one)}\n" for one in made).encode()

    for change, where in ((unread, part), (passed, "run/records.jsonl")):
        path = bench.forged(bundle, tmp_path / f"{change.__name__}.railgauge", change)
        code, _, err = verify(path)
        assert code == 1
        assert f"NOT VERIFIED: {where}" in err


# --- cherry-picking ---


def test_another_nodes_run_hides_nothing(run, signed, tmp_path, refused):
    _, folder, _ = run(*PLAIN, "--only", "viper", "--partners", "prometheus")
    into = tmp_path / "20300101-000000-x"
    assert main(["merge", str(signed), str(folder), "--into", str(into)]) == 1
    assert (
        records(into)["tests/preflight/test_host.py::test_cpu_governor[columbia]"]["outcome"]
        == "failed"
    )
    # The node that failed is no partner: its pairs would pass, and its failure would be older.
    _, folder, _ = run(*PLAIN, "--only", "viper", "--partners", "columbia,prometheus")
    message = refused(signed, folder)
    assert f"{folder.name}: has measured viper with columbia, which the runs before it" in message
    assert "not show to be good" in message


def test_an_older_run_of_the_node_is_refused(signed, older, refused):
    message = refused(signed, older)
    assert f"{older.name}: began " in message
    assert "only a later measurement replaces" in message


def test_a_run_under_other_limits_is_refused(signed, project, run, refused, tmp_path):
    kept = {
        path: path.read_text(encoding="utf-8")
        for path in (project.folder / "thresholds").glob("*.json")
    }
    try:
        project.edit_platform("connectx4-homelab", lambda data: data.update(title="Another one"))
        _, folder, _ = run(*PLAIN, "--only", "columbia", "--partners", "viper")
        assert f"{folder.name}: has another platform file than" in refused(signed, folder)
        code, _, done = run(*PLAIN, "--only", "columbia", "--partners-from", signed.name)
        assert code == 4
        assert "is of another platform file" in done.output
    finally:
        for path, text in kept.items():
            path.write_text(text, encoding="utf-8")


def test_a_run_without_a_sign_off_has_partners_that_nobody_knows(qualified, refused):
    assert "it has passed nothing by itself" in refused(qualified)


# --- options ---


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--only", "columbia"), "needs --partners NODES or --partners-from RUN"),
        (("--partners", "viper"), "--partners: needs --only"),
        (("--only", "nobody", "--partners", "viper"), "nobody is no node of"),
        (("--only", "columbia", "--partners", "columbia"), "is to be qualified and a partner"),
        (("--only", "columbia", "--partners", "viper", "--partners-from", "x"), "one of them"),
        (("--only", "columbia", "--partners-from", "nothing"), "neither a run nor a bundle"),
        (("--only", "columbia", "--partners", "viper", "--shard", "1/2"), "cannot be combined"),
        (
            ("--only", "columbia", "--partners", "viper", "--soak", "1rounds"),
            "combined with --soak",
        ),
        (("--only", "mx[", "--partners", "viper"), "is not a set of nodes"),
    ],
)
def test_bad_options_end_in_one_line(run, options, expected):
    code, _, done = run(*PLAIN, *options)
    assert code == 4
    assert expected in done.output
    assert "Traceback" not in done.output
