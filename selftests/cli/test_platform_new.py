"""``railgauge platform new``: what it asks back and what it refuses without writing a file."""

from __future__ import annotations

import json

import pytest
from testing.acceptance import make_project
from testing.standing_lab import standing_lab

from railgauge.cli import main

HOMELAB = "connectx4-homelab"


@pytest.fixture
def project(tmp_path):
    return make_project(tmp_path / "project")


def new(project, lab=None, *options, name="mine"):
    hostfile = lab.hostfile(project)[1] if lab else "hostfiles/lab-h200.yaml"
    words = ("--hostfile", str(project.folder / hostfile), "--root", str(project.folder))
    return main(["platform", "new", name, *words, *options])


def written(project):
    return project.folder / "thresholds" / "mine.json"


def test_a_name_that_is_taken_or_no_name_is_refused_before_a_node_is_asked(project, capsys):
    assert new(project, name="h200") == 2
    assert "exists already" in capsys.readouterr().err
    assert new(project, name="../mine") == 2
    assert "is not a name for a platform" in capsys.readouterr().err
    assert new(project, name="schema") == 2


def test_a_file_that_is_there_is_replaced_with_force_alone(project, capsys):
    path = written(project)
    path.write_text("{}", encoding="utf-8")
    lab = ("--hostfile", str(project.folder / f"hostfiles/lab-{HOMELAB}.yaml"))
    words = ("platform", "new", "mine", *lab, "--root", str(project.folder))
    assert main([*words]) == 2
    assert "--force" in capsys.readouterr().err
    assert path.read_text(encoding="utf-8") == "{}"
    assert main([*words, "--force"]) == 0
    document = json.loads(path.read_text(encoding="utf-8"))
    groups = {"pcie_corrected", "pcie_uncorrected,port_errors,rdma_retransmits,port_discards"}
    assert set(document["growth"]) == groups
    assert document["growth"]["pcie_corrected"]["per_hour"] == 460
    assert set(document["kernel_log"]) == {"basis", "since_boot"}
    assert "put 'platform: mine' into" in capsys.readouterr().out


def test_gpus_whose_tool_is_not_found_are_asked_back(project, tmp_path, capsys):
    nodes = ("h200-01", "h200-02")
    faults = [word for n in nodes for word in ("--fault", f"tool-missing@{n}:nvidia-smi")]
    with standing_lab(tmp_path / "lab", "h200", *faults) as lab:
        assert new(project, lab) == 2
        output = capsys.readouterr().err
        assert not written(project).exists()
        assert new(project, lab, "--no-gpus") == 0
    assert "8 of nvidia are on the PCI bus, and nvidia-smi: command not found" in output
    assert "GPUs of h200-[01-02] are not listed" in output
    assert "gpus" not in json.loads(written(project).read_text())["hardware"]


def test_nodes_that_differ_are_asked_back_and_the_answer_is_taken(project, tmp_path, capsys):
    with standing_lab(tmp_path / "lab", HOMELAB, "--fault", "link-rate@columbia:mlx5_0") as lab:
        assert new(project, lab) == 2
        output = capsys.readouterr().err
        (line,) = (line for line in output.splitlines() if "mlx5_0" in line)
        assert "20 Gb/s InfiniBand, MTU 4096, PCIe 3.0 x16 on columbia" in line
        assert "40 Gb/s InfiniBand, MTU 4096, PCIe 3.0 x16 on viper" in line
        assert "--like NODE" in output
        assert not written(project).exists()
        assert new(project, lab, "--like", "viper") == 0
    document = json.loads(written(project).read_text())
    assert document["hardware"]["nics"]["mlx5_0"]["rate_gbps"] == 40


def test_a_node_that_gives_no_facts_is_named_and_nothing_is_written(project, tmp_path, capsys):
    with standing_lab(tmp_path / "lab", HOMELAB, "--fault", "unreachable@columbia") as lab:
        assert new(project, lab) == 2
    output = capsys.readouterr().err
    assert "no facts of columbia; nothing was written" in output
    assert not written(project).exists()


def test_json_has_the_notes_too(project, tmp_path, capsys):
    with standing_lab(tmp_path / "lab", HOMELAB) as lab:
        assert new(project, lab, "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["platform"] == "mine"
    assert report["written"] == str(written(project))
    assert any(note.startswith("BELOW THE DATA SHEET mlx5_0") for note in report["notes"])


def test_a_program_that_a_run_needs_and_a_node_lacks_is_reported(project, tmp_path, capsys):
    fault = "tool-missing@viper:ib_write_bw"
    with standing_lab(tmp_path / "lab", HOMELAB, "--fault", fault) as lab:
        assert new(project, lab) == 0
    assert "NOT FOUND ib_write_bw on viper: a run needs it" in capsys.readouterr().out


def test_a_plain_list_names_the_new_platform(project, tmp_path, capsys):
    path = project.write("list.txt", "127.0.0.9\n")
    words = ("--hostfile", str(path), "--root", str(project.folder))
    assert main(["platform", "new", "mine", *words]) == 2
    assert "no facts of 127.0.0.9" in capsys.readouterr().err


@pytest.mark.parametrize("rate", ["eth0", "eth0=", "eth0=fast", "=25", "eth0=-1", "eth0=nan"])
def test_a_rate_that_is_none_is_bad_usage(project, rate, capsys):
    with pytest.raises(SystemExit) as ended:
        new(project, None, "--rate", rate)
    assert ended.value.code == 2
    assert "write eth0=25, in Gb/s" in capsys.readouterr().err


def test_nics_of_other_names_are_matched_and_devices_are_proposed(project, tmp_path, capsys):
    """The file is written, and the command prints the section that the hostfile needs.

    The lab's ``ibv_devinfo`` keeps the old name, so that the MTU is not read: one node counts.
    """
    with standing_lab(tmp_path / "lab", HOMELAB) as lab:
        (hca,) = (tmp_path / "lab").glob("**/nodes/columbia/root/sys/class/infiniband/mlx5_0")
        hca.rename(hca.with_name("mlx5_bond_0"))
        assert new(project, lab, "--like", "viper") == 0
        out = capsys.readouterr().out
    assert "devices:\n  columbia: {mlx5_0: mlx5_bond_0}\n" in out
    assert "NICs have other names on columbia; put this into" in out
    assert list(json.loads(written(project).read_text())["hardware"]["nics"]) == ["mlx5_0"]
