"""Finds modules, names and methods of packages that no program of them can reach.

A name is reached from the entry points, the acceptance tests and ``conftest.py``, through the
definitions that name it; what only an unreached name uses is unreached too. A module can also be a
value: a registry names it in a string for ``import_module``, or a tuple holds it. Of such a module
those names are reached that some attribute, anywhere, has: ``import_module(NAME).connect``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import MappingProxyType

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
SCOPES = (*FUNCTIONS, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
HOOK = "pytest_"  # pytest finds a plugin's hooks by this prefix
_WORD = re.compile(r'"([\w.\-]{1,80})"')

Name = tuple[str, str]
"""Dotted module and name in it; the module alone, with ``""``, is the code at its top level."""


@dataclass(slots=True)
class Module:
    """One file: its definitions, the imports behind its names, and its other statements."""

    name: str
    package: str = ""
    definitions: dict[str, list[ast.AST]] = field(default_factory=dict)
    bindings: dict[str, tuple[str, str]] = field(default_factory=dict)
    imports: list[str] = field(default_factory=list)
    statements: list[ast.AST] = field(default_factory=list)


def read_module(name: str, path: Path) -> Module:
    module = Module(name, name if path.stem == "__init__" else name.rpartition(".")[0])
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        _bind(module, node)
    _split(module, tree.body)
    return module


def _bind(module: Module, node: ast.AST) -> None:
    if isinstance(node, ast.Import):
        for alias in node.names:
            target = alias.name if alias.asname else alias.name.partition(".")[0]
            module.bindings[alias.asname or target] = (target, "")
            module.imports.append(alias.name)
    elif isinstance(node, ast.ImportFrom):
        above = module.package.rsplit(".", node.level - 1)[0] if node.level else ""
        source = ".".join(filter(None, (above, node.module)))
        for alias in node.names:
            module.bindings[alias.asname or alias.name] = (source, alias.name)
            module.imports += [source, f"{source}.{alias.name}"]


def _split(module: Module, body: Iterable[ast.stmt]) -> None:
    for node in body:
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            module.definitions.setdefault(node.name, []).append(node)
        elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)) and _stored(node):
            for name in _stored(node):
                module.definitions.setdefault(name, []).append(node)
        elif not isinstance(node, (ast.Import, ast.ImportFrom)):
            module.statements.append(node)


def _stored(node: ast.AST) -> set[str]:
    """Assigned names, without attributes and items of other objects."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    stored = {n.id for t in targets for n in ast.walk(t) if _is_store(n)}
    return stored if all(isinstance(t, (ast.Name, ast.Tuple)) for t in targets) else set()


def _is_store(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


class Packages:
    """The modules of some packages and of their users, and what can be reached from them."""

    def __init__(
        self, folders: Sequence[Path], users: Iterable[Path] = (), entries: Iterable[str] = ()
    ):
        self.names = {folder.name for folder in folders}
        files = (file for folder in folders for file in _files(folder))
        self.modules = {name: read_module(name, path) for name, path in files}
        self.users = [read_module(f"<{path}>", path) for path in users]
        self.modules |= {module.name: module for module in self.users}
        self.reached: set[Name] = set()
        # Modules by name: their attributes are read later. An entry may be a module of hooks.
        self.loaded = {entry for entry in entries if ":" not in entry}
        self.taken: set[str] = set()  # attributes of values, and arguments, which may be fixtures
        self.in_strings: set[str] = (
            set()
        )  # words in strings: names of modules, of attributes for getattr
        self.open: set[str] = (
            set()
        )  # packages from which a module is imported by a name in a string
        pages = _texts(folders, "*.j2")
        self.in_templates = {word for page in pages for word in re.findall(r"\w+", page)}
        self.in_strings |= self.in_templates
        self.in_strings |= {
            word for text in _texts(folders, "*.json") for word in _WORD.findall(text)
        }
        self._waiting: list[Name] = [(module.name, "") for module in self.users]
        self._waiting += [(m, name) for entry in entries for m, _, name in [entry.partition(":")]]
        self._reach()

    def unused(self) -> list[str]:
        """``package.module`` or ``package.module: name``, sorted."""
        lines = []
        for module in self.modules.values():
            if module in self.users:
                continue
            if (module.name, "") not in self.reached:
                lines.append(module.name)
                continue
            lines += [
                f"{module.name}: {name}"
                for name in module.definitions
                if (module.name, name) not in self.reached and not name.startswith("__")
            ]
        return sorted(lines)

    def unused_methods(self, called: Mapping[str, type] = MappingProxyType({})) -> list[str]:
        """Public methods of reached classes that no attribute and no string names, sorted.

        What a class from elsewhere has too is called from there: one that is a base, or that
        ``called`` names for a class that has no base.
        """
        reported = self.taken | self.in_strings
        return sorted(
            f"{module}: {name}.{method.name}"
            for module, name in self.reached
            for node in self.modules[module].definitions.get(name, [])
            if isinstance(node, ast.ClassDef)
            for method in node.body
            if isinstance(method, FUNCTIONS) and not method.name.startswith(("_", HOOK))
            if method.name not in reported
            if not any(hasattr(base, method.name) for base in self._foreign(module, node))
            if not hasattr(called.get(name), method.name)
        )

    def unused_exports(self) -> list[str]:
        """Names that a module imports only to re-export them, and that nothing imports."""
        return sorted(
            f"{module.name}: {name}"
            for module in self.modules.values()
            for node in module.definitions.get("__all__", [])
            for name in _words(node.value)
            if name in module.bindings and (module.name, name) not in self.reached
            if f"{module.name}.{name}" not in self.modules  # else an import may mean the module
            if module.package == module.name
        )

    def unread_fields(self) -> list[str]:
        """Fields of dataclasses that no attribute reads, and that no string names, sorted.

        A string names a field where it is read by its name: as part of a path, or in a query. So
        does a template of a page.
        """
        trees = [node for module in self.modules.values() for node in _code_of(module)]
        named = {word for tree in trees for word in _named(tree)} | self.in_templates
        return sorted(
            f"{module.name}: {name}.{field.target.id}"
            for module in self.modules.values()
            for name, nodes in module.definitions.items()
            for node in nodes
            if isinstance(node, ast.ClassDef) and _is_dataclass(node)
            for field in node.body
            if isinstance(field, ast.AnnAssign) and field.target.id not in named
        )

    def _foreign(self, module: str, node: ast.ClassDef) -> Iterator[object]:
        for base in node.bases:
            target = self._target(self.modules[module], base, frozenset())
            if target and target[0].partition(".")[0] not in self.names:
                yield getattr(import_module(target[0]), target[1])

    # --- what is reached ---

    def _reach(self) -> None:
        while self._waiting:
            while self._waiting:
                self._visit(self._waiting.pop())
            self.loaded |= {
                name
                for name in self.modules
                if _in(self.open, name) and _last(name) in self.in_strings
            }
            reported = self.taken | self.in_strings
            self._waiting = [
                (module, name)
                for module in self.loaded
                for name in (*self.modules[module].definitions, *self.modules[module].bindings, "")
                if name in reported or not name or name.startswith(HOOK)
                if (module, name) not in self.reached
            ]

    def _visit(self, name: Name) -> None:
        if name in self.reached or name[0] not in self.modules:
            return
        self.reached.add(name)
        module = self.modules[name[0]]
        self._waiting.append((module.name, ""))
        if name[1] in module.bindings:
            self._waiting.append(self._meant(*module.bindings[name[1]]))
        nodes = module.definitions.get(name[1], []) if name[1] else module.statements
        if not name[1]:
            self._waiting += [(imported, "") for imported in module.imports]
            self._waiting.append((module.name.rpartition(".")[0], ""))
        # Names in a user's file are used by pytest.
        if module in self.users and not name[1]:
            nodes = [*nodes, *(node for found in module.definitions.values() for node in found)]
        for node in nodes:
            self._uses(module, node, frozenset())

    def _meant(self, source: str, name: str) -> Name:
        """A name in a module, or the module of this name."""
        inner = f"{source}.{name}"
        is_own = source in self.modules and name in self.modules[source].definitions
        return (source, name) if is_own or inner not in self.modules else (inner, "")

    def _is_module(self, name: Name) -> bool:
        return not name[1] and name[0] in self.modules

    def _target(self, module: Module, node: ast.AST, local: frozenset[str]) -> Name | None:
        """The definition behind a name or a module's attribute."""
        if isinstance(node, ast.Name) and node.id not in local:
            if node.id in module.bindings:
                return self._meant(*module.bindings[node.id])
            return (module.name, node.id) if node.id in module.definitions else None
        if isinstance(node, ast.Attribute):
            owner = self._target(module, node.value, local)
            return self._meant(owner[0], node.attr) if owner and not owner[1] else None
        return None

    def _uses(self, module: Module, node: ast.AST, local: frozenset[str]) -> None:
        if isinstance(node, SCOPES):
            local |= _locals(node)
            self.taken |= _arguments(node) if isinstance(node, FUNCTIONS) else set()
        if target := self._target(module, node, local):
            self._waiting.append(target)
            if self._is_module(target):
                self.loaded.add(target[0])
            return
        if isinstance(node, ast.Attribute):
            self.taken.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            self._reads(module, node.value)
        elif isinstance(node, ast.Call) and _imports_by_word(node):
            self.open.add(module.package)
        for child in ast.iter_child_nodes(node):
            self._uses(module, child, local)

    def _reads(self, module: Module, text: str) -> None:
        """A string may be a module's full name, its name from its folder, or its file."""
        self.in_strings.add(text)
        inner = text.removesuffix(".py") if text.endswith(".py") or "." in text else ""
        self.loaded |= {text, f"{module.package}.{inner}"} & self.modules.keys()


def _words(node: ast.AST) -> list[str]:
    return [n.value for n in ast.walk(node) if isinstance(n, ast.Constant)]


def _code_of(module: Module) -> list[ast.AST]:
    return [*module.statements, *(node for nodes in module.definitions.values() for node in nodes)]


def _named(tree: ast.AST) -> Iterator[str]:
    """Attributes that are read, and words in strings other than docstrings."""
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            yield node.attr
        elif (
            isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs
        ):
            yield from re.findall(r"\w+", node.value)


def _is_dataclass(node: ast.ClassDef) -> bool:
    return any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list)


def _imports_by_word(call: ast.Call) -> bool:
    """``__import__(f"{package}.{word}")``."""
    name = getattr(call.func, "id", "")
    return name in ("__import__", "import_module") and isinstance(call.args[0], ast.JoinedStr)


def _in(packages: Iterable[str], module: str) -> bool:
    return module.rpartition(".")[0] in packages


def _last(module: str) -> str:
    return module.rpartition(".")[2]


def _locals(node: ast.AST) -> frozenset[str]:
    found = _arguments(node)
    outer: set[str] = set()
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            found.add(inner.id)
        elif isinstance(inner, ast.Global):
            outer.update(inner.names)
    return frozenset(found - outer)


def _arguments(node: ast.AST) -> set[str]:
    arguments = getattr(node, "args", None)
    return {n.arg for n in ast.walk(arguments) if isinstance(n, ast.arg)} if arguments else set()


def _texts(folders: Iterable[Path], names: str) -> list[str]:
    paths = (path for folder in folders for path in folder.rglob(names))
    return [path.read_text(encoding="utf-8") for path in paths]


def _files(source: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source.parent).with_suffix("").parts
        yield ".".join(parts).removesuffix(".__init__"), path
