"""Where the programs of a node are."""

from __future__ import annotations

import pytest

from railgauge.core.model import Command
from railgauge.core.programs import folders, located, placed

TOOLS = {
    "perftest": "/opt/pt",
    "ib_read_bw": "/opt/own/ib_read_bw",
    "mpirun": "/opt/ompi/bin/mpirun",
    "nvidia-smi": "/usr/lib/nv",
    "lspci": "/usr/lib/nv/lspci",
}


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("ib_write_bw", "/opt/pt/ib_write_bw"),
        ("ib_read_bw", "/opt/own/ib_read_bw"),
        ("mpirun", "/opt/ompi/bin/mpirun"),
        ("nvidia-smi", "/usr/lib/nv/nvidia-smi"),
    ],
)
def test_a_programs_own_path_counts_before_that_of_its_tool(name: str, path: str) -> None:
    assert located(TOOLS, name, ("perftest",)) == path


def test_a_program_without_a_declared_path_is_searched_on_the_path() -> None:
    assert located({}, "ib_write_bw", ("perftest",)) == "ib_write_bw"


def test_a_path_may_be_that_of_a_program_beside_it() -> None:
    found = located({"ccl_tests": "/opt/a_perf"}, "b_perf", ("ccl_tests",), ("a_perf",))
    assert found == "/opt/b_perf"


def test_the_program_of_a_command_is_placed_and_nothing_else() -> None:
    command = placed(Command("n1", ("mpirun", "-np", "2", "nvidia-smi"), {"A": "1"}), TOOLS)
    assert command.argv == ("/opt/ompi/bin/mpirun", "-np", "2", "nvidia-smi")
    assert placed(command, TOOLS) == command


def test_folders_are_named_once_and_only_for_what_is_asked() -> None:
    assert folders(TOOLS, ("lspci", "nvidia-smi", "mx-smi")) == ("/usr/lib/nv",)
