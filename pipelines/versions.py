"""Stage `versions`: which code each stage runs, so that DVC runs a stage again when its code changes."""

import sys
from pathlib import Path

from dml.pipeline.start import start

if __name__ == "__main__":
    start("versions", Path(__file__).parents[1], sys.argv[1:])
