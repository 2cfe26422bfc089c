"""The lines of ``measurements.jsonl``: one for each judgement of an item."""

from __future__ import annotations

from collections.abc import Iterable

from railgauge.core.model import Judgement
from railgauge.core.run_files import MEASUREMENTS
from railgauge.judging.record import ItemRecord, measurement
from railgauge.run.store import Store


def keep(record: ItemRecord, judgement: Judgement, store: Store) -> None:
    """Add a judgement of an item."""
    line = measurement(record, judgement)
    store.append_bound(MEASUREMENTS, {**line, "evidence": store.evidence})


def keep_all(records: Iterable[ItemRecord], store: Store) -> None:
    """Add the judgements of items that no test judged."""
    for record in records:
        for judgement in record.judgements:
            keep(record, judgement, store)


def keep_alone(records: Iterable[ItemRecord], store: Store) -> None:
    """Add the judgements of items that did not run, in place of any earlier ones."""
    judged = {record.id: record for record in records if record.judgements}
    if judged:
        store.take_out(MEASUREMENTS, lambda line: line["id"] in judged)
    keep_all(judged.values(), store)
