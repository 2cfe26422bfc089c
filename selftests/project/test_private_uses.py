"""What the suite uses of pytest and xdist that is not public is listed here, and no more."""

import pytest
from private_uses import private_uses
from testing.core_values import ROOT

PACKAGE = ROOT / "src" / "railgauge"

# A comment at each place says which public way is missing.
USED = {
    "plugin/__init__.py": {"_ensure_unconfigure"},
    "plugin/items.py": {"_arg2fixturedefs"},
    "plugin/kept_reports.py": {"_reports"},
    "plugin/workers.py": {
        "_pytest.runner.runtestprotocol",
        "xdist.dsession.get_default_max_worker_restart",
    },
    "site/entry.py": {"_ensure_unconfigure", "_pytest.config.ConftestImportFailure"},
}


def test_no_other_private_name_of_pytest_or_xdist_is_used():
    found = {
        path.relative_to(PACKAGE).as_posix(): names
        for folder in ("plugin", "report", "site")
        for path in sorted((PACKAGE / folder).rglob("*.py"))
        if (names := private_uses(path, PACKAGE))
    }
    assert found == USED


@pytest.mark.parametrize(
    ("line", "used"),
    [
        ("x = item._nodeid", {"_nodeid"}),
        ("x = getattr(item, '_id')", {"_id"}),
        ("from _pytest.nodes import Node", {"_pytest.nodes.Node"}),
        ("from xdist.scheduler import LoadScheduling", {"xdist.scheduler.LoadScheduling"}),
        ("import pytest\n\nx = pytest.Item", set()),
        ("class A:\n    def f(self):\n        self._x = 1\n\n\ny = A()._x", set()),
    ],
)
def test_a_private_name_is_found(tmp_path, line, used):
    path = tmp_path / "a.py"
    path.write_text(line)
    assert private_uses(path, tmp_path) == used
