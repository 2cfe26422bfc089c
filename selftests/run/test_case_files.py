"""The files of a measurement: node names that are similar, or long, never share a file."""

from __future__ import annotations

from testing.core_values import case

from railgauge.run.case_files import case_file, samples_file, text_file

ALIKE = ("ノード1", "サーバ1", "bücher", "BÜCHER", "xn--bcher-kva", "a" * 253, "a" * 252 + "b")


def test_names_that_are_alike_have_different_files() -> None:
    for name_of in (case_file, samples_file, text_file):
        names = [name_of(case(nodes=(name, "n2"))) for name in ALIKE]
        assert len(set(names)) == len(ALIKE)
        for name in names:
            assert name.isascii()
            assert len(name.rpartition("/")[2]) < 200
