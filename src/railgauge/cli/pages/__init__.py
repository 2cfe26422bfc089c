"""The pages that ``railgauge docs`` makes from platform files, tests and code."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from railgauge.site import contents

# The module of each page; its ``page`` takes the folder of a site.
_MODULES = {
    "tests": "railgauge.cli.pages.tests",
    "limits": "railgauge.cli.limits",
    "platform-reference": "railgauge.cli.pages.platform_reference",
    "causes": "railgauge.cli.causes",
    "kernel-log": "railgauge.cli.pages.kernel_log",
    "packages": "railgauge.cli.pages.packages",
}
MADE = tuple(_MODULES)


def made(name: str, root: Path) -> str:
    """What is made of the page ``name``, from the site in ``root``, or else from the package's."""
    has_site = (root / "thresholds").is_dir() and (root / "tests").is_dir()
    text: str = import_module(_MODULES[name]).page(root if has_site else contents.source())
    return text
