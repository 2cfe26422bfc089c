"""The labs whose nodes check themselves."""

from testing.lab_bench import start_lab  # noqa: F401 - fixtures are found by being here
