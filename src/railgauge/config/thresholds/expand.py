"""Expand the short form of a platform file to the long form (``docs/platform-files.md``). Pure.

``{"nics": {"mlx5_[0-7]": {"extends": "ConnectX-7 NDR", "basis": "ports"}}}`` becomes a list of
eight NICs, each with its model, rate, slot and the basis ``ports`` of the table ``bases``.
A file in the long form is returned unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from railgauge.core import nodeset
from railgauge.core.errors import BadInput, ThresholdError
from railgauge.core.limits import Sweep
from railgauge.core.units import format_size, parse_size

JsonObject = Mapping[str, Any]
# (section, name of an entry) -> (file, key as written there).
Origins = Mapping[tuple[str, str], tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Written:
    """One file as it was written: its path and its JSON."""

    path: str
    document: JsonObject


@dataclass(frozen=True, slots=True)
class Expanded:
    """A platform file in the long form, and the file and key that each entry comes from."""

    document: dict[str, Any]
    origins: Origins


def expanded(files: Sequence[Written]) -> Expanded:
    """Return the last of ``files`` in the long form, merged with the earlier ones.

    The earlier files are those that it extends, each after the files that it extends itself.
    Raises ``ThresholdError`` with the file and the key as written.
    """
    whole: dict[str, Any] = {}
    origins: dict[tuple[str, str], tuple[str, str]] = {}
    for file in files:
        whole = _merged(whole, _Unfolding(file, whole.get("bases", {}), origins).document())
    return Expanded(_Completing(files[-1].path, whole, origins).document(), origins)


def is_short(document: Any) -> bool:
    """Whether a file is in the short form: its entries may lack keys that they inherit."""
    if not isinstance(document, Mapping):
        return False
    made = list(_objects(document.get("measurements")))
    levels = [document.get("levels"), *(one.get("levels") for one in made)]
    hardware = document.get("hardware")
    nics = hardware.get("nics") if isinstance(hardware, Mapping) else None
    return (
        any(key in document for key in _SHORT_ONLY)
        or any(isinstance(entries, Mapping) for entries in (nics, document.get("prepare")))
        or any("limit" in one or "extends" in one for one in made)
        or any("," in key for level in levels if isinstance(level, Mapping) for key in level)
    )


def _objects(section: Any) -> Iterator[JsonObject]:
    entries = section.values() if isinstance(section, Mapping) else ()
    return (entry for entry in entries if isinstance(entry, Mapping))


# Keys of the short form alone; the long form has none of them.
_SHORT_ONLY = ("extends", "bases", "templates")
# Objects whose keys are sets of names.
_SETS = (
    "affinity",
    "expected",
    "growth",
    "levels",
    "measurements",
    "nics",
    "not_applicable",
    "prepare",
)
# Values of a tool or a fact: their inner keys are not those of a platform file.
_AS_THEY_ARE = ("by_model", "equals", "one_of", "options", "variables")
_NAMES_MOST = 1024
_PART = re.compile(r"(?:[^,\[\]]|\[[^\[\]]*\])+")
_BASIS = re.compile(r"([0-9]{3}|datasheet|standard|derived|calibration|site): (.+)", re.DOTALL)


# An entry has one key of each of these sets: the rule of an expectation, and the limit of growth.
_EITHER = (
    frozenset(
        {"equals", "one_of", "contains", "at_least", "at_most", "as_declared", "carries_rate",
         "alike", "distinct", "within", "by_model"}
    ),
    frozenset({"ceiling", "per_hour"}),
)  # fmt: skip
# Keys that only one of the forms has.
_OF_FORM = {"measured_with": "alike"}


def _merged(below: Any, above: Any) -> Any:
    """Merge ``above`` into ``below``: objects key by key; any other value, also ``null``, wins.

    A form of an expectation replaces any form below it: an entry never has two.
    """
    if not isinstance(below, Mapping) or not isinstance(above, Mapping):
        return above
    replaced = {key for forms in _EITHER if _gives(above, forms) for key in forms}
    replaced |= {key for key, form in _OF_FORM.items() if form in replaced and form not in above}
    below = {key: value for key, value in below.items() if key not in replaced or key in above}
    return {
        **below,
        **{
            key: _merged(below[key], value) if key in below else value
            for key, value in above.items()
        },
    }


def _gives(entry: JsonObject, forms: frozenset[str]) -> bool:
    """Whether an entry has one of these forms, and not only ``null``, which removes it."""
    given = (key for key, value in entry.items() if value is not None or key == "equals")
    return not forms.isdisjoint(given)


class _Unfolding:
    """Expands one file by itself: sets of names, bases, sweeps, lists of lines."""

    def __init__(
        self, file: Written, bases: JsonObject, origins: dict[tuple[str, str], tuple[str, str]]
    ) -> None:
        self._file = file
        self._origins = origins
        own = file.document.get("bases", {})
        self._bases = {
            **bases,
            **{name: self._basis_of_text(text, f"$/bases/{name}") for name, text in own.items()},
        }

    def document(self) -> dict[str, Any]:
        rest = {key: value for key, value in self._file.document.items() if key != "bases"}
        unfolded: dict[str, Any] = self._unfolded(rest, "$")
        for section in ("documents", "not_applicable"):
            if section in unfolded:
                unfolded[section] = {name: _text(why) for name, why in unfolded[section].items()}
        return {**unfolded, **({"bases": self._bases} if self._bases else {})}

    def _unfolded(self, value: Any, path: str) -> Any:
        if isinstance(value, list):
            return [self._unfolded(item, f"{path}/{index}") for index, item in enumerate(value)]
        if not isinstance(value, Mapping):
            return value
        return {key: self._value(key, item, f"{path}/{key}") for key, item in value.items()}

    def _value(self, key: str, value: Any, path: str) -> Any:
        if key in _AS_THEY_ARE:
            return value
        if key == "basis":
            return self._basis(value, path)
        if key == "sizes" and isinstance(value, Mapping):
            return self._swept(value, path)
        if key in _SETS and isinstance(value, Mapping):
            return self._named(key, value, path)
        return self._unfolded(value, path)

    def _named(self, section: str, entries: JsonObject, path: str) -> dict[str, Any]:
        """Expand every key to its names; if two keys share a name, the later one adds to it."""
        result: dict[str, Any] = {}
        for key, entry in entries.items():
            value = self._unfolded(entry, f"{path}/{key}")
            if section == "affinity" and isinstance(value, Mapping):
                value = self._named("", value, f"{path}/{key}")
            for name in self._names(key, path):
                result[name] = _merged(result.get(name), value)
                if path in (f"$/{section}", f"$/hardware/{section}"):
                    self._origins[section, name] = (self._file.path, f"{path}/{key}")
        return result

    def _names(self, key: str, path: str) -> Iterator[str]:
        """Yield ``a0``, ``a1`` and ``b`` for ``a[0-1],b``, in this order."""
        parts = [part.strip() for part in _PART.findall(key)]
        if not parts or ",".join(parts) != ",".join(part.strip() for part in key.split(",")):
            _refuse(self._file.path, path, f"{key!r} is not a set of names: write a[0-7] or a,b")
        for part in parts:
            yield from self._folded(part, path) if "[" in part else [part]

    def _folded(self, part: str, path: str) -> tuple[str, ...]:
        try:
            names = nodeset.expanded(part, _NAMES_MOST)
        except BadInput as error:
            _refuse(self._file.path, path, f"{part!r} is not a set of names: {error.what}")
        if not names:
            _refuse(self._file.path, path, f"{part!r} is an empty set of names")
        return names

    def _swept(self, span: JsonObject, path: str) -> list[str]:
        try:
            first, last = parse_size(span["from"]), parse_size(span["to"])
        except BadInput as error:
            _refuse(self._file.path, path, error.what)
        sizes = Sweep(first, last, span["factor"]).sizes if first else ()
        if not sizes or sizes[-1] != last:
            what = f"{span['to']} is not reached from {span['from']} in steps of x{span['factor']}"
            _refuse(self._file.path, path, what)
        return [format_size(size) for size in sizes]

    def _basis(self, written: Any, path: str) -> Any:
        if isinstance(written, str) and written in self._bases:
            return self._bases[written]
        return self._basis_of_text(written, path)

    def _basis_of_text(self, written: Any, path: str) -> Any:
        if isinstance(written, Mapping):
            return written
        found = _BASIS.fullmatch(text := _text(written))
        if found is None:
            known = ", ".join(sorted(getattr(self, "_bases", ()))) or "none"
            what = f"{text[:60]!r} is neither a name under bases nor 'SOURCE: its statement'"
            _refuse(self._file.path, path, what, f"names under bases: {known}")
        return {"source": found[1], "says": found[2]}


class _Completing:
    """Completes the merged files: entries inherit from their templates, objects become lists."""

    def __init__(
        self,
        path: str,
        whole: dict[str, Any],
        origins: Origins,
    ) -> None:
        self._path = path
        self._whole = whole
        self._templates = whole.get("templates", {})
        self._origins = origins

    def document(self) -> dict[str, Any]:
        result = {key: value for key, value in self._whole.items() if key not in _SHORT_ONLY}
        for section in ("expected", "growth", "measurements", "prepare"):
            if isinstance(result.get(section), Mapping):
                result[section] = self._entries(section, result[section])
        if "measurements" in result:
            measurements = result["measurements"].items()
            result["measurements"] = {name: _with_limits(made) for name, made in measurements}
        if isinstance(result.get("prepare"), Mapping):
            result["prepare"] = _listed(result["prepare"])
        if "hardware" in result:
            result["hardware"] = self._hardware(result["hardware"])
        return dict(_without_null(result))

    def _hardware(self, hardware: JsonObject) -> dict[str, Any]:
        result = dict(hardware)
        if "extends" in result.get("gpus", {}):
            result["gpus"] = self._entry("gpus", "", result["gpus"])
        if isinstance(nics := result.get("nics"), Mapping):
            result["nics"] = _listed(self._entries("nics", nics))
        if "affinity" in result:
            names = [nic["name"] for nic in result.get("nics", ()) if "name" in nic]
            affinity = result["affinity"].items()
            result["affinity"] = {gpu: self._links(gpu, row, names) for gpu, row in affinity}
        return result

    def _links(self, gpu: str, row: Any, nics: Sequence[str]) -> Any:
        """Split a row of ``nvidia-smi topo -m``, which has one word for each NIC in file order."""
        if not isinstance(row, str):
            return row
        words = row.split()
        if len(words) != len(nics):
            what = f"{len(words)} links for {len(nics)} NICs: {', '.join(nics)}"
            _refuse(self._path, f"$/hardware/affinity/{gpu}", what)
        return dict(zip(nics, words, strict=True))

    def _entries(self, section: str, entries: JsonObject) -> dict[str, Any]:
        return {
            name: self._entry(section, name, entry) if isinstance(entry, Mapping) else entry
            for name, entry in entries.items()
            if entry is not None
        }

    def _entry(self, section: str, name: str, entry: JsonObject) -> dict[str, Any]:
        """Merge an entry into the template of its own name, if any, and those that it extends."""
        templates = self._templates.get(section, {})
        named = entry.get("extends", [])
        own = [name] if name in templates else []
        below = {"extends": [*own, *([named] if isinstance(named, str) else named)]}
        path, key = self._origins.get((section, name), (self._path, f"$/hardware/{section}"))
        found = _extended({**entry, **below}, templates, (), (path, key))
        return {key: value for key, value in found.items() if key != "datasheet"}


def _with_limits(measurement: Any) -> Any:
    """Merge ``limit`` into each of ``limits``, whose own keys win."""
    if not isinstance(measurement, Mapping):
        return measurement
    result = {key: value for key, value in measurement.items() if key != "limit"}
    if "limits" in result:
        each = [_merged(measurement.get("limit", {}), one) for one in result["limits"]]
        result["limits"] = _by_metric(each)
    if "asserts" in result:
        result["asserts"] = _by_metric(result["asserts"])
    return result


def _extended(
    entry: JsonObject,
    templates: JsonObject,
    chain: tuple[str, ...],
    where: tuple[str, str],
    made: dict[str, Any] | None = None,
) -> Any:
    """Merge an entry into all that it extends; ``made`` has the templates that were merged."""
    known_of = {} if made is None else made
    named = entry.get("extends", [])
    result: Any = {}
    for name in [named] if isinstance(named, str) else named:
        if name in chain:
            _refuse(*where, f"extends itself: {' -> '.join((*chain, name))}")
        if name not in templates:
            known = ", ".join(sorted(templates)) or "none"
            _refuse(*where, f"extends {name!r}, but no template has this name", f"known: {known}")
        if name not in known_of:
            below = templates[name]
            known_of[name] = _extended(below, templates, (*chain, name), where, known_of)
        result = _merged(result, known_of[name])
    return _merged(result, {key: value for key, value in entry.items() if key != "extends"})


def _by_metric(entries: Sequence[Any]) -> list[Any]:
    """Return two entries for the metric ``lat_avg,lat_typical``, one for each name."""
    return [
        {**entry, "metric": metric.strip()} if "," in str(written) else entry
        for entry in map(_without_null, entries)
        for written in [entry.get("metric") if isinstance(entry, Mapping) else ""]
        for metric in str(written).split(",")
    ]


def _listed(entries: JsonObject) -> list[Any]:
    return [{"name": name, **entry} for name, entry in entries.items()]


def _without_null(value: Any) -> Any:
    """Remove keys whose value is ``null``: it removes what a template or another file gives."""
    if not isinstance(value, Mapping):
        return value
    return {
        key: item if key == "equals" else _without_null(item)
        for key, item in value.items()
        if item is not None or key == "equals"
    }


def _text(written: Any) -> Any:
    return " ".join(written) if isinstance(written, list) else written


def _refuse(path: str, json_path: str, what: str, remedy: str = "") -> NoReturn:
    raise ThresholdError(what, where=f"{path}: {json_path}", remedy=remedy)
