"""The progress line on pytest's terminal disappears while a debugger runs."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest

from railgauge.plugin.progress import ProgressHooks
from railgauge.plugin.reporters import SCREEN
from railgauge.run.progress.screen import Screen
from railgauge.run.progress.state import Moment


@pytest.fixture
def config():
    return SimpleNamespace(stash=pytest.Stash())


@pytest.fixture
def hooks(config):
    return ProgressHooks(config, SimpleNamespace(), lambda: None)


def test_nothing_is_shown_while_a_debugger_has_the_terminal(config, hooks):
    lines, now_s = [], [1e9]
    screen = Screen(lambda: Moment("railgauge", 0.0, now_s[0]), lines.append, io.StringIO())
    config.stash[SCREEN] = screen
    hooks.pytest_enter_pdb()
    screen._show()
    assert lines == []
    hooks.pytest_leave_pdb()
    screen._show()
    assert len(lines) == 1
    screen.end()


def test_a_run_without_a_terminal_has_nothing_to_give_way(hooks):
    hooks.pytest_enter_pdb()
    hooks.pytest_leave_pdb()
