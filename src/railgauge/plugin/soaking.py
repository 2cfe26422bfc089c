"""The step of a session in which a soak is carried out, or played from a bundle."""

from __future__ import annotations

from collections.abc import Callable

from railgauge.diagnosis import RunResults
from railgauge.planning.soak import SoakRounds
from railgauge.run import soaking
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

    ``findings`` gives the results of the ladder; ``may_begin``: it was run to its end.
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
        return soaking.carry_out(rounds, base, run.measure_in, tell)
    return True
