"""The contract of every transport, with the steps of a real Slurm."""

from test_transport_contract import *  # noqa: F403
