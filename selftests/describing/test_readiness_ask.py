"""What a node prints about itself: the script in a real shell, and forged output of a node."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from testing.core_values import transcript

from railgauge.core.model import Cluster, Node, Transcript
from railgauge.describing.readiness import ask
from railgauge.describing.readiness.model import ProgramPlace, SelfReport

NONCE = "ab12"
NAMES = ("nvidia-smi", "rg-mpirun", "ibv_devinfo")


def cluster(become: str = "", rootfs: str = "/") -> Cluster:
    node = Node("n01", "n01", "n01", become=tuple(become.split()))
    return Cluster("c", "unnamed", "ssh", (node,), "c.yaml", rootfs=rootfs)


def printed(folder: Path, become: str = "", **environment: str) -> SelfReport:
    text = output_of(folder, become, **environment)
    return ask.parsed(transcript("n01", stdout=text), NAMES, NONCE)


def output_of(folder: Path, become: str = "", **environment: str) -> str:
    """The output of the script in a shell with the programs of ``folder`` and the system."""
    command = ask.command(cluster(become, str(folder)), NAMES, NONCE)
    search = f"{folder}:{os.environ['PATH']}"
    done = subprocess.run(
        command.argv,
        env={"PATH": search, "HOME": str(folder), "SHELL": "/bin/zsh", **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stderr == ""
    return done.stdout


def program(path: Path, text: str = "exit 0") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_the_script_finds_what_is_there(tmp_path: Path) -> None:
    for address, vendor, kind in (
        ("0000:18:00.0", "0x10de", "0x030200"),
        ("0000:00:1f.0", "0x8086", "0x060100"),
    ):
        device = tmp_path / "sys/bus/pci/devices" / address
        device.mkdir(parents=True)
        (device / "vendor").write_text(f"{vendor}\n")
        (device / "class").write_text(f"{kind}\n")
    program(tmp_path / "nvidia-smi")
    program(tmp_path / "ompi/bin/rg-mpirun")
    (tmp_path / "lib").mkdir()
    here = {"SSH_CONNECTION": "192.0.2.1 50000 192.0.2.7 22", "TMPDIR": str(tmp_path)}
    text = output_of(tmp_path, **here)
    assert f"rg-mpirun {tmp_path}/ompi/bin\n" in text
    found = ask.parsed(transcript("n01", stdout=text), NAMES, NONCE)
    assert found.cut == ""
    assert found.shell == "/bin/zsh"
    assert found.programs["nvidia-smi"] == str(tmp_path / "nvidia-smi")
    assert [(one.vendor, one.is_gpu) for one in found.bus] == [("0x10de", True)]
    assert found.addresses[0] == "192.0.2.7"
    assert found.disks[0].folder == str(tmp_path)
    assert found.disks[0].free_mib > 0
    assert found.root.partition(" ")[0] in ("root", "none", "works", "refused")


def test_a_module_is_found_by_its_definition(tmp_path: Path) -> None:
    """The part of the script for modules, with a site's own ``module`` in place of a real one."""
    program(tmp_path / "hpcx/rg-mpirun")
    init = tmp_path / "modules.sh"
    init.write_text(
        f"module() {{ case $1 in -t) echo hpcx/2.18 >&2;; "
        f"load) [ $2 = hpcx/2.18 ] && PATH={tmp_path}/hpcx:$PATH;; esac; }}\n"
    )
    script = ask.text("ask.sh").replace("/etc/profile.d/modules.sh", str(init))
    body = script[script.index("absent_programs()") : script.index("section who")]
    done = subprocess.run(
        ["sh", "-c", f"NAMES=rg-mpirun\n{body}\nmodules"],
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"rg-mpirun {tmp_path}/hpcx/rg-mpirun {init} hpcx/2.18\n"


def test_a_program_that_becomes_root_is_tried(tmp_path: Path) -> None:
    program(tmp_path / "id", "echo 1000")
    program(tmp_path / "sudo", 'echo "sudo: a password is required" >&2; exit 1')
    assert printed(tmp_path).root == "refused sudo -n: sudo: a password is required"
    program(tmp_path / "raise", 'exec "$@"')
    assert printed(tmp_path, "raise").root == "works raise"


def output(**sections: str) -> Transcript:
    text = "".join(
        f"{NONCE} begin {name}\n{body}\n{NONCE} end {name} 0\n" for name, body in sections.items()
    )
    return transcript("n01", stdout=text)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("folders", "rg-mpirun /opt/$(reboot)/bin"),
        ("folders", "rg-mpirun /opt/x;reboot"),
        ("folders", "rg-mpirun relative/bin"),
        ("folders", "rg-mpirun /tmp/x/bin"),  # folders in which everybody may write on other nodes
        ("folders", "rg-mpirun /opt/../tmp/x"),
        ("folders", "rg-mpirun"),
        ("folders", "rm /opt/x/bin"),
        ("profile", "rg-mpirun /opt/x/rg-mpirun /etc/profile.d/`reboot`.sh"),
        ("modules", "rg-mpirun /opt/x/rg-mpirun /etc/profile.d/modules.sh hpcx;reboot"),
        ("modules", "rg-mpirun /opt/x/rg-mpirun /etc/profile.d/modules.sh -f"),
        ("modules", "rg-mpirun /opt/x/rg-mpirun /etc/profile.d/modules.sh"),
    ],
)
def test_no_command_of_a_node_becomes_a_line_that_runs_on_all(name: str, line: str) -> None:
    assert ask.parsed(output(**{name: line}), NAMES, NONCE).places == ()


def test_a_plain_place_becomes_the_setup_that_finds_it() -> None:
    lines = {
        "folders": "rg-mpirun /opt/x/bin",
        "profile": "rg-mpirun /opt/x/bin/rg-mpirun /etc/profile.d/x.sh",
        "modules": "rg-mpirun /opt/x/bin/rg-mpirun /etc/profile.d/modules.sh hpcx/2.18",
    }
    found = ask.parsed(output(**lines), NAMES, NONCE).places
    assert found == (
        ProgramPlace("rg-mpirun", "/opt/x/bin/rg-mpirun", ("source /etc/profile.d/x.sh",)),
        ProgramPlace(
            "rg-mpirun",
            "/opt/x/bin/rg-mpirun",
            ("source /etc/profile.d/modules.sh", "module load hpcx/2.18"),
        ),
        ProgramPlace("rg-mpirun", "/opt/x/bin/rg-mpirun", ("export PATH=/opt/x/bin:$PATH",)),
    )


def test_addresses_are_addresses_and_few() -> None:
    lines = "127.0.0.1/8\n10.0.0.1/24\nfe80::1/64\n$(id)\n10.0.0.1\n" + "\n".join(
        f"10.0.1.{n}/16" for n in range(99)
    )
    found = ask.parsed(output(addresses=lines), NAMES, NONCE).addresses
    assert found == ("10.0.0.1", "10.0.1.0", "10.0.1.1", "10.0.1.2")


def test_an_answer_that_was_cut_keeps_what_arrived() -> None:
    whole = output(who="/bin/sh\nana", programs="rg-mpirun /usr/bin/rg-mpirun", modules="")
    assert ask.parsed(whole, NAMES, NONCE).cut == ""
    short = transcript("n01", stdout=whole.stdout[:-20], error="command-timed-out")
    found = ask.parsed(short, NAMES, NONCE)
    assert found.cut == "command-timed-out"
    assert found.programs == {"rg-mpirun": "/usr/bin/rg-mpirun"}
    within = transcript("n01", stdout=whole.stdout[: whole.stdout.index("end programs")])
    assert ask.parsed(within, NAMES, NONCE).programs == {}
    assert ask.parsed(transcript("n01", stdout="garbage \x00\xff"), NAMES, NONCE).shell == ""
