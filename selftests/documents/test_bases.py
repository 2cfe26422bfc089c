"""A basis that begins with a document's number says what that document says.

Figures, names and quoted words of its text must stand in the document, up to the word ``Derived:``,
behind which the text says what follows from them.
"""

import re
from functools import cache

import pytest
from testing.core_values import ROOT, long_form

PLATFORMS = ("connectx4-homelab", "h100-tcpx", "h200", "metax-c500", "mi300x")
SEEDS = ROOT.parent / "shared/seeds"
needs_documents = pytest.mark.skipif(
    not SEEDS.is_dir(), reason="the five documents are not beside this checkout"
)

# Places in a document, other documents, and the share that a limit takes of a figure.
_ASIDE = re.compile(
    r"\b(?:test|part|section) \d(?:\.\d)?|^[\d.]+(?: and [\d.]+)*: |\b00[0-4]\b"
    r"|\d+(?:\.\d+)? % (?=of|above)",
    re.IGNORECASE,
)
_FIGURE = re.compile(r"(?<![\w.\-])\d+(?:\.\d+)?(?![\w]|\.\d)")
_NAME = re.compile(
    r"(?<![\w/])(?:[A-Za-z]+_\w+|[A-Za-z]+-?\d\w*|/[a-z][\w/.\-]+|--[a-z_]+|[a-z]+[A-Z]\w+)"
)
_QUOTED = re.compile(r"'([^'\n]{4,})'")


@cache
def document(number):
    text = next(SEEDS.glob(f"{number}_*.txt")).read_text(encoding="utf-8", errors="replace")
    return " ".join(_plain(text).split()).lower()


def _plain(text):
    return re.sub(r"(?<=\d),(?=\d{3})", "", text.replace("µ", "u"))


def unheld(says, text):
    """The figures, names and quoted words of a basis that its document does not have."""
    message = _ASIDE.sub("", _plain(says.partition(" Derived: ")[0]))
    printed = set(re.findall(r"\d+(?:\.\d+)?", text))
    for figure in _FIGURE.findall(message):
        is_shorter = "." in figure and any(one.startswith(figure) for one in printed)
        if figure not in printed and not is_shorter:
            yield figure
    names = (name.rstrip(".") for name in _NAME.findall(message))
    yield from (name for name in names if name.lower() not in text)
    yield from (words for words in _QUOTED.findall(message) if words.lower() not in text)


def bases(value, path=""):
    """Every basis in a long form, with its path; with the names of the variables beside it."""
    if isinstance(value, dict):
        if isinstance(found := value.get("basis"), dict):
            yield path, found["source"], " ".join([found["says"], *value.get("variables", ())])
        for key, item in value.items():
            yield from bases(item, f"{path}/{key}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from bases(item, f"{path}/{index}")


@needs_documents
@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_basis_states_what_its_document_says(platform):
    found = [one for one in bases(long_form(platform)) if re.fullmatch(r"00\d", one[1])]
    assert found
    wrong = {
        f"{platform}{path}: {source}: {says}": odd
        for path, source, says in found
        if (odd := list(unheld(says, document(source))))
    }
    assert not wrong


@needs_documents
@pytest.mark.parametrize(
    ("source", "says", "odd"),
    [
        ("003", "The machine is an a3 with H100 GPUs.", ["a3", "H100"]),
        (
            "003",
            "Section 2: NCCL_GPUDIRECTTCPX_SOCKET_IFNAME.",
            ["NCCL_GPUDIRECTTCPX_SOCKET_IFNAME"],
        ),
        ("003", "95 % of the peak of 78.36 GB/s", ["78.36"]),
        ("003", "95 % of the peak of 78.35 GB/s. Derived: 157 Gb/s on each NIC.", []),
        ("004", "ib_send_lat: average 1.15 us, ib_read_lat 2.3", ["2.3", "ib_read_lat"]),
        ("004", "'almost identical throughput'", []),
        ("004", "'exactly identical throughput'", ["exactly identical throughput"]),
        ("002", "the mean is 46.552 GB/s, 319.23 at 16 GiB", ["319.23"]),
    ],
)
def test_what_a_document_does_not_say_is_found(source, says, odd):
    assert list(unheld(says, document(source))) == odd
