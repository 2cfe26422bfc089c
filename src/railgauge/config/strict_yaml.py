"""YAML of the user's own files, read strictly, with the line of each place. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import yaml

from railgauge.config.schema import JsonPath
from railgauge.core.errors import cut


class BadYaml(Exception):
    """A text is not valid YAML. ``line`` counts from 1; ``None`` if it is not known."""

    def __init__(self, what: str, remedy: str, line: int | None = None) -> None:
        super().__init__(cut(what))
        self.what = f"not valid YAML: {cut(what)}"
        self.remedy = remedy
        self.line = line


def loads(text: str) -> tuple[Any, Any]:
    """Return the document, and the tree in which ``line_of`` finds lines. Raises ``BadYaml``."""
    with _as_bad_yaml():
        tree = yaml.compose(text, Loader=_LOADER)
        _refuse_bombs(tree)
        return _StrictLoader("").construct_document(tree) if tree else None, tree


def scalar(text: str, key: str) -> str:
    """The text of a key at the top of a document, whose rest may be invalid; empty if none.

    Raises ``BadYaml``.
    """
    with _as_bad_yaml():
        tree = yaml.compose(text, Loader=_LOADER)
    found = _child(tree, key)
    return str(found.value) if isinstance(found, yaml.ScalarNode) else ""


@contextmanager
def _as_bad_yaml() -> Iterator[None]:
    """Raise ``BadYaml`` for each error of PyYAML."""
    try:
        yield
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise BadYaml(str(error.problem), "fix the line", line) from None
    except RecursionError:
        raise BadYaml("is nested too deeply", "fix the file") from None
    except (yaml.YAMLError, ValueError) as error:
        raise BadYaml(" ".join(str(error).split()), "fix the file") from None
    except (AttributeError, KeyError):  # of PyYAML, for "!!timestamp x" and "!!bool x"
        raise BadYaml("a value does not fit its tag (!!)", "fix the file") from None


# A document with more values is read only if they are written out, not repeated by aliases.
_MOST_REPEATED = 100_000


def _refuse_bombs(tree: yaml.Node | None) -> None:
    """Refuse aliases of a value that contains them, and aliases that stand for too many values."""
    sizes: dict[int, int] = {}
    total = _size(tree, sizes, set()) if tree else 0
    if total > max(_MOST_REPEATED, 2 * len(sizes)):
        raise yaml.YAMLError(f"its aliases repeat values: {len(sizes)} stand for {total:.3g}")


def _size(node: yaml.Node, sizes: dict[int, int], around: set[int]) -> int:
    """Return the number of values in a node, those of its aliases counted each time."""
    own = id(node)
    if own in around:
        problem = "an alias refers to a value that contains it"
        raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)
    if own not in sizes:
        around.add(own)
        inner = node.value if isinstance(node, yaml.CollectionNode) else ()
        parts = (part for one in inner for part in (one if isinstance(one, tuple) else (one,)))
        sizes[own] = 1 + sum(_size(part, sizes, around) for part in parts)
        around.remove(own)
    return sizes[own]


_DEEPEST = 40
# Keys count as values. A node with addresses and SSH settings of its own has 21 values, and 2,000
# such nodes have 42,000.
_MOST_VALUES = 50_000


class _Bounds(yaml.composer.Composer):
    """Refuses deep nesting, and more values than the settings can need."""

    peek_event: Any  # of the loader that this is mixed into
    _values = _depth = 0

    def get_single_node(self) -> yaml.Node | None:
        self.anchors = {}
        return super().get_single_node()

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        self._values += 1
        self._depth += 1
        if self._depth > _DEEPEST:
            mark = self.peek_event().start_mark
            raise yaml.MarkedYAMLError(problem="is nested too deeply", problem_mark=mark)
        if self._values > _MOST_VALUES:
            raise yaml.YAMLError(f"it has more than {_MOST_VALUES} values")
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


def bounded(loader: Any) -> Any:
    """Return the loader with the bounds."""
    return type("_Loader", (_Bounds, loader), {"__init__": loader.__init__})


# libyaml's parser takes a tenth of the time; PyYAML for a platform without wheels may lack it.
_LOADER = bounded(getattr(yaml, "CSafeLoader", yaml.SafeLoader))


class _StrictLoader(yaml.SafeLoader):
    """Refuses what YAML silently accepts: a key given twice, and keys such as ``on``."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[object] = set()
        for key_node, _ in node.value:
            key, mark = self.construct_object(key_node, deep=True), key_node.start_mark
            if not isinstance(key, str):
                what = f"key {key_node.value if key_node.id == 'scalar' else key} is not text"
                raise yaml.MarkedYAMLError(problem=f"{what}: put it in quotes", problem_mark=mark)
            if key in seen:
                raise yaml.MarkedYAMLError(problem=f"key {key!r} is given twice", problem_mark=mark)
            seen.add(key)
        return super().construct_mapping(node, deep)

    def number(self, node: yaml.ScalarNode) -> float:
        """Return an integer or a float. No setting is infinite, or has a thousand digits."""
        if ":" in node.value:
            problem = f"YAML reads {node.value[:20]} as a number of base 60: put it in quotes"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)
        is_float = node.tag == _FLOAT
        try:
            made = self.construct_yaml_float(node) if is_float else self.construct_yaml_int(node)
        except ValueError:
            made = math.nan
        if not (math.isfinite(made) if is_float else abs(made) < _MOST_INTEGER):
            problem = f"{node.value[:20]} is not a number that a setting can have"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)
        return made


_FLOAT, _INT = "tag:yaml.org,2002:float", "tag:yaml.org,2002:int"
_MOST_INTEGER = 10**18
_StrictLoader.add_constructor(_FLOAT, _StrictLoader.number)
_StrictLoader.add_constructor(_INT, _StrictLoader.number)


def line_of(tree: Any, json_path: JsonPath) -> int:
    """Return the line number, from 1, of the deepest part of ``json_path`` that exists."""
    for step in json_path:
        inner = _child(tree, step)
        if inner is None:
            break
        tree = inner
    return int(tree.start_mark.line) + 1


def _child(tree: Any, step: str | int) -> Any:
    if isinstance(tree, yaml.MappingNode):
        return next((value for key, value in tree.value if key.value == step), None)
    if isinstance(tree, yaml.SequenceNode) and isinstance(step, int) and step < len(tree.value):
        return tree.value[step]
    return None
