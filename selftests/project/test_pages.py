"""Documentation pages: every link is valid, and everything that the code offers is documented."""

import json
import re
from pathlib import Path

import pytest
import yaml
from import_layers import ORDER, PRODUCT, entries
from testing import walks
from testing.places import ROOT

from railgauge.cli import main
from railgauge.plugin import options

DOCS = ROOT / "docs"
INDEX = DOCS / "README.md"
PAGES = sorted(
    {*ROOT.glob("*.md"), *ROOT.glob(".github/**/*.md"), *DOCS.rglob("*.md")}
    | {ROOT / "reports" / "README.md", ROOT / "selftests" / "false_passes.md"}
)
_FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_PATH = re.compile(
    r"`((?:\.ci|docs|examples|hostfiles|selftests|src|tests|thresholds)/[\w./@+-]+)[`:]"
)
# Files that the reader is to create.
_TO_BE_MADE = {
    *("hostfiles/mine.yaml", "thresholds/mine.json"),
    *(step.path for title in walks.TITLES for step in walks.steps(title) if not step.how),
}


def text_of(*pages):
    return "\n".join(page.read_text(encoding="utf-8") for page in pages)


def links(page):
    """The targets of a page's links, without those in code and without web addresses."""
    found = _LINK.findall(_FENCE.sub("", text_of(page)))
    return [link for link in found if not re.match(r"[a-z]+:", link)]


def anchors(page):
    """The anchors of a page's headings, as Git hosts make them."""
    headings = re.findall(r"^#+ (.*)$", _FENCE.sub("", text_of(page)), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_relative_link_leads_somewhere(page):
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_a_link_in_a_page_is_seen(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A b, c\n[x](gone.md) [y](https://a.b) [z](#a-b-c)\n```\n[w](code.md)\n```\n")
    assert links(page) == ["gone.md", "#a-b-c"]
    assert anchors(page) == {"a-b-c"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_path_that_a_page_names_is_there(page):
    for path in set(_PATH.findall(_FENCE.sub("", text_of(page)))) - _TO_BE_MADE:
        assert (ROOT / path).exists(), path


@pytest.mark.parametrize("page", ["docs/architecture.md", "docs/extending.md", "CONTRIBUTING.md"])
def test_every_module_that_a_page_names_is_there(page):
    named = set(re.findall(r"`([\w/]+/\w+\.py)`", text_of(ROOT / page))) - _TO_BE_MADE
    assert named
    places = (ROOT, ROOT / "src" / "railgauge")
    assert [name for name in named if not any((place / name).exists() for place in places)] == []


def test_the_index_has_every_page():
    linked = {(DOCS / link.partition("#")[0]).resolve() for link in links(INDEX)}
    assert sorted({*DOCS.glob("*.md")} - {INDEX} - linked) == []


def test_the_front_page_is_short_and_has_the_two_commands():
    page = text_of(ROOT / "README.md")
    assert len(page.splitlines()) <= 180
    for command in ("make accept", "make test"):
        assert re.search(rf"^{command}\b", page, re.MULTILINE), command


def test_the_front_page_says_why_each_dependency_is_there():
    page = text_of(ROOT / "README.md").partition("## Dependencies")[2]
    named = re.findall(r'"([A-Za-z][\w-]*)(?:\[\w+\])?>=', text_of(ROOT / "pyproject.toml"))
    assert len(named) > 10
    missing = [name for name in named if not re.search(rf"\b{re.escape(name)}\b", page)]
    assert missing == []


def cells(page, column=0):
    """The words in code marks in one column of a page's tables."""
    rows = [line.split(" | ") for line in text_of(page).splitlines() if line.startswith("| ")]
    return [word for row in rows for word in re.findall(r"`([^`]+)`", row[column])]


class Recorder:
    """Replaces pytest's parser and keeps the names of the options."""

    def __init__(self):
        self.names = []

    def getgroup(self, *_):
        return self

    def addoption(self, *names, **_):
        self.names += names


def test_every_option_of_a_run_is_on_its_page():
    asked = Recorder()
    options.add(asked)
    assert len(asked.names) > 10
    listed = " ".join(cells(DOCS / "running.md"))
    assert [name for name in asked.names if not re.search(rf"{name}\b(?!-)", listed)] == []


def help_of(capsys, *argv):
    with pytest.raises(SystemExit):
        main([*argv, "--help"])
    return capsys.readouterr().out


def test_every_command_and_its_options_are_in_the_table(capsys):
    rows = text_of(DOCS / "running.md").splitlines()
    commands = re.findall(r"^    ([a-z][a-z-]+)(?:\s|$)", help_of(capsys), re.MULTILINE)
    assert len(commands) > 10
    for name in commands:
        row = "".join(row for row in rows if re.match(rf"\| `railgauge {name}[ `]", row))
        asked = re.findall(r"^  (?:-\w[ \w]*, )?(--[a-z-]+)", help_of(capsys, name), re.MULTILINE)
        for option in set(asked) - {"--help", "--json", "--root"}:
            assert re.search(rf"`{option}[ `]", row), f"railgauge {name} {option}"
        assert row, name


@pytest.mark.parametrize(
    ("page", "schema"),
    [("hostfile.md", "hostfiles/schema.json"), ("platform-files.md", "thresholds/schema.json")],
)
def test_every_key_of_a_file_is_on_its_page(page, schema):
    keys = set(json.loads(text_of(ROOT / schema))["properties"])
    assert sorted(keys - {"schema_version", "platform", *cells(DOCS / page)}) == []


def test_the_tree_names_the_folders_of_the_package_in_their_order():
    rows = [name for name in cells(DOCS / "architecture.md") if re.fullmatch(r"\w+/", name)]
    named = [name.rstrip("/") for name in rows]
    package = ROOT / "src" / PRODUCT
    there = {name for name in entries(package) if not name.endswith(".py")}
    assert named == list(ORDER)
    assert set(named) == there


def test_the_hooks_run_programs_that_the_project_brings():
    config = yaml.safe_load(text_of(ROOT / ".pre-commit-config.yaml"))
    hooks = [hook for repo in config["repos"] for hook in repo["hooks"]]
    brought = text_of(ROOT / "pyproject.toml")
    programs = {hook["entry"].split()[0] for hook in hooks}
    assert programs == {f".venv/bin/{name}" for name in ("ruff", "mypy", "shellcheck")}
    assert all(f'"{Path(program).name}' in brought for program in programs)
