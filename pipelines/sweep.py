"""Stage `sweep`: tune every cell of a study with the same budget, then confirm its best settings on the test split."""

import sys
from pathlib import Path

from dml.pipeline.start import start

if __name__ == "__main__":
    start("sweep", Path(__file__).parents[1], sys.argv[1:])
