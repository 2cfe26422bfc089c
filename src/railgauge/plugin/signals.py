"""What ends a session from outside: SIGTERM and SIGINT, in the controller and in workers."""

from __future__ import annotations

import os
import signal
import threading
import weakref
from types import FrameType

# Where callbacks of weak references run: what is raised there nobody ever hears of.
_WEAK = (weakref.WeakSet, weakref.WeakValueDictionary, weakref.WeakKeyDictionary)
_UNHEARD = frozenset(kind.__init__.__code__.co_filename for kind in _WEAK)
_AGAIN_S = 0.01


def end_on_sigterm() -> None:
    """Let a scheduler's abort (SIGTERM) end the run as Ctrl-C does, verdict and clean nodes."""
    signal.signal(signal.SIGTERM, _interrupt)


def leave_sigterm_to_the_controller() -> None:
    """A scheduler ends the whole tree of processes; a worker must live to clean up its nodes."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def hear_interrupts() -> None:
    """Have an interrupt end what a worker does, wherever in its code it comes.

    execnet interrupts a worker just once that has not ended after its controller told it to.
    """
    signal.signal(signal.SIGINT, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    if frame is not None and frame.f_code.co_filename in _UNHEARD:
        again = threading.Timer(_AGAIN_S, os.kill, (os.getpid(), number))
        again.daemon = True
        again.start()
        return
    raise KeyboardInterrupt(signal.Signals(number).name)
