"""What a simulated executable runs: ``python -SE launch.py TOOL NODEFILE ARGUMENT…``.

Started as a file, so that this folder is the import path and neither ``site`` nor the rest of
the project is loaded: a tool has to start as fast as the compiled program it stands for.
"""

import sys

if __name__ == "__main__":
    sim = __import__("sim.main")
    sys.exit(sim.main.main(sys.argv[1], sys.argv[2], sys.argv[3:]))
