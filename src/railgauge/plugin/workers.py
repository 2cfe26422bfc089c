"""The workers of ``-n W``: they get items, and the items of a dead worker are not lost.

All workers are on the machine on which the run was started. There the kernel kills a worker when
its controller dies, and the locks in the run's folder are kernel locks. On another machine neither
works, and a node could be measured twice at the same time. docs/clusters.md says what to do if one
machine is not enough.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from datetime import datetime, timezone
from typing import Any

import pytest
from _pytest.runner import runtestprotocol  # nothing public returns the reports of an item
from xdist.dsession import get_default_max_worker_restart  # its option may be left out

from railgauge.core.errors import BadInput, NoEvidence
from railgauge.judging.record import MEASUREMENTS, ItemRecord, with_error
from railgauge.planning import plan
from railgauge.plugin import worksheet
from railgauge.plugin.opening import SETTINGS
from railgauge.plugin.reporters import tell
from railgauge.plugin.scheduling import CaseScheduling, Loss
from railgauge.report import html
from railgauge.run.services import RunServices
from railgauge.run.store import Store
from railgauge.verdict.unanswered import NEVER_RAN

_LOG = "crashes.jsonl"


def refuse_elsewhere(config: pytest.Config) -> None:
    """Raise ``BadInput`` if ``--tx`` asks for a worker on another machine."""
    if hasattr(config, "workerinput"):
        return
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
    """Plugin of the controller: schedules items, and handles those of workers that die."""

    def __init__(self, config: pytest.Config, run: RunServices, at_once: int) -> None:
        self._config = config
        self._run = run
        self._at_once = at_once
        self._scheduling: CaseScheduling | None = None
        self._told: list[str] = []

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config) -> CaseScheduling:
        about = (config, self._at_once, lambda: self._sheet.units)
        self._scheduling = CaseScheduling(*about, self._lost)
        return self._scheduling

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        if self._scheduling and report.when == "teardown" and hasattr(report, "item_index"):
            self._scheduling.reported(report.node, report.item_index)

    @functools.cached_property
    def _sheet(self) -> worksheet.Worksheet:
        return worksheet.read(self._run.store)

    # --- a worker that has ended with items in its queue ---

    def _lost(self, loss: Loss) -> None:
        if not loss.running:
            self._run.gates.stop(NEVER_RAN)  # so that no gate waits for its items
            return
        running = {one.id for _, one in self._records_of(loss.running)}
        # An item may have been judged without a report; the next attempt counts instead.
        self._run.store.take_out(MEASUREMENTS, lambda line: line["id"] in running)
        replaced = self._is_replaced()
        self._tell(loss, again=replaced and not loss.given_up)
        for place, record in self._records_of(loss.given_up):
            self._report(loss, record)
            self._never(place, record)
        if not replaced:
            assert self._scheduling
            for place, record in self._records_of(self._scheduling.left()):
                self._never(place, record)

    def _tell(self, loss: Loss, *, again: bool) -> None:
        worker, running = loss.workers[-1], [self._id(item) for item in loss.running]
        more = f" and measured for {len(running) - 1} more" if len(running) > 1 else ""
        other = "other workers run them, one by one" if more else "another worker runs it"
        then = other if again else "it is given up"
        self._told.append(f"worker {worker} died while it ran {running[0]}{more}; {then}")
        for item in running:
            self._run.store.append(
                _LOG,
                {
                    "schema_version": 1,
                    "at": datetime.now(timezone.utc).isoformat(),
                    "worker": worker,
                    "item": item,
                    "again": again,
                },
            )
        tell(self._config, self._told[-1])

    def _records_of(self, items: Iterable[int]) -> list[tuple[int, ItemRecord]]:
        """The records of items, each without a result, with their places among all records."""
        assert self._scheduling
        wanted, ids = set(items), self._sheet.ids(self._scheduling.collection or ())
        every = enumerate(self._sheet.records(ids) if wanted else ())
        return [(place, record) for place, (item, record) in every if item in wanted]

    def _report(self, loss: Loss, record: ItemRecord) -> None:
        """Report an item at which several workers died as an error, to every reporter."""
        error = NoEvidence(
            f"{len(loss.workers)} workers died while they ran {self._id(loss.running[0])}: "
            f"{', '.join(loss.workers)}",
            remedy="check the kernel log of this machine, for example for lack of memory",
        )
        xdist: Any = self._config.pluginmanager.getplugin("dsession")
        report: Any = pytest.TestReport(
            nodeid=record.id,
            location=(record.id.partition("::")[0], None, record.id),
            keywords={},
            outcome="failed",
            longrepr=f"{error.kind}: {error}",
            when="teardown",
        )
        report.railgauge = with_error(record, error).to_json()
        xdist.worker_testreport(node=loss.worker, rep=report)  # as if the worker's, for -x

    def _never(self, place: int, record: ItemRecord) -> None:
        """Have no gate wait for an item that will never run."""
        platform = self._config.stash[SETTINGS].platform
        nodes = plan.gate_nodes(platform, record.subject, record.nodes)
        self._run.gates.ended(record, place, nodes)

    def _is_replaced(self) -> bool:
        """Whether xdist starts another worker; not after too many deaths, or in a stopping run."""
        most = get_default_max_worker_restart(self._config)
        xdist: Any = self._config.pluginmanager.getplugin("dsession")
        return not xdist.shouldstop and (most is None or len(self._told) < most)

    def _id(self, item: int) -> str:
        assert self._scheduling
        assert self._scheduling.collection
        return self._scheduling.collection[item]

    # --- the end ---

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._told:
            terminalreporter.section("workers that died", yellow=True)
            for line in self._told:
                terminalreporter.write_line(line)

    @pytest.hookimpl(optionalhook=True, trylast=True)
    def pytest_html_results_summary(self, prefix: list[str]) -> None:
        prefix.append(html.paragraphs(self._told))


class WorkerReporting:
    """Plugin of a worker: writes the worksheet, and sends an item's reports when it has ended."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        worksheet.write(self._store, session.items)

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
