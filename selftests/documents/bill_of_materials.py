"""The packages that railgauge needs, as a CycloneDX document and as a page with their licences.

What is installed beside this interpreter is listed: ``make dist`` runs this with the versions of
``constraints.txt``. Licences are those that the packages state themselves.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

PACKAGE = "railgauge"
SPEC_VERSION = "1.5"
HEAD = Path(__file__).parents[2] / "docs" / "packages.head.md"
# What classifiers call a licence, by its name in the list of SPDX.
_SPDX = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "GNU Lesser General Public License v2 or later (LGPLv2+)": "LGPL-2.1-or-later",
    "GNU Library or Lesser General Public License (LGPL)": "LGPL-2.1-only",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
_FREE_TEXT = {
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "LGPL": "LGPL-2.1-or-later",
    "LGPLv2+": "LGPL-2.1-or-later",
    "LGPL-2.1": "LGPL-2.1-or-later",
    "new BSD License": "BSD-3-Clause",
    "BSD": "BSD-3-Clause",
}
_NAME = re.compile(r"^([A-Za-z0-9][\w.-]*)==(\S+)", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


@dataclass(frozen=True)
class Part:
    """One installed package; ``needs`` are the names of others, as they are compared."""

    name: str
    version: str
    licence: str
    needs: tuple[str, ...]

    @property
    def reference(self) -> str:
        return f"pkg:pypi/{compared(self.name)}@{self.version}"


def compared(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def parts() -> dict[str, Part]:
    """railgauge and all that it needs here, by their compared names, sorted."""
    found: dict[str, Part] = {}
    waiting = [PACKAGE]
    while waiting:
        name = compared(waiting.pop())
        if name not in found:
            found[name] = _part(name)
            waiting += found[name].needs
    return dict(sorted(found.items()))


def _part(name: str) -> Part:
    about = metadata.distribution(name)
    needs = sorted({compared(one.name) for one in _needed(about.requires or ())})
    stated = about.metadata["Name"] or name
    return Part(stated, about.version, licence_of(about.metadata), tuple(needs))


def _needed(requirements: Sequence[str]) -> Iterator[Requirement]:
    """What is needed here without extras, and what of an extra is installed for it anyway."""
    for one in map(Requirement, requirements):
        if one.marker is None or one.marker.evaluate({"extra": ""}):
            yield one


def licence_of(about: Any) -> str:
    """The licence as an expression of SPDX where the package states one that is known."""
    if stated := about.get("License-Expression"):
        return str(stated)
    names = [line.split(" :: ")[-1] for line in about.get_all("Classifier") or ()
             if line.startswith("License ::")]  # fmt: skip
    known = [_SPDX[name] for name in names if name in _SPDX]
    text = str(about.get("License") or "").strip()
    return " OR ".join(known) or _FREE_TEXT.get(text, text.splitlines()[0] if text else "")


def document(
    found: Mapping[str, Part], hashes: Mapping[tuple[str, str], Sequence[str]]
) -> dict[str, Any]:
    """The CycloneDX document. It has no time, so that the same packages give the same file."""
    own = found[PACKAGE]
    rest = [part for name, part in found.items() if name != PACKAGE]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": SPEC_VERSION,
        "version": 1,
        "metadata": {"component": _component(own, "application", ())},
        "components": [
            _component(one, "library", hashes.get((compared(one.name), one.version), ()))
            for one in rest
        ],
        "dependencies": [
            {"ref": part.reference, "dependsOn": [found[need].reference for need in part.needs]}
            for part in found.values()
        ],
    }


def _component(part: Part, kind: str, hashes: Sequence[str]) -> dict[str, Any]:
    licence = [{"expression": part.licence}] if part.licence else []
    return {
        "type": kind,
        "bom-ref": part.reference,
        "name": part.name,
        "version": part.version,
        "purl": part.reference,
        **({"licenses": licence} if licence else {}),
        **({"hashes": [{"alg": "SHA-256", "content": one} for one in hashes]} if hashes else {}),
    }


def pinned(text: str) -> dict[tuple[str, str], tuple[str, ...]]:
    """The hashes of ``constraints.txt``, by the name and the version of the package.

    A package may have two versions, for older and newer versions of Python.
    """
    starts = list(_NAME.finditer(text))
    ends = [*(match.start() for match in starts[1:]), len(text)]
    return {
        (compared(match[1]), match[2]): tuple(_HASH.findall(text[match.end() : end]))
        for match, end in zip(starts, ends, strict=True)
    }


def page(found: Mapping[str, Part]) -> str:
    rest = (part for name, part in found.items() if name != PACKAGE)
    rows = "".join(f"| {one.name} | {one.version} | {one.licence} |\n" for one in rest)
    return HEAD.read_text(encoding="utf-8") + rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--constraints", type=Path, required=True)
    parser.add_argument("--json", type=Path, help="where the CycloneDX document is written")
    parser.add_argument("--page", type=Path, help="where the page is written")
    options = parser.parse_args()
    found = parts()
    hashes = pinned(options.constraints.read_text(encoding="utf-8"))
    if options.json:
        text = json.dumps(document(found, hashes), indent=2) + "\n"
        options.json.write_text(text, encoding="utf-8")
    if options.page:
        options.page.write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    main()
