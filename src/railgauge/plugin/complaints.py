"""Tests that the platform file does not cover: they end a session before a node is touched."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from railgauge.run.store import Store

_COMPLAINTS = "complaints.json"


def refuse_complaints(complaints: Sequence[str], path: str, store: Store | None) -> None:
    """Stop before a node is touched, because the platform file does not cover some tests.

    ``path`` is that of the platform file. A usage error in a worker would be reported as an
    internal error, so a worker writes the complaints to ``store`` for the controller.
    """
    if store:
        store.write_json(_COMPLAINTS, complaints)
    else:
        raise pytest.UsageError(_complaint_text(path, complaints))


def _complaint_text(path: str, complaints: Sequence[str]) -> str:
    head = f"railgauge: {path} does not cover these tests:"
    return "\n  ".join([head, *complaints])


def exit_on_complaints_of_a_worker(store: Store, path: str) -> None:
    """End the controller's session if a worker has written complaints about ``path``."""
    if (store.folder / _COMPLAINTS).exists():
        raise pytest.UsageError(_complaint_text(path, store.read_json(_COMPLAINTS)))
