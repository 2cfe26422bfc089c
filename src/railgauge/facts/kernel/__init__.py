"""The kernel's log of a node: how it is read, and what its lines mean.

``log`` makes the command and reads its output, ``kinds`` and ``xids`` are the table of lines, and
``events`` finds them in a reading.
"""
