"""The simulated executables of a lab node.

They import only modules of the standard library that load fast, because a simulated tool must start
as fast as the compiled tool that it imitates.
"""
