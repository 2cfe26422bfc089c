"""The infiniband-diags, one module for each program: what a subnet says of itself.

One node asks for the whole subnet: the one that the hostfile names under ``fabric``.
"""
