"""Adds the files of a site and the pages to the wheel; the rest is in pyproject.toml."""

import shutil
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
sys.path.insert(0, str(ROOT / "src"))

from railgauge.site import contents  # noqa: E402 - it is not installed yet


class BuildWithSite(build_py):
    """An editable installation needs no copies: it takes those of the checkout."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        pages = Path(self.build_lib, "railgauge", "site", contents.PAGES)
        shutil.rmtree(pages, ignore_errors=True)
        pages.mkdir(parents=True)
        docs = ROOT / contents.PAGES
        for page in (docs / f"{contents.LIST}.md", *contents.pages(docs).values()):
            shutil.copyfile(page, pages / page.name)
        template = Path(self.build_lib, "railgauge", "site", contents.TEMPLATE)
        shutil.rmtree(template, ignore_errors=True)  # of an earlier build
        for name in contents.names(ROOT):
            target = template / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target)
            shutil.copymode(ROOT / name, target)


setup(cmdclass={"build_py": BuildWithSite})
