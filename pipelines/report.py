"""Stage `report`: one static site over the chosen studies and the snapshots of others."""

import sys
from pathlib import Path

from dml.pipeline.start import start

if __name__ == "__main__":
    start("report", Path(__file__).parents[1], sys.argv[1:])
