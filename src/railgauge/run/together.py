"""Makes one repeat of several cases at the same time: the rails of a pair.

Their servers start first. When all of them are ready, all clients start. If a rail cannot start,
none is measured: without its load the others would show the speed of fewer rails.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, BrokenBarrierError

from railgauge.core.errors import NoEvidence, ToolFailed
from railgauge.core.model import Case
from railgauge.run.control_host import MadeRun

# Makes a repeat; it gets a function that waits for the other rails, to call before the client
# starts.
Make = Callable[[Callable[[], object]], MadeRun]


def at_once(makers: Mapping[Case, Make]) -> dict[Case, MadeRun | NoEvidence]:
    """Return for each case its repeat, or the error that ended it."""
    gate = Barrier(len(makers))
    with ThreadPoolExecutor(len(makers), "rail") as threads:
        try:
            running = {case: threads.submit(_made, make, gate) for case, make in makers.items()}
        except BaseException:
            gate.abort()  # or the threads that did start would wait for the others
            raise
        return {case: made.result() for case, made in running.items()}


def _made(make: Make, gate: Barrier) -> MadeRun | NoEvidence:
    started: list[int] = []
    try:
        return make(lambda: started.append(gate.wait()))
    except BrokenBarrierError:
        return ToolFailed("not measured, because another rail of this pair could not be started")
    except NoEvidence as error:
        return error
    finally:
        if not started:
            gate.abort()
