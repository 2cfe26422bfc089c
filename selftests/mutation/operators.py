"""Changes that Cosmic Ray's operators do not make and that can change a verdict."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Any

import parso
from cosmic_ray.operators.operator import Example, Operator
from parso.tree import NodeOrLeaf, search_ancestor

_OTHER = {"min": "max", "max": "min", "any": "all", "all": "any"}
_WORD = re.compile(r"""["'][\w.#-]+["']""")
Span = tuple[tuple[int, int], tuple[int, int]]


class _Replace(Operator):
    """Replaces one node by another; ``new`` is empty if there is nothing to replace."""

    def new(self, node: NodeOrLeaf) -> str:
        raise NotImplementedError

    def mutation_positions(self, node: Any) -> Iterator[Span]:
        if self.new(node):
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        before = node.get_first_leaf().prefix
        end = "\n" if node.type == "simple_stmt" else ""
        return parso.parse(f"{before}{self.new(node)}{end}")

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return ()


class DropStatement(_Replace):
    """``pass`` for a statement of a function: a ``raise``, a ``return``, a call."""

    def new(self, node: Any) -> str:
        inside = node.type == "simple_stmt" and search_ancestor(node, "funcdef")
        is_text = inside and node.children[0].type == "string"
        return "pass" if inside and not is_text else ""


class DropFilter(Operator):
    """All items of a comprehension that selects some."""

    def mutation_positions(self, node: Any) -> Iterator[Span]:
        if node.type == "comp_if":
            yield node.start_pos, node.end_pos

    def mutate(self, node: Any, index: int) -> Any:
        node.children[1] = parso.parse(" True")
        return node

    @classmethod
    def examples(cls) -> Sequence[Example]:
        return (Example("[x for x in y if x]", "[x for x in y if True]"),)


class DropKeyword(_Replace):
    """The default for a keyword of a call: ``judge(value, peers=peers)`` without the peers."""

    def new(self, node: Any) -> str:
        named = node.type == "argument" and node.children[1] == "="
        return "**{}" if named else ""


class OtherName(_Replace):
    """``min`` for ``max``, ``all`` for ``any``."""

    def new(self, node: Any) -> str:
        is_argument = node.parent is not None and node.parent.type == "argument"
        return "" if node.type != "name" or is_argument else _OTHER.get(node.value, "")


class OtherWord(_Replace):
    """Another word for one that code compares or looks up; sentences stay unchanged."""

    def new(self, node: Any) -> str:
        is_word = node.type == "string" and _WORD.fullmatch(node.value)
        return f'"other {ast.literal_eval(node.value)}"' if is_word else ""


OPERATORS = (DropStatement, DropFilter, DropKeyword, OtherName, OtherWord)
