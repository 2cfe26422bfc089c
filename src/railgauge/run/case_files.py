"""The names of the files that keep the transcripts of a case."""

from __future__ import annotations

import hashlib
import re

from railgauge.core.model import Case
from railgauge.core.run_files import TRANSCRIPTS


def case_file(case: Case, folder: str = "") -> str:
    """The path of a case's transcripts as JSON, relative to the run's folder.

    ``folder`` is that of confirmations, or of a round of a soak, or empty.
    """
    name = f"{TRANSCRIPTS}/{_stem(case)}.json"
    return f"{folder}/{name}" if folder else name


# Far below the 255 bytes of a file name, also with the parts of the temporary name.
_LONGEST_STEM = 120
_DIGITS = 16
DIGESTED = re.compile(rf"-\d+-nodes-[0-9a-f]{{{_DIGITS}}}$")
"""Matches the end of a stem that has a digest in place of node names."""


def _stem(case: Case) -> str:
    return _stem_of(case.key, f"{_slug(case.measurement)[:60]}-{len(case.nodes)}-nodes-")


def _stem_of(key: str, short: str) -> str:
    """The key; if it is too long, or not ASCII, ``short`` and its digest."""
    slug = _slug(key)
    if key.isascii() and len(slug) <= _LONGEST_STEM:
        return slug
    return f"{short}{hashlib.sha256(key.encode()).hexdigest()[:_DIGITS]}"


def renamed(stem: str, key: str) -> str:
    """The stem of a case whose stem has a digest, after its key was changed to ``key``."""
    return _stem_of(key, stem[:-_DIGITS])


def text_file(case: Case) -> str:
    """The path of a case's transcripts as readable text, relative to the run's folder."""
    return f"{TRANSCRIPTS}/{_stem(case)}.txt"


def samples_file(case: Case) -> str:
    """The path of the samples of a case's GPUs as CSV, relative to the run's folder."""
    return f"{TRANSCRIPTS}/{_stem(case)}.csv"


def _slug(key: str) -> str:
    """A case's key as a file name that every file system accepts.

    The colon between two nodes becomes a plus, which no node's name contains, so that ``a:b_c`` and
    ``a_b:c`` are two different files.
    """
    return re.sub(r"[^A-Za-z0-9._+-]+", "_", key.replace(":", "+")).strip("_")
