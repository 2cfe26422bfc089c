"""Handles SIGTERM and SIGINT, which end a session, in the controller and in workers."""

from __future__ import annotations

import os
import signal
import threading
import weakref
from types import FrameType

# The code of weak reference callbacks: Python ignores an exception that is raised there.
_WEAK = (weakref.WeakSet, weakref.WeakValueDictionary, weakref.WeakKeyDictionary)
_UNHEARD = frozenset(kind.__init__.__code__.co_filename for kind in _WEAK)
_AGAIN_S = 0.01


def end_on_sigterm() -> None:
    """Make SIGTERM, a scheduler's abort, end the run as Ctrl-C does: with verdict and cleanup."""
    signal.signal(signal.SIGTERM, _interrupt)


def leave_sigterm_to_the_controller() -> None:
    """Ignore SIGTERM in a worker: a scheduler sends it to all processes, and nodes need cleanup."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def hear_interrupts() -> None:
    """Make SIGINT end the work of a worker wherever it arrives in the code.

    execnet sends only one interrupt, to a worker that does not end at its controller's request.
    """
    signal.signal(signal.SIGINT, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    if frame is not None and frame.f_code.co_filename in _UNHEARD:
        again = threading.Timer(_AGAIN_S, os.kill, (os.getpid(), number))
        again.daemon = True
        again.start()
        return
    raise KeyboardInterrupt(signal.Signals(number).name)
