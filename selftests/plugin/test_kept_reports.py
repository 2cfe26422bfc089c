"""What a run keeps of its items and of pytest's reports, when they have been reported."""

import json

import pytest
from testing.acceptance import make_project

CONFTEST = """\
import json
from pathlib import Path

import pytest
from pytest_html.basereport import BaseReport

@pytest.fixture(autouse=True)
def noting(request):
    print("of the setup" if "kernel" in request.node.name else "", end="")
    yield


def ended(session):
    config = session.config
    stats = config.pluginmanager.getplugin("terminalreporter").stats
    pages = [one for one in config.pluginmanager.get_plugins() if isinstance(one, BaseReport)]
    return {
        "unset": [[r.nodeid, r.when, r.sections] for r in stats.get("", ())],
        "passed": len(stats["passed"]), "of pages": len(pages[0]._reports),
        "keywords": any(report.keywords for report in stats["passed"]),
        "items": len(session.items),
    }


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session):
    result = yield
    Path(str(session.config.rootpath), "ended.json").write_text(json.dumps(ended(session)))
    return result
"""
OPTIONS = ("tests/preflight/test_host.py", "--level", "smoke", "--lab-nodes", "2")


@pytest.fixture(scope="module", params=[(), ("--most-items", "0")], ids=["few", "many"])
def run(tmp_path_factory, request):
    project = make_project(tmp_path_factory.mktemp("run") / "site")
    project.write("tests/conftest.py", CONFTEST)
    done = project.run(*OPTIONS, *request.param)
    assert set(done.outcomes.values()) == {"passed"}, done.output
    counts = json.loads((done.latest.parents[1] / "ended.json").read_text())
    return done, counts


def test_a_run_keeps_no_report_that_is_not_shown(run):
    done, counts = run
    assert counts["passed"] == counts["items"] <= len(done.outcomes)
    assert counts["of pages"] == 0
    assert not counts["keywords"]


def test_captured_output_is_kept(run):
    _, counts = run
    assert counts["unset"]
    assert all("of the setup" in str(sections) for _, _, sections in counts["unset"])
