"""The basis of an entry of a platform file. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from railgauge.core.limits import Basis


def basis_of(entry: Mapping[str, Any]) -> Basis:
    return Basis(entry["basis"]["source"], entry["basis"]["says"])
