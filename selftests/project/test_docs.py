"""The pages that railgauge makes have all that they are made from."""

import json
import re

import pytest
from testing.places import ROOT

from railgauge.cli import main
from railgauge.cli.pages import MADE, made
from railgauge.diagnosis import CATALOGUE


@pytest.mark.parametrize("name", ["limits", "causes"])
def test_the_page_has_what_the_command_of_its_name_prints(name, capsys):
    assert main([name, "--root", str(ROOT)]) == 0
    assert made(name, ROOT).endswith(capsys.readouterr().out)


@pytest.mark.parametrize("name", MADE)
def test_elsewhere_than_in_a_site_a_page_is_made_from_what_the_package_brings(name, tmp_path):
    assert made(name, tmp_path) == made(name, ROOT)


def test_every_cause_and_its_remedy_is_on_the_page():
    page = made("causes", ROOT)
    for name, kind in CATALOGUE.items():
        section = page.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        assert kind.remedy in section, name
        assert kind.basis in section, name
    shown = (ROOT / "docs" / "reports.md").read_text(encoding="utf-8")
    (printed,) = re.findall(r"^\$ railgauge causes cpu-governor\n(.*?)```", shown, re.M | re.S)
    assert printed in page


def test_every_key_of_a_platform_file_is_on_the_page_with_its_meaning():
    """Each has a type and a description, or the page could not be made."""
    page = made("platform-reference", ROOT)
    schema = json.loads((ROOT / "thresholds" / "schema.json").read_text(encoding="utf-8"))
    for part in (schema, *schema["$defs"].values()):
        for key, value in part.get("properties", {}).items():
            assert f"| `{key}` | " in page or not value, key
            assert value.get("description", "").replace("|", r"\|") in page, key
    shown = (ROOT / "docs" / "platform-files.md").read_text(encoding="utf-8")
    (row,) = re.findall(r"^\| `rate_gbps` \|.*$", shown, re.M)
    assert row in page.splitlines()


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
    page = (ROOT / "selftests" / "false_passes.md").read_text(encoding="utf-8")
    named = re.findall(r"`(\w+/test_\w+\.py)(?:::(\w+))?`", page)
    assert len(named) > 50
    for path, test in named:
        text = (ROOT / "selftests" / path).read_text(encoding="utf-8")
        assert not test or f"def {test}(" in text, f"{path}::{test}"
