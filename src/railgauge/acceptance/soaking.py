"""The step of a session in which a soak is carried out, or played from a bundle."""

from __future__ import annotations

from collections.abc import Callable

from railgauge.diagnosis import RunResults
from railgauge.planning.soak import SoakRounds
from railgauge.run import soaking
from railgauge.run.counters import CounterReader
from railgauge.run.services import RunServices
from railgauge.run.settings import RunSettings
from railgauge.transport import Tell


def soaked(
    settings: RunSettings,
    run: RunServices,
    findings: Callable[[], RunResults],
    tell: Tell,
    *,
    may_begin: bool,
) -> bool:
    """Carry out the soak that was asked for; return ``False`` if an interrupt ended it.

    ``findings`` gives the results of the ladder; ``may_begin``: it was run to its end. As
    many measurements are made at a time as in the ladder.
    """
    soak = settings.soak
    if soak is None:
        return True
    base = findings()
    rounds = SoakRounds(soak, settings.platform, base.cluster, settings.level, settings.rounds)
    if run.recorded:
        soaking.play(rounds, run.recorded.rounds(), run.measure_in)
    elif not may_begin:
        tell("soak: not begun, because the ladder was not run to its end")
    else:
        between = _counting(settings, run)
        return soaking.carry_out(
            rounds,
            base,
            run.measure_in,
            tell,
            between=between,
            at_once=settings.at_once,
            interrupted=run.interrupted,
        )
    return True


def _counting(settings: RunSettings, run: RunServices) -> Callable[[], None]:
    """Reads the error counters of all nodes; does nothing if the platform limits no growth."""
    if settings.platform.growth is None:
        return lambda: None
    return CounterReader(settings.platform, run.cluster(), run.sessions(), run.store).between
