"""The page of the error counters names every group, at its devices, with its cause."""

import pytest
from testing.core_values import ROOT

from railgauge.config.thresholds.counter_groups import GROUPS

PAGE = (ROOT / "docs" / "telemetry.md").read_text(encoding="utf-8")
TABLE = PAGE.partition("\n### Groups of counters\n")[2].partition("\n#")[0]
ROWS = {line.split("`")[1]: line for line in TABLE.splitlines() if line.startswith("| `")}


@pytest.mark.parametrize("group", GROUPS.values(), ids=lambda one: one.name)
def test_each_group_has_a_row_with_its_cause_and_counters(group):
    row = ROWS[group.name]
    assert row.endswith(f"| `{group.cause}` |")
    assert ("GPU" in row.split("|")[-3]) == group.of_gpus
    assert ("NIC" in row.split("|")[-3]) == (group.of_nics is not None)
    if not group.of_gpus:
        assert all(f"`{name}`" in row for name in group.needed)


def test_the_page_has_no_other_group():
    assert set(ROWS) == set(GROUPS)
