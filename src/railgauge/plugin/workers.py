"""The workers of ``-n W``, which judge items: if one dies, another worker runs its item again.

All workers are on the machine on which the run was started: they read the measurements in the run's
folder, whose locks are kernel locks. docs/clusters.md says what to do if one machine is not enough.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Any

import pytest
from _pytest.runner import runtestprotocol  # nothing public returns the reports of an item
from xdist.dsession import get_default_max_worker_restart  # its option may be left out

from railgauge.core.errors import BadInput, NoEvidence
from railgauge.core.run_files import MEASUREMENTS
from railgauge.judging.record import with_error
from railgauge.planning.collected import About, each_row
from railgauge.plugin import asked_items
from railgauge.plugin.recording import ROWS
from railgauge.plugin.reporters import tell
from railgauge.report import html
from railgauge.run.ladder import begun
from railgauge.run.services import RunServices
from railgauge.run.store import Store

_LOG = "crashes.jsonl"
_WAYS = ("no", "load", "worksteal")
_DEATHS = 2  # of workers, after which an item is given up


def refuse_unusable(config: pytest.Config) -> None:
    """Raise ``BadInput`` for workers on other machines and for unusable ways to distribute items.

    After the death of a worker, only the ways in ``_WAYS`` (``--dist``) can run its item again.
    """
    if hasattr(config, "workerinput"):
        return
    way = getattr(config.option, "dist", "no")
    if way not in _WAYS:
        raise BadInput(
            "cannot have an item run again whose worker died",
            where=f"--dist {way}",
            remedy="omit it, or use --dist worksteal",
        )
    for spec in getattr(config.option, "tx", None) or ():
        if not _is_here(spec):
            raise BadInput(
                "all workers of a run must be on this machine",
                where=f"--tx {spec}",
                remedy="use -n K, or see 'Several control hosts' in railgauge docs clusters",
            )


def _is_here(spec: str) -> bool:
    """Whether a spec is ``popen`` or ``3*popen//python=…``, and not ``via`` another gateway."""
    kind, *settings = spec.rpartition("*")[2].split("//")
    return kind == "popen" and not any(setting.startswith("via=") for setting in settings)


class WorkerSupervisor:
    """Plugin of the controller: makes another worker run the item of a worker that died."""

    def __init__(self, config: pytest.Config, run: RunServices) -> None:
        self._config = config
        self._run = run
        self._deaths = defaultdict[str, list[str]](list)
        self._lines: list[str] = []
        self._ids: Sequence[str] = ()
        self._items: dict[str, About] = {}

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        self._ids = ids

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str, report: Any, sched: Any) -> None:
        self._items = self._items or dict(asked_items.read(self._run.store, self._ids))
        dead = self._deaths[crashitem]
        dead.append(report.node.gateway.id)
        again = len(dead) < _DEATHS and self._is_replaced()
        rows = [begun(row) for row, _ in each_row(crashitem, self._items[crashitem])]
        ids = {row.id for row in rows}
        # An item may have been judged without a report; the next attempt counts instead.
        self._run.store.take_out(MEASUREMENTS, lambda line: line["id"] in ids)
        self._report(crashitem, dead[-1], again=again)
        if again:
            sched.mark_test_pending(crashitem)
            report.outcome = "rerun"
            return
        error = NoEvidence(
            f"{len(dead)} workers died while they ran {crashitem}: {', '.join(dead)}"
            if len(dead) > 1
            else f"worker {dead[0]} died while it ran {crashitem}",
            remedy="check the kernel log of this machine, for example for lack of memory",
        )
        report.when, report.longrepr = "teardown", f"{error.kind}: {error}"
        records = [with_error(row, error).to_json() for row in rows]
        rows_of_item = {ROWS: records} if len(records) > 1 else {}
        report.railgauge = {**records[0], **rows_of_item}

    def _report(self, item: str, worker: str, *, again: bool) -> None:
        then = "another worker runs it" if again else "it is given up"
        self._lines.append(f"worker {worker} died while it ran {item}; {then}")
        at = datetime.now(timezone.utc).isoformat()
        line = {"schema_version": 1, "at": at, "worker": worker, "item": item, "again": again}
        self._run.store.append(_LOG, line)
        tell(self._config, self._lines[-1])

    def _is_replaced(self) -> bool:
        """Whether xdist starts another worker; it does not after too many deaths."""
        most = get_default_max_worker_restart(self._config)
        return most is None or sum(map(len, self._deaths.values())) <= most

    # --- the end ---

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._lines:
            terminalreporter.section("workers that died", yellow=True)
            for line in self._lines:
                terminalreporter.write_line(line)

    @pytest.hookimpl(optionalhook=True, trylast=True)
    def pytest_html_results_summary(self, prefix: list[str]) -> None:
        prefix.append(html.paragraphs(self._lines))


class WorkerReporting:
    """Plugin of a worker: writes what its items are about, and sends their reports.

    An item's reports are sent together, when it has ended.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        asked_items.write(self._store, session.items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> bool | None:
        """Send all reports of an item together, so that an item that runs again has sent none."""
        if item.config.pluginmanager.hasplugin("rerunfailures"):
            return None  # that plugin has its own protocol
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        hook = item.ihook
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in reports:
            hook.pytest_runtest_logreport(report=report)
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True
