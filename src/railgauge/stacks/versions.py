"""Versions of the parts of a GPU stack, each with the reason to report if it is not known."""

from __future__ import annotations

import re
from collections.abc import Mapping

from railgauge.stacks.sections import Section

# A version or ``None``, and the reason to report if it is ``None``.
Version = tuple[str | None, str]

# Where packages, vendors' archives and manual installations put shared libraries.
_FOLDERS = (
    "/usr/lib/*", "/usr/lib*", "/usr/local/lib*", "/usr/local/*/lib*", "/opt/*/lib*",
    "/opt/*/*/lib*",
)  # fmt: skip
_FILE = re.compile(r"(lib\w{1,40})\.so\.(\d{1,6}(?:\.\d{1,6}){1,4})")

_BUILD = re.compile(r"(lib\w{1,40})\.so +(\d{1,12})")


def library_files(name: str) -> str:
    """Return shell text that lists the files ``NAME.so.1.2.3`` of a library, each name once.

    The version is that of the file, not of a package, so that libraries copied by hand have one
    too. Links such as ``NAME.so.1`` are left out.
    """
    places = " ".join(f'"$R"{folder}/{name}.so.*.*' for folder in _FOLDERS)
    each = f'for file in {places}; do [ -e "$file" ] && echo "${{file##*/}}"; done'
    return f"{{ {each}; }} | sort -u"


def library_builds(name: str) -> str:
    """Return shell text that lists the files of a library whose names have no version.

    Each line is the file's name and its size in bytes, ``NAME.so 41230336``. Two builds of a
    library differ in size.
    """
    places = " ".join(f'"$R"{folder}/{name}.so' for folder in _FOLDERS)
    size = 'echo "${file##*/} $(wc -c <"$file")"'
    each = f'for file in {places}; do [ -e "$file" ] && {size}; done'
    return f"{{ {each}; }} | sort -u"


def library_build(printed: Section, name: str) -> Version:
    """Return all installed builds, ``NAME.so of 41230336 bytes``; the job decides which is used."""
    files = (_BUILD.fullmatch(line[:200].strip()) for line in printed.text.splitlines())
    sizes = sorted({int(match[2]) for match in files if match and match[1] == name})
    found = ", ".join(f"{name}.so of {size} bytes" for size in sizes)
    return found or None, printed.failure or f"no {name}.so under /usr/lib, /usr/local or /opt"


def library_version(printed: Section, name: str) -> Version:
    """Return all installed versions, ``2.18.5, 2.22.3``; the job decides which one is loaded."""
    files = (_FILE.fullmatch(line[:200].strip()) for line in printed.text.splitlines())
    found = sorted({match[2] for match in files if match and match[1] == name}, key=_number)
    absent = f"no {name}.so with a version in its name under /usr/lib, /usr/local or /opt"
    return ", ".join(found) or None, printed.failure or absent


def _number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def versions(found: Mapping[str, Version]) -> tuple[dict[str, str], dict[str, str]]:
    """Return ``StackFacts.software``, and the reasons for missing versions by path."""
    known = {name: version for name, (version, _) in found.items() if version}
    missing = {f"gpu_software.{name}": why for name, (version, why) in found.items() if not version}
    return known, missing
