"""The simulated executables of a lab node. Standard library only, and only what starts fast."""
