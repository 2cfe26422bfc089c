"""Facts about the next boot: the modules that it loads, and daemons that move memory."""

from __future__ import annotations

import pytest

from railgauge.facts.boot import shared
from railgauge.facts.host import parse_boot_modules, parse_numa_daemons

HPC = "etc/modules-load.d/hpc.conf"
OTHERS = "usr/lib/modules-load.d/hpc.conf"


def test_modules_of_document_004_are_listed_for_the_boot(node):
    """The files of the document's ``tee``; the kernel spells nvidia-peermem with an underscore."""
    node.write({HPC: "ib_ipoib\nib_umad\nib_uverbs\nnvidia-peermem"})
    found = node.facts(None).boot_modules
    assert found == ("ib_ipoib", "ib_umad", "ib_uverbs", "nvidia_peermem")


def test_modules_that_are_only_loaded_are_not_listed(node):
    facts = node.facts(None)
    assert (facts.modules, facts.boot_modules) == (("ib_core", "metax"), ())
    assert "boot_modules" not in facts.missing


def test_comments_and_blanks_list_nothing(node):
    node.write({HPC: "# ib_umad\n; ib_uverbs\n\n  ib_ipoib  \n"})
    assert node.facts(None).boot_modules == ("ib_ipoib",)


def test_an_empty_file_hides_that_of_the_distribution(node):
    """modules-load.d(5): of two files with the same name only the one under /etc is read."""
    node.write({OTHERS: "ib_umad", "usr/lib/modules-load.d/other.conf": "ib_uverbs"})
    assert node.facts(None).boot_modules == ("ib_umad", "ib_uverbs")
    (node.root / HPC).parent.mkdir(parents=True, exist_ok=True)
    (node.root / HPC).symlink_to("/dev/null")
    assert node.facts(None).boot_modules == ("ib_uverbs",)


def test_rdma_core_and_the_kernel_command_line_load_modules_too(node):
    node.write({
        "etc/rdma/modules/infiniband.conf": "ib_umad",
        "proc/cmdline": "BOOT_IMAGE=/vmlinuz quiet modules_load=nvidia-peermem,ib_ipoib",
    })  # fmt: skip
    assert node.facts(None).boot_modules == ("ib_ipoib", "ib_umad", "nvidia_peermem")


def test_without_etc_the_boot_is_unknown(bare):
    assert "no such file" in bare.facts(None).missing["boot_modules"]


@pytest.mark.parametrize("text", ["ib_umad", "file x\nib_umad", "\x00"])
def test_a_text_that_is_no_list_is_unknown(text):
    assert parse_boot_modules(text) is None


# --- daemons ---


def test_no_daemon_is_a_known_fact(node):
    facts = node.facts(None)
    assert facts.numa_daemons == ()
    assert "numa_daemons" not in facts.missing


def test_numad_that_runs_is_found(node):
    node.write({"proc/812/comm": "numad", "proc/813/comm": "numademo"})
    assert node.facts(None).numa_daemons == ("numad (pid 812)",)


def test_numad_that_the_next_boot_starts_is_found(node):
    """Stopped by hand it starts again at the next boot; the document wants it disabled."""
    wants = node.root / "etc/systemd/system/multi-user.target.wants"
    wants.mkdir(parents=True)
    (wants / "numad.service").symlink_to("/usr/lib/systemd/system/numad.service")
    assert node.facts(None).numa_daemons == ("numad.service (starts at boot)",)


def test_without_processes_the_daemons_are_unknown(bare):
    assert "no such file" in bare.facts(None).missing["numa_daemons"]


@pytest.mark.parametrize("text", ["numad", "starts numad", "812/comm:numad\nnoise"])
def test_a_text_that_is_no_list_of_daemons_is_unknown(text):
    assert parse_numa_daemons(text) is None


def test_names_that_share_a_boot_id_are_grouped():
    boots = {"a": "1", "b": "2", "c": "1", "d": None, "e": None, "f": "2", "g": "3"}
    assert shared(boots) == (("a", "c"), ("b", "f"))
