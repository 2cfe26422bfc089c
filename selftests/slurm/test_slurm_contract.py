"""The contract of every transport, with the steps of a real Slurm."""

from testing.transport_contract import *  # noqa: F403

# These two take long, and they test ``Job``, which is the same for every transport.
del test_time_limit_ends_silent_grandchildren  # noqa: F821
del test_interrupt_during_a_wait_leaves_the_command_in_hand  # noqa: F821
