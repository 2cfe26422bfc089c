"""The pages generated from the platform files are up to date."""

import re

import pytest
from testing.places import ROOT

from railgauge.cli import main


@pytest.mark.parametrize("name", ["limits", "causes"])
def test_the_page_is_of_today(name, capsys):
    assert main([name, "--root", str(ROOT)]) == 0
    head = (ROOT / "docs" / f"{name}.head.md").read_text(encoding="utf-8")
    page = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    assert page == head + capsys.readouterr().out, "run: make docs"


@pytest.mark.parametrize(
    "platform", sorted(p.stem for p in (ROOT / "thresholds").glob("[!s]*.json"))
)
def test_every_limit_and_its_basis_is_on_the_page(platform, capsys):
    from railgauge.config import thresholds  # noqa: PLC0415

    main(["limits", platform, "--root", str(ROOT)])
    page = capsys.readouterr().out
    for measurement in thresholds.load(platform, ROOT / "thresholds").measurements.values():
        assert measurement.name in page
        for limit in measurement.limits:
            assert str(limit.basis) in page


def test_every_selftest_that_a_page_names_is_there():
    page = (ROOT / "docs" / "trust.md").read_text(encoding="utf-8")
    named = re.findall(r"`(\w+/test_\w+\.py)(?:::(\w+))?`", page)
    assert len(named) > 50
    for path, test in named:
        text = (ROOT / "selftests" / path).read_text(encoding="utf-8")
        assert not test or f"def {test}(" in text, f"{path}::{test}"
