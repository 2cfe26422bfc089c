"""Tools that are missing, silent, endless or absurd: an error on their items, and no pass."""

from __future__ import annotations

from typing import Any

import pytest
from testing.acceptance import (
    HOMELAB,
    METAX,
    ONE_PAIR,
    SMOKE,
    Change,
    Project,
    Run,
    Runs,
    Scenario,
    assert_sound,
)
from testing.fewer import EXPECTED, measuring

WRITE = (
    "tests/network/test_rdma.py::test_bandwidth[host_write_bandwidth-viper:columbia-mlx5_0-8MiB]"
)
# The other item that reads the same command's output.
TRAFFIC = "tests/network/test_rdma.py::test_traffic[host_write_bandwidth-viper:columbia-mlx5_0]"
# A row of perftest: sizes and iterations, the peak, the average, and the message rate.
ROW = r"^\( *[0-9]\+ \+[0-9]\+ \+\)\([^ ]* \+\)[^ ]* \+[^ ]*$"


FEW = measuring("connectx4-homelab", "host_write_bandwidth", "host_send_latency")
OF_GPUS = ("acs", "peer_memory", "gpu_count", "gpu_model", "gpu_memory", "collective_library")


def hurry(project: Project) -> None:
    """A shorter time limit, because a hanging tool uses all of it."""

    def change(document: dict[str, Any]) -> None:
        document["measurements"]["host_write_bandwidth"]["time_limit_s"] = 3

    FEW(project)
    project.edit_platform("connectx4-homelab", change)


def falsify(average: str, rate: str, peak: str) -> Change:
    """Put a program before ib_write_bw that changes what it prints."""

    def change(project: Project) -> None:
        FEW(project)
        program = project.write(
            "false/ib_write_bw",
            '#!/bin/sh\nout=$(ib_write_bw "$@"); code=$?\n'
            f"printf '%s\\n' \"$out\" | sed 's/{ROW}/\\1{peak} {average} {rate}/'\nexit $code\n",
        )
        program.chmod(0o755)
        for tool in ("ib_read_bw", "ib_send_bw", "ib_send_lat"):
            project.write(f"false/{tool}", f'#!/bin/sh\nexec {tool} "$@"\n').chmod(0o755)
        hostfile = project.folder / HOMELAB[1]
        with hostfile.open("a", encoding="utf-8") as file:
            file.write(f"tools: {{perftest: {program.parent}}}\n")

    return change


def falsified(average: str, rate: str = "0.000472", *, peak: str = r"\2") -> Scenario:
    return Scenario(
        (*ONE_PAIR, "-k", "test_bandwidth and write_bandwidth"), falsify(average, rate, peak)
    )


def fault(name: str, change: Change = FEW) -> Scenario:
    return Scenario((*ONE_PAIR, "--lab-fault", name), change, waits=True)


# Words that the item's reason must contain.
REASONS = {
    "missing": ("viper: ib_write_bw", "tool-missing", "install it there"),
    "missing-server": ("columbia", "ib_write_bw", "not found"),
    "silent": ("viper: ib_write_bw", "no-output"),
    "hangs": ("viper: ib_write_bw", "command-timed-out after 3"),
    "hangs-server": ("columbia: ib_write_bw did not listen on port",),
    "garbage": ("viper: ib_write_bw", "no-table"),
    "floods": ("viper: ib_write_bw", "output-too-large"),
    "nan": ("viper: ib_write_bw", "nan"),
    "infinite": ("viper: ib_write_bw", "inf"),
    "negative": ("viper: ib_write_bw", "-3774.33"),
    "zero": ("viper: ib_write_bw", "bw_average is 0"),
    "too-good": ("bw_average of 3900 MiB/s", "above the physical ceiling"),
    "inconsistent": ("viper: ib_write_bw", "does not follow from"),
    "words": ("viper: ib_write_bw",),
}
SCENARIOS = {
    "survey-hangs": Scenario(
        (*METAX, *SMOKE, "--lab-nodes", "2", "--lab-fault", "tool-hangs@mx02:mx-smi"),
        measuring("metax-c500", "host_write_bandwidth", expected=(*EXPECTED, *OF_GPUS)),
        waits=True,
    ),
    "silent": fault("tool-silent@viper"),
    "garbage": fault("tool-garbage@viper"),
    "floods": fault("tool-floods@viper"),
    "missing": fault("tool-missing@viper"),
    "missing-server": fault("tool-missing@columbia"),
    "hangs": fault("tool-hangs@viper", hurry),
    "hangs-server": fault("tool-hangs@columbia", hurry),
    "nan": falsified("nan"),
    "infinite": falsified("inf"),
    "negative": falsified("-3774.33"),
    "zero": falsified("0.00"),
    "too-good": falsified("3900.00", "0.000488", peak="3910.00"),
    "inconsistent": falsified("3700.00", "0.000472"),
    "words": falsified("fast"),
}


@pytest.fixture(params=REASONS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def run(runs: Runs, name: str) -> Run:
    return runs[name]


def test_an_error_on_the_items_of_that_command_and_on_no_other(run: Run) -> None:
    assert_sound(run)
    assert run.code == 10
    assert run.verdict["verdict"] == "incomplete"
    concerned = {WRITE, TRAFFIC} & set(run.outcomes)
    assert run.with_outcome("error") == concerned
    assert run.with_outcome("passed") == set(run.outcomes) - concerned


def test_the_reason_is_told_everywhere(run: Run, name: str) -> None:
    assert run.junit[WRITE].outcome == "error"
    assert run.allure[WRITE]["status"] == "broken"
    details = run.allure[WRITE]["statusDetails"]
    texts = (run.junit[WRITE].message, str(details), run.html_rows[WRITE], run.words)
    for text in texts[: 2 if name.startswith("missing") else 4]:
        for word in REASONS[name]:
            assert word in text


def test_no_number_of_it_is_taken_for_a_measurement(run: Run) -> None:
    assert {WRITE, TRAFFIC}.isdisjoint(line["id"] for line in run.measurements)


def test_what_the_tool_printed_is_on_disk(run: Run, name: str) -> None:
    case = run.transcripts["host_write_bandwidth[viper:columbia-mlx5_0]"]
    if name == "hangs-server":
        assert case["error"]["kind"] == "command-timed-out"
    else:
        assert {t["node"] for t in case["runs"][0]} & {"viper", "columbia"}
    texts = (run.latest / "transcripts").glob("host_write_bandwidth*.txt")
    text = next(texts).read_text(encoding="utf-8", errors="replace")
    assert "ib_write_bw" in text
    printed = {"nan": "nan", "infinite": "inf", "negative": "-3774.33", "too-good": "3900.00"}
    assert printed.get(name, "") in text


def test_a_run_with_a_hanging_tool_ends_soon(runs: Runs) -> None:
    """Well below the platform's 120 s; the margin is for a busy machine."""
    assert max(runs[name].duration_s for name in ("hangs", "hangs-server")) < 90


def test_a_probed_tool_that_hangs_costs_its_own_facts_only(runs: Runs) -> None:
    run = runs["survey-hangs"]
    assert_sound(run)
    assert run.code == 10
    facts = run.environment["nodes"]["mx02"]["facts"]
    healthy = run.environment["nodes"]["mx01"]["facts"]
    for name in ("kernel", "os", "cpus", "governors", "acs_enabled", "peer_memory"):
        assert facts[name] == healthy[name] != None  # noqa: E711 - of both
    assert len(facts["nics"]) == len(healthy["nics"])
    assert facts["gpus"] == []
    assert "mx-smi" in facts["missing"]["gpus"]
    lost = run.with_outcome("error")
    assert lost
    gpus = ("test_gpus.py", "test_gpu_health.py", "test_gpu_", "test_collective_library")
    assert all(any(name in i for name in gpus) for i in lost), lost
    assert not any("mx01" in i for i in lost)
