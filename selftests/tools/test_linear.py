"""Every parser takes time linear in a hostile text, and every pattern in a hostile line.

A line of 4 MB once took 92 s of regular expressions. The test compares the CPU times of a text and
of one four times as long; an absolute bound finds code that is linear and still far too slow.
"""

import ast
import importlib
import re
import time
from pathlib import Path

import pytest
from testing.places import ROOT

import railgauge
from railgauge.launchers.failures import find_failures
from railgauge.tools import NAMES, tool

SIZE = 6_000
# Linear is 4, quadratic 16; a busy machine measures up to twice as much.
MOST_RATIO = 9.0
# A 4 MB text takes less than 40 s even on a busy machine; most parsers need a tenth of it.
MOST_US_PER_CHAR = 10.0
TOO_SHORT_S = 0.02  # below that the clock and the caches decide
UNITS = (
    *("x", "0", " ", "0 ", "a ", "- ", "\t", "[", "{", '{"a": ', "=", "|", "| x ", "# ", "/", "("),
    *("ab.cd@ef.gh:", "mpirun: ", "srun: error: ", "NCCL INFO ", "[1,0]<stdout>:", "0: ", "x: "),
    *("GPU 0: ", "1.00 ", "Rank  0 Group  0 Pid  1 on h device 0 ", "_perf: ", "on node "),
    *("Failed status ", "error while loading shared libraries: ", "> ", "Link 0: ", "\u00e9", "."),
)
LINES = ("a", "0 1", "Unable", "Error: x", "0: a", " 0", "Running x.", "", "|", "GPU 0: x", "- ")
READERS = {**{name: tool(name).parse for name in NAMES}, "find_failures": find_failures}


def took_s(read, text):
    begun = time.process_time()
    read(text)
    return time.process_time() - begun


def hostile(size):
    yield from ((unit * (size // len(unit) + 1))[:size] for unit in UNITS)
    yield from (f"{line}\n" * (size // (len(line) + 1)) for line in LINES)


@pytest.mark.parametrize("name", READERS)
def test_a_parser_takes_time_linear_in_a_hostile_text(name):
    read = READERS[name]
    for small, large in zip(hostile(SIZE), hostile(4 * SIZE), strict=True):
        of_small = took_s(read, small)
        if of_small * 4 < TOO_SHORT_S:
            continue
        most_s = min(of_small * MOST_RATIO, len(large) / 1e6 * MOST_US_PER_CHAR)
        looks = (took_s(read, large) for _ in range(2))  # a busy machine may disturb the first
        assert any(of_large < most_s for of_large in looks), small[:40]


LINES_OF_MEGABYTES = ("0 ", "ab.cd@ef.gh:")
MOST_OF_FOUR = 6.0  # linear is 4, quadratic 16


@pytest.mark.parametrize("name", READERS)
def test_a_line_of_two_megabytes_takes_four_times_that_of_half_of_one(name):
    """A busy machine may disturb one measurement, but makes no quadratic reader linear."""
    for unit in LINES_OF_MEGABYTES:
        small, large = (unit * (size // len(unit)) for size in (1 << 19, 1 << 21))
        assert any(is_linear(READERS[name], small, large) for _ in range(3)), unit


def is_linear(read, small, large):
    """Whether the ratio is that of a linear reader; the small text is measured last."""
    of_large = took_s(read, large)
    most = MOST_OF_FOUR * TOO_SHORT_S  # allowed, however short the small text takes
    return of_large < most or of_large / max(took_s(read, small), TOO_SHORT_S) < MOST_OF_FOUR


def test_a_line_of_megabytes_from_a_launcher_takes_linear_time():
    """The line that took 92 s: text without blanks in which a login could stand everywhere."""
    text = "ab.cd@ef.gh:" * 80_000
    assert took_s(find_failures, text) < 5.0
    assert took_s(tool("ccl-tests").parse, text) < 10.0


# --- a rule that needs no clock ---

# A repeat without an end at the start of a pattern that is searched: each place of a long line is
# then tried to the end of the line.
PACKAGE = Path(railgauge.__file__).parent
FOREIGN = ("tools", "launchers", "stacks", "facts", "subnet", "transport")
_METHODS = ("search", "finditer", "findall", "sub", "split")


def searched_patterns():
    """Module-level patterns over foreign text that are searched for, not matched at a start."""
    for folder in FOREIGN:
        for path in sorted((PACKAGE / folder).rglob("*.py")):
            source = path.read_text(encoding="utf-8")
            for node in ast.parse(source).body:
                named = getattr(node, "targets", [None])[0]
                if (
                    isinstance(named, ast.Name)
                    and f"{named.id} = re.compile(" in source
                    and any(f"{named.id}.{method}" in source for method in _METHODS)
                ):
                    yield pytest.param(path, named.id, id=f"{path.stem}.{named.id}")


@pytest.mark.parametrize(("path", "name"), list(searched_patterns()))
def test_no_searched_pattern_begins_with_an_endless_repeat(path, name):
    module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    pattern = getattr(importlib.import_module(module), name)
    text = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode()
    begins = _BEGINS.match(text)
    # A pattern that is nothing but the repeat never comes back to a place that it has passed.
    assert begins is None or begins.end() == len(text), f"{path.relative_to(ROOT)}: {name}"


_BEGINS = re.compile(r"(?:\(\?:|\(|\(\?P<\w+>)*(?:\\[wWsSdD]|\[[^\]]+\]|\.)[+*]")
