"""Stage `download`: fetch and verify the raw files of a study's datasets."""

import sys
from pathlib import Path

from dml.pipeline.start import start

if __name__ == "__main__":
    start("download", Path(__file__).parents[1], sys.argv[1:])
