"""The packages that railgauge needs, as a CycloneDX document.

What is installed beside this interpreter is listed: ``make dist`` runs this with the versions of
``constraints.txt``.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from railgauge.cli.pages.packages import PACKAGE, Part, compared, parts

SPEC_VERSION = "1.5"
_NAME = re.compile(r"^([A-Za-z0-9][\w.-]*)==(\S+)", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--constraints", type=Path, required=True)
    parser.add_argument("--json", type=Path, required=True, help="where the document is written")
    options = parser.parse_args()
    hashes = pinned(options.constraints.read_text(encoding="utf-8"))
    text = json.dumps(document(parts(), hashes), indent=2) + "\n"
    options.json.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
