"""The request for a run: the values of its options, and where it was started."""

from __future__ import annotations

import getpass
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from railgauge.core.model import Cluster
from railgauge.planning.plan import Level
from railgauge.planning.required import LevelScope, count

LEVEL = "nightly"
"""The level of a run that names none."""
LAB_SEED = 1
"""The seed of the lab's noise without ``--lab-seed``."""

_LONGEST_NAME = 100
_DEFAULT_HOSTFILES = ("hostfiles/lab-h200.yaml", "hostfiles/lab-metax-c500.yaml")


@dataclass(frozen=True, slots=True)
class Request:
    """The options of a run and its surroundings.

    ``options`` has an attribute for each option, such as ``lab_seed``; ``--resume`` fills in those
    that were omitted. ``root`` is the site's folder, and relative paths start at ``began_in``.
    ``ids`` are the paths and ids that select items. ``worker`` is what the controller has passed to
    a worker, ``None`` in the controller. ``closing`` releases what the run holds, after all else.
    ``showing`` is the context in which lines can be printed before the session begins.
    """

    options: Any
    root: Path
    began_in: Path
    ids: Sequence[str] = ()
    worker: Mapping[str, str] | None = None
    closing: ExitStack = field(default_factory=ExitStack)
    showing: Callable[[], AbstractContextManager[object]] = nullcontext

    def value(self, option: str) -> Any:
        """The value of an option, such as ``--lab-seed``."""
        return getattr(self.options, option.lstrip("-").replace("-", "_"))

    @property
    def hostfile(self) -> Path:
        """The hostfile: the first default one that exists below the root if none was named."""
        if self.options.hostfile:
            return Path(self.began_in, self.options.hostfile)
        candidates = [self.root / name for name in _DEFAULT_HOSTFILES]
        return next((path for path in candidates if path.exists()), candidates[-1])

    @property
    def lab_seed(self) -> int:
        seed: int | None = self.options.lab_seed
        return LAB_SEED if seed is None else seed

    def at_once(self, cluster: Cluster, level: Level) -> int:
        """Return how many measurements the run makes at once.

        The default is the number of pairs in a round, at most as many as the hostfile declares
        independent.
        """
        if self.options.replay:
            return 1
        asked: int | None = self.options.at_once
        widest = max((len(pairs) for pairs in level.rounds), default=1)
        return asked or min(cluster.independent_pairs, widest) or 1

    def has_sub_items(self, scope: LevelScope) -> bool:
        """Whether items have sub-items: not if the user selects items by their names."""
        options = self.options
        if options.keyword or options.deselect or any("[" in one for one in self.ids):
            return False
        return count(scope) > int(options.most_items)


def is_given(value: object) -> bool:
    """Whether an option was given: ``None``, ``False`` and empty values are not, but 0 is."""
    return value is not None and value is not False and value not in ("", [], ())


def operator_name(text: str) -> str:
    """Return the name. Raises ``ValueError`` unless it is one line of printable characters."""
    name = text.strip()
    if not name or not name.isprintable() or len(name) > _LONGEST_NAME:
        raise ValueError(f"a name has 1 to {_LONGEST_NAME} printable characters")
    return name


def login_name() -> str:
    """Return the name of the user who runs this process; empty if the system knows none."""
    try:
        return operator_name(getpass.getuser())
    except (OSError, KeyError, ValueError):
        return ""
