"""The page of the kernel's log has every kind of line and every code."""

from testing.places import ROOT

from railgauge.cli.pages.kernel_log import page
from railgauge.facts.kernel.kinds import KINDS
from railgauge.facts.kernel.xids import XIDS


def test_every_kind_and_code_is_on_the_page():
    text = page(ROOT)
    assert [kind.name for kind in KINDS if f"| `{kind.name}` |" not in text] == []
    shown = text.rpartition("| Xid |")[2]
    numbers = {int(word) for line in shown.split("\n") for word in _codes(line)}
    assert numbers == set(XIDS)


def _codes(line):
    words = line.split("|")
    return [word for word in words[1].split(",") if word.strip().isdecimal()] if words[1:] else []


def test_the_rows_that_the_page_in_the_checkout_shows_are_those_of_the_code():
    text = (ROOT / "docs" / "telemetry.md").read_text(encoding="utf-8")
    shown = text.partition("\n## Kernel log\n")[2].partition("\n#")[0].splitlines()
    rows = [line for line in shown if line.startswith("| `")]
    assert len(rows) == 2
    assert {*rows} <= {*page(ROOT).splitlines()}
