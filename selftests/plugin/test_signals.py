"""An interrupt that Python would swallow is raised again a moment later."""

import os
import signal
import sys
import time
import weakref

import pytest

from railgauge.plugin import signals


@pytest.fixture(autouse=True)
def _as_it_was():
    before = [(number, signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGTERM)]
    yield
    for number, handler in before:
        signal.signal(number, handler)


def in_a_callback():
    """Deliver the signal during the callback of a weak reference."""
    code = compile("import os; os.kill(pid, number)", weakref.__file__, "exec")
    exec(code, {"pid": os.getpid(), "number": signal.SIGINT})


def test_an_interrupt_ends_the_work_in_progress():
    signals.hear_interrupts()
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)


def test_an_interrupt_in_a_callback_is_put_off():
    signals.hear_interrupts()
    in_a_callback()
    with pytest.raises(KeyboardInterrupt, match="SIGINT"):
        time.sleep(20)


def test_a_callback_of_a_weak_set_is_known():
    seen = []

    class Watching(weakref.WeakSet):
        def _commit_removals(self):
            pass

    one, found = type("One", (), {})(), Watching()
    found.add(one)
    sys.setprofile(lambda frame, event, _: seen.append(frame.f_code) if event == "call" else None)
    del one
    sys.setprofile(None)
    removed = [code.co_filename for code in seen if code.co_name == "_remove"]
    assert removed
    assert set(removed) <= signals._UNHEARD


def test_a_scheduler_s_abort_is_an_interrupt():
    signals.end_on_sigterm()
    with pytest.raises(KeyboardInterrupt, match="SIGTERM"):
        os.kill(os.getpid(), signal.SIGTERM)


def test_a_worker_leaves_an_abort_to_its_controller():
    signals.leave_sigterm_to_the_controller()
    os.kill(os.getpid(), signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
