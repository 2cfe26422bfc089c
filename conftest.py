"""Loads the acceptance suite; everything else is in the package."""

import sys
from importlib.util import find_spec

if find_spec("railgauge") is None:  # Python would end with 1, the code of a rejected cluster
    sys.stderr.write("railgauge is not installed here: use .venv/bin/python -m pytest\n")
    sys.exit(4)

pytest_plugins = ["railgauge.plugin"]
