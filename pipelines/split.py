"""Stage `split`: decide which images train, validate and test."""

import sys
from pathlib import Path

from dml.pipeline.start import start

if __name__ == "__main__":
    start("split", Path(__file__).parents[1], sys.argv[1:])
