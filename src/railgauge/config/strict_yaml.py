"""YAML of the user's own files, read strictly, with the line of each place. Pure."""

from __future__ import annotations

from typing import Any

import yaml

from railgauge.config.schema import JsonPath


class BadYaml(Exception):
    """A text is not valid YAML. ``line`` counts from 1; ``None`` if it is not known."""

    def __init__(self, what: str, remedy: str, line: int | None = None) -> None:
        super().__init__(what)
        self.what = f"not valid YAML: {what}"
        self.remedy = remedy
        self.line = line


def loads(text: str) -> tuple[Any, Any]:
    """Return the document, and the tree in which ``line_of`` finds lines. Raises ``BadYaml``."""
    try:
        document = yaml.load(text, Loader=_StrictLoader)  # noqa: S506 - a SafeLoader
        return document, yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise BadYaml(str(error.problem), "fix the line", line) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise BadYaml(" ".join(str(error).split()), "fix the file") from None


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
