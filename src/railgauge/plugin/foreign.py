"""Third-party plugins of pytest that would break a run: they are refused, or named in an error.

Most do no harm, because the verdict follows from the records. Some end items or the process, or run
items in processes that have no connection to the nodes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from railgauge.core.errors import BadInput

# Plugins of the suite that a run needs for its records, its leases or its verdict.
_NEEDED = ("controller", "holding", "messages", "rows", "worker-reporting", "worker-supervisor")


def block_cache(plugins: pytest.PytestPluginManager) -> None:
    """Switch off pytest's cache, which keeps the id of every item; its options stay known.

    With ``-p no:cacheprovider`` in ``tox.ini``, ``-p cacheprovider`` ended Python with 1.
    """
    for name in ("cacheprovider", "stepwise"):
        plugins.set_blocked(name)


def refuse(config: pytest.Config) -> None:
    """Raise ``BadInput`` if a plugin is asked to end items or the process, or to run items.

    Also if options choose items by pytest's cache of an earlier session.
    """
    for dest, option in _BY_CACHE.items():
        if config.getoption(dest, None):
            what = "it chooses or sorts items by an earlier session of pytest"
            raise BadInput(what, where=option, remedy="leave it out; --resume carries a run on")
    for name, (is_asked, why, remedy) in _REFUSED.items():
        if config.pluginmanager.hasplugin(name) and is_asked(config):
            where = f"pytest-{name.removeprefix('pytest_')}"
            raise BadInput(why, where=where, remedy=remedy)


def _ends_items(config: pytest.Config) -> bool:
    asked = [config.getoption("timeout", None), os.environ.get("PYTEST_TIMEOUT")]
    with suppress(ValueError):  # another plugin of this name has no such setting
        asked.append(config.getini("timeout"))
    return any(one not in (None, "", "0", 0) for one in asked)


def _forks(config: pytest.Config) -> bool:
    return bool(config.getoption("forked", False))


def _runs_in_threads(config: pytest.Config) -> bool:
    return any(config.getoption(name, None) for name in ("workers", "tests_per_worker"))


_BY_CACHE = {
    "lf": "--lf",
    "failedfirst": "--ff",
    "newfirst": "--nf",
    "stepwise": "--sw",
    "stepwise_skip": "--sw-skip",
    "cacheshow": "--cache-show",
}
# By the names under which they are installed.
_REFUSED: Mapping[str, tuple[Callable[[pytest.Config], bool], str, str]] = {
    "timeout": (
        _ends_items,
        "it may end the process with 1, the code of a rejected cluster",
        "leave --timeout, PYTEST_TIMEOUT and timeout= out; each measurement has a time limit",
    ),
    "pytest_forked": (
        _forks,
        "its processes have no connection to the nodes",
        "leave --forked out; -n N runs items in several processes",
    ),
    "parallel": (
        _runs_in_threads,
        "its processes and threads keep no record of an item",
        "leave --workers and --tests-per-worker out; -n N runs items in several processes",
    ),
}


def error_line(error: pytest.ExceptionInfo[BaseException], run: str) -> str:
    """The line that reports an internal error which ended the session, with a remedy."""
    last = error.traceback[-1]
    at = f"{Path(str(last.path)).name}:{last.lineno + 1}"
    message = " ".join(str(error.value).split())[:_LONGEST]
    return (
        f"pytest ended with an internal error: {error.typename}: {message} ({at}); if that is a "
        f"plugin of yours, switch it off (-p no:NAME) and carry the run on with --resume {run}"
    )


_LONGEST = 200


def refuse_without_parts(config: pytest.Config) -> None:
    """Raise ``pytest.UsageError`` if ``-p no:NAME`` switches off a part of the suite."""
    for name in (f"railgauge-{part}" for part in _NEEDED):
        if config.pluginmanager.is_blocked(name):
            what = "every run needs this plugin; omit the option"
            raise pytest.UsageError(f"railgauge: -p no:{name}: {what}")
