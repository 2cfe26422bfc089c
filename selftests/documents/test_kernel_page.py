"""The page of the kernel's log has every kind and code, and is the one that the code makes."""

from kernel_page import page
from testing.places import ROOT

from railgauge.facts.kernel.kinds import KINDS
from railgauge.facts.kernel.xids import XIDS


def test_the_page_is_up_to_date():
    assert (ROOT / "docs" / "kernel-log.md").read_text(encoding="utf-8") == page()


def test_every_kind_and_code_is_on_the_page():
    text = page()
    assert [kind.name for kind in KINDS if f"| `{kind.name}` |" not in text] == []
    shown = text.rpartition("| Xid |")[2]
    numbers = {int(word) for line in shown.split("\n") for word in _codes(line)}
    assert numbers == set(XIDS)


def _codes(line):
    words = line.split("|")
    return [word for word in words[1].split(",") if word.strip().isdecimal()] if words[1:] else []
