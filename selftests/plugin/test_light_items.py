"""Items that pytest makes whole at need are those that pytest would have made."""

import json
import shutil

import pytest
from test_plugin_items import TESTS, platform
from testing import prepared
from testing.acceptance import environment
from testing.core_values import ROOT, put

HOSTFILE = """\
cluster: bench-cluster
platform: bench
nodes: n[01-{nodes}]
"""
SITE = """\
import pytest


@pytest.mark.measures("pair")
@pytest.mark.parametrize("turn", [1, 2])
def test_turned(pair, size, turn, measure, check):
    check(measure(pair), size)


@pytest.mark.measures("pair")
def test_named(pair, size, measure, check):
    check(measure(pair), size)
"""
CONFTEST = """\
import json
import os
from pathlib import Path

import pytest

from railgauge.plugin import items, light_items

NOTED = pytest.StashKey()
if "AS_PYTEST_MAKES_THEM" in os.environ:
    items.TestRows.are_plain = False


def told(item):
    spec = item.callspec
    return {
        "name": item.name, "nodeid": item.nodeid, "repr": repr(item), "id": spec.id,
        "params": {name: repr(value) for name, value in spec.params.items()},
        "indices": spec.indices, "marks": repr([*item.iter_markers()]),
        "keywords": sorted(item.keywords), "more": sorted(item.extra_keyword_matches),
        "location": item.location, "fixtures": item.fixturenames,
        "function": item.function.__name__, "originalname": item.originalname,
        "is_in_one": item in {item} and len({*item.session.items}) == len(item.session.items),
        "lacks": hasattr(item, "no_such_thing"), "funcargs": item.funcargs,
        "properties": item.user_properties, "path": item.path.name, "chain": item.listnames(),
    }


def pytest_collection_finish(session):
    found = [told(item) for item in session.items]
    for item in session.items:
        item.noted = item.stash[NOTED] = item.name
        if isinstance(item, light_items.LightItem):
            item.let_go()
            assert (item.noted, item.stash[NOTED]) == (item.name, item.name)
    assert [told(item) for item in session.items] == found
    Path(str(session.config.rootpath), "told.json").write_text(json.dumps(found))
"""
HELD = """\
import tracemalloc
from pathlib import Path

import pytest

tracemalloc.start()
FILES = ("nodes", "nodeid", "python", "stash", "structures", "fixtures", "compat")
OF_ITEMS = [*(f"*/_pytest/{name}.py" for name in FILES), "*/_pytest/mark/structures.py"]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_finish(session):
    result = yield
    for item in session.items:  # made whole, as by a run
        assert item.keywords and item.location
        if hasattr(item, "let_go"):
            item.let_go()
    every = [tracemalloc.Filter(True, name) for name in (*OF_ITEMS, "*/railgauge/plugin/*")]
    held = tracemalloc.take_snapshot().filter_traces(every).traces
    each = sum(trace.size for trace in held) / len(session.items)
    Path(str(session.config.rootpath), "told.json").write_text(f"[{len(session.items)}, {each}]")
    return result
"""


def told(folder, conftest, *options, nodes="04", **more):
    """What ``conftest`` wrote down of the items of a collection, and the ids that pytest printed"""
    folder.mkdir(parents=True, exist_ok=True)
    put(folder / "thresholds", platform())
    for name in ("tests", "hostfiles"):
        (folder / name).mkdir()
    for name in ("conftest.py", "tox.ini"):
        shutil.copy(ROOT / name, folder)
    shutil.copy(ROOT / "hostfiles" / "schema.json", folder / "hostfiles")
    (folder / "hostfiles" / "bench.yaml").write_text(HOSTFILE.format(nodes=nodes))
    for name, text in {"test_ladder": TESTS, "test_site": SITE, "conftest": conftest}.items():
        (folder / "tests" / f"{name}.py").write_text(text)
    ask = ("--collect-only", "-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest")
    ask += ("--hostfile", "hostfiles/bench.yaml", "--level", "smoke", *options)
    request = prepared.Request(ask, folder, environment(), time_limit_s=300, more=more)
    said = prepared.run(request)
    assert said.returncode == 0, said.stdout + said.stderr
    ids = [line for line in said.stdout.splitlines() if "::" in line]
    return json.loads((folder / "told.json").read_text()), ids


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--most-items", "0"),
        ("-k", "gpu3 or 02"),
        ("-m", "parametrize or expects"),
        ("--deselect", "tests/test_site.py::test_named[n01:n04-8MiB]"),
        ("tests/test_ladder.py::test_link[n02-gpu0>gpu1]", "tests/test_site.py::test_turned"),
    ],
    ids=["all", "held", "keyword", "mark", "deselected", "named"],
)
def test_items_are_those_that_pytest_makes(tmp_path, options):
    ours, ids = told(tmp_path / "ours" / "site", CONFTEST, *options)
    more = {"AS_PYTEST_MAKES_THEM": "1"}
    theirs, their_ids = told(tmp_path / "theirs" / "site", CONFTEST, *options, **more)
    assert ours == theirs
    assert ids == their_ids
    assert len(ours) > 1


def test_an_item_that_is_not_running_takes_less_than_a_kibibyte(tmp_path):
    """pytest's own take 3.5 KiB each."""
    (count, each_bytes), _ = told(tmp_path, HELD, nodes="32")
    assert count > 32 * 56
    assert each_bytes < 1024
