"""Options with which pytest lists something and runs no test.

On the command line such an option is intended, and pytest's exit code stands. In the environment or
the configuration it may be left over: then the exit code must not be that of an accepted cluster.
"""

from __future__ import annotations

import os

import pytest

from railgauge.plugin import reporters

# The names of the options' values -> how they may be spelled.
_OPTIONS = {
    "help": ("--help", "-h"),
    "version": ("--version", "-V", "-VV"),
    "markers": ("--markers",),
    "collectonly": ("--collect-only", "--collectonly", "--co"),
    "showfixtures": ("--fixtures", "--funcargs"),
    "show_fixtures_per_test": ("--fixtures-per-test",),
}
_TWICE = 2  # a single --version in PYTEST_ADDOPTS does nothing


def asked(config: pytest.Config) -> str:
    """The option that only lists something; empty for a session that runs tests."""
    if reporters.lists_faults(config):
        return "--lab-fault list"
    for dest, spelled in _OPTIONS.items():
        if int(config.getoption(dest, 0)) >= (_TWICE if dest == "version" else 1):
            return spelled[0]
    return ""


def is_on_the_command_line(config: pytest.Config) -> bool:
    """Whether such an option is among the arguments of the process."""
    given = {os.fspath(word) for word in config.invocation_params.args}
    every = {word for spelled in _OPTIONS.values() for word in spelled}
    return not given.isdisjoint({*every, "list", "--lab-fault=list"})
