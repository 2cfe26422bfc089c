"""What ``railgauge check`` looks at on nodes before the first run, and what it proposes to write.

``ask`` and ``peers`` make the commands and read their output, ``cells`` judges the answers by the
table of checks, ``proposal`` makes the hostfile. Pure: ``run.asking`` carries the commands out.
"""
