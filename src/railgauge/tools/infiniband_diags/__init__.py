"""The infiniband-diags, one module for each program: the state of a subnet.

The node that the hostfile names under ``fabric`` scans the complete subnet.
"""
