"""What the catalogue says of one cause."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of cause.

    ``folds``: the same cause on several nodes is one entry, because one setting fixes them all.
    ``prepared_by`` is the step of ``--prepare`` that applies the remedy, on platforms that have it.
    ``over_slurm`` is the remedy where the nodes are reached through Slurm, if it is another one.
    """

    means: str
    remedy: str
    basis: str
    folds: bool = False
    prepared_by: str = ""
    over_slurm: str = ""
