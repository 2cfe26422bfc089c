"""The page of the packages that railgauge needs, with their versions and licences.

What is installed beside this interpreter is listed. Licences are those that the packages state.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

PACKAGE = "railgauge"
_HEAD = """\
# Packages

The packages of this installation, with the licences that they state. `constraints.txt` names the
versions that the selftests ran with, with the hashes of their files. `make accept` installs them;
`make accept CONSTRAINTS=` takes the newest instead. Elsewhere:

```
pip install --require-hashes -r constraints.txt && pip install --no-deps railgauge
```

A release has the same list as a bill of materials in CycloneDX's JSON (`railgauge-*.cdx.json`,
`make dist`), with the SHA-256 of every file that `constraints.txt` allows. The lower bounds in
`pyproject.toml` hold: `make lowest` makes an environment with the lowest version of each package
and accepts the lab at level smoke; `make newest` does so with the newest ones. A package that is
missing, too old or broken ends a run with exit code 3 or 4 and one line, never with that of a
verdict. Only a pytest that cannot start by itself, because packaging, pluggy or iniconfig are
broken, ends with 1 and a traceback of Python; there is no folder of a run then, and no
`verdict.json`.

| package | version | licence |
|---|---|---|
"""
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


def page(_: Path) -> str:
    """The page ``packages``, without railgauge itself."""
    rest = (part for name, part in parts().items() if name != PACKAGE)
    return _HEAD + "".join(f"| {one.name} | {one.version} | {one.licence} |\n" for one in rest)
