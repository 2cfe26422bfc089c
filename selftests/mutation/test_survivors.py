"""The list of surviving mutants refers to code and tests that exist."""

from pathlib import Path

import pytest
import yaml

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
MODULES = yaml.safe_load((FOLDER / "modules.yaml").read_text())
GROUPS = yaml.safe_load((FOLDER / "survivors.yaml").read_text())


def code(module):
    path = ROOT.joinpath("src", "railgauge", *module.split(".")).with_suffix(".py")
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("module", MODULES)
def test_a_module_and_its_tests_are_there(module):
    assert code(module)
    files = [word for word in MODULES[module] if ".py" in word]
    assert files
    assert all((ROOT / "selftests" / name).is_file() for name in files)


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group["because"])
def test_a_mutant_that_may_live_is_one_of_a_line_that_is_there(group):
    assert group["module"] in MODULES
    lines = " ".join(map(str.strip, code(group["module"]).splitlines()))
    assert group["mutants"]
    assert [one for one in group["mutants"] if one.partition(" -> ")[0] not in lines] == []
