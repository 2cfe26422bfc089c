"""The contract of every transport, over ssh and on this machine."""

from testing.transport_contract import *  # noqa: F403
