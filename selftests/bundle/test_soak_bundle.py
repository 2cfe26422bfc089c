"""A soak in a bundle: judged anew, and refused if a round was left out, exchanged or invented."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from testing import bundle_bench as bench
from testing import forger_bench as forger
from testing.acceptance import BARE_SMOKE, HOMELAB, make_project
from testing.bundle_bench import Bundled, Files

from railgauge.bundle import signing
from railgauge.cli import main

ROUNDS = 4
RUN = "run/run.json"
ROW = re.compile(r"(8388608\s+\d+\s+)[\d.]+\s+[\d.]+\s+[\d.]+")


@pytest.fixture(scope="session")
def soaked(tmp_path_factory: pytest.TempPathFactory) -> Bundled:
    """A healthy run of three nodes with a soak of four rounds."""
    folder = tmp_path_factory.mktemp("soaked")
    project = make_project(folder / "project")
    run = project.run(*HOMELAB, *BARE_SMOKE, "--soak", f"{ROUNDS}rounds", "--soak-seed", "11")
    assert run.code == 0, run.output[-3000:]
    path = folder / "soaked.railgauge"
    bench.bundle(run.latest, path, "--unsigned")
    return Bundled(run, path)


class Forge:
    """Makes whole bundles of changed evidence, and verifies them."""

    def __init__(self, verify: Callable, folder, source: Bundled) -> None:
        self._verify, self._source, self.path = verify, source, folder / "forged"
        self._key = Ed25519PrivateKey.generate()
        self._public = folder / "forger.pub"
        self._public.write_text(signing.public_line(self._key))

    def __call__(self, *changes: Callable[[Files], object]) -> tuple[int, str, str]:
        def change(content: Files) -> None:
            for one in changes:
                one(content)

        forger.sealed(self._source.path, self.path, self._key, change)
        return self._verify(self.path, "--key", self._public)


@pytest.fixture
def forge(verify, tmp_path, soaked) -> Forge:
    return Forge(verify, tmp_path, soaked)


# --- what is changed ---


def of_round(content: Files, number: int) -> list[str]:
    below = f"run/soak/{number:04d}/transcripts/"
    return sorted(name for name in content if name.startswith(below) and name.endswith(".json"))


def slowed(number: int) -> Callable[[Files], None]:
    """One bandwidth of the round is a third of what it was."""

    def change(content: Files) -> None:
        name = next(one for one in of_round(content, number) if "host_send_bandwidth" in one)
        data = json.loads(content[name])
        for transcript in data["runs"][0][:2]:
            assert ROW.search(transcript["stdout"])
            transcript["stdout"] = ROW.sub(r"\g<1>1200.00 1200.00 0.000150", transcript["stdout"])
        content[name] = json.dumps(data).encode()

    return change


def without_round(number: int) -> Callable[[Files], None]:
    def change(content: Files) -> None:
        for name in [one for one in content if one.startswith(f"run/soak/{number:04d}/")]:
            del content[name]

    return change


def renumbered(*numbers: int) -> Callable[[Files], None]:
    """``renumbered(1, 3)``: what was round 3 becomes round 2, and so on."""

    def change(content: Files) -> None:
        held = {one: content.pop(one) for one in list(content) if one.startswith("run/soak/")}
        for now, was in enumerate(numbers, 1):
            for name, data in held.items():
                if name.startswith(f"run/soak/{was:04d}/"):
                    content[name.replace(f"/{was:04d}/", f"/{now:04d}/", 1)] = data

    return change


def of_plan(**fields: object) -> Callable[[Files], None]:
    def change(content: Files) -> None:
        plan = json.loads(content[RUN])
        plan["soak"] |= fields
        content[RUN] = json.dumps(plan).encode()

    return change


JUDGED = forger.judged_soak


# --- what verifies ---


def test_a_soak_is_judged_again(soaked, verify):
    code, out, _ = verify(soaked.path)
    assert (code, "accepted: it stands" in out) == (0, True)


def test_an_honest_rejection_verifies(forge):
    code, out, err = forge(slowed(2), JUDGED)
    assert (code, err) == (1, "")
    assert "rejected: it stands" in out
    verdict = json.loads(bench.files(forge.path)["run/verdict.json"])
    (cause,) = verdict["causes"]
    began = verdict["soak"]["rounds"][1]["began"][:19].replace("T", " ")
    assert f"in 1 of {ROUNDS} rounds of the soak, first in round 2 at {began} UTC" in cause["says"]
    assert cause["timing"] == {"kind": "intermittent", "since": "", "slow": 1, "of": ROUNDS}
    assert verdict["soak"]["events"] == 1


def test_a_redacted_soak_is_drawn_the_same(soaked, verify, tmp_path):
    path = tmp_path / "redacted"
    bench.bundle(soaked.run.latest, path, "--unsigned", "--redact", "hosts,addresses")
    assert not [name for name in bench.files(path) if any(host in name for host in bench.HOSTS)]
    assert verify(path)[0] == 0


def test_a_replay_judges_the_soak(soaked, capsys):
    run = soaked.project.run("--replay", str(soaked.path), *BARE_SMOKE[2:])
    assert run.code == 0, run.output[-2000:]
    assert run.verdict["soak"]["whole_rounds"] == ROUNDS
    assert run.verdict["counts"] == soaked.run.verdict["counts"]


# --- what does not ---


def refused(forge: Forge, *changes: Callable[[Files], object]) -> str:
    code, out, err = forge(*changes)
    assert (code, out) == (1, ""), err
    assert err.startswith("railgauge: NOT VERIFIED: ")
    return err


def test_a_failed_item_that_is_left_out_is_found(forge):
    assert "has no record of soak/0002/host_send_bandwidth" in refused(forge, slowed(2))


def test_a_soak_record_without_evidence_is_refused(forge):
    def invented(content: Files) -> None:
        lines = content[forger.RECORDS].splitlines()
        record = json.loads(next(x for x in lines if b'"soak/0004/passed' in x))
        record["id"] = record["id"].replace("0004", "0005")
        content[forger.RECORDS] += json.dumps(record, sort_keys=True).encode() + b"\n"
        plan = json.loads(content[RUN])
        plan["planned"].append(record["id"])
        content[RUN] = json.dumps(plan).encode()

    assert "has a record without evidence of soak/0005" in refused(forge, invented)


ROUND_3_FAILED: Sequence[Callable[[Files], None]] = (slowed(3),)


@pytest.mark.parametrize("order", [(1, 2, 4), (1, 2, 4, 3), (2, 1, 3, 4), (1, 2, 2, 4)])
def test_renumbered_rounds_are_refused(forge, order):
    """A failed round is removed, or moved to where it is not expected."""
    plan = of_plan(rounds=len(order), asked=f"{len(order)}rounds")
    message = refused(forge, *ROUND_3_FAILED, renumbered(*order), plan, JUDGED)
    assert re.search(
        "belongs to no measurement of its round|before the measurement|same output", message
    )


@pytest.mark.parametrize("seed", range(12, 15))
def test_rounds_of_another_seed_are_refused(forge, seed):
    message = refused(forge, of_plan(seed=seed), JUDGED)
    assert re.search("belongs to no measurement of its round|before the measurement", message)


def test_a_round_missing_in_the_middle_is_found(forge):
    with pytest.raises(Exception, match="lacks a round of the soak"):
        forge(without_round(2), JUDGED)


def test_the_last_round_left_out_is_less_than_was_asked_for(forge):
    code, out, err = forge(slowed(ROUNDS), without_round(ROUNDS), JUDGED)
    assert (code, err) == (10, "")
    assert "incomplete: it stands" in out


def test_a_measurement_left_out_leaves_its_round_undone(forge):
    def change(content: Files) -> None:
        del content[of_round(content, 2)[0]]

    code, out, err = forge(change, JUDGED)
    assert (code, err) == (10, "")
    assert "incomplete: it stands" in out


def test_a_soak_that_the_plan_does_not_have_is_refused(forge):
    def change(content: Files) -> None:
        plan = json.loads(content[RUN])
        plan["soak"] = None
        content[RUN] = json.dumps(plan).encode()

    assert "is evidence of a soak that the run did not have" in refused(forge, change, JUDGED)


def test_a_soak_without_all_its_evidence_is_refused(forge):
    code, out, err = forge(*map(without_round, range(1, ROUNDS + 1)), JUDGED)
    assert (code, err) == (10, "")
    assert "incomplete: it stands" in out


def test_another_command_in_a_round_is_refused(forge):
    def change(content: Files) -> None:
        name = of_round(content, 1)[0]
        data = json.loads(content[name])
        data["runs"][0][0]["argv"][-1] = "--size=1"
        content[name] = json.dumps(data).encode()

    assert "is not the command of" in refused(forge, change, JUDGED)


def test_a_run_without_a_soak_is_as_before(healthy):
    assert "soak" not in healthy.run.verdict
    assert main(["verify", str(healthy.path), "--unsigned"]) == 0
