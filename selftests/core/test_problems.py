"""The table of problem kinds has every kind that a parser raises, and no other."""

import ast
import json
from functools import cache

import pytest
from testing.core_values import ROOT, transcript

from railgauge.core.errors import NoEvidence, ToolError, ToolFailed
from railgauge.core.model import Parsed
from railgauge.core.problems import Problem, ProblemKind
from railgauge.core.terms import Severity
from railgauge.judging.evidence import DOUBTS, refuse_failure

SOURCES = ROOT / "src" / "railgauge"
TABLE = SOURCES / "core" / "problems.py"
PARSERS = [
    *sorted((SOURCES / "tools").rglob("*.py")),
    *sorted((SOURCES / "launchers").glob("*failures.py")),
]


@cache
def tree(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def named(node):
    """The kinds that a piece of source code names."""
    return {
        one.attr
        for one in ast.walk(node)
        if isinstance(one, ast.Attribute)
        and isinstance(one.value, ast.Name)
        and one.value.id == "ProblemKind"
    }


def warned():
    """Kinds in a call of ``warn``."""
    for path in PARSERS:
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "warn":
                yield from named(node)


def failed():
    """Kinds in a call of ``error`` or ``refuse``."""
    for path in PARSERS:
        for node in ast.walk(tree(path)):
            called = getattr(getattr(node, "func", None), "attr", "")
            if isinstance(node, ast.Call) and called in ("error", "refuse"):
                yield from named(node)


def test_every_kind_of_the_table_is_raised_by_a_parser_and_no_other_is():
    raised = set().union(*(named(tree(path)) for path in PARSERS))
    assert set(ProblemKind.__members__) == raised


def test_no_parser_spells_a_kind_as_text():
    """A kind written as a string would be checked neither by the table nor by mypy."""
    several = {kind.value for kind in ProblemKind if "-" in kind.value}
    spelled = [
        f"{path.name}:{node.lineno}: {node.value}"
        for path in PARSERS
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Constant) and node.value in several
    ]
    assert not spelled


def test_kinds_that_are_raised_have_an_error_of_their_own():
    found = set(failed())
    assert len(found) > 20  # the walk does find calls
    assert not {name for name in found if ProblemKind[name].error is ToolError}


def test_kinds_that_are_only_warnings_have_none():
    # What casts a doubt on an output is an error where the output is judged.
    only = set(warned()) - set(failed()) - {kind.name for kind in DOUBTS}
    assert "WAIVED" in only
    for name in only:
        assert (ProblemKind[name].error, ProblemKind[name].remedy) == (ToolError, ""), name


def test_each_failure_of_a_tool_has_a_remedy():
    failures = [kind for kind in ProblemKind if kind.error is ToolFailed]
    assert len(failures) > 30
    assert not [kind.value for kind in failures if not kind.remedy]


@pytest.mark.parametrize("kind", ProblemKind)
def test_each_kind_becomes_the_error_of_the_table_with_its_remedy(kind):
    found = Parsed("t", None, (), problems=(Problem(kind, Severity.ERROR, "so it says"),))
    with pytest.raises(NoEvidence) as caught:
        refuse_failure([transcript()], [found])
    assert type(caught.value) is kind.error
    assert (caught.value.what, caught.value.remedy) == (f"so it says ({kind.value})", kind.remedy)


def test_kinds_and_severities_are_written_as_their_names():
    for word in (*ProblemKind, *Severity):
        assert json.dumps(word) == f'"{word.value}"'
        assert f"{word} {word!s}" == f"{word.value} {word.value}"
        assert word in {word.value}


def test_a_kind_that_nobody_declared_is_refused():
    with pytest.raises(ValueError, match="never heard of"):
        ProblemKind("never heard of")
