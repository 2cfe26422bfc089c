"""Devices, pipes and files of empty lines in place of input: one line, and no waiting."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from testing.core_values import HOSTFILE_SCHEMA, lines_of
from testing.places import ROOT

from railgauge.config import deviations, hostfile
from railgauge.config.thresholds import source
from railgauge.core.errors import BadInput
from railgauge.subnet import declared

HEAD = "cluster: c\nplatform: h200\n"
MOST_S = 1.0
RAILGAUGE = Path(sys.executable).with_name("railgauge")


def refused(read: Callable[[], object]) -> str:
    begun = time.process_time()
    with pytest.raises(BadInput) as caught:
        read()
    assert time.process_time() - begun < MOST_S
    (line,) = lines_of(caught.value)
    assert len(line) < 1000
    return line


def load(path: Path) -> object:
    return hostfile.load(path, schema_file=HOSTFILE_SCHEMA, platform="h200")


READERS = {
    "hostfile": load,
    "deviations": deviations.load,
    "topology": declared.read_topology,
    "platform": lambda path: source.text(path, ROOT / "thresholds"),
}


@pytest.fixture(params=READERS.values(), ids=READERS)
def read(request: pytest.FixtureRequest) -> Callable[[Path], object]:
    return request.param


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom", "/dev/tty", "/dev/null"])
def test_a_device_is_no_plain_file(read: Callable[[Path], object], device: str) -> None:
    message = refused(lambda: read(Path(device)))
    assert "no plain file" in message or "cannot be read" in message


def test_a_pipe_is_not_waited_for(read: Callable[[Path], object], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "is no plain file" in refused(lambda: read(tmp_path / "pipe"))


def test_a_folder_is_called_one(read: Callable[[Path], object], tmp_path: Path) -> None:
    assert "Is a directory" in refused(lambda: read(tmp_path))


@pytest.mark.parametrize("named", ["/dev/zero", "pipe"])
def test_a_topology_file_that_is_a_device_is_refused(tmp_path: Path, named: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    path = tmp_path / "c.yaml"
    path.write_text(f"{HEAD}nodes: n1\nfabric: {{node: n1, topology: {named}}}\n")
    argv = [RAILGAUGE, "plan", "--hostfile", path, "--root", ROOT]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2, done.stderr
    assert "is no plain file" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("line", ["\n", "#\n", " \n"])
@pytest.mark.parametrize("name", ["c.yaml", "hosts"])
def test_millions_of_empty_lines_are_refused(tmp_path: Path, line: str, name: str) -> None:
    path = tmp_path / name
    path.write_text(HEAD * (name == "c.yaml") + line * (4_000_000 // len(line)) + "nodes: n1\n")
    assert "has more than 200000 lines" in refused(lambda: load(path))


@pytest.mark.parametrize("members", ["n1", "n[1-2]", "x{}"])
def test_twenty_thousand_groups_are_refused(tmp_path: Path, members: str) -> None:
    path = tmp_path / "c.yaml"
    groups = "".join(f"  g{i}: '{members.format(i)}'\n" for i in range(20_000))
    path.write_text(f"{HEAD}nodes: 'n[1-1000]'\ngroups:\n{groups}")
    begun = time.process_time()
    with pytest.raises(BadInput, match="20000 groups, and at most 4000") as caught:
        load(path)
    assert time.process_time() - begun < 2 * MOST_S  # most of it is the parser's
    assert len(lines_of(caught.value)) == 1


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ssh: {connect_timeout_s: 1:30}", "1:30"),
        ("ssh: {patience_s: 1:30.5}", "1:30.5"),
        ("environment: {A: 190:20:30}", "190:20:30"),
        ("ssh: {port: -1:30}", "-1:30"),
    ],
)
def test_a_number_of_base_60_is_refused(tmp_path: Path, text: str, shown: str) -> None:
    """1:30 was read as 90, without a message."""
    path = tmp_path / "c.yaml"
    path.write_text(f"{HEAD}nodes: n1\n{text}\n")
    message = refused(lambda: load(path))
    assert f"reads {shown} as a number of base 60: put it in quotes" in message
