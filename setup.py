"""Adds a site's files, the pages and the man page to the wheel; pyproject.toml says the rest."""

import os
import shutil
import sys
from contextlib import redirect_stdout, suppress
from datetime import date
from io import StringIO
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
sys.path.insert(0, str(ROOT / "src"))

from railgauge import __version__  # noqa: E402 - it is not installed yet
from railgauge.site import contents  # noqa: E402

MANUAL = Path("man", "railgauge.1")
_MANUAL = """\
.TH RAILGAUGE 1 {day} "railgauge {version}"
.SH NAME
railgauge \\- acceptance tests for GPU clusters
.SH DESCRIPTION
{whole}
.SH COMMANDS
{commands}
"""


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


def manual() -> list[str]:
    """Write the man page: what ``--help`` of each command says.

    An isolated build lacks the packages for this; a source distribution holds the page.
    """
    try:
        from railgauge.cli import COMMANDS  # noqa: PLC0415

        commands = [f".SS railgauge {name}\n{_help(name)}" for name in COMMANDS]
    except ImportError as error:
        sys.stderr.write(f"setup.py: the man page is not made anew: {error}\n")
    else:
        (ROOT / MANUAL).parent.mkdir(exist_ok=True)
        text = _MANUAL.format(
            day=date.today(), version=__version__, whole=_help(), commands="\n".join(commands)
        )
        (ROOT / MANUAL).write_text(text, encoding="utf-8")
    return [str(MANUAL)] if (ROOT / MANUAL).is_file() else []


def _help(*command: str) -> str:
    """What a command prints for ``--help``, as roff that keeps its lines."""
    from railgauge.cli import COMMANDS, parser  # noqa: PLC0415

    os.environ.update(COLUMNS="75", NO_COLOR="1")  # man indents by seven of its eighty
    with redirect_stdout(StringIO()) as said, suppress(SystemExit):
        parser(command or COMMANDS).parse_args([*command, "--help"])
    lines = said.getvalue().replace("\\", r"\e").replace("-", r"\-").splitlines()
    return "\n".join([".nf", *(rf"\&{line}" if line else "" for line in lines), ".fi"])


setup(cmdclass={"build_py": BuildWithSite}, data_files=[("share/man/man1", manual())])
