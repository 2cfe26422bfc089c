"""Every recorded output has exactly one reader, and the reader returns what the output says.

The tests of the single readers hold the meaning of each value. This one holds that no file and no
figure of the ground truths is left out, also of files that are added later.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import asdict, is_dataclass
from typing import Any

import pytest
from testing.core_values import SHARED, TRANSCRIPTS
from testing.corpus_owners import NOT_RUN, OF_FACTS, OF_TOOLS, Reader

from railgauge import tools
from railgauge.core.model import Parsed
from railgauge.facts import probe_script
from railgauge.stacks import stack

PROBE = [
    line
    for vendor in ("amd", "metax", "nvidia")
    for line in probe_script("/", stack(vendor), "nonce").splitlines()
]
INDEX = SHARED / "corpus" / "INDEX.tsv"


def indexed() -> dict[str, str]:
    """Each file of the corpus, by its path below ``shared``, with its ground truth."""
    if not INDEX.is_file():
        return {}
    with INDEX.open(encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(lines, delimiter="\t")
        return {f"corpus/{row['file']}": row["ground_truth"] or "" for row in rows}


TRUTHS = indexed()
PRESENT = [*(SHARED / "corpus").glob("*/*"), *TRANSCRIPTS.glob("*")]
FILES = sorted({*TRUTHS, *(str(path.relative_to(SHARED)) for path in PRESENT)})


def not_run(name: str) -> str:
    """For an output of a command that the product does not run: its prefix in ``NOT_RUN``."""
    return next((prefix for prefix in NOT_RUN if name.startswith(prefix)), "")


READ = [name for name in FILES if not not_run(name)]


def owner(name: str) -> Reader:
    """The reader with the longest fitting prefix; ``LookupError`` if none fits."""
    prefixes = [prefix for prefix in (*OF_TOOLS, *OF_FACTS) if name.startswith(prefix)]
    if not prefixes:
        raise LookupError(f"nobody reads {name}")
    longest = max(prefixes, key=len)
    return OF_FACTS.get(longest) or tools.tool(OF_TOOLS[longest]).parse


def read(name: str) -> Any:
    return owner(name)((SHARED / name).read_bytes().decode("utf-8", "replace"))


def is_silent(result: Any) -> bool:
    """Whether a reader returned neither a value nor a reason for its absence."""
    if isinstance(result, Parsed):
        return not result.samples and not result.problems
    content = asdict(result) if is_dataclass(result) else result
    return not any(content.values() if isinstance(content, dict) else content)


# Files for which an empty result is right; for empty text the same reader reports a problem.
NONE_IS_AN_ANSWER = {
    "corpus/nvidia-smi/024-no-devices-found.txt",  # no GPU: fewer than declared, not unknown
    "transcripts/metax-lspci-acsctl.txt",  # every bridge has ACS off: none that is on
}

# Readers that return another unit than the printed one, with the factor between them.
CONVERTED = {
    "corpus/nvidia-smi/006-nvlink-s-h100.txt": 8,  # GB/s, read as Gb/s
    "corpus/gpu-bw/004-rocm_bandwidth_test-s0-d4-table.txt": 2**20,  # a size in MB, read as bytes
}

# Figures that the reader leaves out on purpose.
LEFT_OUT = {
    "corpus/host/003-lspci-vvv-h100-gpu.txt": {4096.0},  # links and requests are read from sysfs
    "corpus/host/004-lspci-vvv-connectx.txt": {256.0, 4096.0},
    "corpus/ib-tools/011-perfquery-E-rcv-error-details.txt": {2052.0},  # the LID of the port
    "corpus/ib-tools/015-ibnetdiscover-ndr-leaf-fragment.txt": {647.0},  # the LID of a peer
    "corpus/ib-tools/019-ibqueryerrors-port-ALL.txt": {15854.0},  # the sum over a switch
    "corpus/amd-smi/013-xgmi-link-metric.txt": {9774.0},  # traffic since the driver was loaded
    "corpus/mx-smi/001-plain-c500-8gpu-2.2.9.txt": {826.0},  # memory that is in use
}
# Words left out on purpose: ``state=Available`` is not a fact of a GPU.
WORDS_LEFT_OUT = {"corpus/mx-smi/001-plain-c500-8gpu-2.2.9.txt": {"Available"}}

EVERY_FILE = pytest.mark.parametrize(
    "name",
    READ
    or [
        pytest.param("", marks=pytest.mark.skip("the recorded outputs are not beside this project"))
    ],
)


@EVERY_FILE
def test_one_reader_says_something(name):
    if name in NONE_IS_AN_ANSWER:
        assert (is_silent(read(name)), bool(owner(name)("").problem)) == (True, True)
    else:
        assert not is_silent(read(name))


@pytest.mark.parametrize("prefix", NOT_RUN)
def test_what_has_no_reader_is_not_run(prefix):
    """The recorded command is not one of the probe's; if it were, it would need a reader."""
    command, instead = NOT_RUN[prefix]
    assert instead
    assert any(name.startswith(prefix) for name in FILES) or not TRUTHS
    assert not any(name.startswith(prefix) for name in (*OF_TOOLS, *OF_FACTS))
    # Other arguments make another command: ``rocm-smi`` is the probe's, ``rocm-smi --json`` is not.
    whole = re.compile(rf"(?<![\w/-]){re.escape(command)}(?!\s?[\w-])")
    assert not [line for line in PROBE if whole.search(line)]


@EVERY_FILE
def test_the_reader_knows_the_output(name):
    """A file that its folder's reader takes although it is another tool's output is found here."""
    result = read(name)
    if isinstance(result, Parsed) and not result.samples:
        assert {problem.kind for problem in result.problems} != {"no-table"}


# Numbers, but not sizes with a suffix, versions, addresses or dates.
FIGURE = re.compile(r"(?<![\w.:-])(?:\d+\.\d+|\d{3,})(?![\w-]|[.:]\d)")
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def message(result: Any) -> Iterator[Any]:
    """Every text and number of a result."""
    if is_dataclass(result) and not isinstance(result, type):
        yield from message(asdict(result))
    elif isinstance(result, dict):
        for key, value in result.items():
            yield from message(key)
            yield from message(value)
    elif isinstance(result, (list, tuple, set, frozenset)):
        for value in result:
            yield from message(value)
    elif result is not None:
        yield result


def numbers(result: Any) -> set[float]:
    return {float(word) for value in message(result) for word in NUMBER.findall(str(value))}


def figures(truth: str) -> set[float]:
    return {float(word) for word in FIGURE.findall(truth)}


@EVERY_FILE
def test_figures_of_the_ground_truth_are_read(name):
    factor, read_numbers = CONVERTED.get(name, 1), numbers(read(name))
    expected = figures(TRUTHS.get(name, "")) - LEFT_OUT.get(name, set())
    lacking = {f for f in expected if not {f, round(f * factor, 6)} & read_numbers}
    assert lacking == set()


WORDS = re.compile(r"\b(?:algo|proto|Status|Errors|state|EUD Test)=([A-Za-z]+)")


@EVERY_FILE
def test_words_of_the_ground_truth_are_read(name):
    texts = " ".join(map(str, message(read(name)))).lower()
    words = set(WORDS.findall(TRUTHS.get(name, ""))) - WORDS_LEFT_OUT.get(name, set())
    assert {word for word in words if word.lower() not in texts} == set()


def errors(truth: str) -> list[str]:
    return re.findall(r'error="([^"]+)"', truth)


@EVERY_FILE
def test_errors_of_the_ground_truth_are_named(name):
    if name in NONE_IS_AN_ANSWER:
        return
    result = read(name)
    texts = " ".join(map(str, message(result))).lower()
    for error in errors(TRUTHS.get(name, "")):
        assert error.lower() in texts
        assert not isinstance(result, Parsed) or result.errors
