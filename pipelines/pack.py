"""Stage `pack`: decode and resize each image once, into one array that every process maps."""

import sys
from pathlib import Path

from dml.pipeline.start import start

if __name__ == "__main__":
    start("pack", Path(__file__).parents[1], sys.argv[1:])
