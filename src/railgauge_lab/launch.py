"""The program behind every simulated executable: ``python -SE launch.py TOOL NODEFILE ARGUMENT…``.

It is started as a file, so that this folder is the import path and Python loads neither ``site``
nor the rest of the project: a simulated tool must start as fast as the compiled tool it imitates.
For the same reason it ends without tearing down the interpreter, an eighth of its time.
"""

import os
import sys

if __name__ == "__main__":
    sim = __import__("sim.main")
    code = sim.main.main(sys.argv[1], sys.argv[2], sys.argv[3:])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
