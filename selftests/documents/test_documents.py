"""Every point of the five documents is listed, and every reference can be resolved."""

from __future__ import annotations

import re

import pytest
from document_holders import Unheld, resolved
from document_lines import NUMBERS, ROOT, Line, document
from document_page import page

SEEDS = ROOT.parent / "shared" / "seeds"


@pytest.mark.parametrize("number", NUMBERS)
def test_no_line_of_a_document_is_empty(number: str) -> None:
    lines = document(number).lines
    assert len(lines) > 20
    assert [str(line) for line in lines if line.is_empty] == []
    assert [f"{line}: {line.todo}" for line in lines if line.todo] == []


@pytest.mark.parametrize("number", NUMBERS)
def test_everything_that_holds_a_line_is_there(number: str) -> None:
    one = document(number)
    wrong = []
    for line in one.lines:
        for reference in line.held:
            try:
                resolved(reference, one.platform, number)
            except Unheld as error:
                wrong.append(f"{line}: {error}")
    assert wrong == []


def test_every_line_is_on_the_page() -> None:
    text = page()
    assert "NOT THERE: " not in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    lines = [line for number in NUMBERS for line in document(number).lines]
    assert len(rows) == len(lines) + len(NUMBERS)  # and a heading for each document
    assert [str(one) for one in lines if one.says.replace("|", r"\|") not in text] == []
    shown = (ROOT / "docs" / "calibration.md").read_text(encoding="utf-8").splitlines()[-1]
    assert shown in rows


@pytest.mark.parametrize(
    "reference",
    [
        "expected nothing", "limit pair_all_reduce lat_avg",
        "limit pair_all_reduce avg_busbw = 21.8",
        "measured pair_all_reduce link", "measured pair_nothing", "option pair_all_reduce qps",
        "environment MCCL_NOTHING", "environment MCCL_CROSS_NIC = 0", "hardware gpus.count = 7",
        "hardware nics.mlx5_9.model", "prepare persistence_mode", "fault nothing", "fault memlock",
        "cause nothing", "tool nothing", "fact nothing", "hostfile nothing",
        "selftest judging/test_versions.py::test_nothing", "nothing at_all",
        "limit pair_all_reduce", "limit pair_all_reduce busbw 8B",
    ],
)  # fmt: skip
def test_what_is_not_there_holds_nothing(reference: str) -> None:
    with pytest.raises(Unheld):
        resolved(reference, "metax-c500", "000")


def test_what_is_there_is_shown_with_what_it_is() -> None:
    shown = resolved("limit pair_all_reduce avg_busbw = 21.9", "metax-c500", "000")
    assert shown == "limit pair_all_reduce avg_busbw: at least 21.9 GB/s"
    assert resolved("fault gdr-disabled", "metax-c500", "000") == "fault gdr-disabled"


def test_a_line_without_a_holder_or_a_reason_is_empty() -> None:
    assert Line("000", 1, "1.", "8 GPUs").is_empty
    assert Line("000", 1, "1.", " ", held=("fault mtu",)).is_empty
    assert not Line("000", 1, "1.", "8 GPUs", why="it is a wish").is_empty


# --- the documents themselves ---

_NUMBERED = re.compile(r"\d+(?:\.\d+)*\. [A-Z]")
_TITLE = re.compile(r"[A-Z][^.:,;?…]{2,78}\Z")


def headings(number: str, lines: list[str]) -> list[str]:
    """Commands as each document writes them: numbered, around a ``#``, or on a line alone."""
    if number == "000":
        return [line for line in lines if _NUMBERED.match(line)]
    if number == "002":
        return [line[:-1] for line in lines if re.fullmatch(r"[A-Za-z][^#]*#", line)]
    if number == "003":
        return [line.lstrip("#") for line in lines if re.match(r"#{2,4} ", line)]
    beside = zip(["", *lines], lines, [*lines[1:], ""], strict=False)
    alone = [line for before, line, after in beside if not before + after]
    return [line for line in alone if _TITLE.match(line.replace(": ", " "))]


def plain(line: str) -> str:
    """The text without characters that the copies of the documents lost or garbled."""
    return " ".join(line.encode("ascii", "ignore").decode().split())


@pytest.mark.parametrize("number", NUMBERS)
def test_every_section_of_a_document_has_a_line(number: str) -> None:
    lines = text_of(number).splitlines()
    one = document(number)
    known = {plain(name) for name in (*one.sections, *one.without)}
    assert [name for name in headings(number, lines) if plain(name) not in known] == []
    text = "\n".join(map(plain, lines))
    assert [name for name in known if name not in text] == []


@pytest.mark.parametrize("number", NUMBERS)
def test_every_variable_that_a_document_names_is_in_a_line(number: str) -> None:
    one = document(number)
    named = set(re.findall(r"\b[A-Z][A-Z0-9]+_[A-Z0-9_]+\b", text_of(number)))
    words = ((line.says, line.figure, line.bad, *line.held, line.why) for line in one.lines)
    printed = " ".join(map(" ".join, words))
    missing = {name for name in named if not re.search(rf"\b{name}\b", printed)}
    assert missing == set(one.not_settings)


def text_of(number: str) -> str:
    found = sorted(SEEDS.glob(f"{number}_*.txt"))
    if not found:
        pytest.skip("the documents are not beside this checkout")
    return found[0].read_text(encoding="utf-8", errors="replace")
